"""Time loop with steps of one size, with outputs on the way."""

import functools
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.status import Status
from ..core.types import Count, Flag, State, Time, Values
from ..jaxtools.batched_loops import anywhere
from ..solvers.one_step import AbstractOneStep
from ..system.system import System
from .records import AcceptedSteps, RunSummary
from .stored_states import Evenly, empty, with_state

_INFINITE = {4: 1e18, 8: 1e75}
"""By the bytes of a number, what counts as infinite: derivatives multiply such numbers with each other."""


def is_sound(y: State) -> Flag:
    """Whether all numbers of a state are finite, and not so large that derivatives would not be."""
    return jnp.all(jnp.abs(y) < _INFINITE[y.dtype.itemsize], axis=-1)


class FixedSteps(eqx.Module):
    """Steps of size `dt` from t0 on; the last one is cut off at t1."""

    step: AbstractOneStep
    t0: float = eqx.field(static=True)
    t1: float = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    outputs: tuple[float, ...] = eqx.field(static=True)

    looks_around: ClassVar[bool] = False
    equal_steps: ClassVar[bool] = True

    def run(self, system: System, begin: Time, y0: State, record: bool, seen: None = None) -> tuple[Any, ...]:
        """States at the outputs, no moments of events, how it went, and if recorded the steps; `begin`: the time at t0,
        from which all times count."""
        times, index, on_grid = self._grid()
        stored = self.stored(y0.size)
        wanted = begin + jnp.asarray(np.asarray(self.outputs) - self.t0, y0.dtype)
        after = functools.partial(self._after, system, begin, stored)
        starts = self.goals
        # For derivatives also the end of the last step is needed.
        stops = np.append(starts, index[-1] + 1) if record else starts

        def until(s, stop):
            s = lax.while_loop(lambda s: (s.k < stop) & anywhere(s.code == 0), after, s)
            return s, (s.y, s.code)

        zero = jnp.zeros((), int)
        begun = self.begun(system, begin, y0)._replace(states=empty(stored, y0) if record else None)
        s, reached_at = lax.scan(until, begun, jnp.asarray(stops))
        at, codes = (x[: len(starts)] for x in reached_at)
        inside = functools.partial(self.inside, system, begin)
        outputs = at if on_grid else jax.vmap(inside)(jnp.asarray(index), at, wanted)
        good = (codes == 0) & is_sound(outputs)
        outputs = jnp.where(good[:, None], outputs, jnp.nan)
        status = jnp.where(jnp.all(good), Status.ok.value, jnp.where(s.code == 0, Status.non_finite.value, s.code))
        reached = jnp.where(
            s.code == 0, jnp.max(jnp.where(good, wanted, begin)), self._span(begin, s.done, y0.dtype)[0]
        )
        steps = jnp.where(s.code == 0, int(index[-1]) + 1, s.done)
        summary = RunSummary(None, steps, zero, s.iterations, status, reached)
        if not record:
            return outputs, None, summary, None
        good, every = jnp.sum(good), jnp.asarray(stored.longest)
        begins, sizes = begin + jnp.asarray(times[:-1] - self.t0, y0.dtype), jnp.asarray(np.diff(times), y0.dtype)
        until_last = steps_until_last(index, good)
        accepted = AcceptedSteps(begins, sizes, s.states, every, wanted, jnp.asarray(index), good, until_last)
        return outputs, None, summary, accepted

    def begun(self, system: System, begin: Time, y0: State, seen: None = None) -> "_FixedState":
        """Before the first step."""
        zero = jnp.zeros((), int)
        return _FixedState(zero, y0, zero, zero, zero, None)

    @property
    def goals(self) -> np.ndarray:
        """For each output the number of steps before the state that it is made of: up to the start of its step; the
        step itself is repeated only for an output inside it."""
        _, index, on_grid = self._grid()
        return index + np.asarray(np.asarray(self.outputs) > self.t0, int) if on_grid else index

    def piece(
        self, system: System, begin: Time, s: "_FixedState", goals: Any, most: Count
    ) -> tuple["_FixedState", tuple[Any, ...]]:
        """Goes on to each of the goals, by a number of steps at most: the states there, which of them were passed,
        which of these are sound, and no switches."""
        last = s.k + most

        def until(s, stop):
            after = functools.partial(self._after, system, begin, None)
            s = lax.while_loop(lambda s: (s.k < stop) & (s.k < last) & (s.code == 0), after, s)
            return s, (s.y, s.k >= stop, s.code == 0, None)

        return lax.scan(until, s, goals)

    def at_output(self, system: System, begin: Time, number: Count, y: State, output: Time) -> State:
        """The state at an output, made of the one at its goal."""
        if self.on_grid:
            return y
        return self.inside(system, begin, jnp.asarray(self._grid()[1])[number], y, output)

    def watch(self, s: "_FixedState") -> None:
        """What is known of events: there are none."""

    def summary(self, begin: Time, s: "_FixedState") -> RunSummary:
        """How it went until now."""
        steps = jnp.where(s.code == 0, s.k + (0 if self.on_grid else 1), s.done)
        return RunSummary(
            None, steps, jnp.zeros((), int), s.iterations, s.code, self._span(begin, s.done, s.y.dtype)[0]
        )

    def inside(self, system: System, begin: Time, k: Count, y: State, output: Time) -> State:
        """The state at an output inside of step k, which starts in y."""
        t, h = self._span(begin, k, y.dtype)
        step = self.step.step(system, t, h, y, self.step.begin(system, t, h, y))
        return self.step.between(t, h, y, step.end, step.dense, output)

    def _span(self, begin: Time, k: Count, dtype: Any) -> tuple[Time, Time]:
        """Start and size of step k."""
        times, *_ = self._grid()
        rest = float(times[-1] - times[-2])
        h = jnp.asarray(self.dt, dtype)
        if abs(rest - self.dt) > 1e-9 * self.dt:
            h = jnp.where(k == len(times) - 2, jnp.asarray(rest, dtype), h)
        return begin + jnp.asarray(k, dtype) * self.dt, h

    def _after(self, system: System, begin: Time, stored: Evenly | None, s: "_FixedState") -> "_FixedState":
        """One step more."""
        t, h = self._span(begin, s.k, s.y.dtype)
        step = self.step.step(system, t, h, s.y, self.step.begin(system, t, h, s.y))
        y, code, done, iterations = step.end, s.code, s.done, s.iterations + step.iterations
        if step.code is not None:
            sound = is_sound(step.end)
            code = jnp.where(step.code == 0, jnp.where(sound, 0, Status.non_finite.value), step.code)
            code = jnp.where(s.code == 0, code, s.code)
            iterations = jnp.where(s.code == 0, iterations, s.iterations)
            y = jnp.where(code == 0, step.end, s.y)
            done = jnp.where(code == 0, s.k + 1, done)
        states = None if s.states is None or stored is None else with_state(stored, s.states, s.k + 1, y)
        return _FixedState(s.k + 1, y, iterations, code, done, states)

    @property
    def room(self) -> int:
        """Number of steps that the record has rows for."""
        return len(self._grid()[0]) - 1

    def stored(self, size: int) -> Evenly:
        return Evenly.of(self.room, size)

    @property
    def on_grid(self) -> bool:
        """Whether all outputs are at the ends of steps."""
        return self._grid()[2]

    @property
    def grid_times(self) -> np.ndarray:
        """Starts of all steps, and the end."""
        return self._grid()[0]

    def _grid(self):
        """Step times, the step in which each output lies, whether all outputs are at the ends of steps."""
        count = max(1, int(np.ceil((self.t1 - self.t0) / self.dt - 1e-6)))
        times = self.t0 + self.dt * np.arange(count + 1)
        times[-1] = self.t1
        wanted, little = np.asarray(self.outputs), 1e-9 * self.dt
        index = np.clip(np.searchsorted(times, wanted - little) - 1, 0, count - 1)
        ends = np.where(wanted <= self.t0, self.t0, times[index + 1])
        return times, index, bool(np.all(np.abs(ends - wanted) <= little))


def steps_until_last(index: Count, reached: Count) -> Count:
    """The number of steps until the last of the outputs that were reached."""
    return jnp.where(reached > 0, jnp.asarray(index)[jnp.maximum(reached - 1, 0)] + 1, 0)


class _FixedState(NamedTuple):
    """After step k - 1."""

    k: Values
    y: State
    iterations: Count
    code: Count
    """0, or what went wrong."""
    done: Any
    """Number of good steps."""
    states: PyTree
    """Those that are stored; None if nothing is recorded."""
