"""Particles in space and in the plane."""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp

from ...core.parameters import Spec, parameter
from ...core.types import Numbers, Vector, Vector3
from ..ports import BodyPose
from ..rotations import NoRotation, in_space
from ..symbols import Symbol
from .body import AbstractFlatBody


class MassPoint(AbstractFlatBody):
    """A particle in space; coordinates x, y, z.

    **Arguments:** `mass` [kg] > 0. **Initial values:** `position` [m] and `velocity` [m/s], 3-vectors.
    """

    mass: Numbers = parameter(unit="kg", range="positive")

    coordinates: ClassVar[int] = 3
    velocities: ClassVar[int] = 3
    initial: ClassVar[Mapping[str, Spec]] = {"position": Spec((3,), "m"), "velocity": Spec((3,), "m/s")}
    extended: ClassVar[bool] = False
    rotates: ClassVar[bool] = False

    def initial_state(self, position, velocity):
        return position, velocity

    def pose(self, q: Vector) -> BodyPose:
        return BodyPose(q, NoRotation(q.dtype))

    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        return q

    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        return jnp.zeros_like(v)

    def momentum(self, q: Vector, v: Vector) -> Vector:
        return self.mass * v

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        return f / self.mass

    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        return self.mass * gravity

    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        return -self.mass * jnp.sum(gravity * q)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("sphere"),)


class MassPoint2D(AbstractFlatBody):
    """A particle in the x-y plane; coordinates x, y.

    **Arguments:** `mass` [kg] > 0. **Initial values:** `position` [m] and `velocity` [m/s], 2-vectors.
    """

    mass: Numbers = parameter(unit="kg", range="positive")

    coordinates: ClassVar[int] = 2
    velocities: ClassVar[int] = 2
    initial: ClassVar[Mapping[str, Spec]] = {"position": Spec((2,), "m"), "velocity": Spec((2,), "m/s")}
    extended: ClassVar[bool] = False
    rotates: ClassVar[bool] = False
    planar: ClassVar[bool] = True

    def initial_state(self, position, velocity):
        return position, velocity

    def pose(self, q: Vector) -> BodyPose:
        return BodyPose(self.point(q, None), NoRotation(q.dtype))

    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        return in_space(q)

    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        return jnp.zeros(3, v.dtype)

    def momentum(self, q: Vector, v: Vector) -> Vector:
        return self.mass * v

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        return f / self.mass

    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        return self.mass * gravity[:2]

    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        return -self.mass * jnp.sum(gravity[:2] * q)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("sphere"),)
