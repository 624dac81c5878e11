"""Sensors of an Exudyn system, and what its user functions read."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError
from ..elements.sensors import CoordinateRates, CoordinateVector, Output
from ..modelling.markers import GROUND
from .exudyn_functions import Reading
from .exudyn_items import ExudynItems, Item, function_of
from .exudyn_markers import body_of_node, marker_of, on_body
from .exudyn_sensors import of_connector, of_coordinates, of_place


class ExudynReadings:
    """Makes sensors of the model of what Exudyn's sensors and user functions read."""

    def __init__(self, items: ExudynItems):
        self.items = items
        self.names: dict[int, str] = {}
        """Of sensors by number."""
        self.readings: dict[Reading, str] = {}
        """Names of sensors for what user functions read."""

    def add(self, item: Item, number: int) -> str | None:
        """Adds a sensor of Exudyn's; if there is nothing like it, in words why."""
        name = self.names[number] = self.items.named(item)
        if item["sensorType"] == "UserFunction":
            found: Any = self._of_function(item, name)
        else:
            found = self._quantity(item, name)
        if found is None:
            variable = str(item.get("outputVariableType", "")).rpartition(".")[2]
            return f"there is no such output, {variable}" if variable else "there is no such sensor"
        self.items.model.sense(name, found)
        return None

    def _of_function(self, item: Item, name: str) -> Any:
        """A user function of sensors."""
        function, factors = function_of(item["sensorUserFunction"]), np.asarray(item["factors"], float)
        numbers, now = item["sensorNumbers"], self.items.exu.ConfigurationType.Current

        def quantity(t: Any, outputs: Any) -> Any:
            reads = lambda reading: jnp.reshape(outputs[self.sensor_of(reading)], np.shape(self.value_of(reading)))
            with self.items.functions.during(reads):
                return self.items.functions.call(function, (t, numbers, factors, now))

        return quantity

    def element_name(self, sort: str, number: int) -> str | None:
        """Of an object or a load."""
        return (self.items.load_names if sort == "load" else self.items.elements).get(number)

    def value_of(self, reading: Reading) -> Any:
        """What Exudyn says now."""
        number, variable, place = reading.arguments
        if reading.method == "GetSensorValues":
            return np.asarray(self.items.mbs.GetSensorValues(number))
        kind = getattr(self.items.exu.OutputVariableType, variable)
        where = (list(place),) if reading.method == "GetObjectOutputBody" else ()
        return np.asarray(getattr(self.items.mbs, reading.method)(number, kind, *where))

    def sensor_of(self, reading: Reading) -> str:
        """The sensor that says what a user function reads; the model gets it where it has none."""
        number, variable, place = reading.arguments
        if reading.method == "GetSensorValues":
            return self.names[number]
        if reading not in self.readings:
            sort = {"GetObjectOutput": "Object", "GetObjectOutputBody": "Body", "GetNodeOutput": "Node",
                    "GetMarkerOutput": "Marker"}[reading.method]  # fmt: skip
            key = {"Object": "objectNumber", "Body": "bodyNumber", "Node": "nodeNumber", "Marker": "markerNumber"}[sort]
            item = {"sensorType": sort, key: number, "localPosition": place, "outputVariableType": f".{variable}"}
            name = self.items.named({"name": f"read {sort} {number} {variable}"})
            found = self._quantity(item, name)
            if found is None:
                said = f"mbs.{reading.method}({number}, {variable})"
                raise ModelError(f"a user function reads {said}, which is not converted.")
            self.items.model.sense(name, found)
            self.readings[reading] = name
        return self.readings[reading]

    def _quantity(self, item: Item, name: str) -> Any:
        """What a sensor shows; None if there is no such thing."""
        kind = item["sensorType"]
        variable = str(item.get("outputVariableType", "")).rpartition(".")[2]
        found: Any = None
        if kind == "Body":
            found = self._at_place(variable, name, item["bodyNumber"], np.asarray(item["localPosition"], float))
        elif kind == "KinematicTree":
            local = np.asarray(item["localPosition"], float)
            link = self.items.trees[item["objectNumber"]][item["linkNumber"]][0]
            # Displacements from the reference are not known here.
            place = None if variable == "Displacement" else self.items.model.body(link).at(*local)
            found = None if place is None else of_place(variable, self._besides(name), place, np.zeros(3), 0.0, False)
        elif kind == "Node" and item["nodeNumber"] in self.items.element_of_node:
            if variable in ("Coordinates", "CoordinatesTotal"):
                element = self.items.element_of_node[item["nodeNumber"]]
                (states,) = self.items.model.contents().elements[element].element.initial
                found = Output(element, states)
        elif kind == "Node" and item["nodeNumber"] in self._nodes_of_trees():
            found = self._of_tree(variable, name, self._nodes_of_trees()[item["nodeNumber"]])
        elif kind == "Node" and item["nodeNumber"] in self.items.part_of_node and variable in ("Position", "Velocity"):
            equations, part = self.items.part_of_node[item["nodeNumber"]]
            sense, where = self._besides(name), np.asarray(part)
            kinds = {"Position": CoordinateVector, "Velocity": CoordinateRates}
            every = sense(kinds[variable](self.items.model.body(equations)))
            found = lambda t, outputs: jnp.append(outputs[every][where], jnp.zeros(3 - len(where)))
        elif kind == "Node":
            number = body_of_node(self.items, item["nodeNumber"])
            body = self.items.model.body(self.items.bodies[number][0])
            reference = self.items.bodies[number][1].reference
            found = of_coordinates(variable, self._besides(name), body, reference) if body.name != GROUND else None
            if found is None and body.kind.in_space:
                found = self._at_place(variable, name, number, np.zeros(3))
        elif kind == "Marker":
            marker = marker_of(self.items, item["markerNumber"])
            number = next(n for n, (known, _) in self.items.bodies.items() if known == marker.name)
            found = self._at_place(variable, name, number, marker.point)
        elif kind == "Object" and item["objectNumber"] in self.items.elements:
            of = item["objectNumber"]
            element = self.items.model.contents().elements[self.items.elements[of]].element
            found = of_connector(
                self.items.objects[of]["objectType"], element, self.items.elements[of], variable, self._besides(name)
            )
        return found

    def _nodes_of_trees(self) -> dict[int, int]:
        return {self.items.objects[number]["nodeNumber"]: number for number in self.items.trees}

    def _of_tree(self, variable: str, name: str, number: int) -> Any:
        """Joint coordinates of a tree, displacements or total ones, or their rates."""
        if variable not in ("Coordinates", "CoordinatesTotal", "Coordinates_t"):
            return None
        sense, rates = self._besides(name), variable == "Coordinates_t"
        node = self.items.nodes[self.items.objects[number]["nodeNumber"]]
        reference = np.asarray(node["referenceCoordinates"], float) * (variable == "Coordinates")
        parts = []
        for i, (_, link) in enumerate(self.items.trees[number]):
            joint = f"{self.items.objects[number]['name']} joint {i}"
            turning, moving = ("angular_velocity", "velocity") if rates else ("rotation", "displacement")
            parts.append((sense(Output(joint, turning if link.turns else moving)), link.axis))
        return lambda t, outputs: jnp.stack([outputs[part][axis] for part, axis in parts]) - reference

    def _besides(self, name: str) -> Callable[[Any], str]:
        """Names a sensor that another one depends on."""

        def sense(quantity: Any) -> str:
            inner = self.items.named({"name": f"{name} {type(quantity).__name__}"})
            self.items.model.sense(inner, quantity)
            return inner

        return sense

    def _at_place(self, variable: str, name: str, number: int, local: np.ndarray) -> Any:
        marker = on_body(self.items, number, {"localPosition": local, "markerType": "BodyRigid"})
        if marker.on_ground:
            return None
        kind = self.items.model.body(marker.name).kind
        reference = self._reference_place(number, local)
        coordinates = self.items.bodies[number][1].reference
        angle = float(coordinates[-1]) if kind.planar and kind.rotates else 0.0
        return of_place(variable, self._besides(name), marker.place, reference, angle, kind.planar)

    def _reference_place(self, number: int, local: np.ndarray) -> np.ndarray:
        if number < 0:
            return np.append(self.items.bodies[number][1].reference, 0.0)[:3]
        said = self.items.mbs.GetObjectOutputBody(
            number, self.items.exu.OutputVariableType.Position, local, self.items.exu.ConfigurationType.Reference
        )
        return np.asarray(said, float)
