"""The equations of motion in the form that solvers take."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._types import Vector
from .system import System


def split(system: System, y: Float[Array, "*times _"]) -> tuple[Any, Any]:
    """q and v from the state vector y = (q, v)."""
    nq = system.structure.coordinate_count
    return y[..., :nq], y[..., nq:]


def derivative(t: Any, y: Vector, system: System) -> Vector:
    """dy/dt of a system without constraints."""
    q, v = split(system, y)
    return jnp.concatenate([system.rate(q, v), system.inverse_mass(q, system.applied_forces(t, q, v))])


def accelerations(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, dict[int, Any]]:
    """v' and the multipliers (instances, equations) of each active group of constraints.

    [M G^T; G 0] (v', lambda) = (f, gamma) by block elimination, with the dense Schur complement G M^-1 G^T.
    """
    free = system.inverse_mass(q, system.applied_forces(t, q, v))
    groups = system.constraint_levels(t, q, v)
    if not groups:
        return free, {}
    jacobian = jnp.concatenate([g.jacobian for g in groups.values()])
    gamma = jnp.concatenate([g.acceleration for g in groups.values()])
    flexibility = jax.vmap(lambda row: system.inverse_mass(q, row))(jacobian)
    multipliers = jnp.linalg.solve(jacobian @ flexibility.T, jacobian @ free - gamma)
    shapes = {number: g.shape for number, g in groups.items()}
    split_at = list(itertools.accumulate(a * b for a, b in shapes.values()))[:-1]
    pieces = jnp.split(multipliers, split_at)
    by_group = {n: x.reshape(shapes[n]) for n, x in zip(shapes, pieces, strict=True)}
    return free - flexibility.T @ multipliers, by_group
