"""Solutions of equations, differentiated by the implicit function theorem."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def implicit(residual: Callable[[Any, Any], Any], z: Any, inverse: Any, known: Any) -> Any:
    """z as a function of all that is `known` in r(z, known) = 0: dz = -J^-1 dr with J = dr/dz.

    `residual` is a function of (z, known) that holds no arrays of its own; it is called only where a derivative is
    taken. `inverse` has `solve` and `solve_transposed` for J and is held constant, so there is no second derivative.
    """
    return z


def _derivative(residual, primals, tangents):
    z, inverse, known = primals
    leaves, treedef = jax.tree.flatten(known)
    changes = jax.tree.leaves(tangents[2], is_leaf=lambda x: isinstance(x, SymbolicZero))
    moving = [i for i, x in enumerate(changes) if not isinstance(x, SymbolicZero)]
    if not moving:
        return z, jnp.zeros_like(z)

    def moved(values):
        replaced = dict(zip(moving, values, strict=True))
        return residual(z, jax.tree.unflatten(treedef, [replaced.get(i, x) for i, x in enumerate(leaves)]))

    r, dr = jax.jvp(moved, ([leaves[i] for i in moving],), ([changes[i] for i in moving],))
    # The result is in use, so that the refusal is not left out inside jit.
    _, inverse = first_order_only((r, inverse), _SENTENCE)

    def solve(_, b):
        return inverse.solve(b)

    def solve_transposed(_, b):
        return inverse.solve_transposed(b)

    # The identity as matrix: JAX only needs to know that the two are each other's transpose.
    return z, -lax.custom_linear_solve(lambda x: x, dr, solve, solve_transposed)


implicit.defjvp(_derivative, symbolic_zeros=True)


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
