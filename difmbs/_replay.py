"""All derivatives of a simulation from one mechanism: replay the linearization of the accepted steps.

A run is a chain of steps y[k+1] = step(y[k], parameters). Its derivative is a linear map from (start, parameters) to
the states at the outputs: forwards, tangents are carried through the jvp of one step after the other; backwards,
cotangents through the vjp's. Step sizes are held constant, so this is the exact derivative of the discrete solution.
Both loops run over the steps really taken and are never differentiated themselves. JAX is told that they are each
other's transpose by `lax.custom_linear_solve`, whose matrix is the identity: so `jvp`, `grad`, `jacfwd`, `vmap` and
`jit` all apply to the same simulation.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.flatten_util import ravel_pytree

from ._integrate import Run, Trace, advance
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
        leaves, trace = _first_order_only((leaves, recorded.trace))

        def system_of(p) -> System:
            changed = dict(zip(moving, p, strict=True))
            return assembled([changed.get(i, x) for i, x in enumerate(leaves)])

        p = tuple(leaves[i] for i in moving)
        at = trace.y[trace.index]
        dat = _replayed(method.solver, system_of, trace, p, dp, dy0)
        _, doutputs = jax.jvp(lambda p, at: method.dense(system_of(p), trace, at), (p, at), (dp, dat))
        primal = recorded._replace(trace=None)
        return primal, jax.tree.map(_no_tangent, primal)._replace(outputs=doutputs)

    run.defjvp(rule, symbolic_zeros=True)
    return run(leaves, y0)


def _replayed(solver: Any, system_of: Any, trace: Trace, p: Any, dp: Any, dy0: Any) -> Any:
    """Tangents of the states at the starts of the steps with outputs."""

    def step(k, p, y):
        return advance(solver, system_of(p), trace.t[k], trace.t[k + 1], y)[0]

    def forwards(dp, dy0):
        def until(carry, target):
            k, dy = carry

            def one(k, dy):
                return jax.jvp(lambda p, y: step(k, p, y), (p, trace.y[k]), (dp, dy))[1]

            dy = lax.fori_loop(k, target, one, dy)
            return (target, dy), dy

        return lax.scan(until, (jnp.zeros_like(trace.index[0]), dy0), trace.index)[1]

    def backwards(weights):
        def until(carry, target_and_weight):
            (target, weight), (k, dy, dp) = target_and_weight, carry

            def one(i, carry):
                dy, dp = carry
                j = k - 1 - i
                _, pull = jax.vjp(lambda p, y: step(j, p, y), p, trace.y[j])
                more, dy = pull(dy)
                return dy, jax.tree.map(jnp.add, dp, more)

            dy, dp = lax.fori_loop(0, k - target, one, (dy, dp))
            return (target, dy + weight, dp), None

        start = (trace.index[-1], jnp.zeros_like(dy0), jax.tree.map(jnp.zeros_like, p))
        end, _ = lax.scan(until, start, (trace.index, weights), reverse=True)
        # From the first output back to the start.
        (_, dy, dp), _ = until(end, (jnp.zeros_like(trace.index[0]), jnp.zeros_like(dy0)))
        return dp, dy

    # The vector (dp, dy0, outputs) with matrix 1; "solving" adds the map from the first two to the third. One flat
    # vector, because JAX wants all of it to be linear in what is differentiated, also where a part is zero.
    nothing = jnp.zeros((trace.index.shape[0], *dy0.shape), dy0.dtype)
    flat, unravel = ravel_pytree((dp, dy0, nothing))

    def solve(_, b):
        dp, dy0, outputs = unravel(b)
        return ravel_pytree((dp, dy0, outputs + forwards(dp, dy0)))[0]

    def transpose_solve(_, b):
        dp, dy0, weights = unravel(b)
        more, dy = backwards(weights)
        return ravel_pytree((jax.tree.map(jnp.add, dp, more), dy0 + dy, weights))[0]

    return unravel(lax.custom_linear_solve(lambda b: b, flat, solve, transpose_solve))[2]


@jax.custom_jvp
def _first_order_only(x):
    return x


def _refuse(primals, tangents):
    if all(isinstance(t, SymbolicZero) for t in jax.tree.leaves(tangents, is_leaf=lambda t: isinstance(t, SymbolicZero))):
        return primals[0], jax.tree.map(_no_tangent, primals[0])
    raise TypeError(
        "simulate has first derivatives only: its derivative holds the trajectory fixed. For second derivatives pass "
        "adjoint=diffrax.DirectAdjoint(), or use Gauss-Newton, which needs first ones only."
    )


_first_order_only.defjvp(_refuse, symbolic_zeros=True)


def _no_tangent(x):
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, jnp.inexact) else np.zeros(x.shape, jax.dtypes.float0)
