"""The equations of motion in the form that solvers take."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from ..core.types import Level, Time, Vector
from ..linalg.implicit import implicit
from ..system.control import controlled
from ..system.system import System
from .implicit_equations import POSITION, VELOCITY, MotionEquations, residual_of

_RANK = 1e-7
"""Singular values of G below this share of the largest one are those of redundant constraints."""


def split(system: System, y: Float[Array, "*times _"]) -> tuple[Any, Any]:
    """q and v from the state vector, which begins with them."""
    nq, nv = system.structure.coordinate_count, system.structure.velocity_count
    return y[..., :nq], y[..., nq : nq + nv]


def derivative(t: Time, y: Vector, system: System) -> Vector:
    """dy/dt."""
    q, v = split(system, y)
    return jnp.concatenate([system.rate(q, v), accelerations(system, t, q, v)[0]])


@jax.jit
def accelerations(system: System, t: Time, q: Vector, v: Vector) -> tuple[Vector, dict[int, Any]]:
    """v' and the multipliers (instances, equations) of each active group of constraints."""
    system = controlled(system, t, q, v)
    if not system.constrained:
        return system.inverse_mass(q, system.applied_forces(t, q, v)), {}
    u, _ = solved(system, t, q, v)
    if system.redundant:
        # Of all multipliers with the same forces the smallest.
        jacobian = jnp.concatenate([levels.jacobian for levels in system.constraint_levels(t, q, v).values()])
        u = jnp.concatenate([u[: v.size], jnp.linalg.pinv(jacobian.T, rtol=_RANK) @ (jacobian.T @ u[v.size :])])
    return named(system, t, q, v, u)


def named(system: System, t: Time, q: Vector, v: Vector, u: Vector) -> tuple[Vector, dict[int, Any]]:
    """v' and the multipliers by group, from the vector of both."""
    problem = _problem(system, t, q, v, None)
    return u[: v.size], {number: problem.multipliers(u, number) for number in problem.layout.multipliers}


def solved(system: System, t: Time, q: Vector, v: Vector, level: Level = None) -> tuple[Any, Any]:
    """Accelerations and multipliers as one vector, on other levels (`MotionEquations`) corrections and multipliers; and
    whether all forces were finite.

    [M G^T; G 0] (x, lambda) = (r, s), eliminated node by node.
    """
    problem = _problem(system, t, q, v, level)
    nothing = jnp.zeros(problem.layout.unknowns, q.dtype)
    inverse, right = problem.inverse(nothing), problem.still.residual(nothing, reactions=False)
    z, inverse = checkpoint_name((-inverse.solve(right), inverse), "solved")
    u = implicit(residual_of, z, inverse, problem)
    return u, jnp.all(jnp.isfinite(right))


def known(system: System, t: Time, q: Vector, v: Vector, level: Level, u: Vector) -> Vector:
    """What `solved` found, with its derivative."""
    return _problem(system, t, q, v, level).attached(u)


anew = functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names("solved"))
"""For the body of a loop: of it derivatives keep the solutions and factors of `solved`, and compute the rest again. To
keep everything makes a large program that is not faster."""


def corrected(system: System, q: Vector, v: Vector, level: Level, change: Vector) -> tuple[Vector, Vector]:
    """q and v after a correction on a level; on the level of accelerations as they are."""
    none = jnp.zeros_like(change)
    return (
        system.retract(q, lax.select(level == POSITION, change, none)),
        v + lax.select(level == VELOCITY, change, none),
    )


def _problem(system: System, t: Time, q: Vector, v: Vector, level: Level) -> MotionEquations:
    system = controlled(system, t, q, v)
    world = system.world(q, v)
    return MotionEquations(system, jnp.asarray(t, q.dtype), tuple(zip(world.q, world.v, strict=True)), level)
