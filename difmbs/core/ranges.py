"""The ranges that a parameter's values may be declared to lie in."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np


def limits() -> Any:
    """Limits of the numbers that JAX computes with; smaller ones than `tiny` are flushed to zero."""
    return jnp.finfo(jnp.result_type(float))


def _rounding() -> float:
    """What a tensor may be off by: it is rarely typed in with all digits, nor computed without rounding."""
    return max(1e-9, 100 * float(limits().eps))


def _is_asymmetric(tensor: np.ndarray) -> Any:
    scaled, _ = _scaled(tensor)
    return np.any(np.abs(scaled - np.swapaxes(scaled, -1, -2)) > _rounding(), axis=(-2, -1))


def _is_indefinite(tensor: np.ndarray) -> Any:
    return np.linalg.eigvalsh(_scaled(tensor)[0])[..., 0] <= 1e-14


def _is_negative(tensor: np.ndarray) -> Any:
    return np.linalg.eigvalsh(_scaled(tensor)[0])[..., 0] < -1e-14


def _is_no_body(tensor: np.ndarray) -> Any:
    moments = np.linalg.eigvalsh(_scaled(tensor)[0])
    return moments[..., 2] > (moments[..., 0] + moments[..., 1]) * (1 + _rounding())


def _has_no_inverse(tensor: np.ndarray) -> Any:
    """The determinant over- or underflows."""
    scaled, scale = _scaled(tensor)
    size = np.sum(np.log(np.linalg.eigvalsh(scaled)), axis=-1) + 3 * np.log(scale)
    return (size < np.log(float(limits().tiny))) | (size > np.log(float(limits().max)))


def _scaled(tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.abs(tensor).max(axis=(-2, -1))
    scale = np.where(scale > 0, scale, 1)
    return tensor / scale[..., None, None], scale


def _is_no_direction(vector: np.ndarray) -> Any:
    largest = np.abs(vector).max(axis=-1)
    return (largest < float(limits().tiny) ** 0.5) | (largest > 0.5 * float(limits().max) ** 0.5)


def _is_no_curve(points: np.ndarray) -> Any:
    return np.any(np.diff(points[..., 0]) <= 0, axis=-1) | (points.shape[-2] < 2)


RANGES: dict[str, tuple[tuple[Callable[[np.ndarray], Any], str], ...]] = {
    "positive": (
        (lambda x: x <= 0, "must be > 0"),
        (lambda x: x < float(limits().tiny), "is so small that it cannot be divided by"),
    ),
    "nonnegative": ((lambda x: x < 0, "must be >= 0"),),
    "expected nonnegative": (),
    "direction": ((_is_no_direction, "is too short or too long to be a direction"),),
    "inertia": (
        (_is_asymmetric, "must be symmetric"),
        (_is_indefinite, "must be positive definite"),
        (_is_no_body, "belongs to no body: each principal moment must be at most the sum of the other two"),
        (_has_no_inverse, "is too small or too large to be inverted in this precision"),
    ),
    "one or more": ((lambda x: x < 1, "must be >= 1"),),
    "mass matrix": (
        (lambda x: np.asarray(x.shape[-1] != x.shape[-2]), "must be square"),
        (_is_asymmetric, "must be symmetric"),
        (_is_negative, "must not have negative eigenvalues"),
    ),
    "curve": ((_is_no_curve, "needs two rows or more, with increasing numbers in the first column"),),
}
"""What values a parameter may have: for each range where an array breaks a rule, and the rule."""
