"""Products, inverses and Jacobians of small dense blocks: no calls of LAPACK, which cost more than the work."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def jacobian(function: Callable[..., Any], *x: Any) -> list[Any]:
    """The derivatives of a function of vectors with respect to each of them, all in one pass.

    As jax.jacfwd, which however compiles the directions themselves, operation by operation.
    """
    return matrices(lambda *dx: jax.jvp(function, x, dx)[1], *x)


def matrices(linear: Callable[..., Any], *x: Any) -> list[Any]:
    """The matrices of a linear function of vectors like these, one for each of them."""
    stops = np.cumsum([one.size for one in x]).tolist()
    directions = np.split(np.eye(stops[-1], dtype=x[0].dtype), stops[:-1])
    columns = jax.vmap(linear, -1, -1)(*directions)
    parts = [slice(stop - one.size, stop) for one, stop in zip(x, stops, strict=True)]
    return [jax.tree.map(lambda c, part=part: c[..., part], columns) for part in parts]


def matmul(a, b):
    """a @ b."""
    return jnp.sum(a[:, :, None] * b[None], axis=1)


def matvec(a, x):
    """a @ x."""
    return jnp.sum(a * x[None, :], axis=-1)


def inverse(a):
    """The inverse of a matrix whose leading principal minors are not zero, by Gauss-Jordan elimination in place."""
    numbers = jnp.arange(len(a))

    def eliminate(k, a):
        row, column, here = _slice(a, k, 0), _slice(a, k, 1), numbers == k
        pivot = _slice(row, k, 1)
        row = jnp.where(here[None, :], 1, row) / pivot
        return jnp.where(here[:, None], row, jnp.where(here[None, :], 0, a) - column * row)

    return lax.fori_loop(0, len(a), eliminate, a)


def inverse_without_loop(a):
    """As `inverse`, written out for GPUs."""
    for k in range(len(a)):
        here = np.arange(len(a)) == k
        row, column = a[k : k + 1], a[:, k : k + 1]
        row = jnp.where(here[None, :], 1, row) / row[:, k : k + 1]
        a = jnp.where(here[:, None], row, jnp.where(here[None, :], 0, a) - column * row)
    return a


def _slice(a, k, axis):
    return lax.dynamic_slice_in_dim(a, k, 1, axis, allow_negative_indices=False)
