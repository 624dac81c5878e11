"""The derivative of a chain of steps: the linearization of the accepted steps, replayed.

A run is a chain of steps y[k+1] = step(y[k], parameters). Its derivative is a linear map from (start, parameters) to
the states at the outputs: forwards, tangents are carried through the jvp of one step after the other; backwards,
cotangents through the vjp's. Step sizes are held constant, so this is the exact derivative of the discrete solution.
Both loops run over the steps really taken and are never differentiated themselves; `trajectory` tells JAX that they are
each other's transpose.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from ..core.types import State, Values
from ..jaxtools.batched_loops import anywhere
from ..jaxtools.memory_layout import side_by_side
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
    # Members of a batch that have no steps left go on with the others, and write into a row that is not kept.
    unknown = jnp.full((run.outputs + 1, *dy0.shape), jnp.nan, dy0.dtype)
    start = jnp.asarray(0), jnp.asarray(0), dy0, unknown, jnp.full(run.events, jnp.nan, dy0.dtype)
    # Loops over segments that are computed again end for each member by itself.
    going_on = left if run.stored.longest > 1 else lambda carry: anywhere(left(carry))
    push, push_event = functools.partial(_push, run, dp), functools.partial(_push_event, run, dp)
    *_, outputs, moments = run.through(going_on, push, push_event, start)
    return outputs[: run.outputs], moments


def _push(run: RecordedRun, dp: PyTree, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, outputs, moments = carry
    step, accepted = run.time_loop.step, run.accepted
    t, h, y, end = run.step_data(k, states)
    result, dresult = step.push(run.system_at(k), run.p, t, h, y, end, dp, dy)
    tangent = lambda function: jax.jvp(function, (y, result), (dy, dresult))[1]

    def save(carry):
        j, outputs = carry
        doutput = tangent(lambda y, result: run.inside(t, h, y, result, accepted.outputs[j]))
        here = run.has_output(k, j)
        # What was not reached has no derivative; zero would look like one.
        row = jnp.where(j < accepted.reached, doutput, jnp.nan)
        return jnp.where(here, j + 1, j), with_row(outputs, jnp.where(here, j, run.outputs), row)

    j, outputs = lax.while_loop(lambda carry: anywhere(run.has_output(k, carry[0])), save, (j, outputs))
    return k + 1, j, side_by_side(tangent(lambda y, result: step.ending(h, y, result))), outputs, moments


def _push_event(run: RecordedRun, dp: PyTree, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, outputs, moments = carry
    y = run.step_data(k, states)[2]
    dy, dmoment = jax.jvp(run.happening(k), (run.p, y), (dp, dy))[1]
    return k + 1, j, dy, outputs, moments.at[run.accepted.event[k]].set(dmoment)


def pullback(run: RecordedRun, weights: Values, of_moments: Any) -> tuple[Any, Any]:
    """Cotangents of parameters and start, from those of outputs and moments.

    Carried from step to step: the number k of the next one, the last output j until then, the cotangents of the state,
    of the parameters so far, and of the moments (dy, dp, of_moments). Members of a batch end by themselves: what is
    before their first step would add to dp.
    """
    reached, y = run.accepted.reached, run.accepted.y
    nothing = jnp.zeros(y.shape[1], y.dtype), jax.tree.map(jnp.zeros_like, run.p)
    start = run.accepted.steps - 1, jnp.maximum(reached - 1, 0), *nothing, of_moments
    pull, pull_event = functools.partial(_pull, run, weights), functools.partial(_pull_event, run)
    _, _, dy0, dp, _ = run.through(lambda carry: carry[0] >= 0, pull, pull_event, start)
    unknown = jnp.any((jnp.arange(run.outputs)[:, None] >= reached) & (weights != 0))
    if run.watched:
        unknown |= jnp.any(~run.happened & (of_moments != 0))
    return jax.tree.map(lambda x: jnp.where(unknown, jnp.nan, x), (dp, dy0))


def _pull(run: RecordedRun, weights: Values, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, dp, of_moments = carry
    step, accepted = run.time_loop.step, run.accepted
    t, h, y, end = run.step_data(k, states)

    def weigh(result):
        """The cotangents of y and of the result, from those of the end of the step and of all outputs in it."""

        def add(carry):
            j, weighed = carry
            _, pull = jax.vjp(lambda y, result: run.inside(t, h, y, result, accepted.outputs[j]), y, result)
            return j - 1, jax.tree.map(jnp.add, weighed, pull(weights[j]))

        _, pull = jax.vjp(lambda y, result: step.ending(h, y, result), y, result)
        return lax.while_loop(lambda carry: run.has_output(k, carry[0]), add, (j, pull(dy)))[1]

    more, before = step.pull(run.system_at(k), run.p, t, h, y, end, weigh)
    # j as it was left inside of `weigh`: the last output before this step's.
    earlier = jnp.searchsorted(accepted.index, k).astype(j.dtype) - 1
    return k - 1, earlier, before, jax.tree.map(jnp.add, dp, more), of_moments


def _pull_event(run: RecordedRun, states: PyTree, carry: PyTree) -> Any:
    k, j, dy, dp, of_moments = carry
    number = run.accepted.event[k]
    more, dy = jax.vjp(run.happening(k), run.p, run.step_data(k, states)[2])[1]((dy, of_moments[number]))
    # Only the last time counts. No output is in an event: the loop stops at one before it makes the event.
    return k - 1, j, dy, jax.tree.map(jnp.add, dp, more), of_moments.at[number].set(0)
