"""Curves through given points."""

import jax.numpy as jnp

from ...core.types import Matrix, Scalar


def interpolate(x: Scalar, curve: Matrix, interpolation: str, extrapolate: str) -> Scalar:
    """Value at x of the curve through rows (abscissa, ordinate).

    "smooth" is the monotone cubic of Fritsch and Butland: continuous slope, no overshoot between the points.
    """
    knots, values = curve[:, 0], curve[:, 1]
    widths = jnp.diff(knots)
    slopes = jnp.diff(values) / widths
    i = jnp.clip(jnp.searchsorted(knots, x, side="right") - 1, 0, knots.size - 2)
    inside = jnp.clip(x, knots[0], knots[-1])
    s = (inside - knots[i]) / widths[i]
    if interpolation == "linear":
        ends = slopes[0], slopes[-1]
        value = values[i] + (inside - knots[i]) * slopes[i]
    else:
        tangents = _monotone_tangents(widths, slopes)
        ends = tangents[0], tangents[-1]
        value = (
            (1 + 2 * s) * (1 - s) ** 2 * values[i]
            + s * (1 - s) ** 2 * widths[i] * tangents[i]
            + s**2 * (3 - 2 * s) * values[i + 1]
            - s**2 * (1 - s) * widths[i] * tangents[i + 1]
        )
    if extrapolate == "linear":
        value = value + jnp.minimum(x - knots[0], 0) * ends[0] + jnp.maximum(x - knots[-1], 0) * ends[1]
    return value


def _monotone_tangents(widths, slopes):
    before, after = slopes[:-1], slopes[1:]
    a, b = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
    same_sign = before * after > 0
    before, after = jnp.where(same_sign, before, 1), jnp.where(same_sign, after, 1)
    inner = jnp.where(same_sign, (a + b) / (a / before + b / after), 0)
    return jnp.concatenate([slopes[:1], inner, slopes[-1:]])
