"""All derivatives of a simulation from one mechanism: replay the linearization of the accepted steps.

A run is a chain of steps y[k+1] = step(y[k], parameters). Its derivative is a linear map from (start, parameters) to
the states at the outputs: forwards, tangents are carried through the jvp of one step after the other; backwards,
cotangents through the vjp's. Step sizes are held constant, so this is the exact derivative of the discrete solution.
Both loops run over the steps really taken and are never differentiated themselves. JAX is told that they are each
other's transpose by `lax.custom_linear_solve`, whose matrix is the identity: so `jvp`, `grad`, `jacfwd`, `vmap` and
`jit` all apply to the same simulation.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.flatten_util import ravel_pytree

from ._batches import anywhere
from ._events import passed
from ._integrate import Run, Trace
from .linalg import first_order_only, no_tangent
from .solvers import with_row
from .system import System


def integrate(method: Any, system: System, y0: Any) -> Run:
    """`method.run`, differentiable with respect to the system's parameters and y0."""
    parameters, rest = eqx.partition(system, eqx.is_inexact_array)
    leaves, treedef = jax.tree.flatten(parameters)

    def assembled(leaves) -> System:
        return eqx.combine(jax.tree.unflatten(treedef, leaves), rest)

    @jax.custom_jvp
    def run(leaves, y0) -> Run:
        return method.run(assembled(leaves), y0, record=False)._replace(trace=None)

    def rule(primals, tangents):
        leaves, y0 = primals
        moving = [i for i, x in enumerate(tangents[0]) if not isinstance(x, SymbolicZero)]
        dp = tuple(tangents[0][i] for i in moving)
        dy0 = jnp.zeros_like(y0) if isinstance(tangents[1], SymbolicZero) else tangents[1]
        recorded = method.run(assembled(leaves), y0, record=True)
        leaves, trace = first_order_only((leaves, recorded.trace), _SENTENCE)

        def system_of(p) -> System:
            changed = dict(zip(moving, p, strict=True))
            return assembled([changed.get(i, x) for i, x in enumerate(leaves)])

        p = tuple(leaves[i] for i in moving)
        doutputs, dmoments = _replayed(method, system_of, trace, p, dp, dy0)
        primal = recorded._replace(trace=None)
        tangent = jax.tree.map(no_tangent, primal)._replace(outputs=doutputs)
        return primal, tangent if primal.moments is None else tangent._replace(moments=dmoments)

    run.defjvp(rule, symbolic_zeros=True)
    return run(leaves, y0)


def _replayed(method: Any, system_of: Any, trace: Trace, p: Any, dp: Any, dy0: Any) -> Any:
    """Tangents of the outputs, and of the moments at which events happened last."""
    step, every = method.step, method.spacing(dy0.size)
    count = trace.index.shape[0]
    watched = trace.event is not None
    events = len(system_of(p).structure.events)

    def system_at(k):
        return (lambda p: system_of(p).switched(trace.on[k])) if watched else system_of

    def happening(k):
        """The step that an event is: the state after it and its moment as functions of parameters and state."""
        return lambda p, y: passed(step, system_at(k)(p), trace.t[k], y, trace.event[k])

    def has_output(k, j):
        return (j >= 0) & (j < count) & (trace.index[jnp.clip(j, 0, count - 1)] == k)

    def inside(t, h, y, result, output):
        """The state at an output."""
        if method.on_grid:
            return jnp.where(output <= t, y, step.ending(h, y, result))
        return step.inside(t, h, y, result, output)

    def states(first):
        """The states from one that is stored to the next, computed again."""
        if every == 1:
            return trace.y

        def again(k, states):
            def advance(y):
                t, h, system = trace.t[k], trace.h[k], system_at(k)(p)
                return step.step(system, t, h, y, step.begin(system, t, h, y)).end

            def any_step(y):
                if not watched:
                    return advance(y)
                return lax.cond(trace.event[k] >= 0, lambda y: happening(k)(p, y)[0], advance, y)

            return with_row(states, k - first + 1, any_step(states[k - first]))

        empty = jnp.zeros((every + 1, *dy0.shape), dy0.dtype)
        last = jnp.minimum(first + every, len(trace.t))
        return lax.fori_loop(first, last, again, empty.at[0].set(trace.y[first // every]))

    def at(k, states):
        place = k if every == 1 else k % every
        return trace.t[k], trace.h[k], states[place], states[place + 1]

    def through(unfinished, visit, carry):
        """Visits steps while there are any left; carry[0] is the number of the step."""
        if every == 1:
            return lax.while_loop(unfinished, functools.partial(visit, trace.y), carry)

        def segment(carry):
            first = carry[0] // every * every
            inside = lambda c: unfinished(c) & (c[0] // every * every == first)
            return lax.while_loop(inside, functools.partial(visit, states(first)), carry)

        return lax.while_loop(unfinished, segment, carry)

    def either(visit, visit_event, left):
        if not watched:
            return visit
        return lambda states, c: lax.cond(left(c) & (trace.event[c[0]] >= 0), visit_event, visit, states, c)

    def forwards(dp, dy0):
        def visit(states, carry):
            k, j, dy, outputs, dmoments = carry
            t, h, y, end = at(k, states)
            result, dresult = step.push(system_at(k), p, t, h, y, end, dp, dy)

            tangent = lambda function: jax.jvp(function, (y, result), (dy, dresult))[1]

            def save(carry):
                j, outputs = carry
                doutput = tangent(lambda y, result: inside(t, h, y, result, trace.outputs[j]))
                here = has_output(k, j)
                # What was not reached has no derivative; zero would look like one.
                row = jnp.where(j < trace.reached, doutput, jnp.nan)
                return jnp.where(here, j + 1, j), with_row(outputs, jnp.where(here, j, count), row)

            j, outputs = lax.while_loop(lambda carry: anywhere(has_output(k, carry[0])), save, (j, outputs))
            return k + 1, j, tangent(lambda y, result: step.ending(h, y, result)), outputs, dmoments

        def visit_event(states, carry):
            k, j, dy, outputs, dmoments = carry
            dy, dmoment = jax.jvp(happening(k), (p, at(k, states)[2]), (dp, dy))[1]
            return k + 1, j, dy, outputs, dmoments.at[trace.event[k]].set(dmoment)

        def left(carry):
            return carry[1] < trace.reached

        # Members of a batch that have no steps left go on with the others, and write into a row that is not kept.
        unknown = jnp.full((count + 1, *dy0.shape), jnp.nan, dy0.dtype)
        start = (jnp.asarray(0), jnp.asarray(0), dy0, unknown, jnp.zeros(events, dy0.dtype))
        going_on = left if every > 1 else lambda carry: anywhere(left(carry))
        outputs, dmoments = through(going_on, either(visit, visit_event, left), start)[3:]
        return outputs[:count], dmoments

    def backwards(weights, of_moments):
        def visit(states, carry):
            k, first, dend, dp, of_moments = carry
            t, h, y, end = at(k, states)

            def weigh(result):
                """The weights of the end of the step and of all outputs in it."""

                def add(carry):
                    j, weighed = carry
                    _, pull = jax.vjp(lambda y, result: inside(t, h, y, result, trace.outputs[j]), y, result)
                    return j - 1, jax.tree.map(jnp.add, weighed, pull(weights[j]))

                _, pull = jax.vjp(lambda y, result: step.ending(h, y, result), y, result)
                return lax.while_loop(lambda carry: has_output(k, carry[0]), add, (first, pull(dend)))[1]

            more, dy = step.pull(system_at(k), p, t, h, y, end, weigh)
            # The outputs of earlier steps come first: the last one before this step's.
            earlier = jnp.searchsorted(trace.index, k).astype(first.dtype) - 1
            return k - 1, earlier, dy, jax.tree.map(jnp.add, dp, more), of_moments

        def visit_event(states, carry):
            k, first, dend, dp, of_moments = carry
            number = trace.event[k]
            more, dy = jax.vjp(happening(k), p, at(k, states)[2])[1]((dend, of_moments[number]))
            # Only the last time counts.
            return k - 1, first, dy, jax.tree.map(jnp.add, dp, more), of_moments.at[number].set(0)

        last = jnp.maximum(trace.reached - 1, 0)
        steps = jnp.where(trace.reached > 0, trace.index[last], -1)
        carry = (steps, last, jnp.zeros_like(dy0), jax.tree.map(jnp.zeros_like, p), of_moments)
        left = lambda carry: carry[0] >= 0
        _, _, dy, dp, _ = through(left, either(visit, visit_event, left), carry)
        unknown = jnp.any((jnp.arange(count)[:, None] >= trace.reached) & (weights != 0))
        return jax.tree.map(lambda x: jnp.where(unknown, jnp.nan, x), (dp, dy))

    # The vector (dp, dy0, outputs, moments) with matrix 1; "solving" adds the map from the first two to the others. One
    # flat vector, because JAX wants all of it to be linear in what is differentiated, also where a part is zero.
    nothing = (jnp.zeros((count, *dy0.shape), dy0.dtype), jnp.zeros(events, dy0.dtype))
    flat, unravel = ravel_pytree((dp, dy0, nothing))

    def solve(_, b):
        dp, dy0, reached = unravel(b)
        return ravel_pytree((dp, dy0, jax.tree.map(jnp.add, reached, forwards(dp, dy0))))[0]

    def transpose_solve(_, b):
        dp, dy0, weights = unravel(b)
        more, dy = backwards(*weights)
        return ravel_pytree((jax.tree.map(jnp.add, dp, more), dy0 + dy, weights))[0]

    return unravel(lax.custom_linear_solve(lambda b: b, flat, solve, transpose_solve))[2]


_SENTENCE = (
    "simulate has first derivatives only: its derivative holds the trajectory fixed. For second derivatives pass "
    "adjoint=diffrax.DirectAdjoint(), or use Gauss-Newton, which needs first ones only."
)
