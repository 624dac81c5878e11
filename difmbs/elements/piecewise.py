"""Functions of time that are given by points."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError
from ..core.parameters import as_array, is_numbers, show
from ..core.reprs import of_fields


class Piecewise(eqx.Module):
    """A function of time through given points, constant before the first and after the last of them.

    For loads, prescribed lengths and prescribed coordinates. Times and values are parameters.

    **Arguments:** `times` [s], ascending; `values`, a number or a vector for each; `smooth`: a monotone cubic, with a
    continuous slope and without overshoot, instead of straight lines.
    """

    times: Any
    values: Any
    smooth: bool = eqx.field(static=True)

    def __init__(self, times: Any, values: Any, smooth: bool = False):
        given = {"times": as_array(times), "values": as_array(values)}
        for name, numbers in given.items():
            if not is_numbers(numbers) or not np.all(np.isfinite(numbers)):
                raise ModelError(f"Piecewise: {name} must be finite numbers, got {show(numbers)}.")
        ends, points = given["times"], given["values"]
        if ends.ndim != 1 or ends.size < 2 or not np.all(np.diff(ends) > 0):
            raise ModelError(f"Piecewise: times must be two or more in ascending order, got {show(ends)}.")
        if points.ndim not in (1, 2) or len(points) != ends.size:
            raise ModelError(
                f"Piecewise: values must be a number or a vector for each of the {ends.size} times, got shape "
                f"{points.shape}."
            )
        self.times, self.values, self.smooth = jnp.asarray(ends, float), jnp.asarray(points, float), bool(smooth)

    def __repr__(self) -> str:
        return of_fields(self)

    def __call__(self, t: Any) -> Any:
        times, last = self.times, self.times.size - 1
        # A time that is that of a point but for rounding, such as 7 * 0.002, is on the same side of its kink.
        little = 3 * jnp.finfo(times.dtype).eps * jnp.abs(t)
        i = jnp.clip(jnp.searchsorted(times, t + little, side="right", method="scan_unrolled") - 1, 0, last - 1)
        inside = (t + little >= times[0]) & (t - little <= times[-1])
        width = times[i + 1] - times[i]
        s = (jnp.where(inside, t, jnp.clip(t, times[0], times[-1])) - times[i]) / width
        start, rise = self.values[i], self.values[i + 1] - self.values[i]
        if not self.smooth:
            return start + s * rise
        slopes = [self._slope(i), self._slope(i + 1)]
        cubic = s * (1 - s) * ((1 - s) * slopes[0] - s * slopes[1])
        return start + s * s * (3 - 2 * s) * rise + width * cubic

    def _slope(self, i: Any) -> Any:
        """At a point: the harmonic mean, weighted, of those before and after it; at the ends 0, and where they turn."""
        last = self.times.size - 1
        before, after = (self._line(jnp.clip(k, 0, last - 1)) for k in (i - 1, i))
        (w0, d0), (w1, d1) = before, after
        turns = (d0 * d1 <= 0) | (i <= 0) | (i >= last)
        d0, d1 = (jnp.where(turns, 1, d) for d in (d0, d1))
        a, b = 2 * w1 + w0, w1 + 2 * w0
        return jnp.where(turns, 0, (a + b) / (a / d0 + b / d1))

    def _line(self, i: Any) -> tuple[Any, Any]:
        """Width and slope between two points."""
        width = self.times[i + 1] - self.times[i]
        return width, (self.values[i + 1] - self.values[i]) / width
