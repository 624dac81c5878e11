"""Exudyn's kinematic trees: links as bodies, joints as constraints."""

import dataclasses
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..elements.bodies.rigid_body import RigidBody
from ..elements.connectors.generic_joint import GenericJoint
from ..elements.connectors.joint import Locked

_AXES = "XYZ"


@dataclasses.dataclass(frozen=True)
class Link:
    """A body with its joint to its parent, whose number is -1 for the base.

    `place`, `turn`: where the joint's frame is on the parent; `axis`: 0, 1 or 2, along or about which it moves;
    `offset`: where it does not move.
    """

    parent: int
    body: RigidBody
    initial: dict[str, Any]
    joint: GenericJoint
    place: np.ndarray
    axis: int
    turns: bool


def links(item: dict[str, Any], node: dict[str, Any]) -> list[Link] | str:
    """The links of a tree in the initial configuration, or why there are none."""
    for field in ("jointForceVector", "jointPControlVector", "jointDControlVector", "linkForces", "linkTorques"):
        if item[field] is not None and np.size(_listed(item[field])):
            return f"{field} is not converted"
    q = np.asarray(node["referenceCoordinates"], float) + np.asarray(node["initialCoordinates"], float)
    v = np.asarray(node["initialCoordinates_t"], float)
    inertias, centers, offsets, turns = (
        _listed(item[field]) for field in ("linkInertiasCOM", "linkCOMs", "jointOffsets", "jointTransformations")
    )
    found: list[Link] = []
    # Of each link: rotation, origin, angular velocity and velocity of the origin.
    states = {-1: (np.eye(3), np.asarray(item["baseOffset"], float), np.zeros(3), np.zeros(3))}
    for i, (kind, parent) in enumerate(zip(item["jointTypes"], item["linkParents"], strict=True)):
        name = str(kind).rpartition(".")[2]
        axis, turning = _AXES.index(name[-1]), name.startswith("Revolute")
        R0, p0, w0, v0 = states[int(parent)]
        hinge, place = np.asarray(turns[i], float), np.asarray(offsets[i], float)
        along = np.eye(3)[axis]
        move = q[i] * along
        turned = hinge @ (Rotation.from_rotvec(move).as_matrix() if turning else np.eye(3))
        arm = R0 @ (place if turning else place + hinge @ move)
        rate = R0 @ hinge @ along * v[i]
        w, speed = (w0 + rate, np.zeros(3)) if turning else (w0, rate)
        states[i] = R0 @ turned, p0 + arm, w, v0 + np.cross(w0, arm) + speed
        locked = [True] * 6
        locked[axis + 3 * turning] = False
        joint = GenericJoint(locked=_six(locked), rotation0=Rotation.from_matrix(hinge).as_rotvec())
        body = RigidBody(item["linkMasses"][i], np.asarray(inertias[i], float), np.asarray(centers[i], float))
        R, p, w, velocity = states[i]
        initial = dict(position=p, rotation=Rotation.from_matrix(R).as_rotvec(), velocity=velocity, angular_velocity=w)
        found.append(Link(int(parent), body, initial, joint, place, axis, turning))
    return found


def _six(locked: list[bool]) -> Locked:
    return locked[0], locked[1], locked[2], locked[3], locked[4], locked[5]


def _listed(given: Any) -> Any:
    """Also of Exudyn's own lists of vectors and matrices."""
    if hasattr(given, "GetPythonObject"):
        return given.GetPythonObject()
    return given
