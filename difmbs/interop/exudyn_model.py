"""Exudyn's systems as models: items by name, whatever cannot be converted listed at once."""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError, warn
from ..elements.connectors.coordinate_vector_force import CoordinateVectorForce
from ..elements.connectors.generic_ode1 import GenericODE1
from ..elements.connectors.loads import CoordinateLoad, Force, Torque
from ..elements.connectors.mass_proportional_load import MassProportionalLoad
from ..modelling.markers import GROUND
from ..modelling.model import Model
from .exudyn_bodies import BODIES, ConvertedBody, converted_body, generic_body, point_of_node
from .exudyn_connectors import CONNECTORS
from .exudyn_controls import Named, add_controls
from .exudyn_items import ExudynItems, Item, NotConvertedError, function_of
from .exudyn_markers import marker_of
from .exudyn_readings import ExudynReadings
from .exudyn_trees import links


def from_exudyn(mbs: Any, dt: float = 0.0) -> Model:
    """The model of an assembled Exudyn system: its bodies, connectors, loads and sensors by their names.

    Initial values are those of the initial configuration. User functions keep Exudyn's signatures and are traced by
    JAX, those that are written with numpy or math too. Items that cannot be converted are listed in one error. What
    Exudyn counts from a node's reference is here a total coordinate. `dt`: the size of the steps, whose end Exudyn
    passes to the function before steps.
    """
    items = ExudynItems(mbs)
    readings = ExudynReadings(items)
    _add_bodies(items)
    _add_connectors(items)
    for number, load in enumerate(items.loads):
        if items.gravity is None or load["loadType"] != "MassProportional":
            items.attempt("load", load, functools.partial(_load, items), number)
    for number, sensor in enumerate(items.sensors):
        items.attempt("sensor", sensor, readings.add, number)
    for when in ("PostStep", "PostNewton", "PreNewtonResidual"):
        if function_of(getattr(mbs, f"Get{when}UserFunction")()) is not None:
            items.lost.append(f"the {when}UserFunction: there is none here")
    if items.lost:
        raise ModelError("these items of the Exudyn system cannot be converted:\n- " + "\n- ".join(items.lost))
    named = Named(readings.element_name, readings.sensor_of, readings.value_of)
    add_controls(items.model, items.functions, named, function_of(mbs.GetPreStepUserFunction()), dt)
    return items.model


def _add_bodies(items: ExudynItems) -> None:
    for number, item in enumerate(items.objects):
        kind = item["objectType"]
        if kind == "Ground":
            items.bodies[number] = (GROUND, ConvertedBody(None, {}, np.zeros(0), np.zeros(3)))
        elif kind == "GenericODE1":
            items.attempt("object", item, functools.partial(_first_order, items), number)
        elif kind in BODIES:
            items.attempt("object", item, functools.partial(_body, items), number)
        elif kind == "KinematicTree":
            items.attempt("object", item, functools.partial(_tree, items), number)
    _add_points(items)


def _add_points(items: ExudynItems) -> None:
    for number in items.loose_nodes():
        name, found = items.named(items.nodes[number]), point_of_node(items.nodes[number])
        items.model.add(name, found.element, **found.initial)
        items.bodies[-1 - number], items.body_of_node[number] = (name, found), -1 - number
        warn(
            f"the node '{name}' is of no body: it becomes a particle of 1 kg, which changes motions where it is not "
            "held, but no equilibria."
        )


def _body(items: ExudynItems, item: Item, number: int) -> str | None:
    if item["objectType"] == "GenericODE2":
        return _second_order(items, item, number)
    node = item["nodeNumber"]
    if items.nodes[node]["nodeType"] == "PointGround":
        point = np.asarray(items.nodes[node]["referenceCoordinates"], float)
        items.bodies[number] = (GROUND, ConvertedBody(None, {}, point, point))
        return None
    found = converted_body(items.mbs, items.exu, item, items.nodes[node], node)
    if isinstance(found, str):
        return found
    name = items.named(item)
    items.model.add(name, found.element, **found.initial)
    items.bodies[number], items.body_of_node[node] = (name, found), number
    return None


def _second_order(items: ExudynItems, item: Item, number: int) -> str | None:
    nodes = item["nodeNumbers"]
    name, body = items.named(item), generic_body(item, [items.nodes[n] for n in nodes])
    user, reference = items.user(item, number), body.reference
    # The velocities are not known where the matrix is needed: Exudyn's may not depend on them.
    mass = user("massMatrixUserFunction", lambda mass, q: mass(0.0 * q[0], q - reference, 0 * q))
    items.model.add(name, dataclasses.replace(body.element, mass_user_function=mass), **body.initial)
    items.bodies[number] = (name, body)
    if len(nodes) == 1:
        items.body_of_node[nodes[0]] = number
    first = 0
    for node in nodes:
        size = len(items.nodes[node]["referenceCoordinates"])
        items.part_of_node[node] = (name, range(first, first + size))
        first += size
    force = user("forceUserFunction", lambda force, t, q, q_t: force(t, q - reference, q_t))
    if force is not None:
        law = CoordinateVectorForce(force)
        items.model.add(items.named({"name": f"{name} force"}), law, on=items.model.body(name).coordinates)
    return None


def _tree(items: ExudynItems, item: Item, number: int) -> str | None:
    found = links(item, items.nodes[item["nodeNumber"]])
    if isinstance(found, str):
        return found
    if function_of(item["forceUserFunction"]) is not None:
        return "its forceUserFunction is not converted: add Actuators to its joints"
    names = [items.named({"name": f"{item['name']} link {i}"}) for i in range(len(found))]
    field = np.asarray(item["gravity"], float)
    for i, (name, link) in enumerate(zip(names, found, strict=True)):
        handle = items.model.add(name, link.body, **link.initial)
        base = items.model.ground if link.parent < 0 else items.model.body(names[link.parent])
        place = link.place + (np.asarray(item["baseOffset"], float) if link.parent < 0 else 0)
        joint = items.named({"name": f"{item['name']} joint {i}"})
        items.model.add(joint, link.joint, between=(base.at(*place), handle))
        if np.any(field):
            load = MassProportionalLoad(field)
            center = np.asarray(link.body.center_of_mass)
            items.model.add(items.named({"name": f"{name} weight"}), load, on=items.model.body(name).at(*center))
    items.trees[number] = list(zip(names, found, strict=True))
    return None


def _first_order(items: ExudynItems, item: Item, number: int) -> str | None:
    name = items.named(item)
    node = items.nodes[item["nodeNumbers"][0]]
    matrix, vector = (np.asarray(item[field], float) for field in ("systemMatrix", "rhsVector"))
    start = np.asarray(node["initialCoordinates"], float) + np.asarray(node["referenceCoordinates"], float)
    items.element_of_node[item["nodeNumbers"][0]] = name
    law = GenericODE1(
        matrix if matrix.size else None, vector if vector.size else None,
        user_function=items.user(item, number)("rhsUserFunction"),
    )  # fmt: skip
    if not matrix.size and not vector.size and law.user_function is None:
        law = GenericODE1(vector=np.zeros(start.size))
    items.model.add(name, law, states=start)
    items.elements[number] = name
    return None


def _add_connectors(items: ExudynItems) -> None:
    for number, item in enumerate(items.objects):
        kind = item["objectType"]
        if kind in ("Ground", "GenericODE1", "KinematicTree", *BODIES):
            continue
        if kind not in CONNECTORS:
            items.lost.append(f"object '{item['name']}' ({kind}): there is no such element")
            continue
        items.attempt("object", item, functools.partial(_connector, items), number)


def _connector(items: ExudynItems, item: Item, number: int) -> str | None:
    active = bool(item.get("activeConnector", True))
    try:
        return _added(items, item, number, active)
    except NotConvertedError as error:
        if active:
            raise
        warn(f"'{item['name']}' is not active and is left out: {error}.")
        return None


def _added(items: ExudynItems, item: Item, number: int, active: bool) -> str | None:
    first, second = (marker_of(items, m) for m in item["markerNumbers"])
    if first.on_ground and second.on_ground:
        warn(f"'{item['name']}' acts on ground only and is left out.")
        return None
    name = items.named(item)
    element = CONNECTORS[item["objectType"]](item, items.user(item, number), (first, second))
    if isinstance(element, str):
        return element
    initial = {}
    if element.initial:
        node = items.nodes[item["nodeNumbers"][0]]
        (key,) = element.initial
        initial[key] = np.asarray(node["initialCoordinates"], float)
        items.element_of_node[item["nodeNumbers"][0]] = name
    items.model.add(name, element, between=(first.place, second.place), active=active, **initial)
    items.elements[number] = name
    return None


def _load(items: ExudynItems, item: Item, number: int) -> str | None:
    kind, place = item["loadType"], items.markers[item["markerNumber"]]
    if kind == "ForceVector" and place["markerType"] == "NodePosition" and place["nodeNumber"] in items.part_of_node:
        _load_on_coordinates(items, item, place["nodeNumber"])
        return None
    marker = marker_of(items, item["markerNumber"])
    if kind not in ("ForceVector", "TorqueVector", "Coordinate", "MassProportional"):
        return "there is no such load"
    name = items.named(item)
    field = "load" if kind == "Coordinate" else "loadVector"
    given = item[field]
    function = items.user(item, None)(f"{field}UserFunction", lambda load, t: load(t, given))
    value: Any = given if function is None else function
    if kind == "Coordinate":
        load: Any = CoordinateLoad(value)
    elif kind == "MassProportional":
        load = MassProportionalLoad(value)
    else:
        load = (Force if kind == "ForceVector" else Torque)(value, bool(item["bodyFixed"]))
    items.model.add(name, load, on=marker.place)
    items.load_names[number] = name
    return None


def _load_on_coordinates(items: ExudynItems, item: Item, node: int) -> None:
    """A force on a node of second-order equations."""
    body, part = items.part_of_node[node]
    given = np.asarray(item["loadVector"], float)
    for i, coordinate in enumerate(part):
        name = items.named({"name": f"{item['name']} {'xyz'[i]}"})
        user = items.user(item, None)
        function = user("loadVectorUserFunction", lambda load, t, i=i: jnp.asarray(load(t, given))[i])
        load = CoordinateLoad(given[i] if function is None else function)
        items.model.add(name, load, on=items.model.body(body).coordinate(coordinate))
