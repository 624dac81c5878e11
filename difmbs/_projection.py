"""Back onto the constraints: positions first, then velocities, with as little motion as possible."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ._problems import Projection
from ._types import Vector
from .linalg import implicit
from .system import System

_ROUNDS = 10


@jax.jit
def settle(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """q and v brought back onto constraints that they violate a little, to second order of what they violate.

    One factorization serves both. Differentiable with respect to everything.
    """
    if not system.constrained:
        return q, v
    t = jnp.asarray(t, q.dtype)
    problem = Projection(system, t, system.world(q, v).q)
    inverse = problem.inverse(jnp.zeros(problem.layout.unknowns, q.dtype))

    def least_change(violation):
        wanted = jnp.concatenate([jnp.zeros_like(v), violation])
        u = -inverse.solve(lax.stop_gradient(wanted))
        return implicit(u, problem.residual(u) + wanted, inverse)[: v.size]

    q = system.retract(q, least_change(system.violations(t, q, v)[0]))
    return q, v + least_change(system.violations(t, q, v)[1])


class Start(NamedTuple):
    """A consistent start, how far it is from what was given, and how far it still is from the constraints."""

    q: Vector
    v: Vector
    moved: Any
    turned: Any
    violation: Any


def consistent(system: System, t: Any, q: Vector, v: Vector) -> Start:
    """q and v on the constraints, from a start that may violate them by much."""
    if not system.constrained:
        zero = jnp.zeros((), q.dtype)
        return Start(q, v, zero, zero, zero)

    def again(state, _):
        return settle(system, t, *state), None

    (q1, v1), _ = lax.scan(again, (q, v), length=_ROUNDS)
    position, velocity = system.violations(t, q1, v1)
    left = jnp.maximum(jnp.max(jnp.abs(position)), jnp.max(jnp.abs(velocity)))
    return Start(q1, v1, jnp.max(jnp.abs(q1 - q)), jnp.max(jnp.abs(v1 - v)), left)
