"""The derivative of a recorded run: of the way to its start, of its steps, and of the way from the states at its
outputs to what is shown of them."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from ..dynamics.accelerations import known, split
from . import step_replay
from .correction_loop import Visit, at, put, stations_of, with_outputs
from .recorded_run import RecordedRun, Trajectory, only_if


def pushforward(run: RecordedRun, dp: PyTree, dstart: Any, shown: bool) -> Trajectory:
    """Tangents of the results, from those of the parameters and of q and v at the start; `shown`: also those of
    accelerations and multipliers."""
    corrections = run.corrections

    def visit(dstate, what, dvisited):
        here = at(run.visited, what.number)
        dnext, du = jax.jvp(_passing(run, here, what), (run.p, here.q, here.v), (dp, *dstate))[1]
        return dnext, put(
            dvisited, what.number, here._replace(t=jnp.zeros_like(here.t), q=dstate[0], v=dstate[1], u=du)
        )

    def between(stations, dvisited):
        tangents = dp, tuple(x[0] for x in stations), run.way_to_start(dvisited)
        dy0 = jax.jvp(_starting(run), _at_start(run), tangents)[1]
        outputs, moments = step_replay.pushforward(run, dp, dy0)
        return with_outputs(stations, split(run.system, outputs)), dvisited, (dy0, moments)

    dvisited = jax.tree.map(jnp.zeros_like, run.visited)
    (q, v), dvisited, (dy0, moments) = corrections.run(visit, between, stations_of(dstart, run.outputs), dvisited)
    first_q, first_v = split(run.system, dy0)
    q, v, u = only_if(run.possible, q[1:], v[1:], dvisited.u[corrections.last_visits] if shown else None)
    return Trajectory(q, v, u, first_q, first_v, moments if run.watched else None)


def pullback(run: RecordedRun, weights: Trajectory, shown: bool) -> tuple[Any, Any]:
    """Cotangents of the parameters and of q and v at the start; `shown`: accelerations and multipliers count.

    Here dp, dy0 and `of_...` are cotangents, forwards tangents.
    """
    corrections, accepted = run.corrections, run.accepted
    q, v, u = only_if(run.possible, *weights[:3])

    def visit(weight, what, rest):
        dp, of_visited = rest
        here, own = at(run.visited, what.number), at(of_visited, what.number)
        more, *before = jax.vjp(_passing(run, here, what), run.p, here.q, here.v)[1]((weight, own.u))
        # Of an output that was not reached nothing is a number; that only matters where it counts.
        counts = jnp.all(jnp.isfinite(here.q)) | jnp.any(own.u != 0) | jnp.any(jnp.concatenate(weight) != 0)
        more, before = jax.tree.map(lambda x: lax.select(counts, x, jnp.zeros_like(x)), (more, before))
        return (before[0] + own.q, before[1] + own.v), (jax.tree.map(jnp.add, dp, more), of_visited)

    def between(stations, rest):
        dp, of_visited = rest
        others = jnp.zeros((run.outputs, accepted.y.shape[1] - sum(x.shape[1] for x in stations)), q.dtype)
        of_moments = jnp.zeros(0, q.dtype) if weights.moments is None else weights.moments
        of_outputs = jnp.concatenate([*(x[1:] for x in stations), others], axis=1)
        more, dy0 = step_replay.pullback(run, of_outputs, of_moments)
        first = jnp.concatenate([weights.first_q, weights.first_v])
        of_p, end, on_the_way = jax.vjp(_starting(run), *_at_start(run))[1](dy0.at[: first.size].add(first))
        dp = jax.tree.map(lambda *x: sum(x[1:], x[0]), dp, more, of_p)
        of_visited = jax.tree.map(lambda x, y: x.at[: corrections.start_visits].add(y), of_visited, on_the_way)
        return tuple(x.at[0].set(y) for x, y in zip(stations, end, strict=True)), (dp, of_visited), None

    of_visited = jax.tree.map(jnp.zeros_like, run.visited)
    if shown:
        of_visited = of_visited._replace(u=of_visited.u.at[corrections.last_visits].set(u))
    rest = jax.tree.map(jnp.zeros_like, run.p), of_visited
    stations = tuple(jnp.concatenate([jnp.zeros_like(x[:1]), x]) for x in (q, v))
    stations, (dp, _), _ = corrections.run(visit, between, stations, rest, backwards=True, shown=shown)
    return dp, tuple(x[0] for x in stations)


def _passing(run: RecordedRun, here: Any, what: Visit) -> Any:
    """The next state and the accelerations or corrections of a visit, as a function of parameters and state."""

    def passing(p, q, v):
        system = run.system_there(p, what.station)
        u = known(system, here.t, q, v, what.level, here.u)
        return run.corrections.plan.after(system, here.t, q, v, u, what.level, what.ahead)[1:], u

    return passing


def _starting(run: RecordedRun) -> Any:
    """The state with which the steps start, as a function of parameters, q and v after all visits to the start, and the
    states before each of them."""
    return lambda p, end, visited: run.time_loop.step.start(run.system_of(p), run.begin, end, visited)


def _at_start(run: RecordedRun) -> tuple[Any, ...]:
    """Where `_starting` is linearized. q and v are those of the first state: steps whose plan goes ahead of it in time
    do not use them."""
    return run.p, split(run.system, run.accepted.y[0]), run.way_to_start(run.visited)
