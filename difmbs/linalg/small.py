"""Products and inverses of small dense blocks: loops rather than calls of LAPACK, which cost more than the work."""

import jax.numpy as jnp
from jax import lax


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


def _slice(a, k, axis):
    return lax.dynamic_slice_in_dim(a, k, 1, axis, allow_negative_indices=False)
