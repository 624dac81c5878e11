"""The equations of motion in the form that solvers take."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ._problems import Acceleration, residual_of
from ._types import Vector
from .linalg import implicit
from .system import System

_RANK = 1e-7
"""Singular values of G below this share of the largest one are those of redundant constraints."""


def split(system: System, y: Float[Array, "*times _"]) -> tuple[Any, Any]:
    """q and v from the state vector, which begins with them."""
    nq, nv = system.structure.coordinate_count, system.structure.velocity_count
    return y[..., :nq], y[..., nq : nq + nv]


def derivative(t: Any, y: Vector, system: System) -> Vector:
    """dy/dt."""
    q, v = split(system, y)
    return jnp.concatenate([system.rate(q, v), accelerations(system, t, q, v)[0]])


@jax.jit
def accelerations(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, dict[int, Any]]:
    """v' and the multipliers (instances, equations) of each active group of constraints.

    [M G^T; G 0] (v', lambda) = (f, gamma), eliminated node by node.
    """
    if not system.constrained:
        return system.inverse_mass(q, system.applied_forces(t, q, v)), {}
    u, problem, _ = _solved(system, jnp.asarray(t, q.dtype), q, v)
    nv = v.size
    if problem.layout.regularization is not None:
        # Of all multipliers with the same forces the smallest.
        jacobian = jnp.concatenate([levels.jacobian for levels in system.constraint_levels(t, q, v).values()])
        u = jnp.concatenate([u[:nv], jnp.linalg.pinv(jacobian.T, rtol=_RANK) @ (jacobian.T @ u[nv:])])
    multipliers = {number: problem.multipliers(u, number) for number in problem.layout.multipliers}
    return u[:nv], multipliers


def motion(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, Vector, Vector]:
    """v', dv'/dt along the motion, and all multipliers."""
    t = jnp.asarray(t, q.dtype)
    if not system.constrained:
        rates = (jnp.ones_like(t), system.rate(q, v), accelerations(system, t, q, v)[0])
        return rates[2], jax.jvp(lambda *x: accelerations(system, *x)[0], (t, q, v), rates)[1], v[:0]
    u, _, inverse = _solved(system, t, q, v)
    rates = (jnp.ones_like(t), system.rate(q, v), u[: v.size])

    known = (system, (u, t, q, v), rates)
    du = -inverse.solve(lax.stop_gradient(_residual_rate(jnp.zeros_like(u), known)))
    return u[: v.size], implicit(_residual_rate, du, inverse, known)[: v.size], u[v.size :]


def _residual_rate(du: Any, known: Any) -> Any:
    """d/dt of the residual along the motion while the unknowns change by du."""
    system, point, rates = known
    return jax.jvp(lambda u, *x: _problem(system, *x).residual(u), point, (du, *rates))[1]


def _problem(system: System, t: Any, q: Vector, v: Vector) -> Acceleration:
    world = system.world(q, v)
    return Acceleration(system, t, tuple(zip(world.q, world.v, strict=True)))


def _solved(system: System, t: Any, q: Vector, v: Vector) -> tuple[Any, Acceleration, Any]:
    """Accelerations and multipliers as one vector, their equations, and the inverse of these."""
    problem = _problem(system, t, q, v)
    nothing = jnp.zeros(problem.layout.unknowns, q.dtype)
    inverse = problem.inverse(nothing)
    u = -inverse.solve(problem.still.residual(nothing))
    return implicit(residual_of, u, inverse, problem), problem, inverse
