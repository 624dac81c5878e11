"""First-order states, which the library keeps for laws that have some."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import Spec
from ...core.types import Vector, Vector3
from .body import AbstractPlacelessBody


class StateVector(AbstractPlacelessBody):
    """States z that stand where bodies have velocity coordinates, with a mass matrix of 1: forces on them are rates.

    They have no coordinates, no energy and no place.
    """

    velocities: int = eqx.field(static=True)  # type: ignore[misc]

    coordinates: ClassVar[int] = 0
    initial: ClassVar[Mapping[str, Spec]] = {}

    def initial_state(self, **initial: Any) -> tuple[Vector, Vector]:
        states = jnp.concatenate([jnp.ravel(x) for x in initial.values()])
        return jnp.zeros(0, states.dtype), states

    def rate(self, q: Vector, v: Vector) -> Vector:
        return q

    def retract(self, q: Vector, dq: Vector) -> Vector:
        return q

    def momentum(self, q: Vector, v: Vector) -> Vector:
        return v

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        return f

    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        return jnp.zeros_like(v)

    def kinetic_energy(self, q: Vector, v: Vector) -> Any:
        return jnp.zeros((), v.dtype)

    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        return jnp.zeros((), gravity.dtype)
