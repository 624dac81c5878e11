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
        return implicit(_unmet, u, inverse, (problem, wanted))[: v.size]

    q = system.retract(q, least_change(system.violations(t, q, v)[0]))
    return q, v + least_change(system.violations(t, q, v)[1])


def _unmet(u: Any, known: Any) -> Any:
    problem, wanted = known
    return problem.residual(u) + wanted


class Start(NamedTuple):
    """A consistent start, by how much it differs from what was given, and whether there is one."""

    q: Vector
    v: Vector
    moved: Any
    turned: Any
    possible: Any


def consistent(system: System, t: Any, q: Vector, v: Vector) -> Start:
    """q and v on the constraints, from a start that may violate them by much."""
    if not system.constrained:
        zero = jnp.zeros((), q.dtype)
        return Start(q, v, zero, zero, jnp.asarray(True))

    def again(state, _):
        return settle(system, t, *state), None

    (q1, v1), _ = lax.scan(jax.checkpoint(again), (q, v), length=_ROUNDS)
    still = [lax.stop_gradient(x) for x in (q1, v1, q, v)]
    small = jnp.finfo(q.dtype).eps ** 0.5
    speed = jnp.max(jnp.abs(jnp.concatenate([still[1], still[3]])))
    fits = meets(system, t, still[0], still[1], small * jnp.max(jnp.abs(still[0])), small * speed)
    moved, turned = (jnp.max(jnp.abs(still[i] - still[i + 2])) for i in (0, 1))
    return Start(q1, v1, moved, turned, fits)


def meets(system: System, t: Any, q: Vector, v: Vector, of_q: Any, of_v: Any) -> Any:
    """Whether all active constraints are met, up to a displacement and up to a velocity."""
    position, velocity = violations(system, t, q, v)
    return jnp.all(position <= of_q) & jnp.all(velocity <= of_v)


def violations(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """How far q and v are from meeting each equation of the active constraints, as a displacement and a velocity."""
    lengths = jnp.maximum(system.row_lengths(t, q), jnp.finfo(q.dtype).tiny)
    position, velocity = system.violations(t, q, v)
    return jnp.abs(position) / lengths, jnp.abs(velocity) / lengths
