"""Time loop with steps whose size a controller chooses, and which events cut off.

Steps, error estimates, interpolation and step-size control are diffrax's; the loop is written here because it also has
to store the accepted steps, on which all derivatives of a simulation are built (`step_replay`).
"""

import functools
from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.status import Status
from ..core.types import Count, Flag, MaybeValues, State, Switches, Time
from ..jaxtools.batched_loops import anywhere
from ..jaxtools.memory_layout import all_side_by_side
from ..linalg.rows import with_row
from ..solvers.one_step import TERM, AbstractOneStep
from ..system.function_points import functions_of
from ..system.system import System
from .event_search import EventWatch, after, passed
from .fastest_vibration import EVALUATIONS, PowerIteration
from .fixed_steps import is_sound, steps_until_last
from .records import AcceptedSteps, RunSummary
from .stored_states import Thinning, empty, with_state


class GridController(eqx.Module):
    """The steps that a controller of diffrax would make if they were fixed, also after one that an event cut off."""

    dt: float = eqx.field(static=True)

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        return t0 + self.dt, t0

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        begin = controller_state
        done = jnp.floor((t1 - begin) / self.dt + 1e-6)
        lost = ~jnp.all(jnp.isfinite(y_error))
        problem = diffrax.RESULTS.where(lost, diffrax.RESULTS.dt_min_reached, diffrax.RESULTS.successful)
        return ~lost, t1, begin + (done + 1) * self.dt, jnp.asarray(False), begin, problem


class AdaptiveSteps(eqx.Module):
    """Steps whose size a controller chooses, and which events cut off."""

    step: AbstractOneStep
    controller: diffrax.PIDController | GridController
    t0: float = eqx.field(static=True)
    t1: float = eqx.field(static=True)
    outputs: tuple[float, ...] = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    on_grid: ClassVar[bool] = False
    equal_steps: ClassVar[bool] = False

    @property
    def room(self) -> int:
        return self.max_steps + 1

    def stored(self, size: int) -> Thinning:
        return Thinning.of(self.max_steps, size)

    @property
    def looks_around(self) -> bool:
        """Whether it looks around at the start."""
        return not isinstance(self.controller, GridController) and bool(np.isfinite(self.step.reach))

    def run(
        self, system: System, begin: Time, y0: State, record: bool, seen: PowerIteration | None = None
    ) -> tuple[Any, ...]:
        """States at the outputs, the moments at which events happened last, how it went, and if recorded the steps.

        `begin`: the time at t0, from which all times count; `seen`: the fastest vibration about the start, if it is
        known."""
        start = self._start(system, begin, y0, record, seen)
        wanted = begin + jnp.asarray(self.goals, y0.dtype)

        def until(state, output):
            s = self._gone_on(system, state, output, None)
            return s, (self._at(s, output), jnp.maximum(s.steps - 1, 0), s.watch.on if s.watch is not None else None)

        s, (outputs, index, on) = lax.scan(until, start, wanted)
        moments = s.watch.moments if s.watch is not None else None
        summary = RunSummary(on, s.steps, s.rejected, s.iterations, s.status, s.end)
        if not record:
            return outputs, moments, summary, None
        starts, states, *of_events = s.recorded
        reached = jnp.sum(wanted <= s.end)
        steps = steps_until_last(index, reached)
        if of_events:
            numbers = jnp.arange(self.max_steps)
            happened = jnp.where(of_events[0][: self.max_steps] >= 0, numbers + 1, 0)
            steps = jnp.maximum(steps, jnp.max(jnp.where(numbers < s.steps, happened, 0)))
        every = self.stored(y0.size).spacing(s.steps)
        accepted = AcceptedSteps(starts, None, states, every, wanted, index, reached, steps, *of_events)
        return outputs, moments, summary, accepted

    def begun(self, system: System, begin: Time, y0: State, seen: PowerIteration | None = None) -> "_AdaptiveState":
        """Before the first step."""
        return self._start(system, begin, y0, False, seen)

    @property
    def goals(self) -> np.ndarray:
        """The outputs, from t0 on."""
        return np.asarray(self.outputs) - self.t0

    def piece(
        self, system: System, begin: Time, s: "_AdaptiveState", goals: Any, most: Count
    ) -> tuple["_AdaptiveState", tuple[Any, ...]]:
        """Goes on to each of the goals, by a number of attempts at most: the states there, which of them were passed,
        which of these are sound, and the switches."""
        last = s.steps + s.rejected + most

        def until(s, goal):
            output = begin + goal
            s = self._gone_on(system, s, output, last)
            y = self._at(s, output)
            return s, (y, output <= s.end, output <= s.end, s.watch.on if s.watch is not None else None)

        return lax.scan(until, s, goals)

    def at_output(self, system: System, begin: Time, number: Count, y: State, output: Time) -> State:
        """The state at an output, made of the one at its goal."""
        return y

    def watch(self, s: "_AdaptiveState") -> EventWatch | None:
        """What is known of events; None if there are none."""
        return s.watch

    def summary(self, begin: Time, s: "_AdaptiveState") -> RunSummary:
        """How it went until now."""
        return RunSummary(None, s.steps, s.rejected, s.iterations, s.status, s.end)

    def _gone_on(self, system: System, s: "_AdaptiveState", output: Time, last: Any) -> "_AdaptiveState":
        """After the steps to an output; `last`: the number of attempts after which it stops, None: none."""

        def unfinished(s):
            going = (s.end < output) & (s.status == Status.ok.value)
            return going if last is None else going & (s.steps + s.rejected < last)

        def go_on(s):
            active = unfinished(s)
            if s.watch is not None:
                new = lax.cond(jnp.any(s.watch.due), self._happen, self._attempt, system, s, active)
            else:
                new = self._attempt(system, s, active)
            # A member of a batch that has finished keeps its state; its record needs no selection: `_written` has
            # put the row behind the last one, which is not read.
            kept = jax.tree.map(
                lambda a, b: jnp.where(active, a, b), new._replace(recorded=None), s._replace(recorded=None)
            )
            return all_side_by_side(kept)._replace(recorded=new.recorded)

        first = all_side_by_side(s._replace(recorded=None))._replace(recorded=s.recorded)
        return lax.while_loop(lambda s: anywhere(unfinished(s)), go_on, first)

    def _at(self, s: "_AdaptiveState", output: Time) -> State:
        """The state at an output in the last step; NaN behind it."""
        y = self.step.between(s.t, s.h, s.y, s.y1, s.dense, output)
        return jnp.where(output <= s.end, y, jnp.nan)

    def _start(
        self, system: System, t0: Time, y0: State, record: bool, seen: PowerIteration | None
    ) -> "_AdaptiveState":
        t1 = t0 + jnp.asarray(self.t1 - self.t0, y0.dtype)
        slope, longest = self._look_around(system, t0, y0, seen)
        first = self._cautious(slope, y0) if system.constrained else None
        tnext, controller = self.controller.init(TERM, t0, t1, y0, first, system, self._slope, self.step.error_order)
        memory = self.step.begin(system, t0, tnext - t0, y0)
        dense = eqx.filter_eval_shape(self.step.step, system, t0, tnext - t0, y0, memory).dense
        dense = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), dense)
        status = jnp.where(jnp.isfinite(tnext), Status.ok.value, Status.non_finite.value)
        watch = None
        if system.structure.events:
            watch = EventWatch.start(system, t0, y0)
            status = jnp.where(jnp.all(jnp.isfinite(watch.value)), status, Status.event_undefined.value)
        recorded: Any = None
        if record:
            starts = jnp.zeros(self.max_steps + 2, y0.dtype).at[0].set(t0)
            recorded = (starts, empty(self.stored(y0.size), y0))
            if watch is not None:
                nothing = jnp.zeros((self.max_steps + 1, *watch.on.shape), bool)
                recorded = (*recorded, jnp.full(self.max_steps + 1, -1), nothing)
        zero = jnp.zeros((), int)
        return _AdaptiveState(
            t0, t0, 0 * t0, t1, y0, y0, dense, memory, tnext, longest, controller, zero, zero, zero, status, watch,
            recorded,
        )  # fmt: skip

    def _cautious(self, slope: MaybeValues, y0: State) -> MaybeValues:
        """A first step that changes little: diffrax's own guess would compile the equations of motion twice."""
        if isinstance(self.controller, GridController):
            return None
        weights = self.controller.atol + self.controller.rtol * jnp.abs(y0)
        sizes = [jnp.sqrt(jnp.mean((x / weights) ** 2)) for x in (y0, slope)]
        return jnp.clip(0.01 * sizes[0] / jnp.maximum(sizes[1], 1e-30), 1e-6 * (self.t1 - self.t0), self.t1 - self.t0)

    def _slope(self, terms: Any, t: Time, y: State, system: System) -> State:
        return self.step.slope(t, y, system)

    def _attempt(self, system: System, s: "_AdaptiveState", active: Flag) -> "_AdaptiveState":
        """One step from the end of the last accepted one, accepted or rejected; recorded if `active`."""
        t, last = s.end, s.last
        if s.watch is not None:
            system = system.switched(s.watch.on)
        aim = s.tnext if isinstance(self.controller, GridController) else self._in_sight(system, t, s)
        # A last sliver of a step would be all rounding error.
        end = jnp.where(aim > last - 1e-12 * (self.t1 - self.t0), last, aim)
        if s.watch is not None:
            end = jnp.where(s.watch.aim >= 0, s.watch.target, end)
        h = end - t
        y, error, dense, memory, code, more = self.step.step(system, t, h, s.y1, s.memory)
        y, error, dense = all_side_by_side((y, error, dense))
        code = jnp.zeros((), int) if code is None else code
        finite = is_sound(y) & jnp.all(jnp.isfinite(error))
        sound = finite & (code == 0)
        # An infinite error makes the controller shrink the step as far as it may.
        keep, _, tnext, _, controller, problem = self.controller.adapt_step_size(
            t, end, s.y1, jnp.where(sound, y, s.y1), system, jnp.where(sound, error, jnp.inf),
            self.step.error_order, s.controller,
        )  # fmt: skip
        keep = keep & sound
        watch = s.watch
        if watch is not None:
            between = functools.partial(self.step.between, t, h, s.y1, y, dense)
            watch, too_far = watch.look(system, t, end, y, keep, between)
            # Not accepted, because an event is inside: no fault of the step's size.
            problem = diffrax.RESULTS.where(too_far, diffrax.RESULTS.successful, problem)
            tnext = jnp.where(too_far, s.tnext, tnext)
            controller = jax.tree.map(lambda a, b: jnp.where(too_far, a, b), s.controller, controller)
            keep = keep & ~too_far
        why = jnp.where(finite, Status.dt_min.value, Status.non_finite.value)
        why = jnp.where(code == 0, why, code)
        arrived = keep & (end >= last)
        status = jnp.where((problem == diffrax.RESULTS.successful) | arrived, Status.ok.value, why)
        steps, rejected = jnp.where(keep, s.steps + 1, s.steps), jnp.where(keep, s.rejected, s.rejected + 1)
        status = jnp.where((steps + rejected >= self.max_steps) & ~arrived, Status.max_steps.value, status)
        if watch is not None:
            status = jnp.where(jnp.all(jnp.isfinite(watch.value)), status, Status.event_undefined.value)
        new, old = (end, t, h, s.y1, y, dense, memory), (s.end, s.t, s.h, s.y, s.y1, s.dense, s.memory)
        kept = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)
        after = dict(zip(("end", "t", "h", "y", "y1", "dense", "memory"), kept, strict=True))
        # A rejected attempt is written behind all others.
        place = jnp.where(keep & active, s.steps, self.max_steps)
        recorded = self._written(s, place, end, y, -1, None if watch is None else s.watch.on)
        return s._replace(
            tnext=tnext,
            controller=controller,
            steps=steps,
            rejected=rejected,
            iterations=s.iterations + more,
            status=status,
            watch=watch,
            recorded=recorded,
            **after,
        )

    def _in_sight(self, system: System, t: Time, s: "_AdaptiveState") -> Time:
        """Where the next step may end at most, whatever its error: at rest nothing else would tell it that something
        begins to act, or that disturbances, and with them derivatives, would grow instead of vibrate.
        """
        end = jnp.minimum(s.tnext, t + s.longest)
        knots = _knots(system)
        if knots is None:
            return end
        # Of very many not all: that would take more steps than there may be.
        knots = knots[:: -(-knots.size // (self.max_steps // 8 + 1))]
        ahead = knots - t
        return jnp.minimum(end, t + jnp.min(jnp.where(ahead > 1e-9 * (self.t1 - self.t0), ahead, jnp.inf)))

    def _look_around(self, system: System, t0: Time, y0: State, seen: PowerIteration | None) -> tuple[Any, Any]:
        """The slope at the start, and the step in which the fastest vibration about it turns as far as the method can
        follow."""
        if isinstance(self.controller, GridController):
            return None, jnp.full_like(t0, jnp.inf)
        if not self.looks_around:
            return self.step.slope(t0, y0, system), jnp.full_like(t0, jnp.inf)
        if seen is None:
            look = lambda i, seen: seen.after(i, y0, self.step.slope(t0, seen.point(i, y0), system))
            seen = lax.fori_loop(0, EVALUATIONS, look, PowerIteration.start(y0))
        # Of what else a state holds it is not known, and does not count.
        others = jnp.zeros(y0.size - seen.still.size, y0.dtype)
        return jnp.concatenate([seen.still, others]), seen.longest(self.step.reach)

    def _happen(self, system: System, s: "_AdaptiveState", active: Flag) -> "_AdaptiveState":
        """The event that is due, as a step of size 0."""
        here = system.switched(s.watch.on)
        number = s.watch.first(here)
        y, moment, going = passed(self.step, here, s.end, s.y1, number)
        on, stop = after(here, number)
        following = system.switched(on)
        memory = self.step.begin(following, s.end, s.tnext - s.end, y)
        watch = s.watch.happened(number, following, s.end, y, moment, going, self.t1 - self.t0)
        place = jnp.where(active, s.steps, self.max_steps)
        recorded = self._written(s, place, s.end, y, number, s.watch.on)
        status = jnp.where(stop, Status.event.value, s.status)
        # Where a function crosses zero, its rate leads to where it was found.
        far = ~(jnp.abs(moment - s.end) <= 1e-3 * (self.t1 - self.t0))
        status = jnp.where(far, Status.event_undefined.value, status)
        status = jnp.where(s.steps + 1 >= self.max_steps, Status.max_steps.value, status)
        # What is left of the step that was cut off, at least a little.
        tnext = jnp.maximum(s.tnext, s.end + 1e-9 * (self.t1 - self.t0))
        return s._replace(
            t=s.end, h=0 * s.h, y=s.y1, y1=y, memory=memory, tnext=tnext, steps=s.steps + 1, status=status, watch=watch,
            recorded=recorded,
        )  # fmt: skip

    def _written(self, s: "_AdaptiveState", place: Count, end: Time, y: State, event: Count, on: Switches) -> Any:
        """The record with a step in its place, which ends in y."""
        if s.recorded is None:
            return None
        starts, states, *rest = s.recorded
        rest = [with_row(x, place, jnp.asarray(value, x.dtype)) for x, value in zip(rest, (event, on), strict=False)]
        return (
            with_row(starts, place + 1, end),
            with_state(self.stored(y.size), states, place + 1, y, place < self.max_steps),
            *rest,
        )


class _AdaptiveState(NamedTuple):
    """Between two attempts. The last accepted step goes from (t, y) to (end, y1) with h = end - t."""

    end: Time
    t: Time
    h: Time
    last: Time
    """The time at which the run ends."""
    y: State
    y1: State
    dense: PyTree
    """What interpolates in it."""
    memory: PyTree
    """What the solver hands from step to step."""
    tnext: Time
    """Where the next attempt ends if nothing else does."""
    longest: Time
    """The largest step of the run: the fastest vibration about the start turns by `reach` in it. Measured once, because
    it is for what the error does not show: a start at rest."""
    controller: PyTree
    steps: Count
    """Number of accepted steps, events among them."""
    rejected: Count
    iterations: Count
    status: Count
    watch: Any
    """What is known of the events; None if there are none."""
    recorded: Any
    """Starts of steps, states, and of events numbers and switches; None if nothing is recorded."""


def _knots(system: System) -> MaybeValues:
    """The times of the points of all functions that are given by points."""
    homes = [system.structure.homes[*path, "times"] for path in functions_of(system.structure)]
    stored = dict.fromkeys((part.stack, part.leaf) for home in homes for part in home.parts)
    return jnp.concatenate([jnp.ravel(system.stacks[stack][leaf]) for stack, leaf in stored]) if stored else None
