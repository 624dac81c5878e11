"""Models as TOML files, which Python is not needed to read."""

import dataclasses
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import FileError, ModelError, ParameterError, did_you_mean
from ..core.parameters import show
from ..elements.bodies.body import AbstractBody
from ..elements.event import Event
from ..elements.sensors import BODY_OUTPUTS, Output
from ..modelling.derived import DerivedFormulas
from ..modelling.markers import GROUND
from ..modelling.model import Model
from ..system.system import System
from .element_tables import KINDS, element_from, kind_of, numbers, same, table_of
from .error_locations import said_of, said_of_item
from .marker_tables import marker_table, markers_from
from .simulation_settings import SimulationSettings, read_settings
from .toml import SCHEMA, Document, Item, format_table, read_document
from .writing import replacing

_REDUNDANT = ("warn", "min_norm", "error")
_ADVICE = "Take it out with model.remove, and add it again after mbs.load."


@dataclasses.dataclass(frozen=True)
class ModelFile:
    """A model with what its file says about running it. `items`: the table of each name."""

    model: Model
    simulation: SimulationSettings | None
    redundant: str
    document: Document
    items: Mapping[str, Item]

    def __repr__(self) -> str:
        return f"ModelFile({self.document.path!r}: {self.model}, simulation={self.simulation})"

    def assemble(self) -> System:
        """The system; what is wrong with it is said of the file."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                system = self.model.assemble(redundant=self.redundant)
        except (ModelError, ParameterError) as error:
            name = re.match(r"'([^']*)'", str(error))
            where = f" {self.document.where(*self.items[name[1]])}" if name and name[1] in self.items else ""
            raise FileError(f"{self.document.path}: {_as_key(str(error))}{where}") from None
        for warning in caught:
            warnings.warn_explicit(_as_key(str(warning.message)), warning.category, warning.filename, warning.lineno)
        return system


def _as_key(said: str) -> str:
    """With an argument of Python as the line of a file."""
    return said.replace(
        "assemble(redundant='min_norm')", 'the line redundant = "min_norm" above the tables of the file'
    )


def load(path: str | os.PathLike[str], *, allow_outside: bool = False) -> Model:
    """The model that a file describes; `allow_outside`: the tables it names may be outside of its folder."""
    return read_model(path, allow_outside=allow_outside).model


def save(
    model: Model,
    path: str | os.PathLike[str],
    *,
    simulation: SimulationSettings | None = None,
    redundant: str = "warn",
    force: bool = False,
) -> None:
    """Writes a model to a file from which `load` makes the same one, to the last bit.

    **Arguments:** `simulation`, `redundant`: how it is to be run; `force`: replace an existing file.
    """
    text = model_text(model, simulation, redundant)
    with replacing(path, force=force) as file:
        file.write(text.encode())


def read_model(path: str | os.PathLike[str], *, allow_outside: bool = False) -> ModelFile:
    """The model that a file describes, and how it is to be simulated; `allow_outside` as in `load`."""
    document = read_document(
        path, "model", ["gravity", "redundant", *KINDS, "sensor", "model_parameter", "derived", "simulation"]
    )
    content = document.content
    redundant = content.get("redundant", "warn")
    if redundant not in _REDUNDANT:
        raise FileError(f"{path}: redundant must be one of {', '.join(_REDUNDANT)}, got {show(redundant)}.")
    with said_of(f"{path}:"):
        model = Model(content.get("gravity", (0.0, 0.0, 0.0)))
    items: dict[str, Item] = {}
    # So that elements may refer to others that come later in the file.
    rank = lambda item: 0 if issubclass(KINDS[item[0]], AbstractBody) else 2 if item[0] == "event" else 1
    for key, i, table in sorted(document.in_order(list(KINDS)), key=rank):
        with said_of_item(document, key, i, table):
            _add(model, KINDS[key], table, document.path, allow_outside)
            items[table["name"]] = key, i
    for i, table in enumerate(document.tables("model_parameter")):
        with said_of_item(document, "model_parameter", i, table):
            _check_keys(table, ("name", "value"), ("unit", "range"))
            model.parameter(**table)
    for i, table in enumerate(document.tables("derived")):
        with said_of_item(document, "derived", i, table):
            _check_keys(table, ("name", "value"))
            model.derive(table["name"], table["value"])
    for i, table in enumerate(document.tables("sensor")):
        with said_of_item(document, "sensor", i, table):
            _sense(model, table)
            items[table["name"]] = "sensor", i
    return ModelFile(model, read_settings(path, content.get("simulation")), redundant, document, items)


def model_text(model: Model, simulation: SimulationSettings | None = None, redundant: str = "warn") -> str:
    """The file that describes a model."""
    head: dict[str, Any] = {"schema": SCHEMA}
    contents = model.contents()
    if not same(contents.gravity, (0.0, 0.0, 0.0)):
        head["gravity"] = numbers(contents.gravity)
    if redundant != "warn":
        head["redundant"] = redundant
    parts = [format_table(head)]
    counts = {name: added.count for name, added in contents.elements.items()}
    for name, added in contents.elements.items():
        if name != GROUND:
            parts.append(_element_text(added, counts))
    for path, (value, spec) in contents.numbers.items():
        unit = {} if spec.unit == "-" else {"unit": spec.unit}
        table = {"name": ".".join(path), "value": numbers(value), **unit}
        parts.append("[[model_parameter]]\n" + format_table(table | ({"range": spec.range} if spec.range else {})))
    for path, rule in contents.derived.items():
        name = ".".join(path)
        if not isinstance(rule, DerivedFormulas):
            raise FileError(f"'{name}' follows from a function, which a file cannot hold; formulas it can.")
        parts.append("[[derived]]\n" + format_table({"name": name, "value": rule.texts}))
    if contents.controls:
        name = ".".join(next(iter(contents.controls)))
        raise FileError(f"'{name}' is set by a controller, a function, which a file cannot hold.")
    for name, quantity in contents.sensors.items():
        parts.append("[[sensor]]\n" + format_table({"name": name} | _sensor_table(name, quantity, counts)))
    if simulation is not None:
        parts.append("[simulation]\n" + format_table(simulation.table()))
    return "\n".join(parts)


def _add(model: Model, kind: type, table: Mapping[str, Any], path: str, allow_outside: bool) -> None:
    if "name" not in table:
        raise ModelError("name is missing.")
    name, element = table["name"], element_from(kind, table, path, allow_outside)
    if isinstance(element, AbstractBody):
        initial = {key: table[key] for key in element.initial if key in table}
        model.add(name, element, **initial)
    elif isinstance(element, Event):
        model.add(name, element)
    else:
        between, on = table.get("between"), table.get("on")
        if between is not None and not isinstance(between, list):
            raise ModelError(f"between must be a list of markers, got {show(between)}.")
        model.add(
            name,
            element,
            between=None if between is None else [markers_from(side, model) for side in between],
            on=None if on is None else markers_from(on, model),
            active=table.get("active", True),
            **{key: table[key] for key in element.initial if key in table},
        )


def _check_keys(table: Mapping[str, Any], needed: tuple[str, ...], others: tuple[str, ...] = ()) -> None:
    for key in table:
        if key not in (*needed, *others):
            raise ModelError(f"there is no {show(key)}. {did_you_mean(key, (*needed, *others))}")
    for key in needed:
        if key not in table:
            raise ModelError(f"{key} is missing.")


def _sense(model: Model, table: Mapping[str, Any]) -> None:
    _check_keys(table, ("name", "of", "quantity"))
    name, of, quantity = (table[key] for key in ("name", "of", "quantity"))
    if not isinstance(quantity, str):
        raise ModelError(f"quantity must be a word, got {show(quantity)}.")
    elements = model.contents().elements
    if isinstance(of, str) and of not in elements:
        raise ModelError(f"there is no element {show(of)}. {did_you_mean(of, elements)}")
    if isinstance(of, str) and ("." in quantity or not isinstance(elements[of].element, AbstractBody)):
        model.sense(name, Output(of, quantity))
        return
    if quantity not in BODY_OUTPUTS:
        raise ModelError(f"a body has no {show(quantity)}. {did_you_mean(quantity, BODY_OUTPUTS)}")
    model.sense(name, BODY_OUTPUTS[quantity](markers_from(of, model)))


def _element_text(added: Any, counts: Mapping[str, int]) -> str:
    kind, name = kind_of(added.element), added.name
    if kind is None:
        raise FileError(f"'{name}': files know no {type(added.element).__name__}. {_ADVICE}")
    table: dict[str, Any] = {"name": name}
    try:
        if added.places:
            sides = [[marker_table(place, counts[place.body]) for place in side] for side in added.places]
            markers = [side[0] if len(side) == 1 else side for side in sides]
            table |= {"on": markers[0]} if len(markers) == 1 else {"between": markers}
        table |= table_of(added.element)
        for key, value in added.initial.items():
            if not same(value, np.zeros([n or 0 for n in added.element.initial[key].shape or ()])):
                table[key] = numbers(value)
    except FileError as error:
        raise FileError(f"'{name}': {error}") from None
    if not added.active:
        table["active"] = False
    return f"[[{kind}]]\n{format_table(table)}"


def _sensor_table(name: str, quantity: Any, counts: Mapping[str, int]) -> dict[str, Any]:
    if isinstance(quantity, Output):
        return {"of": quantity.element, "quantity": quantity.variable}
    if not isinstance(quantity, tuple):
        raise FileError(f"sensor '{name}' is a function, which a file cannot hold. {_ADVICE}")
    kind, place = quantity
    word = next((word for word, sensor in BODY_OUTPUTS.items() if sensor is kind), None)
    if word is None:
        raise FileError(f"sensor '{name}': files know no {kind.__name__}. {_ADVICE}")
    return {"of": marker_table(place, counts[place.body]), "quantity": word}
