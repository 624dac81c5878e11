"""Long simulations as a loop of compiled pieces: they show where they are, can be stopped, and go on later.

The pieces hand on the whole state of the time loop, so that the result does not depend on where they end.
"""

import time
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.status import Status
from ..core.types import Coordinates, Count, Time, Velocities
from ..dynamics.accelerations import named, solved, split
from ..dynamics.projection import DRIFT, ROUNDS, start_limits, violations
from ..system.control import controlled
from ..system.system import System
from .adaptive_steps import AdaptiveSteps
from .fixed_steps import FixedSteps, is_sound
from .solution import Solution
from .trajectory import corrections_of

_MOST_ROWS = 2**22
"""Numbers of the outputs of one piece."""
_FIRST, _MOST = 16, 10**8
"""Steps of the first piece, and of one at most."""
_SECONDS = 0.3
"""About how long a piece takes."""


class OutputRow(NamedTuple):
    """What is kept of an output; of many in rows."""

    q: Coordinates
    v: Velocities
    known: PyTree
    """Accelerations and multipliers, None: computed on demand."""
    on: Any
    off: Any
    """The largest violations of constraints, as a displacement and a velocity."""
    good: Any


class PiecewiseRun:
    """A simulation that goes on piece by piece; `advance` until it is `finished`.

    `state`: that of the time loop; `rows`: outputs that were reached, piece by piece.
    """

    def __init__(self, system: System, time_loop: FixedSteps | AdaptiveSteps):
        self.system, self.time_loop = system, time_loop
        self.start = jax.block_until_ready(_start(system, time_loop))
        self.state = self.start.state
        self.rows: list[OutputRow] = []
        self.passed = 0
        self._most = _FIRST
        self._timed = False

    @property
    def count(self) -> int:
        """Number of outputs."""
        return len(self.time_loop.outputs)

    @property
    def finished(self) -> bool:
        return self.passed >= self.count or int(self._summary.status) != Status.ok.value

    @property
    def _summary(self) -> Any:
        return self.time_loop.summary(self.start.begin, self.state)

    @property
    def reached(self) -> float:
        """The time."""
        whole = self.passed >= self.count and int(self._summary.status) == Status.ok.value
        return float(self.time_loop.outputs[-1] if whole else self._summary.time)

    @property
    def step_end(self) -> float:
        """The end of the last step."""
        return float(self._summary.time)

    @property
    def steps(self) -> int:
        return int(self._summary.steps)

    @property
    def rejected(self) -> int:
        """Number of attempts that were not accepted."""
        return int(self._summary.rejected)

    def advance(self, steps: int | None = None) -> None:
        """One piece, of at most so many steps; None: as many as take a moment."""
        size = max(self.start.q.size + self.start.v.size, 1)
        batch = int(np.clip(_MOST_ROWS // size, 1, min(self.count, 4096)))
        first = min(self.passed, self.count - batch)
        goals = jnp.asarray(self.time_loop.goals[first : first + batch])
        if isinstance(self.time_loop, AdaptiveSteps):
            goals = goals.astype(self.start.q.dtype)
        begun = time.perf_counter()
        numbers = jnp.arange(first, first + batch)
        wanted = numbers >= self.passed
        self.state, passed, rows = jax.block_until_ready(
            _piece(
                self.system,
                self.time_loop,
                self.start.begin,
                self.state,
                goals,
                numbers,
                wanted,
                jnp.asarray(self._most if steps is None else steps),
            )
        )
        seconds = time.perf_counter() - begun
        new = np.flatnonzero(np.asarray(passed) & np.asarray(wanted))
        if len(new):
            self.rows.append(jax.tree.map(lambda x: np.asarray(x)[new], rows))
            self.passed += len(new)
        if self._timed:
            self._most = int(np.clip(self._most * np.clip(_SECONDS / max(seconds, 1e-6), 0.25, 4), 1, _MOST))
        # The first piece is compiled.
        self._timed = True

    def solution(self) -> Solution:
        """What there is; outputs that were not reached are NaN."""
        summary, start = self._summary, self.start
        rows = self._joined()
        known = None if rows.known is None else jax.tree.map(jnp.asarray, rows.known)
        t = jnp.asarray(self.time_loop.outputs, self.system.gravity.dtype)
        good = rows.good & _met(self, rows)
        code, reached = int(summary.status), float(summary.time)
        if code == Status.ok.value and self.passed < self.count:
            code = Status.interrupted.value
        elif code == Status.ok.value and not np.all(rows.good):
            code = Status.non_finite.value
            reached = float(np.max(np.asarray(t)[rows.good], initial=self.time_loop.t0))
        if code in (Status.ok.value, Status.event.value) and np.any(rows.good & ~good):
            code = Status.constraint_drift.value
            reached = float(np.max(np.asarray(t)[np.cumprod(good).astype(bool)], initial=self.time_loop.t0))
        elif code == Status.ok.value and isinstance(self.time_loop, FixedSteps):
            reached = float(t[-1])
        watch = self.time_loop.watch(self.state)
        moments = None if watch is None else watch.moments
        if moments is not None and code == Status.event.value:
            reached = float(np.nanmax(np.asarray(moments)))
        possible = bool(start.possible)
        stats = dict(
            steps=summary.steps,
            rejected=summary.rejected,
            iterations=summary.iterations,
            time=jnp.asarray(reached if possible else self.time_loop.t0, t.dtype),
            start_moved=start.moved,
            start_turned=start.turned,
        )
        code = code if possible else Status.inconsistent_start.value
        there = (rows.good & possible)[:, None]
        q, v = (jnp.asarray(np.where(there, x, np.nan)) for x in (rows.q, rows.v))
        on = None if rows.on is None else jnp.asarray(rows.on)
        return Solution(self.system, t, q, v, jnp.asarray(code), stats, on, moments, known)

    def _joined(self) -> OutputRow:
        """All rows, with those that are missing."""
        missing = self.count - sum(len(row.good) for row in self.rows)
        nothing = jax.tree.map(lambda x: np.zeros((missing, *x.shape), x.dtype), self.start.row)
        every = [*self.rows, nothing]
        joined = jax.tree.map(lambda *x: np.concatenate(x), *every)
        return joined._replace(good=joined.good.astype(bool))


class RunStart(NamedTuple):
    """A start on the constraints: time, q, v, those that were given, the state of the time loop, and what `Solution`
    says of it; `row`: the shape of a row."""

    begin: Time
    q: Coordinates
    v: Velocities
    given_v: Velocities
    state: PyTree
    moved: Any
    turned: Any
    possible: Any
    row: OutputRow


@eqx.filter_jit
def _start(system: System, time_loop: FixedSteps | AdaptiveSteps) -> RunStart:
    given_q, given_v = system.initial_state()
    begin = jnp.asarray(time_loop.t0, given_q.dtype)
    levels = ROUNDS if system.constrained else ()
    end, visited = time_loop.step.plan(levels).follow(system, begin, given_q, given_v)
    y0 = time_loop.step.start(system, begin, end, visited)
    q, v = split(system, y0)
    moved, turned = (jnp.max(jnp.abs(x), initial=0) for x in (q - given_q, v - given_v))
    possible = jnp.asarray(True)
    if system.constrained:
        limits = start_limits(system.extent(q), v, given_v)
        off = violations(controlled(system, begin, q, v), begin, q, v)
        possible = jnp.all(off[0] <= limits[0]) & jnp.all(off[1] <= limits[1])
    # Some controllers begin with plain numbers.
    state: Any = jax.tree.map(jnp.asarray, time_loop.begun(system, begin, y0))
    watch = time_loop.watch(state)
    on = None if watch is None else watch.on
    shape = eqx.filter_eval_shape(_row, system, time_loop, begin, on, jnp.zeros((), int), y0, begin, True)
    row = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
    return RunStart(begin, q, v, given_v, state, moved, turned, possible, row)


@eqx.filter_jit
def _piece(
    system: System,
    time_loop: FixedSteps | AdaptiveSteps,
    begin: Time,
    state: PyTree,
    goals: Any,
    numbers: Count,
    wanted: Any,
    most: Count,
) -> tuple[PyTree, Any, OutputRow]:
    """The state after a piece, which goals are passed, and their rows."""
    state, (y, passed, good, on) = time_loop.piece(system, begin, state, goals, most)
    outputs = begin + jnp.asarray(np.asarray(time_loop.outputs) - time_loop.t0, y.dtype)[numbers]
    shape = eqx.filter_eval_shape(
        _row, system, time_loop, begin, jax.tree.map(lambda x: x[0], on), numbers[0], y[0], begin, True
    )

    def row(x):
        on, number, y, output, passed, good = x
        nothing = lambda: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
        return lax.cond(passed, lambda: _row(system, time_loop, begin, on, number, y, output, good), nothing)

    return state, passed, lax.map(row, (on, numbers, y, outputs, passed & wanted, good))


def _row(
    system: System, time_loop: Any, begin: Time, on: Any, number: Count, y: Any, output: Time, good: Any
) -> OutputRow:
    """An output brought back onto the constraints, with accelerations and multipliers where there are constraints."""
    here = system if on is None else system.switched(on)
    y = time_loop.at_output(here, begin, number, y, output)
    good, (q, v) = good & is_sound(y), split(system, y)
    shown = system.constrained and not system.redundant
    corrections = corrections_of(time_loop, system, shown)
    u: Any = None
    if corrections.levels:
        unknowns = v.size + system.structure.multiplier_count

        def visit(state, level):
            q, v, _ = state
            u, _ = solved(here, output, q, v, level=level)
            return (*corrections.plan.after(here, output, q, v, u, level, False)[1:], u), None

        start = q, v, jnp.zeros(unknowns, q.dtype)
        q, v, u = lax.scan(visit, start, jnp.asarray(corrections.levels))[0]
    known = named(here, output, q, v, u) if shown else None
    off = jnp.zeros(2, q.dtype)
    if system.constrained:
        position, velocity = violations(controlled(here, output, q, v), output, q, v)
        off = jnp.stack([jnp.max(position, initial=0), jnp.max(velocity, initial=0)])
    good = good & jnp.all(jnp.isfinite(q)) & jnp.all(jnp.isfinite(v))
    return OutputRow(q, v, known, on, off, jnp.asarray(good))


def _met(run: PiecewiseRun, rows: OutputRow) -> np.ndarray:
    """Whether constraints are met at the outputs, as `all_met` judges it."""
    system, start = run.system, run.start
    if not system.constrained:
        return np.ones(run.count, bool)
    good = rows.good[:, None]
    largest = np.max(np.where(good, np.abs(rows.q), 0), axis=1, initial=0)
    extent = max(float(system.extent(start.q)), float(np.max(np.abs(start.q))))
    size = np.maximum.accumulate(np.maximum(largest, extent))
    speeds = np.concatenate([np.abs(start.v)[None], np.where(good, np.abs(rows.v), 0)])
    speed = size / (run.time_loop.t1 - run.time_loop.t0) + float(np.max(speeds, initial=0))
    position, velocity = run.time_loop.step.held
    fits = np.ones(run.count, bool)
    if position:
        fits &= rows.off[:, 0] <= DRIFT * size
    if velocity:
        fits &= rows.off[:, 1] <= DRIFT * speed
    return fits
