"""Solutions of equations, differentiated by the implicit function theorem."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero


@jax.custom_jvp
def implicit(z: Any, residual: Any, inverse: Any) -> Any:
    """z as a function of what the residual r(z, ...) = 0 depends on: dz = -J^-1 dr with J = dr/dz.

    `residual` is r at `lax.stop_gradient(z)`, of which only the derivative is used: where none is taken, it is not
    computed. `inverse` has `solve` and `solve_transposed` for J and is held constant, so there is no second derivative.
    """
    return z


@implicit.defjvp
def _(primals, tangents):
    z, residual, inverse = primals
    # The result is in use, so that the refusal is not left out inside jit.
    _, inverse = first_order_only((residual, inverse), _SENTENCE)

    def solve(_, b):
        return inverse.solve(b)

    def solve_transposed(_, b):
        return inverse.solve_transposed(b)

    # The identity as matrix: JAX only needs to know that the two are each other's transpose.
    return z, -lax.custom_linear_solve(lambda x: x, tangents[1], solve, solve_transposed)


_SENTENCE = (
    "equilibria, and accelerations and multipliers of constrained systems, have first derivatives only: their "
    "derivative holds the factorized matrix constant."
)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def first_order_only(x: Any, sentence: str) -> Any:
    """x, with the sentence as an error where it is differentiated."""
    return x


def _refuse(sentence, primals, tangents):
    leaves = jax.tree.leaves(tangents, is_leaf=lambda t: isinstance(t, SymbolicZero))
    if all(isinstance(t, SymbolicZero) for t in leaves):
        return primals[0], jax.tree.map(no_tangent, primals[0])
    raise TypeError(sentence)


first_order_only.defjvp(_refuse, symbolic_zeros=True)


def no_tangent(x: Any) -> Any:
    """The tangent of what does not change."""
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, jnp.inexact) else np.zeros(x.shape, jax.dtypes.float0)
