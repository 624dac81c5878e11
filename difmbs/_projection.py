"""Back onto the constraints: positions first, then velocities, with as little motion as possible."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ._problems import ACCELERATION, POSITION, VELOCITY
from ._types import Vector
from .equations import anew, corrected, solved
from .system import System


class Visited(NamedTuple):
    """States, and accelerations and multipliers (or corrections) there, one after the other."""

    q: Any
    v: Any
    u: Any


@jax.jit
def settle(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """q and v brought back onto constraints that they violate a little, to second order of what they violate.

    Differentiable with respect to everything.
    """
    return visit(system, t, q, v, (POSITION, VELOCITY))[0] if system.constrained else (q, v)


def visit(
    system: System, t: Any, q: Vector, v: Vector, levels: tuple[int, ...], ahead: Callable[..., Any] | None = None
) -> tuple[tuple[Vector, Vector], Visited]:
    """Corrects q and v on each of the levels, one after the other; on that of accelerations goes ahead instead, by the
    time `ahead(q, v, v')` (None: not at all). Returned are the last state, and all before it.

    One loop, whatever the levels: the equations of motion are compiled once.
    """

    def correct(state, level):
        t, q, v = state
        u, _ = solved(system, t, q, v, level)
        here, x = Visited(q, v, u), u[: v.size]
        if ahead is None:
            return (t, *corrected(system, q, v, level, x)), here
        time = jnp.where(level == ACCELERATION, ahead(q, v, x), 0)
        q, v = system.retract(q, time * v), v + time * x
        return (t + time, *corrected(system, q, v, level, x)), here

    (_, q, v), visited = lax.scan(anew(correct), (jnp.asarray(t, q.dtype), q, v), jnp.asarray(levels))
    return (q, v), visited


class Start(NamedTuple):
    """A consistent start, by how much it differs from what was given, and whether there is one."""

    q: Vector
    v: Vector
    moved: Any
    turned: Any
    possible: Any


ROUNDS = (POSITION,) * 10 + (VELOCITY,) * 2
"""The corrections that bring a start onto the constraints that may violate them by much."""


def consistent(system: System, t: Any, q: Vector, v: Vector) -> Start:
    """q and v on the constraints."""
    return judged(system, t, (q, v), visit(system, t, q, v, ROUNDS)[0] if system.constrained else (q, v))


def judged(system: System, t: Any, given: tuple[Vector, Vector], found: tuple[Vector, Vector]) -> Start:
    """What to say of a start that was found."""
    if not system.constrained:
        zero = jnp.zeros((), found[0].dtype)
        return Start(*found, zero, zero, jnp.asarray(True))
    q, v, q0, v0 = (lax.stop_gradient(x) for x in (*found, *given))
    small = jnp.finfo(q.dtype).eps ** 0.5
    speed = jnp.max(jnp.abs(jnp.concatenate([v, v0])))
    fits = meets(system, t, q, v, small * jnp.max(jnp.abs(q)), small * speed)
    return Start(*found, jnp.max(jnp.abs(q - q0)), jnp.max(jnp.abs(v - v0)), fits)


def meets(system: System, t: Any, q: Vector, v: Vector, of_q: Any, of_v: Any) -> Any:
    """Whether all active constraints are met, up to a displacement and up to a velocity."""
    position, velocity = violations(system, t, q, v)
    return jnp.all(position <= of_q) & jnp.all(velocity <= of_v)


def violations(system: System, t: Any, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """How far q and v are from meeting each equation of the active constraints, as a displacement and a velocity."""
    lengths = jnp.maximum(system.row_lengths(t, q), jnp.finfo(q.dtype).tiny)
    position, velocity = system.violations(t, q, v)
    return jnp.abs(position) / lengths, jnp.abs(velocity) / lengths
