"""Watching for events, and what they do to the state."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.types import Count, Flag, MaybeValues, State, Switches, Time, Values
from ..dynamics.accelerations import derivative, split
from ..dynamics.outputs import Outputs
from ..dynamics.projection import onto_constraints
from ..solvers.one_step import AbstractOneStep
from ..system.system import System

_TRIES = 8
_CLOSE = 1e-8
_SLIVER = 1e-6


def elements(system: System) -> list[Any]:
    """The events, with their parameters."""
    instances = [group.stack.instances(leaves)["element"] for group, leaves in system.with_leaves("events")]
    return [jax.tree.map(lambda x: x[0] if eqx.is_array(x) else x, event) for event in instances]


def values(system: System, t: Time, y: State) -> Values:
    """What crosses zero when each event happens."""
    q, v = split(system, y)
    t = jnp.asarray(t, q.dtype)

    def value(when):
        return jnp.asarray(when(t, Outputs(system, t, q, v)), q.dtype) if callable(when) else t - when

    return jnp.stack([value(event.when) for event in elements(system)])


def rates(system: System, t: Time, y: State) -> Values:
    """d/dt of `values` along the motion."""
    y = jnp.concatenate(split(system, y))
    slope = derivative(t, y, system)
    return jax.jvp(lambda t, y: values(system, t, y), (t, y), (jnp.ones_like(t), slope))[1]


def directions(system: System) -> Count:
    """Direction of each event, 1, -1 or 0 for both; a time is only passed once."""
    return jnp.asarray([1 if not callable(e.when) else e.direction for e in elements(system)])


def after(system: System, number: Count) -> tuple[Switches, Flag]:
    """The switches after an event, and whether the simulation ends."""
    stop = jnp.asarray([event.stop for event in elements(system)])
    return _set(system)[number], stop[number]


def effective(system: System) -> Flag:
    """Which events would change anything: one that only sets switches would not if they are set already."""
    more = jnp.asarray([event.stop or event.jump is not None or not event.switch for event in elements(system)])
    return more | jnp.any(_set(system) != system.on[None], axis=1)


def _set(system: System) -> Switches:
    """The switches after each event."""
    events = system.structure.events
    rows = [[dict(group.switches).get(i, -1) for i in range(len(system.on))] for group in events]
    wanted = jnp.asarray(np.asarray(rows, int).reshape(len(events), len(system.on)))
    return jnp.where(wanted < 0, system.on[None], wanted > 0)


def passed(step: AbstractOneStep, system: System, t: Time, y: State, number: Count) -> tuple[State, Time, Values]:
    """The state after an event that happens at t in state y, its time, and the rates of all functions from there on.

    The event may be a little before or after t. Its time moves with the event's function, and because the motion before
    and after it differ, so does the state at a fixed time after it; both to first order.
    """
    held = lambda x: jax.tree.map(lambda y: lax.stop_gradient(y) if eqx.is_array(y) else y, x)
    core = jnp.concatenate(split(system, y))
    # Just before, so that a force that jumps at this time still has its old value.
    before = t - 8 * jnp.finfo(y.dtype).eps * jnp.maximum(jnp.abs(t), 1)
    rate = rates(held(system), before, held(core))[number]
    value = values(system, t, core)[number]
    shift = -value / rate
    moment = t + shift
    core = core + shift * derivative(before, held(core), held(system))
    following = system.switched(after(system, number)[0])
    q, v = lax.switch(number, [_jump(event) for event in elements(system)], moment, *split(system, core))
    q, v = onto_constraints(following, moment, q, v)
    core = jnp.concatenate([q, v])
    going = rates(held(following), held(moment), held(core))
    core = core - shift * derivative(held(moment), held(core), held(following))
    return step.start(following, t, *step.plan().follow(following, t, *split(system, core))), moment, going


def _jump(event: Any) -> Any:
    if event.jump is None:
        return lambda t, q, v: (q, v)

    def jump(t, q, v):
        after = event.jump(t, q, v)
        return tuple(jnp.asarray(new, old.dtype).reshape(old.shape) for new, old in zip(after, (q, v), strict=True))

    return jump


class _Attempt(NamedTuple):
    """A step from t to `end`, where the state is y and the events' functions are `now`, on these sides of zero; which
    of them have crossed it; `between`: the state at a time inside."""

    system: System
    t: Time
    end: Time
    y: State
    between: Callable[[Time], State]
    now: Values
    side: Values
    crossed: Flag


def _allowed(system: System, way: Values) -> Flag:
    """Which events happen by crossing zero this way, and would change anything."""
    ways = directions(system).astype(way.dtype)
    return ((ways == 0) | (ways == way)) & effective(system)


class EventWatch(NamedTuple):
    """What is known of the events: on which side of zero each is, the functions' values at the end of the last step,
    which one is aimed at and where it is expected, which ones are due, the switches, and when each happened last."""

    side: Values
    value: Values
    aim: Count
    target: Time
    tries: Count
    due: Flag
    on: Switches
    moments: MaybeValues

    @classmethod
    def start(cls, system: System, t: Time, y: State) -> "EventWatch":
        on = jnp.asarray(system.structure.switches, bool).reshape(-1)
        value = values(system.switched(on), t, y)
        # The start itself is a time like any other; a function that is zero there has not crossed it.
        timed = np.asarray([not callable(event.when) for event in elements(system)])
        side = jnp.where(timed & (value == 0), -1, jnp.sign(value))
        none = jnp.zeros(side.shape, bool)
        return cls(side, value, jnp.full((), -1), t, jnp.zeros((), int), none, on, jnp.full_like(value, jnp.nan))

    def look(
        self, system: System, t: Time, end: Time, y: State, keep: Flag, between: Callable[[Time], State]
    ) -> tuple["EventWatch", Flag]:
        """After an attempt that would be kept: whether it went too far, and if not, what happened at its end."""
        now = values(system, end, y)
        side = jnp.where(now == 0, self.side, jnp.sign(now))
        crossed = keep & (side != self.side) & (self.side != 0) & jnp.isfinite(now) & _allowed(system, side)
        attempt = _Attempt(system, t, end, y, between, now, side, crossed)

        def nothing_there():
            new = self._replace(side=jnp.where(keep, side, self.side), aim=jnp.full_like(self.aim, -1))
            return new, jnp.asarray(False)

        def unaimed():
            return lax.cond(jnp.any(crossed), lambda: self._searched(attempt), nothing_there)

        new, too_far = lax.cond(keep & (self.aim >= 0), lambda: self._aimed(attempt), unaimed)
        return new._replace(value=jnp.where(keep & ~too_far, now, new.value)), too_far

    def _aimed(self, attempt: _Attempt) -> tuple["EventWatch", Flag]:
        """The attempt ended where the event was expected: is it there, and which others are?"""
        system, t, end, y, _, now, side, crossed = attempt
        rate = rates(system, end, y)
        changes = -now / rate
        change = changes[self.aim]
        near, tried = jnp.abs(changes) <= _CLOSE * (end - t), self.tries >= _TRIES
        # A function that jumps does not tell by its rate where it does.
        there = near[self.aim] | tried | ~(jnp.abs(change) <= end - t)
        way = jnp.sign(rate)
        due = there & (near & (way == -self.side) & _allowed(system, way)).at[self.aim].set(True)
        new = self._replace(
            # Those that have crossed zero, but not yet here, are found in the next step.
            side=jnp.where(there, jnp.where(due, -self.side, jnp.where(crossed, self.side, side)), self.side),
            aim=jnp.where(there, -1, self.aim),
            target=jnp.maximum(end + change, t),
            tries=self.tries + 1,
            due=due,
        )
        return new, ~there

    def _searched(self, attempt: _Attempt) -> tuple["EventWatch", Flag]:
        """Somewhere in the step: where the first of those that happen in it is, from the interpolated motion."""
        system, t, end, _, between, _, side, crossed = attempt
        reached = lambda time: crossed & (jnp.sign(values(system, time, between(time))) == side)

        def halve(_, bracket):
            low, high = bracket
            middle = 0.5 * (low + high)
            inside = jnp.any(reached(middle))
            return jnp.where(inside, low, middle), jnp.where(inside, middle, high)

        _, high = lax.fori_loop(0, 52, halve, (t, end))
        first = jnp.argmax(jnp.where(jnp.any(reached(high)), reached(high), crossed))
        # At the very start of the step: it is due at once, a step to it would be all rounding error.
        at_once = high - t <= _SLIVER * (end - t)
        due = at_once & reached(high).at[first].set(True)
        # There and back in no time: where that happens again and again, a body comes to rest.
        lost = at_once & (jnp.sign(rates(system, t, between(t))[first]) != side[first])
        new = self._replace(
            side=jnp.where(due, -self.side, self.side),
            value=jnp.where(lost, jnp.nan, self.value),
            aim=jnp.where(at_once, -1, first.astype(self.aim.dtype)),
            target=high,
            tries=jnp.zeros((), int),
            due=due,
        )
        return new, jnp.asarray(True)

    def first(self, system: System) -> Count:
        """The number of the event that is next, of those that are due: one that ends the run comes last."""
        stops = jnp.asarray([event.stop for event in elements(system)])
        return jnp.argmax(jnp.where(self.due, 2 - stops.astype(int), 0))

    def happened(
        self, number: Count, following: System, t: Time, y: State, moment: Time, going: Values, span: Time
    ) -> "EventWatch":
        """After an event that was due; y is the state behind it, `going` the rates of the functions there, `span` the
        length of the run.

        Where it has changed an event's function, that one's side is a new one: it did not cross zero. Its own side is
        the one that it goes to. If it goes nowhere, it stays where it was before: then it happens again.
        """
        now = values(following, t, y)
        same = jnp.abs(now - self.value) <= _SLIVER * jnp.maximum(jnp.abs(self.value), span * jnp.abs(going))
        ahead = jnp.where(going == 0, -self.side, jnp.sign(going))[number]
        side = jnp.where(same | (now == 0), self.side.at[number].set(ahead), jnp.sign(now))
        due, moments = (self.due & same).at[number].set(False), self.moments.at[number].set(moment)
        return self._replace(side=side, value=now, due=due, on=following.on, moments=moments)
