"""Where bodies and points on them are and how they move, in plain numpy with Jacobians written out by hand."""

import dataclasses
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .plans import VELOCITIES

UP = np.array([0.0, 0.0, 1.0])


@dataclasses.dataclass(frozen=True)
class Point:
    """A point on a body: place, velocity = J v, and `bias`, its acceleration where v' = 0; R and `spin`, the rotation
    of the body and the Jacobian of its angular velocity; `center`, the body's centre of mass."""

    p: np.ndarray
    J: np.ndarray
    bias: np.ndarray
    R: np.ndarray
    spin: np.ndarray
    center: np.ndarray
    v: np.ndarray

    @property
    def velocity(self) -> np.ndarray:
        return self.J @ self.v


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def about_z(angle: Any) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def start(kind: str, numbers: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """q and v of a body from its initial values."""
    n = {name: np.asarray(x, float) for name, x in numbers.items()}
    if kind == "RotationalMass1D":
        return n["angle"][None], n["angular_velocity"][None]
    if kind == "Mass1D":
        return n["position"][None], n["velocity"][None]
    if kind == "RigidBody2D":
        arm = (about_z(n["angle"]) @ [*n["center_of_mass"], 0])[:2]
        spin = n["angular_velocity"]
        turned = n["velocity"] + spin * np.array([-arm[1], arm[0]])
        return np.append(n["position"] + arm, n["angle"]), np.append(turned, spin)
    if kind == "RigidBody":
        turn = Rotation.from_rotvec(n["rotation"])
        arm = turn.apply(n["center_of_mass"])
        velocity = n["velocity"] + np.cross(n["angular_velocity"], arm)
        return (
            np.concatenate([n["position"] + arm, turn.as_quat(scalar_first=True)]),
            np.concatenate([velocity, turn.inv().apply(n["angular_velocity"])]),
        )
    return n["position"], n["velocity"]


def point(kind: str, numbers: dict[str, Any], q: np.ndarray, v: np.ndarray, local: np.ndarray) -> Point:
    """A point that is given in the body's frame."""
    n = {name: np.asarray(x, float) for name, x in numbers.items()}
    nothing, eye = np.zeros(3), np.eye(3)
    if kind == "ground":
        return Point(local, np.zeros((3, 0)), nothing, eye, np.zeros((3, 0)), local, v)
    if kind in ("MassPoint", "MassPoint2D"):
        place, J = np.zeros(3), eye[:, : VELOCITIES[kind]]
        place[: q.size] = q
        return Point(place, J, nothing, eye, 0 * J, place, v)
    if kind == "Mass1D":
        axis = n["axis"] / np.linalg.norm(n["axis"])
        place = n["origin"] + q[0] * axis
        return Point(place + local, axis[:, None], nothing, eye, np.zeros((3, 1)), place, v)
    if kind == "RotationalMass1D":
        R = about_z(q[0])
        arm = R @ local
        bias = -(v[0] ** 2) * arm * (1, 1, 0)
        return Point(n["origin"] + arm, np.cross(UP, arm)[:, None], bias, R, UP[:, None], n["origin"], v)
    if kind == "RigidBody2D":
        R, center = about_z(q[2]), np.append(q[:2], 0)
        arm = R @ (local - np.append(n["center_of_mass"], 0))
        J = np.diag([1.0, 1.0, 0.0])
        J[:, 2] = np.cross(UP, arm)
        return Point(center + arm, J, -(v[2] ** 2) * arm * (1, 1, 0), R, np.outer(UP, UP), center, v)
    R, a = Rotation.from_quat(q[3:], scalar_first=True).as_matrix(), local - n["center_of_mass"]
    bias = R @ np.cross(v[3:], np.cross(v[3:], a))
    spin = np.hstack([np.zeros((3, 3)), R])
    return Point(q[:3] + R @ a, np.hstack([eye, -R @ skew(a)]), bias, R, spin, q[:3], v)


def local_of(kind: str, numbers: dict[str, Any], place: np.ndarray) -> np.ndarray:
    """The point of a body, in its frame, that is at a place at the start."""
    if kind == "ground":
        return place
    origin = point(kind, numbers, *start(kind, numbers), np.zeros(3))
    return origin.R.T @ (place - origin.p)


def quaternion_rates(quaternion: np.ndarray) -> np.ndarray:
    """d(w, x, y, z)/dt over the angular velocity in the body's frame."""
    w, x, y, z = quaternion
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def angle_about_z(kind: str, q: np.ndarray) -> tuple[float, np.ndarray]:
    """The angle that planar connectors see, and its gradient over v; of a body in space its twist."""
    if kind == "RigidBody2D":
        return q[2], UP
    if kind == "RotationalMass1D":
        return q[0], np.ones(1)
    if kind != "RigidBody":
        return 0.0, np.zeros(VELOCITIES.get(kind, 0))
    w, _, _, z = q[3:]
    rates = quaternion_rates(q[3:])
    return 2 * np.arctan2(z, w), np.append(np.zeros(3), 2 * (w * rates[3] - z * rates[0]) / (w * w + z * z))


def coordinate_rates(kind: str, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B of dq/dt = B v, and the part of d2q/dt2 that does not come from v'."""
    if kind == "ground":
        return np.zeros((0, 0)), np.zeros(0)
    if kind != "RigidBody":
        return np.eye(VELOCITIES[kind]), np.zeros(VELOCITIES[kind])
    B = np.zeros((7, 6))
    B[:3, :3], B[3:, 3:] = np.eye(3), quaternion_rates(q[3:])
    return B, np.concatenate([np.zeros(3), -0.25 * (v[3:] @ v[3:]) * q[3:]])
