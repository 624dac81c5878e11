"""Products and inverses of small dense blocks, written out so that XLA fuses them with their surroundings."""

import jax.numpy as jnp

_WRITTEN_OUT = 9
"""Up to this size an inverse is written out; a call to LAPACK costs less for larger ones."""


def matmul(a, b):
    """a @ b."""
    return sum(a[:, k, None] * b[None, k, :] for k in range(a.shape[1]))


def matvec(a, x):
    """a @ x."""
    return jnp.sum(a * x[None, :], axis=-1)


def inverse(a):
    """The inverse of a matrix whose leading principal minors are not zero."""
    n = a.shape[-1]
    if n > _WRITTEN_OUT:
        return jnp.linalg.inv(a)
    if n == 1:
        return 1 / a
    if n == 2:
        adjugate = jnp.stack([jnp.stack([a[1, 1], -a[0, 1]]), jnp.stack([-a[1, 0], a[0, 0]])])
        return adjugate / (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
    h = n // 2
    first = inverse(a[:h, :h])
    right, left = matmul(first, a[:h, h:]), matmul(a[h:, :h], first)
    second = inverse(a[h:, h:] - matmul(a[h:, :h], right))
    corner = matmul(second, left)
    above = jnp.concatenate([first + matmul(right, corner), -matmul(right, second)], axis=1)
    return jnp.concatenate([above, jnp.concatenate([-corner, second], axis=1)])
