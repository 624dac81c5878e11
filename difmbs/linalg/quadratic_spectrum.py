"""Eigenvalues and eigenvectors of s^2 x + s D x + K x = 0, in order of size.

The norms of K and D are at most 1, and so are the sizes of all eigenvalues. Directions in which nothing moves are told
by a stiffness of `FIXED`, of which D must know nothing.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

FIXED = 4.0
_LARGEST = 1.5

_NOISE = 10
"""What is less stiff than this is not held at all; in units of rounding times the number of coordinates."""

_SAME = 1e-8
"""Eigenvalues that differ by a smaller share than this, or by 1e4 times rounding, are repeated."""

_DEFECTIVE = 1e-6
"""Eigenvalues whose left and right eigenvectors are so nearly orthogonal are about to become repeated."""


class Spectrum(NamedTuple):
    """Eigenvalues s, NaN where there are not as many, with right and left eigenvectors x and y in rows."""

    values: Any
    right: Any
    left: Any
    repeated: Any


def spectrum(K: Any, D: Any, count: int) -> Spectrum:
    """The `count` smallest eigenvalues; of each conjugate pair the one with the positive imaginary part.

    Without damping and with a symmetric K they are exactly imaginary or real, from a symmetric eigenvalue problem.
    """
    symmetric = jnp.all(D == 0) & (jnp.max(jnp.abs(K - K.T)) <= _SAME)
    return lax.cond(symmetric, lambda: _undamped(K, count), lambda: _damped(K, D, count))


def _undamped(K: Any, count: int) -> Spectrum:
    eps = jnp.finfo(K.dtype).eps
    squares, vectors = jnp.linalg.eigh((K + K.T) / 2)
    squares = jnp.where(jnp.abs(squares) <= _NOISE * len(K) * eps, 0, squares)
    order = jnp.argsort(jnp.abs(squares))[:count]
    gaps = jnp.abs(squares[order, None] - squares[None]).at[jnp.arange(len(order)), order].set(jnp.inf)
    squares = squares[order]
    repeated = (jnp.min(gaps, axis=1) <= _SAME * jnp.abs(squares) + 1e4 * eps) & (squares != 0)
    size = jnp.sqrt(jnp.abs(squares))
    values = lax.complex(jnp.where(squares < 0, size, 0), jnp.where(squares < 0, 0, size))
    x = vectors.T[order].astype(values.dtype)
    missing = count - len(order)
    values = jnp.pad(_known(values, size), (0, missing), constant_values=jnp.nan)
    x = jnp.pad(x, [(0, missing), (0, 0)])
    return Spectrum(values, x, x, jnp.pad(repeated, (0, missing)))


def _damped(K: Any, D: Any, count: int) -> Spectrum:
    n, eps = len(K), jnp.finfo(K.dtype).eps
    noise = _NOISE * n * eps
    state = jnp.block([[jnp.zeros_like(K), jnp.eye(n, dtype=K.dtype)], [-K, -D]])
    values, left, right = lax.linalg.eig(state)
    x, y = _unit(right[:n].T), _unit(left[n:].T)
    stiffness = jnp.abs(jnp.sum(x.conj() * (x @ K.T.astype(x.dtype)), axis=-1))
    # What is not held has two such eigenvalues, or one with damping, disturbed by the square root of rounding.
    unheld = (stiffness <= noise) & (jnp.abs(values) <= jnp.sqrt(noise))
    gaps = jnp.abs(values[:, None] - values[None]) + jnp.diag(jnp.full(2 * n, jnp.inf))
    slope = jnp.sum(y.conj() * (2 * values[:, None] * x + x @ D.T.astype(x.dtype)), axis=-1)
    repeated = jnp.min(gaps, axis=1) <= _SAME * jnp.abs(values) + 1e4 * eps
    repeated |= jnp.abs(slope) <= _DEFECTIVE * (2 * jnp.abs(values) + jnp.max(jnp.abs(D)))
    # Instead of these, a basis of all displacements that are not held.
    u, singular, v = jnp.linalg.svd(K)
    basis = singular <= noise
    candidates = Spectrum(
        jnp.concatenate([jnp.zeros(n, values.dtype), values]),
        jnp.concatenate([v.astype(x.dtype), x]),
        jnp.concatenate([u.T.astype(x.dtype), y]),
        jnp.concatenate([jnp.zeros(n, bool), repeated]),
    )
    valid = jnp.concatenate([basis, (values.imag >= 0) & ~unheld])
    size = jnp.where(valid, jnp.abs(candidates.values), jnp.inf)
    order = jnp.argsort(size)[:count]
    chosen = Spectrum(*(z[order] for z in candidates))
    return chosen._replace(values=_known(chosen.values, size[order]))


def _known(values: Any, size: Any) -> Any:
    """NaN for directions in which nothing moves."""
    return jnp.where(size < _LARGEST, values, jnp.nan)


def _unit(rows: Any) -> Any:
    return rows / jnp.sqrt(jnp.sum(jnp.abs(rows) ** 2, axis=1, keepdims=True)).astype(rows.dtype)
