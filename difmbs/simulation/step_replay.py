"""The derivative of a chain of steps: the linearization of the accepted steps, replayed.

A run is a chain of steps y[k+1] = step(y[k], parameters). Its derivative is a linear map from (start, parameters) to
the states at the outputs: forwards, tangents are carried through the jvp of one step after the other; backwards,
cotangents through the vjp's. Step sizes are held constant, so this is the exact derivative of the discrete solution.
Both loops run over the steps really taken and are never differentiated themselves; `trajectory` tells JAX that they are
each other's transpose.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.types import State, Values
from ..jaxtools.batched_loops import anywhere
from ..jaxtools.memory_layout import side_by_side
from ..jaxtools.platforms import on_gpu
from ..linalg.rows import with_row
from .recorded_run import RecordedRun


def pushforward(run: RecordedRun, dp: PyTree, dy0: State) -> tuple[Any, Any]:
    """Tangents of the outputs, and of the moments at which events happened last.

    Carried from step to step: the number k of the next one and j of the next output, the tangent of the state, and
    those of outputs and moments so far.
    """

    def left(carry):
        return carry[0] < run.accepted.steps

    dp, dy0 = jax.tree.map(side_by_side, (dp, dy0))
    grid = _GridOutputs.of(run.time_loop) if run.time_loop.on_grid else None
    # Members of a batch that have no steps left go on with the others, and write what they have not reached, or into a
    # row that is not kept.
    unknown = jnp.full(((run.outputs if grid is None else grid.size) + 1, *dy0.shape), jnp.nan, dy0.dtype)
    outputs = unknown if grid is None else with_row(unknown, int(grid.of_states[0]), dy0)
    start = jnp.asarray(0), jnp.asarray(0), dy0, outputs, jnp.full(run.events, jnp.nan, dy0.dtype)
    push, push_event = functools.partial(_push, run, grid, dp), functools.partial(_push_event, run, dp)
    *_, outputs, moments = run.through(left, push, push_event, start)
    if grid is None:
        return outputs[: run.outputs], moments
    # What was not reached has no derivative; zero would look like one.
    reached = jnp.arange(run.outputs)[:, None] < run.accepted.reached
    return jnp.where(reached, outputs[grid.of_outputs], jnp.nan), moments


class _GridOutputs(NamedTuple):
    """Outputs that all are states between steps, as rows of a table: `size` different ones, and a last row for what
    is none. Their rows, and those of all states, by number."""

    size: int
    of_outputs: np.ndarray
    of_states: np.ndarray

    @classmethod
    def of(cls, time_loop: Any) -> "_GridOutputs":
        numbers, rows = np.unique(time_loop.goals, return_inverse=True)
        of_states = np.full(time_loop.room + 1, len(numbers))
        of_states[numbers] = np.arange(len(numbers))
        return cls(len(numbers), rows, of_states)


def _push(run: RecordedRun, grid: _GridOutputs | None, dp: PyTree, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, outputs, moments = carry
    step, accepted = run.time_loop.step, run.accepted
    t, h, y, end = run.step_data(k, states)
    result, dresult = step.push(run.system_at(k), run.p, t, h, y, end, dp, dy)
    tangent = lambda function: jax.jvp(function, (y, result), (dy, dresult))[1]
    ending = side_by_side(tangent(lambda y, result: step.ending(h, y, result)))
    if grid is not None:
        return k + 1, j, ending, with_row(outputs, jnp.asarray(grid.of_states)[k + 1], ending), moments

    def save(carry):
        j, outputs = carry
        doutput = tangent(lambda y, result: run.inside(t, h, y, result, accepted.outputs[j]))
        here = run.has_output(k, j)
        # What was not reached has no derivative; zero would look like one.
        row = jnp.where(j < accepted.reached, doutput, jnp.nan)
        return jnp.where(here, j + 1, j), with_row(outputs, jnp.where(here, j, run.outputs), row)

    j, outputs = lax.while_loop(lambda carry: anywhere(run.has_output(k, carry[0])), save, (j, outputs))
    return k + 1, j, ending, outputs, moments


def _push_event(run: RecordedRun, dp: PyTree, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, outputs, moments = carry
    y = run.step_data(k, states)[2]
    dy, dmoment = jax.jvp(run.happening(k), (run.p, y), (dp, dy))[1]
    return k + 1, j, dy, outputs, moments.at[run.accepted.event[k]].set(dmoment)


def pullback(run: RecordedRun, weights: Values, of_moments: Any) -> tuple[Any, Any]:
    """Cotangents of parameters and start, from those of outputs and moments.

    Carried from step to step: the number k of the next one, the last output j until then, the cotangents of the state,
    of the parameters so far, and of the moments (dy, dp, of_moments).
    """
    reached, y = run.accepted.reached, run.accepted.y
    dy, dp = jax.tree.map(side_by_side, (jnp.zeros(y.shape[1], y.dtype), jax.tree.map(jnp.zeros_like, run.p)))
    start = run.accepted.steps - 1, jnp.maximum(reached - 1, 0), dy, dp, of_moments
    if run.time_loop.on_grid:
        of_state = _of_states(_GridOutputs.of(run.time_loop), weights)
        weigh = functools.partial(_weigh_end, run, of_state)
    else:
        of_state, weigh = None, functools.partial(_weigh, run, weights)
    pull, pull_event = functools.partial(_pull, run, weigh), functools.partial(_pull_event, run)
    left = lambda carry: carry[0] >= 0
    _, _, dy0, dp, _ = run.through(left, pull, pull_event, start)
    if of_state is not None:
        dy0 = dy0 + of_state(0)
    unknown = jnp.any((jnp.arange(run.outputs)[:, None] >= reached) & (weights != 0))
    if run.watched:
        unknown |= jnp.any(~run.happened & (of_moments != 0))
    return jax.tree.map(lambda x: jnp.where(unknown, jnp.nan, x), (dp, dy0))


def _pull(run: RecordedRun, weigh: Any, states: PyTree, carry: PyTree) -> Any:
    number, j, dy, dp, of_moments = carry
    # Members of a batch that have no steps left go on with the others, and keep what they have.
    going, k = number >= 0, jnp.maximum(number, 0)
    t, h, y, end = run.step_data(k, states)
    earlier, of_result = weigh(k, j, t, h, y, dy)
    more, before = run.time_loop.step.pull(run.system_at(k), run.p, t, h, y, end, of_result)
    dp = jax.tree.map(lambda x, y: side_by_side(jnp.where(going, x + y, x)), dp, more)
    return number - 1, earlier, side_by_side(jnp.where(going, before, dy)), dp, of_moments


def _of_states(grid: _GridOutputs, weights: Values) -> Any:
    """The cotangents of outputs that are states, by their numbers."""
    rows = jnp.zeros((grid.size + 1, weights.shape[1]), weights.dtype).at[grid.of_outputs].add(weights)
    of_states = jnp.asarray(grid.of_states)
    return lambda number: rows[of_states[number]]


def _weigh_end(run: RecordedRun, of_state: Any, k: Any, j: Any, t: Any, h: Any, y: Any, dy: Any) -> Any:
    """As `_weigh`, where all outputs are states between steps."""
    pull = lambda result: jax.vjp(lambda y, result: run.time_loop.step.ending(h, y, result), y, result)[1]
    return j, lambda result: pull(result)(dy + of_state(k + 1))


def _weigh(run: RecordedRun, weights: Values, k: Any, j: Any, t: Any, h: Any, y: Any, dy: Any) -> Any:
    """The last output before a step, and as a function of its result the cotangents of y and of the result, from those
    of the end of the step and of all outputs in it, the last of which is j."""
    step, accepted = run.time_loop.step, run.accepted

    def of_result(result):
        def add(carry):
            j, weighed = carry
            here = run.has_output(k, j)
            _, pull = jax.vjp(lambda y, result: run.inside(t, h, y, result, accepted.outputs[j]), y, result)
            more = jax.tree.map(lambda x, y: side_by_side(x + jnp.where(here, y, 0)), weighed, pull(weights[j]))
            return jnp.where(here, j - 1, j), more

        _, pull = jax.vjp(lambda y, result: step.ending(h, y, result), y, result)
        begun = j, jax.tree.map(side_by_side, pull(dy))
        return lax.while_loop(lambda carry: anywhere(run.has_output(k, carry[0])), add, begun)[1]

    # A search in halves is a loop.
    method = "compare_all" if on_gpu() else "scan"
    return jnp.searchsorted(accepted.index, k, method=method).astype(j.dtype) - 1, of_result


def _pull_event(run: RecordedRun, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, dp, of_moments = carry
    number = run.accepted.event[k]
    more, dy = jax.vjp(run.happening(k), run.p, run.step_data(k, states)[2])[1]((dy, of_moments[number]))
    # Only the last time counts. No output is in an event: the loop stops at one before it makes the event.
    return k - 1, j, dy, jax.tree.map(jnp.add, dp, more), of_moments.at[number].set(0)
