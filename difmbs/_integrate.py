"""The time loops: fixed and adaptive steps, with outputs on the way.

Steps, error estimates, interpolation and step-size control are diffrax's; the loops are written here because they
also have to store the accepted steps, on which all derivatives of a simulation are built (`_replay`).
"""

from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._status import Status
from .solvers import TERM, AbstractOneStep, with_row
from .system import System


class Trace(NamedTuple):
    """The accepted steps, each of size `h` from state `y` at `t`; the output at `outputs[j]` is in step `index[j]`.

    `y` has one row more: the state at the end of the last step. Of the outputs, the first `reached` were reached.
    """

    t: Any
    h: Any
    y: Any
    outputs: Any
    index: Any
    reached: Any


class Run(NamedTuple):
    """What a run leaves: the state at each output, how it went, and, if recorded, all accepted steps."""

    outputs: Any
    steps: Any
    rejected: Any
    iterations: Any
    status: Any
    time: Any
    trace: Trace | None


class Fixed(eqx.Module):
    """Steps of size `dt` from t0 on; the last one is cut off at t1."""

    step: AbstractOneStep
    t0: float = eqx.field(static=True)
    t1: float = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    outputs: tuple[float, ...] = eqx.field(static=True)

    def run(self, system: System, y0: Any, record: bool) -> Run:
        times, index, on_grid = self._grid()
        count = len(times) - 1
        rest = float(times[-1] - times[-2])
        wanted = jnp.asarray(self.outputs, y0.dtype)

        def span(k):
            h = jnp.asarray(self.dt, y0.dtype)
            if abs(rest - self.dt) > 1e-9 * self.dt:
                h = jnp.where(k == count - 1, jnp.asarray(rest, y0.dtype), h)
            return self.t0 + jnp.asarray(k, y0.dtype) * self.dt, h

        def after(s):
            t, h = span(s.k)
            step = self.step.step(system, t, h, s.y, self.step.begin(system, t, h, s.y))
            y, code = step.end, s.code
            if step.code is not None:
                sound = jnp.all(jnp.isfinite(step.end))
                code = jnp.where(step.code == 0, jnp.where(sound, 0, Status.non_finite.value), step.code)
                y = jnp.where(code == 0, step.end, s.y)
            states = None if s.states is None else with_row(s.states, s.k + 1, y)
            return _Reached(s.k + 1, y, s.iterations + step.iterations, code, states)

        def inside(k, y, output):
            t, h = span(k)
            step = self.step.step(system, t, h, y, self.step.begin(system, t, h, y))
            return self.step.between(t, h, y, step.end, step.dense, output)

        # Up to the start of the step of each output; the step itself is repeated only for an output inside it.
        starts = index + np.asarray(np.asarray(self.outputs) > self.t0, int) if on_grid else index
        # For derivatives also the last step is needed.
        stops = np.maximum(starts, index + 1) if record else starts

        def until(s, stop):
            s = lax.while_loop(lambda s: (s.k < stop) & (s.code == 0), after, s)
            return s, (s.y, s.code)

        zero = jnp.zeros((), int)
        states = jnp.zeros((count + 1, *y0.shape), y0.dtype).at[0].set(y0) if record else None
        s, (at, codes) = lax.scan(until, _Reached(zero, y0, zero, zero, states), jnp.asarray(stops))
        at = s.states[starts] if record else at
        outputs = at if on_grid else jax.vmap(inside)(index, at, wanted)
        good = (codes == 0) & jnp.all(jnp.isfinite(outputs), axis=-1)
        outputs = jnp.where(good[:, None], outputs, jnp.nan)
        status = jnp.where(jnp.all(good), Status.ok.value, jnp.where(s.code == 0, Status.non_finite.value, s.code))
        failed_at = span(s.k - 1)[0]
        reached = jnp.where(s.code == 0, jnp.max(jnp.where(good, wanted, self.t0)), failed_at)
        trace = None
        if record:
            begins, sizes = (jnp.asarray(x, y0.dtype) for x in (times[:-1], np.diff(times)))
            trace = Trace(begins, sizes, s.states, wanted, jnp.asarray(index), jnp.sum(good))
        return Run(outputs, jnp.asarray(count), zero, s.iterations, status, reached, trace)

    @property
    def on_grid(self) -> bool:
        """Whether all outputs are at the ends of steps."""
        return self._grid()[2]

    def _grid(self):
        """Step times, the step in which each output lies, whether all outputs are at the ends of steps."""
        count = max(1, int(np.ceil((self.t1 - self.t0) / self.dt - 1e-6)))
        times = self.t0 + self.dt * np.arange(count + 1)
        times[-1] = self.t1
        wanted, little = np.asarray(self.outputs), 1e-9 * self.dt
        index = np.clip(np.searchsorted(times, wanted - little) - 1, 0, count - 1)
        ends = np.where(wanted <= self.t0, self.t0, times[index + 1])
        return times, index, bool(np.all(np.abs(ends - wanted) <= little))


class _Reached(NamedTuple):
    """After k steps."""

    k: Any
    y: Any
    iterations: Any
    code: Any
    states: Any


class Adaptive(eqx.Module):
    """Steps whose size a diffrax controller chooses."""

    step: AbstractOneStep
    controller: diffrax.PIDController
    t0: float = eqx.field(static=True)
    t1: float = eqx.field(static=True)
    outputs: tuple[float, ...] = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    on_grid: ClassVar[bool] = False

    def run(self, system: System, y0: Any, record: bool) -> Run:
        start = self._start(system, y0, record)
        wanted = jnp.asarray(self.outputs, y0.dtype)

        def until(state, output):
            def unfinished(s):
                return (s.end < output) & (s.status == Status.ok.value)

            s = lax.while_loop(unfinished, lambda s: self._attempt(system, s), state)
            y = self.step.between(s.t, s.h, s.y, s.y1, s.dense, output)
            return s, (jnp.where(output <= s.end, y, jnp.nan), jnp.maximum(s.steps - 1, 0))

        s, (outputs, index) = lax.scan(until, start, wanted)
        trace = None
        if record:
            times, sizes, states = s.recorded
            trace = Trace(times, sizes, states, wanted, index, jnp.sum(wanted <= s.end))
        return Run(outputs, s.steps, s.rejected, s.iterations, s.status, s.end, trace)

    def _start(self, system: System, y0: Any, record: bool) -> "_State":
        t0, t1 = (jnp.asarray(t, y0.dtype) for t in (self.t0, self.t1))
        first = self._cautious(system, t0, y0) if system.constrained else None
        tnext, controller = self.controller.init(TERM, t0, t1, y0, first, system, self._slope, self.step.error_order)
        memory = self.step.begin(system, t0, tnext - t0, y0)
        dense = eqx.filter_eval_shape(self.step.step, system, t0, tnext - t0, y0, memory).dense
        dense = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), dense)
        status = jnp.where(jnp.isfinite(tnext), Status.ok.value, Status.non_finite.value)
        recorded = None
        if record:
            times = jnp.zeros((2, self.max_steps), y0.dtype)
            recorded = (*times, jnp.zeros((self.max_steps + 1, *y0.shape), y0.dtype).at[0].set(y0))
        zero = jnp.zeros((), int)
        return _State(t0, t0, 0 * t0, y0, y0, dense, memory, tnext, controller, zero, zero, zero, status, recorded)

    def _cautious(self, system: System, t0: Any, y0: Any) -> Any:
        """A first step that changes little: diffrax's own guess would compile the equations of motion twice."""
        slope = self.step.slope(t0, y0, system)
        weights = self.controller.atol + self.controller.rtol * jnp.abs(y0)
        sizes = [jnp.sqrt(jnp.mean((x / weights) ** 2)) for x in (y0, slope)]
        return jnp.clip(0.01 * sizes[0] / jnp.maximum(sizes[1], 1e-30), 1e-6 * (self.t1 - self.t0), self.t1 - self.t0)

    def _slope(self, terms: Any, t: Any, y: Any, system: System) -> Any:
        return self.step.slope(t, y, system)

    def _attempt(self, system: System, s: "_State") -> "_State":
        """One step from the end of the last accepted one, accepted or rejected."""
        t, last = s.end, jnp.asarray(self.t1, s.t.dtype)
        # A last sliver of a step would be all rounding error.
        end = jnp.where(s.tnext > last - 1e-12 * (self.t1 - self.t0), last, s.tnext)
        h = end - t
        y, error, dense, memory, code, more = self.step.step(system, t, h, s.y1, s.memory)
        code = jnp.zeros((), int) if code is None else code
        finite = jnp.all(jnp.isfinite(y)) & jnp.all(jnp.isfinite(error))
        sound = finite & (code == 0)
        # An infinite error makes the controller shrink the step as far as it may.
        keep, _, tnext, _, controller, problem = self.controller.adapt_step_size(
            t, end, s.y1, jnp.where(sound, y, s.y1), system, jnp.where(sound, error, jnp.inf),
            self.step.error_order, s.controller,
        )  # fmt: skip
        keep = keep & sound
        why = jnp.where(finite, Status.dt_min.value, Status.non_finite.value)
        why = jnp.where(code == 0, why, code)
        arrived = keep & (end >= last)
        status = jnp.where((problem == diffrax.RESULTS.successful) | arrived, Status.ok.value, why)
        steps, rejected = jnp.where(keep, s.steps + 1, s.steps), jnp.where(keep, s.rejected, s.rejected + 1)
        status = jnp.where((steps + rejected >= self.max_steps) & ~arrived, Status.max_steps.value, status)
        new, old = (end, t, h, s.y1, y, dense, memory), (s.end, s.t, s.h, s.y, s.y1, s.dense, s.memory)
        kept = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)
        recorded = s.recorded
        if recorded is not None:
            place = jnp.maximum(steps - 1, 0)
            times, sizes, states = recorded
            # A rejected attempt writes the last accepted step once more.
            recorded = (
                with_row(times, place, kept[1]),
                with_row(sizes, place, kept[2]),
                with_row(states, steps, kept[4]),
            )
        after = dict(zip(("end", "t", "h", "y", "y1", "dense", "memory"), kept, strict=True))
        return _State(
            tnext=tnext,
            controller=controller,
            steps=steps,
            rejected=rejected,
            iterations=s.iterations + more,
            status=status,
            recorded=recorded,
            **after,
        )


class _State(NamedTuple):
    """The last accepted step, from (t, y) to (end, y1) with h = end - t, and what the next attempt needs."""

    end: Any
    t: Any
    h: Any
    y: Any
    y1: Any
    dense: Any
    memory: Any
    tnext: Any
    controller: Any
    steps: Any
    rejected: Any
    iterations: Any
    status: Any
    recorded: Any
