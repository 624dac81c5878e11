"""Exudyn's markers, as places of the model."""

import dataclasses
from typing import Any

import numpy as np

from ..modelling.markers import GROUND
from .exudyn_items import ExudynItems, Item, NotConvertedError


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


def marker_of(items: ExudynItems, number: int) -> ConvertedMarker:
    """The marker of a number."""
    item = items.markers[number]
    kind = item["markerType"]
    if kind in ("BodyPosition", "BodyRigid", "BodyMass"):
        return on_body(items, item["bodyNumber"], item)
    if kind == "KinematicTreeRigid":
        name = items.trees[item["objectNumber"]][item["linkNumber"]][0]
        local, frame = np.asarray(item["localPosition"], float), np.asarray(item["localHT"], float)[:3, :3]
        return ConvertedMarker(items.model.body(name).at(*local), name, frame, point=local)
    if kind in ("NodePosition", "NodeRigid"):
        node = items.nodes[item["nodeNumber"]]
        if node["nodeType"] == "PointGround":
            point = np.asarray(node["referenceCoordinates"], float)
            return ConvertedMarker(items.model.ground.at(*point), GROUND, point=point)
        return on_body(items, body_of_node(items, item["nodeNumber"]), item)
    if kind in ("NodeCoordinate", "NodeCoordinates", "ObjectODE2Coordinates"):
        return _coordinates(items, item)
    raise NotConvertedError(f"its marker '{item['name']}' is a {kind}, which is not converted")


def body_of_node(items: ExudynItems, node: int) -> int:
    """The number of the body that a node belongs to."""
    if node not in items.body_of_node:
        raise NotConvertedError(f"its node '{items.nodes[node]['name']}' belongs to no body that was converted")
    return items.body_of_node[node]


def on_body(items: ExudynItems, number: int, item: Item) -> ConvertedMarker:
    """A place on a body, as an item says."""
    if number not in items.bodies:
        raise NotConvertedError(f"its body '{items.objects[number]['name']}' was not converted")
    name, body = items.bodies[number]
    local = np.asarray(item.get("localPosition", (0, 0, 0)), float)
    frame = np.asarray(item["localHT"], float)[:3, :3] if "localHT" in item else np.eye(3)
    if item["markerType"] == "BodyMass":
        local = body.center
    if name == GROUND:
        ground = items.objects[number]
        if ground["objectType"] != "Ground":
            return ConvertedMarker(items.model.ground.at(*(body.center + local)), GROUND, point=body.center + local)
        turn = np.asarray(ground["referenceRotation"], float)
        point = np.asarray(ground["referencePosition"], float) + turn @ local
        return ConvertedMarker(items.model.ground.at(*point), GROUND, turn @ frame, point=point)
    handle = items.model.body(name)
    place = handle.at(*local) if handle.kind.extended else handle
    return ConvertedMarker(place, name, frame, point=local)


def _coordinates(items: ExudynItems, item: Item) -> ConvertedMarker:
    number = item.get("objectNumber")
    if number is None:
        node = item["nodeNumber"]
        if items.nodes[node]["nodeType"] == "PointGround":
            return ConvertedMarker(items.model.ground.coordinates, GROUND)
        number = body_of_node(items, node)
    if number not in items.bodies:
        raise NotConvertedError(f"its body '{items.objects[number]['name']}' was not converted")
    name, body = items.bodies[number]
    handle, center = items.model.body(name), np.any(body.center)
    if center or handle.kind.__name__ == "RigidBody":
        raise NotConvertedError(
            f"it joins coordinates of '{name}', which are others here: those of a node of a spatial rigid body, or "
            "of a reference point that is not the centre of mass"
        )
    if item["markerType"] == "NodeCoordinate":
        i = item["coordinate"]
        return ConvertedMarker(handle.coordinate(i), name, reference=float(body.reference[i]))
    return ConvertedMarker(handle.coordinates, name, reference=body.reference)
