"""Eigenvalues of constrained linear systems, (s^2 M + s D + K) x + G^T nu = 0 and G x = 0, with first derivatives."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.errors import SimulationError
from .implicit import first_order_only
from .quadratic_spectrum import FIXED, Spectrum, spectrum

RANK = 1e-7
"""Singular values of G below this share of the largest one are those of redundant constraints."""


class Eigen(NamedTuple):
    """Eigenvalues s and, in rows, right eigenvectors with x^H M x = 1; and what derivatives need.

    ds = gain d(residual); of repeated eigenvalues no single one has a derivative.
    """

    values: Any
    vectors: Any
    residual: Any
    gain: Any
    repeated: Any


class Modal(NamedTuple):
    """Eigenvalues with right and left eigenvectors x and y in rows, and the forces nu and eta that hold them."""

    values: Any
    right: Any
    left: Any
    repeated: Any
    nu: Any
    eta: Any


def modal(M: Any, K: Any, D: Any, G: Any, count: int) -> Modal:
    """The `count` smallest eigenvalues, of each conjugate pair the one with the positive imaginary part."""
    frame = _frame(M, G)
    s, x, y, repeated = _eigenvectors(frame, K, D, count)
    m, k, d, hold = (matrix.astype(s.dtype) for matrix in (M, K, D, frame.hold))
    # Of missing modes nothing but the eigenvalue is not a number: it would spread in derivatives.
    known = jnp.where(jnp.isnan(s), 0, s)
    nu, eta = -_applied(m, k, d, known, x) @ hold, -_applied(m.T, k.T, d.T, known.conj(), y) @ hold
    return Modal(s, x, y, repeated & ~jnp.isnan(s), nu, eta)


def eigen(M: Any, K: Any, D: Any, G: Any, modal: Modal) -> Eigen:
    """The eigenvalues, ready for derivatives with respect to the matrices:

    ds = -(y^H (s^2 dM + s dD + dK) x + y^H dG^T nu + eta^H dG x) / (y^H (2 s M + D) x).
    """
    all_values, x, y, repeated, nu, eta = modal
    s = jnp.where(jnp.isnan(all_values), 0, all_values)
    m, k, d, g = (matrix.astype(s.dtype) for matrix in (M, K, D, G))
    residual = jnp.sum(y.conj() * _applied(m, k, d, s, x), axis=-1)
    residual += jnp.sum((y.conj() @ g.T) * nu + (x @ g.T) * eta.conj(), axis=-1)
    slope = lax.stop_gradient(jnp.sum(y.conj() * (2 * s[:, None] * (x @ m.T) + x @ d.T), axis=-1))
    # What is free to move stays so.
    free = s == 0
    gain = jnp.where(free, 0, -1 / jnp.where(free, 1, slope))
    # A product, so that with the matrices the derivative is not a number either.
    gain += 0 * lax.stop_gradient(jnp.sum(k) + jnp.sum(d))
    return Eigen(all_values, x, residual, gain, repeated)


def unrefused(eigen: Eigen) -> Eigen:
    """With derivatives that are NaN instead of refused."""
    return eigen._replace(gain=jnp.where(eigen.repeated, jnp.nan, eigen.gain), repeated=jnp.zeros_like(eigen.repeated))


def freedoms(M: Any, G: Any) -> Any:
    """How many motions the constraints leave."""
    return jnp.round(jnp.trace(_frame(M, G).free)).astype(int)


def values(eigen: Eigen) -> Any:
    """The eigenvalues with their derivatives."""
    return _attached(eigen.values, eigen.residual, eigen.gain, eigen.repeated)


def vectors(eigen: Eigen) -> Any:
    """The eigenvectors, refusing to be differentiated."""
    return first_order_only((eigen.vectors, eigen.residual), _NO_SHAPES)[0]


@jax.custom_jvp
def _attached(values: Any, residual: Any, gain: Any, repeated: Any) -> Any:
    return values


@_attached.defjvp
def _(primals, tangents):
    values, residual, gain, repeated = primals
    # The gain is in use, so that the refusal is not left out inside jit.
    _, gain = first_order_only((residual, gain), _FIRST_ONLY)
    if not isinstance(repeated, jax.core.Tracer) and np.any(repeated):
        raise SimulationError(_REPEATED.format(np.argwhere(np.asarray(repeated))[0][-1]), "repeated")
    gain = jnp.where(repeated, jnp.nan, gain)
    return values, jnp.where(gain == 0, 0, gain * tangents[1])


_FIRST_ONLY = "eigenvalues have first derivatives only: their derivative holds the mode shapes constant."
_NO_SHAPES = "mode shapes have no derivatives, only eigenvalues have."
_REPEATED = (
    "mode {} shares its eigenvalue with another one, and a repeated eigenvalue has no derivative by itself. Take "
    "derivatives of others, for example modes.only(0, 1).frequencies."
)


class _Frame(NamedTuple):
    """Coordinates in which M is 1: `root` has root^T root = M^-1, `free` projects onto what constraints leave free
    there, and `hold` gives the forces of constraints that balance given ones, as rows."""

    root: Any
    free: Any
    hold: Any


def _frame(M: Any, G: Any) -> _Frame:
    identity = jnp.eye(len(M), dtype=M.dtype)
    root = jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(M), identity, lower=True)
    if len(G) == 0:
        return _Frame(root, identity, jnp.zeros((len(M), 0), M.dtype))
    rows = G @ root.T
    lengths = jnp.sqrt(jnp.sum(rows**2, axis=1, keepdims=True))
    lengths = jnp.where(lengths > 0, lengths, 1)
    inverse = jnp.linalg.pinv(rows / lengths, rtol=RANK) / lengths.T
    return _Frame(root, identity - inverse @ rows, root.T @ inverse)


def _eigenvectors(frame: _Frame, K: Any, D: Any, count: int) -> Spectrum:
    """Eigenvalues, with vectors in the original coordinates; in units in which K and D have norms up to 1."""
    root, free, _ = frame
    stiffness, damping = (free @ root @ matrix @ root.T @ free for matrix in (K, D))
    unit = jnp.sqrt(_norm(stiffness)) + _norm(damping)
    unit = jnp.where(unit > 0, unit, 1)
    held = jnp.eye(len(free), dtype=free.dtype) - free
    s, x, y, repeated = spectrum(stiffness / unit**2 + FIXED * held, damping / unit, count)
    x, y = (z @ root.astype(z.dtype) for z in (x, y))
    largest = jnp.take_along_axis(x, jnp.argmax(jnp.abs(x), axis=1, keepdims=True), axis=1)
    size = jnp.abs(largest)
    positive = largest.conj() / jnp.where(size > 0, size, 1).astype(x.dtype)
    return Spectrum(s * unit.astype(s.dtype), x * positive, y, repeated)


def _applied(M: Any, K: Any, D: Any, s: Any, x: Any) -> Any:
    """(s^2 M + s D + K) x."""
    return s[:, None] ** 2 * (x @ M.T) + s[:, None] * (x @ D.T) + x @ K.T


def _norm(matrix: Any) -> Any:
    """Not less than the spectral norm, nor much larger."""
    sizes = jnp.abs(matrix)
    return jnp.sqrt(jnp.max(jnp.sum(sizes, axis=0)) * jnp.max(jnp.sum(sizes, axis=1)))
