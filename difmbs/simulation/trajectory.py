"""From a start to the states at all outputs, as one function that JAX traces when it compiles it, with its derivative.

The start is brought onto the constraints, the time loop runs, and what lies between steps is brought back onto the
constraints. Differentiated, the loop records its steps, and the rest the states that it visits; `run_derivative` makes
the derivative from that.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..core.types import Coordinates, Time, Values, Velocities
from ..dynamics.accelerations import solved, split
from ..dynamics.implicit_equations import ACCELERATION, POSITION, VELOCITY
from ..dynamics.projection import ROUNDS, VisitedStates, all_met
from ..jaxtools.deferred import LinearMap, deferred
from ..system.system import System
from .adaptive_steps import AdaptiveSteps
from .correction_loop import CorrectionLoop, first_rows, put, stations_of, with_outputs
from .fastest_vibration import EVALUATIONS, PowerIteration
from .fixed_steps import FixedSteps
from .recorded_run import RecordedRun, Trajectory, only_if, switched
from .records import AcceptedSteps, RunSummary
from .run_derivative import pullback, pushforward


class RunResult(NamedTuple):
    """What a run gives."""

    trajectory: Trajectory
    summary: RunSummary
    moved: Any
    """The largest change of a coordinate by the projection of the start."""
    turned: Values
    """The largest change of a velocity coordinate."""
    possible: Any
    """Whether there is a consistent start."""
    kept: PyTree
    """At each output, whether constraints are met on the levels where they are held; true of missing outputs."""


def solve_trajectory(
    time_loop: FixedSteps | AdaptiveSteps, system: System, begin: Time, q: Coordinates, v: Velocities
) -> RunResult:
    """The motion from q and v, which need not meet the constraints; `begin` is the time there.

    The times of the loop are shifted by begin - t0, so that one program serves the segments of a record.
    """
    begin = jnp.asarray(begin, q.dtype)
    arrays, static = eqx.partition((time_loop, system, begin, q, v), eqx.is_array)
    of_result, of_record = _shapes(time_loop, system, q, v)
    shown = of_result.trajectory.u is not None

    def run(arrays):
        return _run(eqx.combine(arrays, static), shown, record=False)[0]

    def recorded(arrays):
        return _run(eqx.combine(arrays, static), shown, record=True)

    def derivative(arrays, tangents):
        if jax.tree.leaves((tangents[0], tangents[2])):
            what = "its start time or numbers of its solver: pass plain ones."
            raise TypeError(f"simulate cannot be differentiated with respect to {what}")
        moves = jax.tree.map(lambda dx: dx is not None, (tangents[1], *tangents[3:]), is_leaf=lambda dx: dx is None)

        def known_run(known):
            (time_loop, system, begin, *_), record = eqx.combine(known[0], static), known[1]
            return RecordedRun(
                time_loop,
                system,
                eqx.filter(system, moves[0]),
                begin,
                corrections_of(time_loop, system, shown),
                *record,
            )

        def forwards(known, tangents):
            dp, *dstart = tangents
            dstart = [jnp.zeros_like(x) if dx is None else dx for x, dx in zip(known[0][3:], dstart, strict=True)]
            return pushforward(known_run(known), dp, dstart, shown)

        def backwards(known, weights):
            filled = lambda shape, weight: jnp.zeros(shape.shape, shape.dtype) if weight is None else weight
            every = jax.tree.map(filled, of_result.trajectory, weights)
            dp, dstart = pullback(known_run(known), every, shown and weights.u is not None)
            return (dp, *(dx if moved else None for dx, moved in zip(dstart, moves[1:], strict=True)))

        result, record = deferred(recorded, (of_result, of_record), _refuse, arrays)
        moving = tangents[1], *tangents[3:]
        change = LinearMap(forwards, backwards, _SENTENCE)(of_result.trajectory, (arrays, record), moving)
        return result, jax.tree.map(lambda _: None, result)._replace(trajectory=change)

    return deferred(run, of_result, derivative, arrays)


def _run(arguments: PyTree, shown: bool, record: bool) -> Any:
    """The result, and as a tuple what `RecordedRun` needs to know; `shown`: accelerations and multipliers at the
    outputs are part of the result."""
    time_loop, system, begin, given_q, given_v = arguments
    corrections, count = corrections_of(time_loop, system, shown), len(time_loop.outputs)
    times = jnp.concatenate([begin[None], begin - time_loop.t0 + jnp.asarray(time_loop.outputs, begin.dtype)])
    stations = times, *stations_of((given_q, given_v), count)

    def visit(state, what, rest):
        on, visited, seen = rest
        t, q, v = state
        point, there = (q, v), switched(system, on, what.station)
        if corrections.evaluations:
            y = jnp.concatenate(point)
            searches = what.evaluation >= 0
            point = split(system, jnp.where(searches, seen.point(what.evaluation, y), y))
        u, _ = solved(there, t, *point, level=what.level)
        if corrections.evaluations:
            slope = jnp.concatenate([system.rate(*point), u[: v.size]])
            seen = jax.tree.map(lambda a, b: jnp.where(searches, a, b), seen.after(what.evaluation, y, slope), seen)
        visited = put(visited, what.number, VisitedStates(t, q, v, u))
        return corrections.plan.after(there, t, q, v, u, what.level, what.ahead), (on, visited, seen)

    def between(stations, rest):
        (_, *states), (on, visited, seen) = stations, rest
        end = tuple(x[0] for x in states)
        y0 = time_loop.step.start(system, begin, end, first_rows(visited, corrections.start_visits))
        outputs, *others = time_loop.run(system, begin, y0, record, seen)
        if on is not None:
            on = on.at[1:].set(others[1].on)
        return (times, *with_outputs(states, split(system, outputs))), (on, visited, seen), (y0, *others)

    on = None
    if system.structure.events:
        now = jnp.asarray(system.structure.switches, bool) if system.on is None else system.on
        on = jnp.broadcast_to(now, (count + 1, *now.shape))
    visited = None
    if corrections.visits:
        # One row more, for visits that derivatives do not need.
        unknowns = given_v.size + system.structure.multiplier_count
        sizes = (), given_q.shape, given_v.shape, (unknowns,)
        visited = VisitedStates(*(jnp.zeros((corrections.visits + 1, *shape), given_q.dtype) for shape in sizes))
    seen = PowerIteration.start(jnp.concatenate([given_q, given_v])) if corrections.evaluations else None
    stations, (on, visited, _), (y0, moments, summary, accepted) = corrections.run(
        visit, between, stations, (on, visited, seen), searches=True
    )
    visited, (first_q, first_v) = first_rows(visited, corrections.visits), split(system, y0)
    # The visits to the start of Newmark's methods end at a later time (`ProjectionPlan`): the start itself is in y0.
    q, v = (x.at[0].set(first) for x, first in zip(stations[1:], (first_q, first_v), strict=True))
    met = all_met(system, on, times, q, v, given_v, time_loop.step.held, time_loop.t1 - time_loop.t0)
    q, v, u = only_if(met[0], q[1:], v[1:], visited.u[corrections.last_visits] if shown else None)
    moved, turned = (jnp.max(jnp.abs(x), initial=0) for x in (first_q - given_q, first_v - given_v))
    result = RunResult(Trajectory(q, v, u, first_q, first_v, moments), summary, moved, turned, met[0], met[1:])
    return result, (accepted, visited, on, met[0])


def corrections_of(time_loop: Any, system: System, shown: bool) -> CorrectionLoop:
    """The visits to start and outputs; `shown`: with those that solve for accelerations."""
    corrects_outputs = system.constrained and not time_loop.on_grid
    held = tuple(level for level, holds in zip((POSITION, VELOCITY), time_loop.step.held, strict=True) if holds)
    plan = time_loop.step.plan(ROUNDS if system.constrained else ())
    evaluations = EVALUATIONS * (time_loop.looks_around and system.constrained)
    return CorrectionLoop(plan, evaluations, held * corrects_outputs + (ACCELERATION,) * shown, len(time_loop.outputs))


def _shapes(time_loop: Any, system: System, q: Coordinates, v: Velocities) -> tuple[RunResult, tuple[Any, ...]]:
    """Shapes of what `_run` gives, without tracing it."""
    structure, outputs, size = system.structure, len(time_loop.outputs), time_loop.step.size(system)
    events, switches = len(structure.events), len(structure.switches)
    steps, whole = time_loop.room, jnp.zeros((), int).dtype
    number = lambda *shape: jax.ShapeDtypeStruct(shape, q.dtype)
    count = lambda *shape: jax.ShapeDtypeStruct(shape, whole)
    flag = lambda *shape: jax.ShapeDtypeStruct(shape, bool)
    unknowns = v.size + structure.multiplier_count
    # Otherwise computed on demand: cheap without constraints, and not unique with redundant ones.
    shown = system.constrained and not system.redundant
    of_outputs = number(outputs, q.size), number(outputs, v.size), number(outputs, unknowns) if shown else None
    trajectory = Trajectory(*of_outputs, number(q.size), number(v.size), number(events) if events else None)
    summary = RunSummary(flag(outputs, switches) if events else None, count(), count(), count(), count(), number())
    happened = (count(steps), flag(steps, switches)) if events else (None, None)
    states = number(time_loop.stored(size).rows + 1, size)
    spans: Any = (number(steps), number(steps)) if time_loop.equal_steps else (number(steps + 1), None)
    which = count(), number(outputs), count(outputs), count(), count()
    accepted = AcceptedSteps(spans[0], spans[1], states, *which, *happened)
    visits = corrections_of(time_loop, system, shown).visits
    visited = VisitedStates(*(number(visits, *n) for n in ((), (q.size,), (v.size,), (unknowns,)))) if visits else None
    on = flag(outputs + 1, switches) if events else None
    return RunResult(trajectory, summary, number(), number(), flag(), flag(outputs)), (accepted, visited, on, flag())


def _refuse(x, dx):
    raise TypeError(_SENTENCE)


_SENTENCE = (
    "simulate has first derivatives only: its derivative holds the trajectory fixed. For second derivatives of systems "
    "without constraints and events pass adjoint=diffrax.DirectAdjoint(), or use Gauss-Newton, which needs first ones."
)
