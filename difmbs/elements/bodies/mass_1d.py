"""Bodies with one coordinate: a slider along a fixed line, a rotor about a fixed axis."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp

from ...core.parameters import Spec, parameter
from ...core.types import Numbers
from ..ports import BodyPose
from ..rotations import NoRotation, PlaneRotation, length_and_direction
from ..symbols import Symbol, Z
from .body import AbstractFlatBody


class Mass1D(AbstractFlatBody):
    """A mass that slides along the line through `origin` in direction `axis`; its coordinate is the distance moved.

    **Arguments:** `mass` [kg] > 0; `axis`, a direction of any length but zero; `origin` [m].
    **Initial values:** `position` [m] and `velocity` [m/s] along the axis, numbers.
    """

    mass: Numbers = parameter(unit="kg", range="positive")
    axis: Numbers = parameter((1.0, 0.0, 0.0), shape=(3,), range="direction")
    origin: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")

    coordinates: ClassVar[int] = 1
    velocities: ClassVar[int] = 1
    initial: ClassVar[Mapping[str, Spec]] = {"position": Spec((), "m"), "velocity": Spec((), "m/s")}
    extended: ClassVar[bool] = True
    rotates: ClassVar[bool] = False

    def initial_state(self, position, velocity):
        return position[None], velocity[None]

    def pose(self, q):
        return BodyPose(self.origin + q * self._direction(), NoRotation(q.dtype))

    def point(self, q, point):
        return self.pose(q).p + point

    def angular_velocity(self, q, v):
        return jnp.zeros(3, v.dtype)

    def momentum(self, q, v):
        return self.mass * v

    def inverse_mass(self, q, f):
        return f / self.mass

    def bias(self, q, v, gravity):
        return (self.mass * jnp.sum(gravity * self._direction()))[None]

    def weight_energy(self, q, gravity):
        return -self.mass * jnp.sum(gravity * self.pose(q).p)

    def _direction(self):
        return length_and_direction(self.axis)[1]

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("box", axis=self.axis),)


class RotationalMass1D(AbstractFlatBody):
    """A rotor about the axis through `origin` parallel to z; its coordinate is the angle. Its weight does no work.

    **Arguments:** `inertia` [kg m^2] > 0 about the axis; `origin` [m].
    **Initial values:** `angle` [rad] and `angular_velocity` [rad/s], numbers.
    """

    inertia: Numbers = parameter(unit="kg m^2", range="positive")
    origin: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")

    coordinates: ClassVar[int] = 1
    velocities: ClassVar[int] = 1
    initial: ClassVar[Mapping[str, Spec]] = {"angle": Spec((), "rad"), "angular_velocity": Spec((), "rad/s")}
    extended: ClassVar[bool] = True
    rotates: ClassVar[bool] = True
    planar: ClassVar[bool] = True

    def initial_state(self, angle, angular_velocity):
        return angle[None], angular_velocity[None]

    def pose(self, q):
        return BodyPose(self.origin, PlaneRotation(q[0]))

    def point(self, q, point):
        return self.origin + PlaneRotation(q[0]).apply(point)

    def angular_velocity(self, q, v):
        return jnp.pad(v, (2, 0))

    def momentum(self, q, v):
        return self.inertia * v

    def inverse_mass(self, q, f):
        return f / self.inertia

    def bias(self, q, v, gravity):
        return jnp.zeros_like(v)

    def weight_energy(self, q, gravity):
        return jnp.zeros((), q.dtype)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("rotor", axis=Z),)
