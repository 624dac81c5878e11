"""Many of a kind in chunks of one size, so that one compiled program serves all of them."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Chunks:
    """`count` of a kind, `size` in each chunk; of the chunks every n-th one, from the i-th on, with part = (i, n)."""

    count: int
    size: int
    part: tuple[int, int] = (0, 1)

    @property
    def numbers(self) -> range:
        """Those of this part."""
        return range(self.part[0], math.ceil(self.count / self.size), self.part[1])

    def rows(self, numbers: Sequence[int]) -> np.ndarray:
        """What is in these chunks."""
        every = self._every(numbers)
        return every[every < self.count]

    def filled(self, numbers: Sequence[int], tree: Any) -> Any:
        """The rows of some chunks, with an axis of chunks, of arrays that have a row for each of the kind. The last
        chunk is filled up with its last row."""
        every = np.minimum(self._every(numbers), self.count - 1)
        return jax.tree.map(lambda x: x[every], tree)

    def cut(self, numbers: Sequence[int], tree: Any) -> Any:
        """Results of these chunks in rows, without what the last one was filled up with."""
        count = self.rows(numbers).size
        return jax.tree.map(lambda x: np.asarray(x).reshape(-1, *x.shape[2:])[:count], tree)

    def _every(self, numbers: Sequence[int]) -> np.ndarray:
        return np.asarray(numbers, int)[:, None] * self.size + np.arange(self.size)
