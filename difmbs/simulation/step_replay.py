"""All derivatives of a simulation from one mechanism: replay the linearization of the accepted steps.

A run is a chain of steps y[k+1] = step(y[k], parameters). Its derivative is a linear map from (start, parameters) to
the states at the outputs: forwards, tangents are carried through the jvp of one step after the other; backwards,
cotangents through the vjp's. Step sizes are held constant, so this is the exact derivative of the discrete solution.
Both loops run over the steps really taken and are never differentiated themselves; `_travel` tells JAX that they are
each other's transpose.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..jaxtools.batched_loops import anywhere
from ..jaxtools.memory_layout import side_by_side
from ..linalg.rows import with_row
from .event_search import passed
from .stored_states import Plan
from .time_loops import AcceptedSteps


@dataclasses.dataclass(frozen=True)
class Chain:
    """The accepted steps of a run by their numbers k; `p`: the parameters that are differentiated."""

    method: Any
    system_of: Any
    trace: AcceptedSteps
    p: Any

    @property
    def count(self) -> int:
        """So many outputs."""
        return self.trace.index.shape[0]

    @property
    def events(self) -> int:
        return len(self.system_of(self.p).structure.events)

    @property
    def watched(self) -> bool:
        """Whether a step may be an event."""
        return self.trace.event is not None

    @property
    def happened(self) -> Any:
        """Which events did."""
        event, numbers = self.trace.event, jnp.arange(self.events)[:, None]
        taken = jnp.arange(event.shape[0]) < self.trace.steps
        return jnp.any((event[None] == numbers) & taken[None], axis=1)

    @property
    def stored(self) -> Plan:
        """Which states are."""
        return self.method.stored(self.trace.y.shape[1])

    def system_at(self, k: Any) -> Any:
        """The system during a step as a function of the parameters."""
        return (lambda p: self.system_of(p).switched(self.trace.on[k])) if self.watched else self.system_of

    def step(self, k: Any, states: Any) -> tuple[Any, Any, Any, Any]:
        """Time, size, and the states at start and end."""
        place = k if self.stored.longest == 1 else k % self.trace.spacing
        return self.trace.t[k], self.trace.h[k], states[place], states[place + 1]

    def happening(self, k: Any) -> Any:
        """The step that an event is: the state after it and its moment as functions of parameters and state."""
        trace, step = self.trace, self.method.step
        return lambda p, y: passed(step, self.system_at(k)(p), trace.t[k], y, trace.event[k])[:2]

    def has_output(self, k: Any, j: Any) -> Any:
        return (j >= 0) & (j < self.count) & (self.trace.index[jnp.clip(j, 0, self.count - 1)] == k)

    def inside(self, t: Any, h: Any, y: Any, result: Any, output: Any) -> Any:
        """The state at an output."""
        step = self.method.step
        if self.method.on_grid:
            return jnp.where(output <= t, y, step.ending(h, y, result))
        return step.inside(t, h, y, result, output)

    def between_stored(self, first: Any) -> Any:
        """The states from one that is stored to the next, computed again."""
        trace, step, stored = self.trace, self.method.step, self.stored

        def again(k, states):
            def advance(y):
                t, h, system = trace.t[k], trace.h[k], self.system_at(k)(self.p)
                return step.step(system, t, h, y, step.begin(system, t, h, y)).end

            def any_step(y):
                if not self.watched:
                    return advance(y)
                return lax.cond(trace.event[k] >= 0, lambda y: self.happening(k)(self.p, y)[0], advance, y)

            return with_row(states, k - first + 1, any_step(states[k - first]))

        here, next_one = (trace.y[stored.row(n)] for n in (first, first + trace.spacing))
        states = jnp.zeros((stored.longest + 1, here.size), here.dtype).at[:2].set(jnp.stack([here, next_one]))
        # Where all are stored nothing is left to do.
        count = jnp.where(trace.spacing > 1, trace.spacing, 0)
        return lax.fori_loop(first, jnp.minimum(first + count, len(trace.t)), again, states)

    def through(self, unfinished: Any, visit: Any, carry: Any) -> Any:
        """Visits steps, with the states around them, while there are any left; `carry.k` is the next one."""
        if self.stored.longest == 1:
            return lax.while_loop(unfinished, functools.partial(visit, self.trace.y), carry)

        def segment(carry):
            first = carry.k // self.trace.spacing * self.trace.spacing
            inside = lambda c: unfinished(c) & (c.k // self.trace.spacing * self.trace.spacing == first)
            return lax.while_loop(inside, functools.partial(visit, self.between_stored(first)), carry)

        return lax.while_loop(unfinished, segment, carry)

    def either(self, visit: Any, visit_event: Any, left: Any) -> Any:
        """Visits a step as what it is."""
        if not self.watched:
            return visit
        return lambda states, c: lax.cond(left(c) & (self.trace.event[c.k] >= 0), visit_event, visit, states, c)


class _Ahead(NamedTuple):
    """Before step k: the next output j, the tangent of the state, and those of outputs and moments so far."""

    k: Any
    j: Any
    dy: Any
    outputs: Any
    moments: Any


def forwards(chain: Chain, dp: Any, dy0: Any) -> tuple[Any, Any]:
    """Tangents of the outputs, and of the moments at which events happened last."""

    def left(at):
        return at.k < chain.trace.steps

    dp, dy0 = jax.tree.map(side_by_side, (dp, dy0))
    # Members of a batch that have no steps left go on with the others, and write into a row that is not kept.
    unknown = jnp.full((chain.count + 1, *dy0.shape), jnp.nan, dy0.dtype)
    start = _Ahead(jnp.asarray(0), jnp.asarray(0), dy0, unknown, jnp.full(chain.events, jnp.nan, dy0.dtype))
    going_on = left if chain.stored.longest > 1 else lambda at: anywhere(left(at))
    push, push_event = (functools.partial(visit, chain, dp) for visit in (_push, _push_event))
    end = chain.through(going_on, chain.either(push, push_event, left), start)
    return end.outputs[: chain.count], end.moments


def _push(chain: Chain, dp: Any, states: Any, at: _Ahead) -> _Ahead:
    step, trace, k = chain.method.step, chain.trace, at.k
    t, h, y, end = chain.step(k, states)
    result, dresult = step.push(chain.system_at(k), chain.p, t, h, y, end, dp, at.dy)

    tangent = lambda function: jax.jvp(function, (y, result), (at.dy, dresult))[1]

    def save(carry):
        j, outputs = carry
        doutput = tangent(lambda y, result: chain.inside(t, h, y, result, trace.outputs[j]))
        here = chain.has_output(k, j)
        # What was not reached has no derivative; zero would look like one.
        row = jnp.where(j < trace.reached, doutput, jnp.nan)
        return jnp.where(here, j + 1, j), with_row(outputs, jnp.where(here, j, chain.count), row)

    j, outputs = lax.while_loop(lambda carry: anywhere(chain.has_output(k, carry[0])), save, (at.j, at.outputs))
    return _Ahead(k + 1, j, side_by_side(tangent(lambda y, result: step.ending(h, y, result))), outputs, at.moments)


def _push_event(chain: Chain, dp: Any, states: Any, at: _Ahead) -> _Ahead:
    y = chain.step(at.k, states)[2]
    dy, dmoment = jax.jvp(chain.happening(at.k), (chain.p, y), (dp, at.dy))[1]
    return at._replace(k=at.k + 1, dy=dy, moments=at.moments.at[chain.trace.event[at.k]].set(dmoment))


class _Back(NamedTuple):
    """After step k: the last output j until then, the cotangents of the state, of the parameters so far, of moments."""

    k: Any
    j: Any
    dy: Any
    dp: Any
    moments: Any


def backwards(chain: Chain, weights: Any, of_moments: Any) -> tuple[Any, Any]:
    """Cotangents of parameters and start, from those of outputs and moments."""
    reached, y = chain.trace.reached, chain.trace.y
    nothing = jnp.zeros(y.shape[1], y.dtype), jax.tree.map(jnp.zeros_like, chain.p)
    start = _Back(chain.trace.steps - 1, jnp.maximum(reached - 1, 0), *nothing, of_moments)
    left = lambda at: at.k >= 0
    pull, pull_event = functools.partial(_pull, chain, weights), functools.partial(_pull_event, chain)
    end = chain.through(left, chain.either(pull, pull_event, left), start)
    unknown = jnp.any((jnp.arange(chain.count)[:, None] >= reached) & (weights != 0))
    if chain.watched:
        unknown |= jnp.any(~chain.happened & (of_moments != 0))
    return jax.tree.map(lambda x: jnp.where(unknown, jnp.nan, x), (end.dp, end.dy))


def _pull(chain: Chain, weights: Any, states: Any, at: _Back) -> _Back:
    step, trace, k = chain.method.step, chain.trace, at.k
    t, h, y, end = chain.step(k, states)

    def weigh(result):
        """The weights of the end of the step and of all outputs in it."""

        def add(carry):
            j, weighed = carry
            _, pull = jax.vjp(lambda y, result: chain.inside(t, h, y, result, trace.outputs[j]), y, result)
            return j - 1, jax.tree.map(jnp.add, weighed, pull(weights[j]))

        _, pull = jax.vjp(lambda y, result: step.ending(h, y, result), y, result)
        return lax.while_loop(lambda carry: chain.has_output(k, carry[0]), add, (at.j, pull(at.dy)))[1]

    more, dy = step.pull(chain.system_at(k), chain.p, t, h, y, end, weigh)
    # The outputs of earlier steps come first: the last one before this step's.
    earlier = jnp.searchsorted(trace.index, k).astype(at.j.dtype) - 1
    return _Back(k - 1, earlier, dy, jax.tree.map(jnp.add, at.dp, more), at.moments)


def _pull_event(chain: Chain, states: Any, at: _Back) -> _Back:
    number = chain.trace.event[at.k]
    more, dy = jax.vjp(chain.happening(at.k), chain.p, chain.step(at.k, states)[2])[1]((at.dy, at.moments[number]))
    # Only the last time counts.
    return _Back(at.k - 1, at.j, dy, jax.tree.map(jnp.add, at.dp, more), at.moments.at[number].set(0))
