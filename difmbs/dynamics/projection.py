"""Back onto the constraints: positions first, then velocities, with as little motion as possible."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..core.types import Coordinates, Flag, Level, Switches, Time, Values, Variables, Vector, Velocities
from ..system.control import controlled
from ..system.system import System
from .accelerations import anew, corrected, solved
from .implicit_equations import ACCELERATION, POSITION, VELOCITY


class VisitedStates(NamedTuple):
    """States one after the other, and accelerations and multipliers (or corrections) there."""

    t: Time
    q: Coordinates
    v: Velocities
    u: Variables


@dataclasses.dataclass(frozen=True)
class ProjectionPlan:
    """Corrects q and v on each of the levels, one after the other; on that of accelerations goes ahead instead, by the
    time `ahead(q, v, v')` (None: not at all).
    """

    levels: tuple[int, ...]
    ahead: Callable[..., Any] | None = None

    def follow(
        self, system: System, t: Time, q: Vector, v: Vector
    ) -> tuple[tuple[Vector, Vector], VisitedStates | None]:
        """The last q and v, and all states before. One loop: the equations of motion are compiled once."""
        if not self.levels:
            return (q, v), None

        def correct(state, level):
            t, q, v = state
            u, _ = solved(system, t, q, v, level)
            return self.after(system, t, q, v, u, level, level == ACCELERATION), VisitedStates(t, q, v, u)

        (_, q, v), visited = lax.scan(anew(correct), (jnp.asarray(t, q.dtype), q, v), jnp.asarray(self.levels))
        return (q, v), visited

    def after(
        self, system: System, t: Time, q: Vector, v: Vector, u: Vector, level: Level, goes: Any
    ) -> tuple[Any, Vector, Vector]:
        """The next state; `goes`: whether it is ahead."""
        x = u[: v.size]
        if self.ahead is None:
            return (t, *corrected(system, q, v, level, x))
        time = jnp.where(goes, self.ahead(q, v, x), 0)
        q, v = system.retract(q, time * v), v + time * x
        return (t + time, *corrected(system, q, v, level, x))


@jax.jit
def settle(system: System, t: Time, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """q and v brought back onto constraints that they violate a little, to second order of what they violate.

    Differentiable with respect to everything.
    """
    return ProjectionPlan((POSITION, VELOCITY)).follow(system, t, q, v)[0] if system.constrained else (q, v)


class ConsistentStart(NamedTuple):
    """A consistent start, by how much it differs from what was given, and whether there is one."""

    q: Vector
    v: Vector
    moved: Any
    turned: Values
    possible: Any


DRIFT = 1e-4
"""Largest violation of constraints at outputs, relative to all that moves."""
ROUNDS = (POSITION,) * 10 + (VELOCITY,) * 2
"""The corrections that bring a start onto the constraints that may violate them by much."""


@jax.jit
def onto_constraints(system: System, t: Time, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """q and v brought onto constraints that they may violate by much."""
    return ProjectionPlan(ROUNDS).follow(system, t, q, v)[0] if system.constrained else (q, v)


def consistent(system: System, t: Time, q: Vector, v: Vector) -> ConsistentStart:
    """q and v on the constraints."""
    if not system.constrained:
        zero = jnp.zeros((), q.dtype)
        return ConsistentStart(q, v, zero, zero, jnp.asarray(True))
    near_q, near_v = onto_constraints(system, t, q, v)
    q1, v1, q0, v0 = (lax.stop_gradient(x) for x in (near_q, near_v, q, v))
    fits = meets(system, t, q1, v1, *start_limits(system.extent(q1), v1, v0))
    return ConsistentStart(near_q, near_v, jnp.max(jnp.abs(q1 - q0)), jnp.max(jnp.abs(v1 - v0)), fits)


def start_limits(extent: Any, v: Vector, given_v: Vector) -> tuple[Any, Any]:
    """Largest violations of constraints by a start, as a displacement and a velocity."""
    small = jnp.finfo(v.dtype).eps ** 0.5
    return small * extent, small * jnp.max(jnp.abs(jnp.concatenate([v, given_v])))


def meets(system: System, t: Time, q: Vector, v: Vector, of_q: Any, of_v: Any) -> Flag:
    """Whether all active constraints are met, up to a displacement and up to a velocity."""
    position, velocity = violations(system, t, q, v)
    return jnp.all(position <= of_q) & jnp.all(velocity <= of_v)


def all_met(
    system: System,
    on: Switches,
    t: Time,
    q: Coordinates,
    v: Velocities,
    given_v: Velocities,
    held: tuple[bool, bool],
    lasts: float,
) -> Any:
    """Whether constraints are met at the start, which is the first of these states, and at each output.

    `on`: the switches there; `held`: on which levels they should be met at outputs; `lasts`: how long the run does.
    True of outputs that are missing.
    """
    if not system.constrained:
        return jnp.ones(len(t), bool)
    q, v = lax.stop_gradient((q, v))
    missing = ~jnp.all(jnp.isfinite(q), axis=-1)
    # Compared with the largest position until then, and with the speed that would lead so far within the run.
    largest = jnp.max(jnp.where(missing[:, None], 0, jnp.abs(q)), axis=1)
    extent = system.extent(jnp.where(missing[0], 0, q[0]))
    size = jnp.maximum(lax.cummax(largest), extent)
    fastest = jnp.max(jnp.where(missing[:, None], 0, jnp.abs(v)))
    speed = size / lasts + fastest
    levels = zip((size, speed), held, start_limits(extent, v[0], given_v), strict=True)
    limits = [jnp.where(holds, DRIFT * x, jnp.inf).at[0].set(first) for x, holds, first in levels]
    met = jax.vmap(lambda on, *x: meets(controlled(system.switched(on), *x[:3]), *x))(on, t, q, v, *limits)
    return met | missing.at[0].set(False)


def violations(system: System, t: Time, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """How far q and v are from meeting each equation of the active constraints, as a displacement and a velocity."""
    lengths = jnp.maximum(system.row_lengths(t, q), jnp.finfo(q.dtype).tiny)
    position, velocity = system.violations(t, q, v)
    return jnp.abs(position) / lengths, jnp.abs(velocity) / lengths
