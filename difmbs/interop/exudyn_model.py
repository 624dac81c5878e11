"""Exudyn's systems as models: items by name, whatever cannot be converted listed at once."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError, warn
from ..elements.connectors.coordinate_vector_force import CoordinateVectorForce
from ..elements.connectors.generic_ode1 import GenericODE1
from ..elements.connectors.loads import CoordinateLoad, Force, Torque
from ..elements.connectors.mass_proportional_load import MassProportionalLoad
from ..elements.sensors import CoordinateRates, CoordinateVector, Output
from ..modelling.markers import GROUND
from ..modelling.model import Model
from .exudyn_bodies import BODIES, ConvertedBody, converted_body, generic_body, point_of_node, with_initial
from .exudyn_connectors import CONNECTORS
from .exudyn_controls import Named, add_controls
from .exudyn_functions import ExudynFunction, ExudynSystem, Reading
from .exudyn_sensors import of_connector, of_coordinates, of_place
from .exudyn_trees import Link, links


@dataclasses.dataclass(frozen=True)
class ConvertedMarker:
    """`place`: the marker; `frame`: the marker's frame in the body's, on ground in the world; `reference`: of
    coordinates, what Exudyn does not count; `name` of the body."""

    place: Any
    name: str
    frame: np.ndarray = dataclasses.field(default_factory=lambda: np.eye(3))
    reference: Any = 0.0
    point: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(3))

    @property
    def on_ground(self) -> bool:
        return self.name == GROUND


def from_exudyn(mbs: Any, dt: float = 0.0) -> Model:
    """The model of an assembled Exudyn system: its bodies, connectors, loads and sensors by their names.

    Initial values are those of the initial configuration. User functions keep Exudyn's signatures and are traced by
    JAX, those that are written with numpy or math too. Items that cannot be converted are listed in one error. What
    Exudyn counts from a node's reference is here a total coordinate. `dt`: the size of the steps, whose end Exudyn
    passes to the function before steps.
    """
    return _Conversion(mbs, dt).model


class _Conversion:
    def __init__(self, mbs: Any, dt: float):
        import exudyn

        self.mbs, self.exu, self.system = mbs, exudyn, ExudynSystem(mbs)
        self.lost: list[str] = []
        self.names: set[str] = {GROUND, "gravity"}
        count = mbs.systemData
        self.nodes = [with_initial(mbs, exudyn, i, _numbered(mbs.GetNode(i))) for i in range(count.NumberOfNodes())]
        self.objects = [_numbered(mbs.GetObject(i)) for i in range(count.NumberOfObjects())]
        self.markers = [_numbered(mbs.GetMarker(i)) for i in range(count.NumberOfMarkers())]
        self.loads = [_numbered(mbs.GetLoad(i)) for i in range(count.NumberOfLoads())]
        self.sensors = [_numbered(mbs.GetSensor(i)) for i in range(count.NumberOfSensors())]
        self.bodies: dict[int, tuple[str, ConvertedBody]] = {}
        """By object."""
        self.body_of_node: dict[int, int] = {}
        self.part_of_node: dict[int, tuple[str, range]] = {}
        """Of nodes of second-order equations, the name of these and which of their coordinates."""
        self.element_of: dict[int, str] = {}
        """By object, and below by the node of first-order states."""
        self.element_of_node: dict[int, str] = {}
        self.load_names: dict[int, str] = {}
        self.sensor_names: dict[int, str] = {}
        self.readings: dict[Reading, str] = {}
        """Names of sensors for what user functions read."""
        self.trees: dict[int, list[tuple[str, Link]]] = {}
        """Names of the links of trees, by object."""
        gravity = self._gravity()
        self.model = Model(gravity=(0.0, 0.0, 0.0) if gravity is None else gravity)
        self._add_bodies()
        self._add_connectors()
        for number, load in enumerate(self.loads):
            if gravity is None or load["loadType"] != "MassProportional":
                self._try("load", load, self._load, number)
        for number, sensor in enumerate(self.sensors):
            self._try("sensor", sensor, self._sensor, number)
        for when in ("PostStep", "PostNewton", "PreNewtonResidual"):
            if _function(getattr(mbs, f"Get{when}UserFunction")()) is not None:
                self.lost.append(f"the {when}UserFunction: there is none here")
        if self.lost:
            raise ModelError("these items of the Exudyn system cannot be converted:\n- " + "\n- ".join(self.lost))
        named = Named(self._element_name, self._sensor_of, self._value_of)
        add_controls(self.model, self.system, named, _function(mbs.GetPreStepUserFunction()), dt)

    def _try(
        self, sort: str, item: dict[str, Any], add: Callable[[dict[str, Any], int], str | None], number: int
    ) -> None:
        kind = item.get("objectType") or item.get("loadType") or item.get("sensorType") or item.get("markerType")
        try:
            why = add(item, number)
        except (ModelError, _NotConvertedError) as error:
            why = str(error)
        if why is not None:
            self.lost.append(f"{sort} '{item['name']}' ({kind}): {why}")

    def _named(self, item: dict[str, Any]) -> str:
        plain = re.sub(r"[^A-Za-z0-9_ \-]", "_", item["name"]).strip(" -") or "item"
        name, number = plain[:90], 1
        while name in self.names:
            name, number = f"{plain[:90]} {number}", number + 1
        self.names.add(name)
        return name

    def _user(self, item: dict[str, Any], name: str, number: int | None) -> Callable[..., Any]:
        def user(field: str, through: Any = None) -> Any:
            function = _function(item.get(field))
            return None if function is None else ExudynFunction(function, self.system, number, through)

        return user

    def _gravity(self) -> Any:
        """The field, if all bodies with mass have the same, and nothing else depends on mass."""
        kinds = set(BODIES) - {"GenericODE2", "RotationalMass1D"}
        heavy = [i for i, item in enumerate(self.objects) if item["objectType"] in kinds]
        loads = [load for load in self.loads if load["loadType"] == "MassProportional"]
        on = [self.markers[load["markerNumber"]].get("bodyNumber", -1) for load in loads]
        fields = {tuple(np.asarray(load["loadVector"], float)) for load in loads}
        plain = all(_function(load["loadVectorUserFunction"]) is None for load in loads)
        return fields.pop() if plain and len(fields) == 1 and sorted(on) == heavy else None

    def _add_bodies(self) -> None:
        for number, item in enumerate(self.objects):
            kind = item["objectType"]
            if kind == "Ground":
                self.bodies[number] = (GROUND, ConvertedBody(None, {}, np.zeros(0), np.zeros(3)))
            elif kind == "GenericODE1":
                self._try("object", item, self._first_order, number)
            elif kind in BODIES:
                self._try("object", item, self._body, number)
            elif kind == "KinematicTree":
                self._try("object", item, self._tree, number)
        self._add_points()

    def _add_points(self) -> None:
        """Nodes that are of no object, but of markers."""
        used = {n for item in self.objects for n in (item.get("nodeNumber"), *item.get("nodeNumbers", ()))}
        marked = {int(marker["nodeNumber"]) for marker in self.markers if "nodeNumber" in marker}
        for number in sorted(marked - used):
            node = self.nodes[number]
            if node["nodeType"] in ("Point", "Point2D"):
                name = self._named(node)
                found = point_of_node(node)
                self.model.add(name, found.element, **found.initial)
                self.bodies[-1 - number], self.body_of_node[number] = (name, found), -1 - number
                warn(
                    f"the node '{name}' is of no body: it becomes a particle of 1 kg, which changes motions where it "
                    "is not held, but no equilibria."
                )

    def _body(self, item: dict[str, Any], number: int) -> str | None:
        if item["objectType"] == "GenericODE2":
            return self._second_order(item, number)
        node = item["nodeNumber"]
        if self.nodes[node]["nodeType"] == "PointGround":
            point = np.asarray(self.nodes[node]["referenceCoordinates"], float)
            self.bodies[number] = (GROUND, ConvertedBody(None, {}, point, point))
            return None
        found = converted_body(self.mbs, self.exu, item, self.nodes[node], node)
        if isinstance(found, str):
            return found
        name = self._named(item)
        self.model.add(name, found.element, **found.initial)
        self.bodies[number], self.body_of_node[node] = (name, found), number
        return None

    def _second_order(self, item: dict[str, Any], number: int) -> str | None:
        nodes = item["nodeNumbers"]
        name, body = self._named(item), generic_body(item, [self.nodes[n] for n in nodes])
        user, reference = self._user(item, name, number), body.reference
        # The velocities are not known where the matrix is needed: Exudyn's may not depend on them.
        mass = user("massMatrixUserFunction", lambda mass, q: mass(0.0 * q[0], q - reference, 0 * q))
        self.model.add(name, dataclasses.replace(body.element, mass_user_function=mass), **body.initial)
        self.bodies[number] = (name, body)
        if len(nodes) == 1:
            self.body_of_node[nodes[0]] = number
        first = 0
        for node in nodes:
            size = len(self.nodes[node]["referenceCoordinates"])
            self.part_of_node[node] = (name, range(first, first + size))
            first += size
        force = user("forceUserFunction", lambda force, t, q, q_t: force(t, q - reference, q_t))
        if force is not None:
            law = CoordinateVectorForce(force)
            self.model.add(self._named({"name": f"{name} force"}), law, on=self.model.body(name).coordinates)
        return None

    def _tree(self, item: dict[str, Any], number: int) -> str | None:
        found = links(item, self.nodes[item["nodeNumber"]])
        if isinstance(found, str):
            return found
        if _function(item["forceUserFunction"]) is not None:
            return "its forceUserFunction is not converted: add Actuators to its joints"
        names = [self._named({"name": f"{item['name']} link {i}"}) for i in range(len(found))]
        field = np.asarray(item["gravity"], float)
        for i, (name, link) in enumerate(zip(names, found, strict=True)):
            handle = self.model.add(name, link.body, **link.initial)
            base = self.model.ground if link.parent < 0 else self.model.body(names[link.parent])
            place = link.place + (np.asarray(item["baseOffset"], float) if link.parent < 0 else 0)
            joint = self._named({"name": f"{item['name']} joint {i}"})
            self.model.add(joint, link.joint, between=(base.at(*place), handle))
            if np.any(field):
                load = MassProportionalLoad(field)
                center = np.asarray(link.body.center_of_mass)
                self.model.add(self._named({"name": f"{name} weight"}), load, on=self.model.body(name).at(*center))
        self.trees[number] = list(zip(names, found, strict=True))
        return None

    def _first_order(self, item: dict[str, Any], number: int) -> str | None:
        name = self._named(item)
        node = self.nodes[item["nodeNumbers"][0]]
        matrix, vector = (np.asarray(item[field], float) for field in ("systemMatrix", "rhsVector"))
        start = np.asarray(node["initialCoordinates"], float) + np.asarray(node["referenceCoordinates"], float)
        self.element_of_node[item["nodeNumbers"][0]] = name
        law = GenericODE1(
            matrix if matrix.size else None, vector if vector.size else None,
            user_function=self._user(item, name, number)("rhsUserFunction"),
        )  # fmt: skip
        if not matrix.size and not vector.size and law.user_function is None:
            law = GenericODE1(vector=np.zeros(start.size))
        self.model.add(name, law, states=start)
        self.element_of[number] = name
        return None

    def _add_connectors(self) -> None:
        for number, item in enumerate(self.objects):
            kind = item["objectType"]
            if kind in ("Ground", "GenericODE1", "KinematicTree", *BODIES):
                continue
            if kind not in CONNECTORS:
                self.lost.append(f"object '{item['name']}' ({kind}): there is no such element")
                continue
            self._try("object", item, self._connector, number)

    def _connector(self, item: dict[str, Any], number: int) -> str | None:
        active = bool(item.get("activeConnector", True))
        try:
            return self._added(item, number, active)
        except _NotConvertedError as error:
            if active:
                raise
            warn(f"'{item['name']}' is not active and is left out: {error}.")
            return None

    def _added(self, item: dict[str, Any], number: int, active: bool) -> str | None:
        first, second = (self._marker(m) for m in item["markerNumbers"])
        if first.on_ground and second.on_ground:
            warn(f"'{item['name']}' acts on ground only and is left out.")
            return None
        name = self._named(item)
        element = CONNECTORS[item["objectType"]](item, self._user(item, name, number), (first, second))
        if isinstance(element, str):
            return element
        initial = {}
        if element.initial:
            node = self.nodes[item["nodeNumbers"][0]]
            (key,) = element.initial
            initial[key] = np.asarray(node["initialCoordinates"], float)
            self.element_of_node[item["nodeNumbers"][0]] = name
        self.model.add(name, element, between=(first.place, second.place), active=active, **initial)
        self.element_of[number] = name
        return None

    def _marker(self, number: int) -> ConvertedMarker:
        item = self.markers[number]
        kind = item["markerType"]
        if kind in ("BodyPosition", "BodyRigid", "BodyMass"):
            return self._on_body(item["bodyNumber"], item)
        if kind == "KinematicTreeRigid":
            name = self.trees[item["objectNumber"]][item["linkNumber"]][0]
            local, frame = np.asarray(item["localPosition"], float), np.asarray(item["localHT"], float)[:3, :3]
            return ConvertedMarker(self.model.body(name).at(*local), name, frame, point=local)
        if kind in ("NodePosition", "NodeRigid"):
            node = self.nodes[item["nodeNumber"]]
            if node["nodeType"] == "PointGround":
                point = np.asarray(node["referenceCoordinates"], float)
                return ConvertedMarker(self.model.ground.at(*point), GROUND, point=point)
            return self._on_body(self._body_of(item["nodeNumber"]), item)
        if kind in ("NodeCoordinate", "NodeCoordinates", "ObjectODE2Coordinates"):
            return self._coordinates(item)
        raise _NotConvertedError(f"its marker '{item['name']}' is a {kind}, which is not converted")

    def _body_of(self, node: int) -> int:
        if node not in self.body_of_node:
            raise _NotConvertedError(f"its node '{self.nodes[node]['name']}' belongs to no body that was converted")
        return self.body_of_node[node]

    def _on_body(self, number: int, item: dict[str, Any]) -> ConvertedMarker:
        if number not in self.bodies:
            raise _NotConvertedError(f"its body '{self.objects[number]['name']}' was not converted")
        name, body = self.bodies[number]
        local = np.asarray(item.get("localPosition", (0, 0, 0)), float)
        frame = np.asarray(item["localHT"], float)[:3, :3] if "localHT" in item else np.eye(3)
        if item["markerType"] == "BodyMass":
            local = body.center
        if name == GROUND:
            ground = self.objects[number]
            if ground["objectType"] != "Ground":
                return ConvertedMarker(self.model.ground.at(*(body.center + local)), GROUND, point=body.center + local)
            turn = np.asarray(ground["referenceRotation"], float)
            point = np.asarray(ground["referencePosition"], float) + turn @ local
            return ConvertedMarker(self.model.ground.at(*point), GROUND, turn @ frame, point=point)
        handle = self.model.body(name)
        place = handle.at(*local) if handle.kind.extended else handle
        return ConvertedMarker(place, name, frame, point=local)

    def _coordinates(self, item: dict[str, Any]) -> ConvertedMarker:
        number = item.get("objectNumber")
        if number is None:
            node = item["nodeNumber"]
            if self.nodes[node]["nodeType"] == "PointGround":
                return ConvertedMarker(self.model.ground.coordinates, GROUND)
            number = self._body_of(node)
        if number not in self.bodies:
            raise _NotConvertedError(f"its body '{self.objects[number]['name']}' was not converted")
        name, body = self.bodies[number]
        handle, center = self.model.body(name), np.any(body.center)
        if center or handle.kind.__name__ == "RigidBody":
            raise _NotConvertedError(
                f"it joins coordinates of '{name}', which are others here: those of a node of a spatial rigid body, or "
                "of a reference point that is not the centre of mass"
            )
        if item["markerType"] == "NodeCoordinate":
            i = item["coordinate"]
            return ConvertedMarker(handle.coordinate(i), name, reference=float(body.reference[i]))
        return ConvertedMarker(handle.coordinates, name, reference=body.reference)

    def _load(self, item: dict[str, Any], number: int) -> str | None:
        kind, place = item["loadType"], self.markers[item["markerNumber"]]
        if kind == "ForceVector" and place["markerType"] == "NodePosition" and place["nodeNumber"] in self.part_of_node:
            self._load_on_coordinates(item, place["nodeNumber"])
            return None
        marker = self._marker(item["markerNumber"])
        if kind not in ("ForceVector", "TorqueVector", "Coordinate", "MassProportional"):
            return "there is no such load"
        name = self._named(item)
        field = "load" if kind == "Coordinate" else "loadVector"
        given = item[field]
        function = self._user(item, name, None)(f"{field}UserFunction", lambda load, t: load(t, given))
        value: Any = given if function is None else function
        if kind == "Coordinate":
            load: Any = CoordinateLoad(value)
        elif kind == "MassProportional":
            load = MassProportionalLoad(value)
        else:
            load = (Force if kind == "ForceVector" else Torque)(value, bool(item["bodyFixed"]))
        self.model.add(name, load, on=marker.place)
        self.load_names[number] = name
        return None

    def _load_on_coordinates(self, item: dict[str, Any], node: int) -> None:
        """A force on a node of second-order equations."""
        body, part = self.part_of_node[node]
        given = np.asarray(item["loadVector"], float)
        for i, coordinate in enumerate(part):
            name = self._named({"name": f"{item['name']} {'xyz'[i]}"})
            user = self._user(item, name, None)
            function = user("loadVectorUserFunction", lambda load, t, i=i: jnp.asarray(load(t, given))[i])
            load = CoordinateLoad(given[i] if function is None else function)
            self.model.add(name, load, on=self.model.body(body).coordinate(coordinate))

    def _sensor(self, item: dict[str, Any], number: int) -> str | None:
        name = self.sensor_names[number] = self._named(item)
        if item["sensorType"] == "UserFunction":
            found: Any = self._of_function(item, name)
        else:
            found = self._quantity(item, name)
        if found is None:
            variable = str(item.get("outputVariableType", "")).rpartition(".")[2]
            return f"there is no such output, {variable}" if variable else "there is no such sensor"
        self.model.sense(name, found)
        return None

    def _of_function(self, item: dict[str, Any], name: str) -> Any:
        """A user function of sensors."""
        function, factors = _function(item["sensorUserFunction"]), np.asarray(item["factors"], float)
        numbers, now = item["sensorNumbers"], self.exu.ConfigurationType.Current

        def quantity(t: Any, outputs: Any) -> Any:
            reads = lambda reading: jnp.reshape(outputs[self._sensor_of(reading)], np.shape(self._value_of(reading)))
            with self.system.during(reads):
                return self.system.call(function, (t, numbers, factors, now))

        return quantity

    def _element_name(self, sort: str, number: int) -> str | None:
        return (self.load_names if sort == "load" else self.element_of).get(number)

    def _value_of(self, reading: Reading) -> Any:
        number, variable, place = reading.arguments
        if reading.method == "GetSensorValues":
            return np.asarray(self.mbs.GetSensorValues(number))
        kind = getattr(self.exu.OutputVariableType, variable)
        where = (list(place),) if reading.method == "GetObjectOutputBody" else ()
        return np.asarray(getattr(self.mbs, reading.method)(number, kind, *where))

    def _sensor_of(self, reading: Reading) -> str:
        """The sensor that says what a user function reads; the model gets it where it has none."""
        number, variable, place = reading.arguments
        if reading.method == "GetSensorValues":
            return self.sensor_names[number]
        if reading not in self.readings:
            sort = {"GetObjectOutput": "Object", "GetObjectOutputBody": "Body", "GetNodeOutput": "Node",
                    "GetMarkerOutput": "Marker"}[reading.method]  # fmt: skip
            key = {"Object": "objectNumber", "Body": "bodyNumber", "Node": "nodeNumber", "Marker": "markerNumber"}[sort]
            item = {"sensorType": sort, key: number, "localPosition": place, "outputVariableType": f".{variable}"}
            name = self._named({"name": f"read {sort} {number} {variable}"})
            found = self._quantity(item, name)
            if found is None:
                said = f"mbs.{reading.method}({number}, {variable})"
                raise ModelError(f"a user function reads {said}, which is not converted.")
            self.model.sense(name, found)
            self.readings[reading] = name
        return self.readings[reading]

    def _quantity(self, item: dict[str, Any], name: str) -> Any:
        """What a sensor shows; None if there is no such thing."""
        kind = item["sensorType"]
        variable = str(item.get("outputVariableType", "")).rpartition(".")[2]
        found: Any = None
        if kind == "Body":
            found = self._at_place(variable, name, item["bodyNumber"], np.asarray(item["localPosition"], float))
        elif kind == "KinematicTree":
            local = np.asarray(item["localPosition"], float)
            link = self.trees[item["objectNumber"]][item["linkNumber"]][0]
            # Displacements from the reference are not known here.
            place = None if variable == "Displacement" else self.model.body(link).at(*local)
            found = None if place is None else of_place(variable, self._besides(name), place, np.zeros(3), 0.0, False)
        elif kind == "Node" and item["nodeNumber"] in self.element_of_node:
            if variable in ("Coordinates", "CoordinatesTotal"):
                element = self.element_of_node[item["nodeNumber"]]
                (states,) = self.model.contents().elements[element].element.initial
                found = Output(element, states)
        elif kind == "Node" and item["nodeNumber"] in self._nodes_of_trees():
            found = self._of_tree(variable, name, self._nodes_of_trees()[item["nodeNumber"]])
        elif kind == "Node" and item["nodeNumber"] in self.part_of_node and variable in ("Position", "Velocity"):
            equations, part = self.part_of_node[item["nodeNumber"]]
            sense, where = self._besides(name), np.asarray(part)
            kinds = {"Position": CoordinateVector, "Velocity": CoordinateRates}
            every = sense(kinds[variable](self.model.body(equations)))
            found = lambda t, outputs: jnp.append(outputs[every][where], jnp.zeros(3 - len(where)))
        elif kind == "Node":
            number = self._body_of(item["nodeNumber"])
            body = self.model.body(self.bodies[number][0])
            reference = self.bodies[number][1].reference
            found = of_coordinates(variable, self._besides(name), body, reference) if body.name != GROUND else None
            if found is None and body.kind.in_space:
                found = self._at_place(variable, name, number, np.zeros(3))
        elif kind == "Marker":
            marker = self._marker(item["markerNumber"])
            number = next(n for n, (known, _) in self.bodies.items() if known == marker.name)
            found = self._at_place(variable, name, number, marker.point)
        elif kind == "Object" and item["objectNumber"] in self.element_of:
            of = item["objectNumber"]
            element = self.model.contents().elements[self.element_of[of]].element
            found = of_connector(
                self.objects[of]["objectType"], element, self.element_of[of], variable, self._besides(name)
            )
        return found

    def _nodes_of_trees(self) -> dict[int, int]:
        return {self.objects[number]["nodeNumber"]: number for number in self.trees}

    def _of_tree(self, variable: str, name: str, number: int) -> Any:
        """Joint coordinates of a tree, displacements or total ones, or their rates."""
        if variable not in ("Coordinates", "CoordinatesTotal", "Coordinates_t"):
            return None
        sense, rates = self._besides(name), variable == "Coordinates_t"
        node = self.nodes[self.objects[number]["nodeNumber"]]
        reference = np.asarray(node["referenceCoordinates"], float) * (variable == "Coordinates")
        parts = []
        for i, (_, link) in enumerate(self.trees[number]):
            joint = f"{self.objects[number]['name']} joint {i}"
            turning, moving = ("angular_velocity", "velocity") if rates else ("rotation", "displacement")
            parts.append((sense(Output(joint, turning if link.turns else moving)), link.axis))
        return lambda t, outputs: jnp.stack([outputs[part][axis] for part, axis in parts]) - reference

    def _besides(self, name: str) -> Callable[[Any], str]:
        """Names a sensor that another one depends on."""

        def sense(quantity: Any) -> str:
            inner = self._named({"name": f"{name} {type(quantity).__name__}"})
            self.model.sense(inner, quantity)
            return inner

        return sense

    def _at_place(self, variable: str, name: str, number: int, local: np.ndarray) -> Any:
        marker = self._on_body(number, {"localPosition": local, "markerType": "BodyRigid"})
        if marker.on_ground:
            return None
        kind = self.model.body(marker.name).kind
        reference = self._reference_place(number, local)
        coordinates = self.bodies[number][1].reference
        angle = float(coordinates[-1]) if kind.planar and kind.rotates else 0.0
        return of_place(variable, self._besides(name), marker.place, reference, angle, kind.planar)

    def _reference_place(self, number: int, local: np.ndarray) -> np.ndarray:
        if number < 0:
            return np.append(self.bodies[number][1].reference, 0.0)[:3]
        said = self.mbs.GetObjectOutputBody(
            number, self.exu.OutputVariableType.Position, local, self.exu.ConfigurationType.Reference
        )
        return np.asarray(said, float)


class _NotConvertedError(Exception):
    """Why an item is not converted."""


def _function(given: Any) -> Any:
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
