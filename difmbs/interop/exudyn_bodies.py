"""Exudyn's bodies with their nodes, as bodies with names."""

import dataclasses
from typing import Any

import numpy as np

from ..elements.bodies.generic_ode2 import GenericODE2
from ..elements.bodies.mass_1d import Mass1D, RotationalMass1D
from ..elements.bodies.mass_point import MassPoint, MassPoint2D
from ..elements.bodies.rigid_body import RigidBody
from ..elements.bodies.rigid_body_2d import RigidBody2D

BODIES = ("MassPoint", "MassPoint2D", "Mass1D", "RotationalMass1D", "RigidBody2D", "RigidBody", "GenericODE2")


@dataclasses.dataclass(frozen=True)
class ConvertedBody:
    """An element with its initial values; `reference`: the coordinates of the node's reference, which coordinates of
    Exudyn do not count; `center`: the centre of mass in the body's frame."""

    element: Any
    initial: dict[str, Any]
    reference: np.ndarray
    center: np.ndarray


def converted_body(mbs: Any, exu: Any, item: dict[str, Any], node: dict[str, Any], number: int) -> ConvertedBody | str:
    """The body of an object, or why there is none. `number` of its node."""
    kind = item["objectType"]
    reference = np.asarray(node["referenceCoordinates"], float)
    q, v = (reference + np.asarray(node["initialCoordinates"], float), _velocities(node))
    if kind in ("MassPoint", "MassPoint2D"):
        element = (MassPoint if kind == "MassPoint" else MassPoint2D)(item["mass"])
        return ConvertedBody(element, dict(position=q, velocity=v), reference, np.zeros(3))
    if kind == "Mass1D":
        axis = np.asarray(item["referenceRotation"])[:, 0]
        body = Mass1D(item["mass"], axis=axis, origin=item["referencePosition"])
        return ConvertedBody(body, dict(position=q[0], velocity=v[0]), reference, np.zeros(3))
    if kind == "RotationalMass1D":
        if not np.allclose(np.asarray(item["referenceRotation"])[:, 2], [0, 0, 1]):
            return "its axis is not parallel to z"
        rotor = RotationalMass1D(item["inertia"], origin=item["referencePosition"])
        return ConvertedBody(rotor, dict(angle=q[0], angular_velocity=v[0]), reference, np.zeros(3))
    if kind == "RigidBody2D":
        center = np.asarray(item["centerOfMass"], float)
        flat = RigidBody2D(item["mass"], item["inertia"], center_of_mass=center)
        initial = dict(position=q[:2], angle=q[2], velocity=v[:2], angular_velocity=v[2])
        return ConvertedBody(flat, initial, reference, np.append(center, 0.0))
    if kind == "RigidBody":
        return _rigid_body(mbs, exu, item, number, reference)
    return "it is of a kind that is not converted"


def with_initial(mbs: Any, exu: Any, number: int, node: dict[str, Any]) -> dict[str, Any]:
    """A node with the initial values of the assembled system, which others may have changed since."""
    start, data = exu.ConfigurationType.Initial, mbs.systemData
    first_order = node["nodeType"] == "GenericODE1"
    if "referenceCoordinates" not in node or node["nodeType"] == "PointGround":
        return node
    first = mbs.GetNodeODE1Index(number) if first_order else mbs.GetNodeODE2Index(number)
    if first < 0:
        return node
    part = slice(first, first + len(node["referenceCoordinates"]))
    if first_order:
        return node | {"initialCoordinates": np.asarray(data.GetODE1Coordinates(start))[part]}
    rates = "initialVelocities" if "initialVelocities" in node else "initialCoordinates_t"
    q, v = data.GetODE2Coordinates(start), data.GetODE2Coordinates_t(start)
    return node | {"initialCoordinates": np.asarray(q)[part], rates: np.asarray(v)[part]}


def point_of_node(node: dict[str, Any]) -> ConvertedBody:
    """A particle of 1 kg for a node that has no body."""
    reference = np.asarray(node["referenceCoordinates"], float)
    q, v = reference + np.asarray(node["initialCoordinates"], float), _velocities(node)
    element = (MassPoint if reference.size == 3 else MassPoint2D)(1.0)
    return ConvertedBody(element, dict(position=q, velocity=v), reference, np.zeros(3))


def generic_body(item: dict[str, Any], nodes: list[dict[str, Any]]) -> ConvertedBody:
    """Second-order equations; `force` counts displacements, without the reference."""
    reference = np.concatenate([np.asarray(node["referenceCoordinates"], float) for node in nodes])
    start = np.concatenate([np.asarray(node["initialCoordinates"], float) for node in nodes])
    v = np.concatenate([_velocities(node) for node in nodes])
    count = reference.size
    matrices = {field: _matrix(item[f"{field}Matrix"], count) for field in ("mass", "stiffness", "damping")}
    force = np.asarray(item["forceVector"], float) if np.size(item["forceVector"]) else np.zeros(count)
    body = GenericODE2(
        matrices["mass"], matrices["stiffness"], matrices["damping"], force + matrices["stiffness"] @ reference
    )
    return ConvertedBody(body, dict(coordinates=reference + start, velocities=v), reference, np.zeros(3))


def _matrix(given: Any, count: int) -> np.ndarray:
    """Also of Exudyn's containers of sparse and dense matrices."""
    if hasattr(given, "GetPythonObject"):
        given = given.GetPythonObject()
    array = np.zeros((count, count)) if given is None else np.asarray(given, float)
    return array if array.size else np.zeros((count, count))


def _velocities(node: dict[str, Any]) -> np.ndarray:
    given = node.get("initialVelocities", node.get("initialCoordinates_t"))
    return np.asarray(given, float)


def _rigid_body(mbs: Any, exu: Any, item: dict[str, Any], number: int, reference: np.ndarray) -> ConvertedBody:
    """Positions and rotations as Exudyn computes them at the start: its nodes have several parametrizations."""
    at_start = exu.ConfigurationType.Initial
    said = lambda kind: np.asarray(mbs.GetNodeOutput(number, getattr(exu.OutputVariableType, kind), at_start), float)
    mass, center = item["mass"], np.asarray(item["centerOfMass"], float)
    xx, yy, zz, yz, xz, xy = item["inertia"]
    about_reference = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = about_reference - mass * (center @ center * np.eye(3) - np.outer(center, center))
    initial = dict(
        position=said("Position"),
        rotation=said("RotationMatrix").reshape(3, 3),
        velocity=said("Velocity"),
        angular_velocity=said("AngularVelocity"),
    )
    return ConvertedBody(RigidBody(mass, inertia, center), initial, reference, center)
