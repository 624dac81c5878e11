"""The items of an Exudyn system, and what of the model they have become."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import ModelError
from ..modelling.markers import GROUND
from ..modelling.model import Model
from .exudyn_bodies import BODIES, ConvertedBody, with_initial
from .exudyn_functions import ExudynFunction, ExudynSystem
from .exudyn_trees import Link

Item = dict[str, Any]


class NotConvertedError(Exception):
    """Why an item is not converted."""


class ExudynItems:
    """The items of a system by sort and number, and the model that is made of them.

    `lost`: what cannot be converted, and why; `functions`: what user functions are given as `mbs`.
    """

    def __init__(self, mbs: Any):
        import exudyn

        self.mbs, self.exu, self.functions = mbs, exudyn, ExudynSystem(mbs)
        self.lost: list[str] = []
        self.names: set[str] = {GROUND, "gravity"}
        count = mbs.systemData
        self.nodes = [with_initial(mbs, exudyn, i, _numbered(mbs.GetNode(i))) for i in range(count.NumberOfNodes())]
        self.objects = [_numbered(mbs.GetObject(i)) for i in range(count.NumberOfObjects())]
        self.markers = [_numbered(mbs.GetMarker(i)) for i in range(count.NumberOfMarkers())]
        self.loads = [_numbered(mbs.GetLoad(i)) for i in range(count.NumberOfLoads())]
        self.sensors = [_numbered(mbs.GetSensor(i)) for i in range(count.NumberOfSensors())]
        self.bodies: dict[int, tuple[str, ConvertedBody]] = {}
        """By object; particles of nodes without a body by -1 less the node."""
        self.body_of_node: dict[int, int] = {}
        self.part_of_node: dict[int, tuple[str, range]] = {}
        """Of nodes of second-order equations, the name of these and which of their coordinates."""
        self.elements: dict[int, str] = {}
        """Names of connectors and first-order equations, by object, and below by their nodes."""
        self.element_of_node: dict[int, str] = {}
        self.load_names: dict[int, str] = {}
        self.trees: dict[int, list[tuple[str, Link]]] = {}
        """Links of trees with their names, by object."""
        self.gravity = self._gravity()
        self.model = Model(gravity=(0.0, 0.0, 0.0) if self.gravity is None else self.gravity)

    def attempt(self, sort: str, item: Item, add: Callable[[Item, int], str | None], number: int) -> None:
        """Adds an item of a sort; `add` may say why it cannot."""
        kind = item.get("objectType") or item.get("loadType") or item.get("sensorType") or item.get("markerType")
        try:
            why = add(item, number)
        except (ModelError, NotConvertedError) as error:
            why = str(error)
        if why is not None:
            self.lost.append(f"{sort} '{item['name']}' ({kind}): {why}")

    def named(self, item: Item) -> str:
        """A name for an item that nothing else has."""
        plain = re.sub(r"[^A-Za-z0-9_ \-]", "_", item["name"]).strip(" -") or "item"
        name, number = plain[:90], 1
        while name in self.names:
            name, number = f"{plain[:90]} {number}", number + 1
        self.names.add(name)
        return name

    def user(self, item: Item, number: int | None) -> Callable[..., Any]:
        """What gives the user function of a field of an item, as one of (t, ...); None where there is none."""

        def of_field(field: str, through: Any = None) -> Any:
            function = function_of(item.get(field))
            return None if function is None else ExudynFunction(function, self.functions, number, through)

        return of_field

    def loose_nodes(self) -> list[int]:
        """Points of markers that no object has."""
        used = {n for item in self.objects for n in (item.get("nodeNumber"), *item.get("nodeNumbers", ()))}
        marked = {int(marker["nodeNumber"]) for marker in self.markers if "nodeNumber" in marker}
        return [n for n in sorted(marked - used) if self.nodes[n]["nodeType"] in ("Point", "Point2D")]

    def _gravity(self) -> Any:
        """The field, if all bodies with mass have the same, and nothing else depends on mass."""
        kinds = set(BODIES) - {"GenericODE2", "RotationalMass1D"}
        heavy = [i for i, item in enumerate(self.objects) if item["objectType"] in kinds]
        loads = [load for load in self.loads if load["loadType"] == "MassProportional"]
        on = [self.markers[load["markerNumber"]].get("bodyNumber", -1) for load in loads]
        fields = {tuple(np.asarray(load["loadVector"], float)) for load in loads}
        plain = all(function_of(load["loadVectorUserFunction"]) is None for load in loads)
        plain = plain and not self.loose_nodes()
        return fields.pop() if plain and len(fields) == 1 and sorted(on) == heavy else None


def function_of(given: Any) -> Any:
    """A user function, None if there is none; Exudyn wraps it."""
    given = given.get("function") if isinstance(given, dict) else given
    return given if callable(given) else None


def _numbered(item: dict[str, Any]) -> dict[str, Any]:
    """With plain numbers for the types that Exudyn has for those of items."""

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(x) for x in value]
        return int(value.GetIndex()) if hasattr(value, "GetIndex") else value

    return {key: plain(value) for key, value in item.items()}
