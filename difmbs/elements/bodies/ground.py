"""The fixed world."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp

from ...core.parameters import Spec
from ..ports import BodyPose
from ..rotations import NoRotation
from .body import AbstractBody


class Ground(AbstractBody):
    """A body without coordinates: whatever attaches to it stays where it is."""

    coordinates: ClassVar[int] = 0
    velocities: ClassVar[int] = 0
    initial: ClassVar[Mapping[str, Spec]] = {}
    extended: ClassVar[bool] = True
    rotates: ClassVar[bool] = True

    def initial_state(self):
        return jnp.zeros(0), jnp.zeros(0)

    def pose(self, q):
        return BodyPose(jnp.zeros(3, q.dtype), NoRotation(q.dtype))

    def point(self, q, point):
        return point

    def point_velocity(self, q, v, point):
        return jnp.zeros_like(point)

    def point_acceleration(self, q, v, a, point):
        return jnp.zeros_like(point)

    def rate(self, q, v):
        return v

    def retract(self, q, dq):
        return q

    def angular_velocity(self, q, v):
        return jnp.zeros(3, q.dtype)

    def momentum(self, q, v):
        return v

    def inverse_mass(self, q, f):
        return f

    def bias(self, q, v, gravity):
        return v

    def weight_energy(self, q, gravity):
        return jnp.zeros((), q.dtype)
