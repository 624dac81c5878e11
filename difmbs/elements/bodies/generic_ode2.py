"""Second-order equations of one's own."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...core.parameters import Spec, parameter
from ...core.types import MaybeNumbers, Numbers, UserFunction, Vector, Vector3
from ..ports import BodyPose
from ..rotations import multiply
from .body import AbstractBody


class GenericODE2(AbstractBody):
    r"""Coordinates q with equations of one's own, $(M + M_u(q))\,\ddot q + D\,\dot q + K q = f$ and what acts on them.

    A reduced finite-element model, modal coordinates, a body in other coordinates. Connectors, loads and constraints
    attach to `body.coordinate(i)` and `body.coordinates`; it has no place in space, and gravity does not act on it.

    **Arguments:** `mass` M (n, n); `stiffness` K and `damping` D (n, n), `force` f (n), None: zero;
    `mass_user_function` M_u, a function (q) of the coordinates that returns a matrix; the sum must be symmetric and
    positive definite. Terms of the velocities that belong to it, and forces that depend on time, come from a
    `CoordinateVectorForce`. **Initial values:** `coordinates` and `velocities`, n numbers.
    """

    mass: Numbers = parameter(shape=(None, None))
    stiffness: MaybeNumbers = parameter(None, shape=(None, None))
    damping: MaybeNumbers = parameter(None, shape=(None, None))
    force: MaybeNumbers = parameter(None, shape=(None,))
    mass_user_function: UserFunction | None = eqx.field(default=None, kw_only=True)
    size: int = eqx.field(init=False, static=True)

    initial: ClassVar[Mapping[str, Spec]] = {"coordinates": Spec((None,)), "velocities": Spec((None,))}
    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {"mass_user_function": ("q",)}
    extended: ClassVar[bool] = False
    rotates: ClassVar[bool] = False
    in_space: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.size = np.shape(self.mass)[-1] if np.ndim(self.mass) >= 2 else 0

    @property
    def coordinates(self) -> int:  # type: ignore[override]
        return self.size

    @property
    def velocities(self) -> int:  # type: ignore[override]
        return self.size

    def initial_state(self, coordinates: Vector, velocities: Vector) -> tuple[Vector, Vector]:
        return coordinates, velocities

    def pose(self, q: Vector) -> BodyPose:
        raise NotImplementedError

    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        raise NotImplementedError

    def point_velocity(self, q: Vector, v: Vector, point: Vector3 | None) -> Vector3:
        raise NotImplementedError

    def point_acceleration(self, q: Vector, v: Vector, a: Vector, point: Vector3 | None) -> Vector3:
        raise NotImplementedError

    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        raise NotImplementedError

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
