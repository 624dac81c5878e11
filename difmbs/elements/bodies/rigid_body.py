"""The spatial rigid body."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import Spec, parameter
from ...core.types import Matrix3, Numbers, Vector, Vector3
from ..ports import BodyPose
from ..rotations import (
    SpatialRotation,
    cross,
    multiply,
    quaternion_from_vector,
    quaternion_product,
    quaternion_rate,
    solve3,
)
from ..symbols import Symbol
from .body import AbstractBody


class AbstractRigidBody(AbstractBody):
    """A rigid body in space, of any shape.

    Coordinates: centre of mass (3) and quaternion w, x, y, z (4). Velocity coordinates: velocity of the centre of mass
    in the world frame (3) and angular velocity in the body frame (3). Only the quaternion's direction counts.
    """

    mass: eqx.AbstractVar[Numbers]
    center_of_mass: eqx.AbstractVar[Numbers]

    @abc.abstractmethod
    def inertia_tensor(self) -> Matrix3:
        """About the centre of mass, in the body's frame."""

    coordinates: ClassVar[int] = 7
    velocities: ClassVar[int] = 6
    initial: ClassVar[Mapping[str, Spec]] = {
        "position": Spec((3,), "m"),
        "rotation": Spec((3,), "rad"),
        "velocity": Spec((3,), "m/s"),
        "angular_velocity": Spec((3,), "rad/s"),
    }
    extended: ClassVar[bool] = True
    rotates: ClassVar[bool] = True

    def initial_state(self, position, rotation, velocity, angular_velocity):
        quaternion = quaternion_from_vector(rotation)
        turn = SpatialRotation(quaternion)
        arm = turn.apply(self.center_of_mass)
        return (
            jnp.concatenate([position + arm, quaternion]),
            jnp.concatenate([velocity + cross(angular_velocity, arm), turn.inverse().apply(angular_velocity)]),
        )

    def pose(self, q: Vector) -> BodyPose:
        return BodyPose(q[:3], SpatialRotation(q[3:]))

    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        return q[:3] + SpatialRotation(q[3:]).apply(point - self.center_of_mass)

    def point_velocity(self, q: Vector, v: Vector, point: Vector3 | None) -> Vector3:
        return v[:3] + SpatialRotation(q[3:]).apply(cross(v[3:], point - self.center_of_mass))

    def point_acceleration(self, q: Vector, v: Vector, a: Vector, point: Vector3 | None) -> Vector3:
        arm = point - self.center_of_mass
        return a[:3] + SpatialRotation(q[3:]).apply(cross(a[3:], arm) + cross(v[3:], cross(v[3:], arm)))

    def rate(self, q: Vector, v: Vector) -> Vector:
        return jnp.concatenate([v[:3], quaternion_rate(q[3:], v[3:])])

    def retract(self, q: Vector, dq: Vector) -> Vector:
        return jnp.concatenate([q[:3] + dq[:3], quaternion_product(q[3:], quaternion_from_vector(dq[3:]))])

    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        return SpatialRotation(q[3:]).apply(v[3:])

    def momentum(self, q: Vector, v: Vector) -> Vector:
        return jnp.concatenate([self.mass * v[:3], multiply(self.inertia_tensor(), v[3:])])

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        return jnp.concatenate([f[:3] / self.mass, solve3(self.inertia_tensor(), f[3:])])

    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        omega = v[3:]
        return jnp.concatenate([self.mass * gravity, -cross(omega, multiply(self.inertia_tensor(), omega))])

    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        return -self.mass * jnp.sum(gravity * q[:3])


class RigidBody(AbstractRigidBody):
    """A rigid body in space.

    Coordinates: centre of mass (3) and quaternion w, x, y, z (4). Velocity coordinates: velocity of the centre of mass
    in the world frame (3) and angular velocity in the body frame (3). Only the quaternion's direction counts.

    **Arguments:** `mass` [kg] > 0; `inertia` [kg m^2], symmetric 3 x 3 about the centre of mass in the body's frame;
    `center_of_mass` [m], where it is in the body's own frame.
    **Initial values:** `position` [m] of the frame's origin; `rotation`: a rotation vector [rad], a quaternion
    (w, x, y, z) or a rotation matrix, kept as rotation vector; `velocity` [m/s] of the origin; `angular_velocity`
    [rad/s] in the world frame.
    """

    mass: Numbers = parameter(unit="kg", range="positive")
    inertia: Numbers = parameter(shape=(3, 3), unit="kg m^2", range="inertia")
    center_of_mass: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")

    def inertia_tensor(self) -> Matrix3:
        # The symmetric part, so that a gradient step on the nine numbers keeps a physical inertia.
        return 0.5 * (self.inertia + self.inertia.T)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("link"),)
