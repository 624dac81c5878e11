"""A run that is known: what its derivative is made of."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from ..core.types import Coordinates, Count, Flag, MaybeValues, State, Switches, Time, Variables, Velocities
from ..dynamics.projection import VisitedStates
from ..jaxtools.batched_loops import anywhere, hardly_ever, in_batch
from ..linalg.rows import with_row
from ..system.system import System
from .correction_loop import CorrectionLoop, at
from .event_search import passed
from .records import AcceptedSteps
from .stored_states import Evenly, Thinning


class Trajectory(NamedTuple):
    """The results of a run that can be differentiated."""

    q: Coordinates
    """Coordinates at the outputs, in rows."""
    v: Velocities
    u: Variables
    """Accelerations and multipliers at the outputs as one vector; None: not known."""
    first_q: Coordinates
    """The start after its projection, here and in `first_v`; the segments of a fit read it."""
    first_v: Velocities
    moments: MaybeValues
    """When each event happened last; None where there are no events."""


class _KnownStates(NamedTuple):
    """States from the one with the number `first` on."""

    states: Any
    first: Any


@dataclasses.dataclass(frozen=True)
class RecordedRun:
    """A run with its accepted steps, by their numbers k, and the states that its corrections visited.

    `p`: the parameters that are differentiated, as a system in which all others are None; `on`: the switches at start
    and outputs; `possible`: whether there is a start.
    """

    time_loop: Any
    system: System
    p: PyTree
    begin: Time
    corrections: CorrectionLoop
    accepted: AcceptedSteps
    visited: VisitedStates | None
    on: Switches
    possible: Any

    def system_of(self, p: PyTree) -> System:
        return eqx.combine(p, self.system)

    # Steps

    @property
    def outputs(self) -> int:
        return self.accepted.index.shape[0]

    @property
    def events(self) -> int:
        return len(self.system.structure.events)

    @property
    def watched(self) -> bool:
        """Whether a step may be an event."""
        return self.accepted.event is not None

    @property
    def happened(self) -> Any:
        """Which events did."""
        event, numbers = self.accepted.event, jnp.arange(self.events)[:, None]
        taken = jnp.arange(event.shape[0]) < self.accepted.steps
        return jnp.any((event[None] == numbers) & taken[None], axis=1)

    @property
    def stored(self) -> Evenly | Thinning:
        """Which states are."""
        return self.time_loop.stored(self.accepted.y.shape[1])

    def system_at(self, k: Any) -> Callable[[Any], System]:
        """The system during a step as a function of the parameters."""
        return (lambda p: self.system_of(p).switched(self.accepted.on[k])) if self.watched else self.system_of

    def step_data(self, k: Any, known: "_KnownStates") -> tuple[Any, Any, Any, Any]:
        """Time, size, and the states at start and end."""
        place = k - known.first
        return *self.accepted.span(k), known.states[place], known.states[place + 1]

    def happening(self, k: Any) -> Callable[[Any, Any], Any]:
        """The step that an event is: the state after it and its moment as functions of parameters and state."""
        accepted, step = self.accepted, self.time_loop.step
        return lambda p, y: passed(step, self.system_at(k)(p), accepted.t[k], y, accepted.event[k])[:2]

    def has_output(self, k: Count, j: Count) -> Flag:
        """Whether output j is in step k."""
        return (j >= 0) & (j < self.outputs) & (self.accepted.index[jnp.clip(j, 0, self.outputs - 1)] == k)

    def inside(self, t: Time, h: Time, y: State, result: PyTree, output: Time) -> State:
        """The state at an output."""
        step = self.time_loop.step
        if self.time_loop.on_grid:
            return jnp.where(output <= t, y, step.ending(h, y, result))
        return step.inside(t, h, y, result, output)

    def between_stored(self, first: Any) -> Any:
        """The states from one that is stored to the next, in rows: computed again, but for the first and where all are
        stored."""
        accepted, step, stored = self.accepted, self.time_loop.step, self.stored

        def again(k, states):
            def advance(y):
                (t, h), system = accepted.span(k), self.system_at(k)(self.p)
                return step.step(system, t, h, y, step.begin(system, t, h, y)).end

            def any_step(y):
                if not self.watched:
                    return advance(y)
                return lax.cond(accepted.event[k] >= 0, lambda y: self.happening(k)(self.p, y)[0], advance, y)

            return with_row(states, k - first + 1, any_step(states[k - first]))

        here, next_one = (accepted.y[stored.row(n)] for n in (first, first + accepted.spacing))
        states = jnp.zeros((stored.longest + 1, here.size), here.dtype).at[:2].set(jnp.stack([here, next_one]))
        # Where all are stored nothing is left to do.
        count = jnp.where(accepted.spacing > 1, accepted.spacing, 0)
        return lax.fori_loop(first, jnp.minimum(first + count, self.time_loop.room), again, states)

    def through(self, left: Any, visit: Any, visit_event: Any, carry: PyTree) -> Any:
        """Visits steps, with the states around them, while there are any `left`; carry[0] is the number of the next
        one.

        `visit_event`: what is done instead where the step is an event. Members of a batch that have no steps left may
        go on with the others.
        """

        def either(known, carry):
            if not self.watched:
                return visit(known, carry)
            is_event = (carry[0] >= 0) & (carry[0] < self.accepted.steps) & (self.accepted.event[carry[0]] >= 0)
            return lax.cond(is_event, visit_event, visit, known, carry)

        def through_all(carry):
            known = _KnownStates(self.accepted.y, 0)
            return lax.while_loop(lambda c: anywhere(left(c)), functools.partial(either, known), carry)

        first_of = lambda carry: carry[0] // self.accepted.spacing * self.accepted.spacing

        def segment(carry):
            first = first_of(carry)
            known = _KnownStates(self.between_stored(first), first)
            # For each member of a batch by itself.
            return lax.while_loop(lambda c: left(c) & (first_of(c) == first), functools.partial(either, known), carry)

        through_segments = lambda carry: lax.while_loop(left, segment, carry)
        if self.stored.longest == 1:
            return through_all(carry)
        if not in_batch():
            return through_segments(carry)
        # The long way only where one of the members has taken more steps than there is room for: the gradient of an
        # oscillator takes a third of the time. What is hardly ever needed is the smaller program.
        return lax.cond(anywhere(self.accepted.spacing > 1), hardly_ever(through_segments), through_all, carry)

    # Corrections of start and outputs

    def system_there(self, p: PyTree, station: Count) -> System:
        return switched(self.system_of(p), self.on, station)

    def way_to_start(self, visited: PyTree) -> Any:
        """The visits that lead to the start."""
        return jax.tree.map(lambda x: x[: self.corrections.start_visits], visited)


def switched(system: System, on: Switches, station: Count) -> System:
    """The system with its switches as they are at a station."""
    return system if on is None else system.switched(at(on, station))


def only_if(possible: Any, *results: PyTree) -> list[Any]:
    """Results as NaN where no consistent start exists. Multiplied, so that derivatives are NaN too."""
    return [None if x is None else x * jnp.where(possible, 1, jnp.nan) for x in results]
