"""From a start to the states at all outputs, as one function that JAX traces late, with its derivatives.

The start is brought onto the constraints, the time loop runs, and what is between steps is brought back onto the
constraints. Differentiated, the loop records its steps, and the rest the states it visits; `_again` makes the
derivative from that.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from ..dynamics.accelerations import solved, split
from ..dynamics.implicit_equations import ACCELERATION, POSITION, VELOCITY
from ..dynamics.projection import ROUNDS, VisitedStates, meets, start_limits
from ..jaxtools.deferred import LinearMap, deferred
from ..system.system import System
from .correction_loop import CorrectionLoop, behind, first_rows, put, stations_of
from .fastest_vibration import EVALUATIONS, PowerIteration
from .run_derivative import RecordedRun, RunRecord, Trajectory, sound, switched
from .step_replay import Chain
from .time_loops import AcceptedSteps, AdaptiveSteps, FixedSteps

_DRIFT = 1e-4
"""By so much, relative to all that moves, constraints may be violated."""


class RunResult(NamedTuple):
    """`moved` and `turned`: by how much the start differs from what was given; `possible`: whether there is one;
    `kept`: at each output, whether constraints are met on the levels where they are held, true of missing outputs."""

    path: Trajectory
    on: Any
    moved: Any
    turned: Any
    possible: Any
    kept: Any
    steps: Any
    rejected: Any
    iterations: Any
    status: Any
    time: Any


def solve_trajectory(method: FixedSteps | AdaptiveSteps, system: System, begin: Any, q: Any, v: Any) -> RunResult:
    """The motion from q and v, which need not meet the constraints; `begin` is the time there."""
    begin = jnp.asarray(begin, q.dtype)
    arrays, rest = eqx.partition((method, system, begin, q, v), eqx.is_array)
    operands, treedef = jax.tree.flatten(arrays)
    program = _Program(treedef, rest, *_shapes(method, system, begin, q, v))
    flat, structure = jax.tree.flatten(program.of_travel)
    return jax.tree.unflatten(structure, deferred(program.run, tuple(flat), program.derivative, operands))


@dataclasses.dataclass(frozen=True)
class _Program:
    """The run as a function of flat arrays, the last three of which are the start."""

    treedef: Any
    rest: Any
    of_travel: RunResult
    of_record: RunRecord

    def run(self, *operands):
        method, system, *start = self._parts(operands)
        return self._flat(self._gone(method, system, start, record=False)[0], self.of_travel)

    def recorded(self, *operands):
        method, system, *start = self._parts(operands)
        return self._flat(self._gone(method, system, start, record=True), (self.of_travel, self.of_record))

    def derivative(self, operands, moving, changes):
        of_method = self.treedef.children()[0].num_leaves
        if any(i < of_method for i in moving):
            raise TypeError("simulate cannot be differentiated with respect to numbers of its solver: pass plain ones.")
        flat, structure = jax.tree.flatten((self.of_travel, self.of_record))
        found = deferred(self.recorded, tuple(flat), _refuse, operands)
        gone, record = jax.tree.unflatten(structure, found)
        linear = LinearMap(
            lambda known, dx: self._forwards(known, moving, dx), lambda known, w: self._backwards(known, moving, w),
            _SENTENCE,
        )  # fmt: skip
        of_path = tuple(jax.tree.leaves(self.of_travel.path))
        change = linear(of_path, [*operands, *jax.tree.leaves(record)], changes)
        results = jax.tree.leaves(gone)
        return results, [*change, *(None for _ in results[len(change) :])]

    def _forwards(self, known, moving, dx):
        again = self._again(known, moving)
        count = len(again.chain.p)
        dstart = [jnp.zeros_like(x) for x in again.start]
        for i, change in zip(moving[count:], dx[count:], strict=True):
            dstart[i - self.treedef.num_leaves] = change
        return jax.tree.leaves(again.push(tuple(dx[:count]), dstart, self.shown))

    def _backwards(self, known, moving, weights):
        again = self._again(known, moving)
        fill = lambda shape, weight: jnp.zeros(shape.shape, shape.dtype) if weight is None else weight
        shapes, structure = jax.tree.flatten(self.of_travel.path)
        shown = jax.tree.unflatten(structure, [weight is not None for weight in weights]).u is True
        dp, dstart = again.pull(jax.tree.unflatten(structure, map(fill, shapes, weights)), shown)
        return [*dp, *(dstart[i - self.treedef.num_leaves] for i in moving[len(dp) :])]

    def _parts(self, operands):
        return eqx.combine(jax.tree.unflatten(self.treedef, list(operands)), self.rest)

    def _moved(self, operands, moving, x):
        """The parts with the moving operands replaced."""
        replaced = dict(zip(moving, x, strict=True))
        return self._parts([replaced.get(i, operand) for i, operand in enumerate(operands)])

    @property
    def shown(self):
        """Whether accelerations and multipliers are."""
        return self.of_travel.path.u is not None

    def _again(self, known, moving):
        """A run that is known."""
        count = self.treedef.num_leaves
        operands, record = known[:count], jax.tree.unflatten(jax.tree.structure(self.of_record), known[count:])
        method, system, *start = self._parts(operands)
        moving = moving[: sum(i < count - 3 for i in moving)]
        system_of = lambda p: self._moved(operands, moving, p)[1]
        chain = Chain(method, system_of, record.trace, tuple(operands[i] for i in moving))
        return RecordedRun(chain, system, start, record, _walk(method, system, self.shown))

    def _gone(self, method, system, start, record):
        walk = _walk(method, system, self.shown)
        begin, given_q, given_v = start
        count = len(method.outputs)
        times = jnp.concatenate([begin[None], begin - method.t0 + jnp.asarray(method.outputs, begin.dtype)])
        stations = times, *stations_of(start, count)[1:]

        def visit(state, what, rest):
            on, visited, seen = rest
            t, q, v = state
            point, there = (q, v), switched(system, on, what.station)
            if walk.looks:
                y = jnp.concatenate(point)
                looks = what.look >= 0
                point = split(system, jnp.where(looks, seen.point(what.look, y), y))
            u, _ = solved(there, t, *point, level=what.level)
            if walk.looks:
                slope = jnp.concatenate([system.rate(*point), u[: v.size]])
                seen = jax.tree.map(lambda a, b: jnp.where(looks, a, b), seen.after(what.look, y, slope), seen)
            visited = put(visited, what.number, VisitedStates(t, q, v, u))
            return walk.route.after(there, t, q, v, u, what.level, what.goes), (on, visited, seen)

        def between(stations, rest):
            (_, *core), (on, visited, seen) = stations, rest
            y0 = method.step.start(system, begin, tuple(x[0] for x in core), first_rows(visited, walk.first))
            run = method.run(system, y0, record, seen)
            if on is not None:
                on = on.at[1:].set(run.on)
            return (times, *behind(core, split(system, run.outputs))), (on, visited, seen), (y0, run)

        on = None
        if system.structure.events:
            now = jnp.asarray(system.structure.switches, bool) if system.on is None else system.on
            on = jnp.broadcast_to(now, (count + 1, *now.shape))
        # One row more, for looks.
        empty: Any = jax.tree.map(lambda x: jnp.zeros((x.shape[0] + 1, *x.shape[1:]), x.dtype), self.of_record.visited)
        seen = PowerIteration.start(jnp.concatenate([given_q, given_v])) if walk.looks else None
        (_, q, v), (on, visited, _), (y0, run) = walk.go(visit, between, stations, (on, empty, seen), looks=True)
        visited = first_rows(visited, walk.visits)
        first_q, first_v = split(system, y0)
        met = _met(method, system, on, times, q.at[0].set(first_q), v.at[0].set(first_v), given_v)
        q, v, u = sound(met[0], q[1:], v[1:], visited.u[walk.last] if self.shown else None)
        moved, turned = (jnp.max(jnp.abs(x), initial=0) for x in (first_q - given_q, first_v - given_v))
        gone = RunResult(
            Trajectory(q, v, u, first_q, first_v, run.moments), run.on, moved, turned, met[0], met[1:], run.steps,
            run.rejected, run.iterations, run.status, run.time,
        )  # fmt: skip
        return gone, RunRecord(run.trace, on, met[0], visited)

    @staticmethod
    def _flat(results, shapes):
        pairs = zip(jax.tree.leaves(results), jax.tree.leaves(shapes), strict=True)
        return [jnp.asarray(x, s.dtype) for x, s in pairs]


def _walk(method: Any, system: System, shown: bool) -> CorrectionLoop:
    between = system.constrained and not method.on_grid
    held = tuple(level for level, holds in zip((POSITION, VELOCITY), method.step.held, strict=True) if holds)
    ending = held * between + (ACCELERATION,) * shown
    route = method.step.route(ROUNDS if system.constrained else ())
    return CorrectionLoop(route, EVALUATIONS * (method.looks and system.constrained), ending, len(method.outputs))


def _met(method: Any, system: System, on: Any, t: Any, q: Any, v: Any, given_v: Any) -> Any:
    """Whether constraints are met at the start, and at each output."""
    if not system.constrained:
        return jnp.ones(len(t), bool)
    q, v = lax.stop_gradient((q, v))
    missing = ~jnp.all(jnp.isfinite(q), axis=-1)
    # Compared with the largest position until then, and with the speed that would lead so far within the run.
    largest = jnp.max(jnp.where(missing[:, None], 0, jnp.abs(q)), axis=1)
    extent = system.extent(jnp.where(missing[0], 0, q[0]))
    size = jnp.maximum(lax.cummax(largest), extent)
    fastest = jnp.max(jnp.where(missing[:, None], 0, jnp.abs(v)))
    speed = size / (method.t1 - method.t0) + fastest
    levels = zip((size, speed), method.step.held, start_limits(extent, v[0], given_v), strict=True)
    limits = [jnp.where(held, _DRIFT * x, jnp.inf).at[0].set(first) for x, held, first in levels]
    met = jax.vmap(lambda on, *x: meets(system.switched(on), *x))(on, t, q, v, *limits)
    return met | missing.at[0].set(False)


def _shapes(
    method: FixedSteps | AdaptiveSteps, system: System, begin: Any, q: Any, v: Any
) -> tuple[RunResult, RunRecord]:
    structure, outputs, size = system.structure, len(method.outputs), method.step.size(system)
    events, switches = len(structure.events), len(structure.switches)
    steps, whole = method.room, jnp.zeros((), int).dtype
    number = lambda *shape: jax.ShapeDtypeStruct(shape, q.dtype)
    count = lambda *shape: jax.ShapeDtypeStruct(shape, whole)
    flag = lambda *shape: jax.ShapeDtypeStruct(shape, bool)
    moments, on = (number(events), flag(outputs, switches)) if events else (None, None)
    known = system.constrained and not system.redundant
    u = number(outputs, v.size + structure.multiplier_count) if known else None
    path = Trajectory(number(outputs, q.size), number(outputs, v.size), u, number(q.size), number(v.size), moments)
    going = (number(), number(), flag(), flag(outputs), count(), count(), count(), count(), number())
    happened = (count(steps), flag(steps, switches)) if events else (None, None)
    states = number(method.stored(size).rows + 1, size)
    which = number(outputs), count(outputs), count(), count()
    trace = AcceptedSteps(number(steps), number(steps), states, count(), *which, *happened)
    visits = _walk(method, system, known).visits
    unknowns = v.size + structure.multiplier_count
    visited = (
        VisitedStates(number(visits), *(number(visits, n) for n in (q.size, v.size, unknowns))) if visits else None
    )
    of_stations = flag(outputs + 1, switches) if events else None
    return RunResult(path, on, *going), RunRecord(trace, of_stations, flag(), visited)


def _refuse(operands, moving, changes):
    raise TypeError(_SENTENCE)


_SENTENCE = (
    "simulate has first derivatives only: its derivative holds the trajectory fixed. For second derivatives of systems "
    "without constraints and events pass adjoint=diffrax.DirectAdjoint(), or use Gauss-Newton, which needs first ones."
)
