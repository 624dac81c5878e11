"""Which states of a run are stored, so that the derivative of a long run does not fill the memory.

State n is that after n steps. Those that are not stored are computed again from the last one before them that is.
"""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import PyTree

from ..core.types import Count, State
from ..linalg.rows import with_row

MOST = 2**24
"""Largest number of numbers that are stored, 128 MB in double precision."""

_ROWS = 2**12


@dataclasses.dataclass(frozen=True)
class Evenly:
    """Every `longest`-th state of a run of known length."""

    steps: int
    longest: int

    @classmethod
    def of(cls, steps: int, size: int) -> "Evenly":
        """For states of this size."""
        return cls(steps, 1 if (steps + 1) * size <= MOST else math.ceil(math.sqrt(steps)))

    @property
    def rows(self) -> int:
        return self.steps // self.longest + 1

    def spacing(self, number: Count) -> Count:
        """Distance of stored states, in steps, when this one is reached."""
        return self.longest

    def row(self, number: Count) -> Count:
        """Where a stored state is."""
        return number // self.longest


@dataclasses.dataclass(frozen=True)
class Thinning:
    """Every state, as long as there is room, then every second one, every fourth one, and so on.

    The next states take the rows of those that are not needed any more.
    """

    rows: int
    most: int

    @classmethod
    def of(cls, most: int, size: int) -> "Thinning":
        """For states of this size, up to a number."""
        # Not fewer than would have to be computed again at once.
        fewest = math.ceil(math.log2(most) / 2)
        return cls(min(_ROWS, 2 ** max(fewest, math.floor(math.log2(MOST / size)))), most)

    @property
    def longest(self) -> int:
        return 2 ** len(self._doublings)

    @property
    def _doublings(self) -> range:
        """Numbers of the times at which there is no room any more."""
        return range(max(0, math.ceil(math.log2((self.most + 1) / self.rows))))

    def spacing(self, number: Count) -> Count:
        """Distance of stored states, in steps, when this one is reached."""
        spacing = jnp.ones_like(number)
        for i in self._doublings:
            spacing = jnp.where(number >= self.rows * 2**i, 2 ** (i + 1), spacing)
        return spacing

    def row(self, number: Count) -> Count:
        """Where a stored state is: in the row of the one that it takes the place of."""
        for i in reversed(self._doublings):
            number = jnp.where(number >= self.rows * 2**i, number - (self.rows - 1) * 2**i, number)
        return number


Plan = Evenly | Thinning


def empty(plan: Plan, y0: State) -> Any:
    """Room for the states from the start on; the last row is for all that is not stored."""
    return jnp.zeros((plan.rows + 1, *y0.shape), y0.dtype).at[0].set(y0)


def with_state(plan: Plan, states: PyTree, number: Count, y: State, counts: Count = True) -> Any:
    """The states with one more, if it `counts`."""
    if plan.longest > 1:
        counts = counts & (number % plan.spacing(number) == 0)
    row = plan.row(number)
    return with_row(states, row if counts is True else jnp.where(counts, row, plan.rows), y)
