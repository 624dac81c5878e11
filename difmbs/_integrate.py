"""The time loops: fixed and adaptive steps, with outputs on the way.

Steps, error estimates, interpolation and step-size control are diffrax's; the loops are written here because they
also have to store the accepted steps, on which all derivatives of a simulation are built (`_replay`).
"""

import enum
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .equations import derivative
from .system import System

TERM = diffrax.ODETerm(derivative)


class Status(enum.IntEnum):
    """How a simulation ended."""

    ok = 0
    max_steps = 1
    dt_min = 2
    non_finite = 3
    newton_failed = 4
    singular = 5


class Run(NamedTuple):
    """What a run leaves: the state at each output, how it went, and, if recorded, all accepted steps."""

    outputs: Any
    steps: Any
    rejected: Any
    status: Any
    time: Any
    trace: "Trace | None"


class Trace(NamedTuple):
    """The accepted steps: `y[k]` at `t[k]`; output j lies in the step that starts at `index[j]`."""

    t: Any
    y: Any
    index: Any


class Fixed(eqx.Module):
    """Steps of equal size on a grid that is known beforehand; the last one may be shorter."""

    solver: diffrax.AbstractSolver
    grid: tuple[float, float, float] = eqx.field(static=True)
    outputs: tuple[float, ...] = eqx.field(static=True)

    @property
    def times(self) -> np.ndarray:
        t0, t1, dt = self.grid
        count = max(1, int(np.ceil((t1 - t0) / dt - 1e-6)))
        times = t0 + dt * np.arange(count + 1)
        times[-1] = t1
        return times

    @property
    def index(self) -> np.ndarray:
        """The step at whose start or inside which each output lies."""
        return np.searchsorted(self.times, np.asarray(self.outputs) + 1e-9 * self.grid[2], side="right") - 1

    @property
    def on_grid(self) -> bool:
        return bool(np.all(np.abs(self.times[self.index] - np.asarray(self.outputs)) <= 1e-9 * self.grid[2]))

    def run(self, system: System, y0: Any, record: bool) -> Run:
        times = jnp.asarray(self.times, y0.dtype)
        index = self.index

        def step(y, k):
            return advance(self.solver, system, times[k], times[k + 1], y)[0]

        if record:
            last = len(self.times) - 1
            _, after = lax.scan(lambda y, k: (step(y, k),) * 2, y0, jnp.arange(last))
            trace = Trace(times, jnp.concatenate([y0[None], after]), jnp.asarray(index))
            outputs = self.dense(system, trace, trace.y[index])
        else:
            trace = None
            starts = np.concatenate([[0], index[:-1]])

            def until(y, bounds):
                y = lax.fori_loop(bounds[0], bounds[1], lambda k, y: step(y, k), y)
                return y, y

            _, at = lax.scan(until, y0, jnp.stack([starts, index], axis=-1))
            outputs = self.dense(system, Trace(times, None, jnp.asarray(index)), at)
        finite = jnp.all(jnp.isfinite(outputs), axis=-1)
        reached = jnp.max(jnp.where(jnp.cumprod(finite), jnp.asarray(self.outputs, y0.dtype), self.grid[0]))
        status = jnp.where(jnp.all(finite), Status.ok.value, Status.non_finite.value)
        return Run(outputs, jnp.asarray(len(self.times) - 1), jnp.asarray(0), status, reached, trace)

    def dense(self, system: System, trace: Trace, at: Any) -> Any:
        """The outputs, from the states at the starts of their steps."""
        if self.on_grid:
            return at
        return _between(self.solver, system, trace, at, jnp.asarray(self.outputs, at.dtype))


class Adaptive(eqx.Module):
    """Steps whose size a diffrax controller chooses."""

    solver: diffrax.AbstractSolver
    controller: diffrax.AbstractStepSizeController
    span: tuple[float, float] = eqx.field(static=True)
    outputs: tuple[float, ...] = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def run(self, system: System, y0: Any, record: bool) -> Run:
        start = self._start(system, y0, record)
        outputs = jnp.asarray(self.outputs, y0.dtype)

        def until(state, ts):
            unfinished = lambda s: (s.t < ts) & (s.status == Status.ok.value)
            state = lax.while_loop(unfinished, lambda s: self._attempt(system, s), state)
            inside = jnp.clip(ts, state.before, state.t)
            y = self.solver.interpolation_cls(t0=state.before, t1=state.t, **state.dense).evaluate(inside)
            y = jnp.where(ts == state.t, state.y, y)
            return state, (jnp.where(ts <= state.t, y, jnp.nan), jnp.maximum(state.steps - 1, 0))

        end, (at, index) = lax.scan(until, start, outputs)
        trace = Trace(end.times, end.states, index) if record else None
        return Run(at, end.steps, end.rejected, end.status, end.t, trace)

    def dense(self, system: System, trace: Trace, at: Any) -> Any:
        """The outputs, from the states at the starts of their steps."""
        return _between(self.solver, system, trace, at, jnp.asarray(self.outputs, at.dtype))

    def _start(self, system: System, y0: Any, record: bool) -> "_State":
        t0, t1 = (jnp.asarray(t, y0.dtype) for t in self.span)
        order = self.solver.error_order(TERM)
        tnext, controller = self.controller.init(TERM, t0, t1, y0, None, system, self.solver.func, order)
        stages = self.solver.init(TERM, t0, tnext, y0, system)
        _, _, dense, *_ = jax.eval_shape(lambda: self.solver.step(TERM, t0, tnext, y0, system, stages, False))
        dense = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), dense)
        zero = jnp.asarray(0)
        times = states = None
        if record:
            times = jnp.full(self.max_steps + 1, t1).at[0].set(t0)
            states = jnp.zeros((self.max_steps + 1, *y0.shape), y0.dtype).at[0].set(y0)
        status = jnp.where(jnp.isfinite(tnext), Status.ok.value, Status.non_finite.value)
        return _State(t0, tnext, t0, y0, stages, controller, dense, zero, zero, status, times, states)

    def _attempt(self, system: System, s: "_State") -> "_State":
        """One step, accepted or rejected."""
        span = self.span[1] - self.span[0]
        # A last sliver of a step would be all rounding error.
        t1 = jnp.where(s.tnext > self.span[1] - 1e-12 * span, jnp.asarray(self.span[1], s.t.dtype), s.tnext)
        y, error, dense, stages, result = self.solver.step(TERM, s.t, t1, s.y, system, s.stages, False)
        sound = jnp.all(jnp.isfinite(y)) & jnp.all(jnp.isfinite(error)) & (result == diffrax.RESULTS.successful)
        # An infinite error makes the controller shrink the step as far as it may.
        error = jnp.where(sound, error, jnp.inf)
        y = jnp.where(sound, y, s.y)
        keep, t, tnext, _, controller, problem = self.controller.adapt_step_size(
            s.t, t1, s.y, y, system, error, self.solver.error_order(TERM), s.controller
        )
        keep = keep & sound
        stopped = jnp.where(sound, Status.dt_min.value, Status.non_finite.value)
        status = jnp.where(problem == diffrax.RESULTS.successful, Status.ok.value, stopped)
        steps, rejected = s.steps + keep, s.rejected + ~keep
        status = jnp.where((steps + rejected >= self.max_steps) & (t < self.span[1]), Status.max_steps.value, status)
        new = _State(t1, tnext, s.t, y, stages, controller, dense, steps, rejected, status, None, None)
        kept = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new._kept(), s._kept())
        times = states = None
        if s.times is not None:
            times, states = s.times.at[steps].set(kept[0]), s.states.at[steps].set(kept[2])
        at, before, y, stages, dense = kept
        return _State(at, tnext, before, y, stages, controller, dense, steps, rejected, status, times, states)


class _State(NamedTuple):
    """Between two attempts: the last accepted step from `before` to `t`, and where the next one is to end."""

    t: Any
    tnext: Any
    before: Any
    y: Any
    stages: Any
    controller: Any
    dense: Any
    steps: Any
    rejected: Any
    status: Any
    times: Any
    states: Any

    def _kept(self):
        return self.t, self.before, self.y, self.stages, self.dense


def advance(solver: diffrax.AbstractSolver, system: System, t0: Any, t1: Any, y: Any) -> tuple[Any, Any]:
    """The state at t1, one step after (t0, y), and what the interpolation in between needs."""
    stages = solver.init(TERM, t0, t1, y, system)
    y1, _, dense, _, _ = solver.step(TERM, t0, t1, y, system, stages, False)
    return y1, dense


def _between(solver, system, trace: Trace, at: Any, outputs: Any) -> Any:
    """States at the output times, each from the step it lies in."""
    last = trace.t.shape[0] - 2

    def one(k, y, t):
        k = jnp.minimum(k, last)
        t0, t1 = trace.t[k], trace.t[k + 1]
        y1, dense = advance(solver, system, t0, t1, y)
        inside = solver.interpolation_cls(t0=t0, t1=t1, **dense).evaluate(t)
        return jnp.where(t == t0, y, jnp.where(t == t1, y1, inside))

    return jax.vmap(one)(trace.index, at, outputs)
