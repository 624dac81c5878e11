"""Looking around at the start of an adaptive run: how fast would disturbances there vibrate?"""

from typing import NamedTuple

import jax.numpy as jnp

from ..core.types import Count, State, Time, Values

EVALUATIONS = 17
"""Number of evaluations of the equations of motion."""


class PowerIteration(NamedTuple):
    """The power method for the fastest vibration about a state. Two applications turn it by 180 degrees.

    First of all the slope at the state itself, in the same loop: the equations of motion are compiled once.
    """

    still: Values
    direction: Values
    before: Values
    growth: Values

    @classmethod
    def start(cls, y: State) -> "PowerIteration":
        zero = jnp.zeros((), y.dtype)
        return cls(jnp.zeros_like(y), jnp.cos(1 + 2.3 * jnp.arange(y.size, dtype=y.dtype)) / y.size**0.5, zero, zero)

    def point(self, i: Count, y: State) -> State:
        """Where to evaluate the slope."""
        return jnp.where(i == 0, y, y + _little(y) * self.direction)

    def after(self, i: Count, y: State, slope: Values) -> "PowerIteration":
        still = jnp.where(i == 0, slope, self.still)
        change = (slope - still) / _little(y)
        size = jnp.sqrt(jnp.sum(change**2))
        return PowerIteration(
            still, jnp.where(size > 0, change / jnp.where(size > 0, size, 1), self.direction), self.growth, size
        )

    def longest(self, reach: float) -> Time:
        """The step in which it turns by this angle."""
        rate = jnp.sqrt(self.before * self.growth)
        return jnp.where(rate > 0, reach / jnp.where(rate > 0, rate, 1), jnp.inf)


def _little(y: State) -> Values:
    return jnp.finfo(y.dtype).eps ** 0.5 * (1 + jnp.max(jnp.abs(y)))
