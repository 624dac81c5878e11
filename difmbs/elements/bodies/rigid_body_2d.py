"""The planar rigid body."""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp

from ...core.parameters import Spec, parameter
from ...core.types import Numbers, Vector, Vector3
from ..ports import BodyPose
from ..rotations import PlaneRotation, in_space
from ..symbols import Symbol
from .body import AbstractFlatBody


class RigidBody2D(AbstractFlatBody):
    """A rigid body in the x-y plane; coordinates: x and y of the centre of mass, angle about z.

    **Arguments:** `mass` [kg] > 0; `inertia` [kg m^2] > 0 about the centre of mass; `center_of_mass` [m], where it is
    in the body's own frame.
    **Initial values:** `position` [m] (2-vector, of the frame's origin), `angle` [rad], `velocity` [m/s] of the
    origin, `angular_velocity` [rad/s].
    """

    mass: Numbers = parameter(unit="kg", range="positive")
    inertia: Numbers = parameter(unit="kg m^2", range="positive")
    center_of_mass: Numbers = parameter((0.0, 0.0), shape=(2,), unit="m")

    coordinates: ClassVar[int] = 3
    velocities: ClassVar[int] = 3
    initial: ClassVar[Mapping[str, Spec]] = {
        "position": Spec((2,), "m"),
        "angle": Spec((), "rad"),
        "velocity": Spec((2,), "m/s"),
        "angular_velocity": Spec((), "rad/s"),
    }
    extended: ClassVar[bool] = True
    rotates: ClassVar[bool] = True
    planar: ClassVar[bool] = True

    def initial_state(self, position, angle, velocity, angular_velocity):
        arm = PlaneRotation(angle).apply(in_space(self.center_of_mass))[:2]
        turned = jnp.stack([-arm[1], arm[0]])
        return (
            jnp.concatenate([position + arm, angle[None]]),
            jnp.concatenate([velocity + angular_velocity * turned, angular_velocity[None]]),
        )

    def pose(self, q: Vector) -> BodyPose:
        return BodyPose(in_space(q[:2]), PlaneRotation(q[2]))

    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        pose = self.pose(q)
        return pose.p + pose.rotation.apply(point - in_space(self.center_of_mass))

    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        return jnp.pad(v[2:], (2, 0))

    def momentum(self, q: Vector, v: Vector) -> Vector:
        return self._masses() * v

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        return f / self._masses()

    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        return in_space(self.mass * gravity[:2])

    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        return -self.mass * jnp.sum(gravity[:2] * q[:2])

    def _masses(self):
        return jnp.stack([self.mass, self.mass, self.inertia])

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("link"),)
