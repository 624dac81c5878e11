"""Second-order equations of one's own."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.parameters import Spec, parameter
from ...core.types import MaybeNumbers, Numbers, UserFunction, Vector, Vector3
from ..rotations import multiply
from ..symbols import Symbol
from .body import AbstractPlacelessBody


class GenericODE2(AbstractPlacelessBody):
    r"""Coordinates q with equations of one's own, $(M + M_u(q))\,\ddot q + D\,\dot q + K q = f$ and what acts on them.

    A reduced finite-element model, modal coordinates, a body in other coordinates. Connectors, loads and constraints
    attach to `body.coordinate(i)` and `body.coordinates`; it has no place in space, and gravity does not act on it.

    **Arguments:** `mass` M (n, n); `stiffness` K and `damping` D (n, n), `force` f (n), None: zero;
    `mass_user_function` M_u, a function (q) of the coordinates that returns a matrix; the sum must be symmetric and
    positive definite. Terms of the velocities that belong to it, and forces that depend on time, come from a
    `CoordinateVectorForce`. **Initial values:** `coordinates` and `velocities`, n numbers.
    """

    mass: Numbers = parameter(shape=(None, None), range="mass matrix")
    stiffness: MaybeNumbers = parameter(None, shape=(None, None))
    damping: MaybeNumbers = parameter(None, shape=(None, None))
    force: MaybeNumbers = parameter(None, shape=(None,))
    mass_user_function: UserFunction | None = eqx.field(default=None, kw_only=True)
    size: int = eqx.field(init=False, static=True)

    initial: ClassVar[Mapping[str, Spec]] = {"coordinates": Spec((None,)), "velocities": Spec((None,))}
    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {"mass_user_function": ("q",)}

    def __post_init__(self) -> None:
        self.size = np.shape(self.mass)[-1] if np.ndim(self.mass) >= 2 else 0

    def check(self, name: str, initial: Mapping[str, Any]) -> None:
        n = self.size
        given = dict(stiffness=self.stiffness, damping=self.damping, force=self.force, **initial)
        for field, value in given.items():
            shape = (n, n) if field in ("stiffness", "damping") else (n,)
            if value is not None and np.shape(value)[-len(shape) :] != shape:
                raise ModelError(f"'{name}': {field} must have shape {shape}, as mass has; got {np.shape(value)}.")
        traced = isinstance(self.mass, jax.core.Tracer)
        if self.mass_user_function is None and not traced and np.min(np.linalg.eigvalsh(self.mass)) <= 0:
            raise ModelError(f"'{name}': mass must be positive definite, where no mass_user_function is added.")

    @property
    def coordinates(self) -> int:  # type: ignore[override]
        return self.size

    @property
    def velocities(self) -> int:  # type: ignore[override]
        return self.size

    def initial_state(self, coordinates: Vector, velocities: Vector) -> tuple[Vector, Vector]:
        return coordinates, velocities

    def rate(self, q: Vector, v: Vector) -> Vector:
        return v

    def retract(self, q: Vector, dq: Vector) -> Vector:
        return q + dq

    def momentum(self, q: Vector, v: Vector) -> Vector:
        return multiply(self._mass(q), v)

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        return jnp.linalg.solve(self._mass(q), f)

    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        force = jnp.zeros_like(v) if self.force is None else self.force
        for matrix, x in ((self.stiffness, q), (self.damping, v)):
            if matrix is not None:
                force = force - multiply(matrix, x)
        return force

    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        energy = jnp.zeros((), q.dtype)
        if self.force is not None:
            energy = energy - jnp.sum(self.force * q)
        if self.stiffness is not None:
            energy = energy + 0.5 * jnp.sum(q * multiply(self.stiffness, q))
        return energy

    def _mass(self, q: Vector) -> Any:
        if self.mass_user_function is None:
            return self.mass
        return self.mass + jnp.asarray(self.mass_user_function(q), q.dtype)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("box"),)
