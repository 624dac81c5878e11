"""Lists of rows, fixed when a model is assembled: gathers and scatters that know their pattern."""

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax


class Index:
    """Rows of an array, hashable; a run of neighbours is taken as a slice and added back as a pad."""

    def __init__(self, rows):
        self.rows = np.asarray(rows, dtype=np.int32).reshape(-1)
        self.rows.setflags(write=False)
        self._hash = hash((self.rows.size, self.rows.tobytes()))

    def __len__(self) -> int:
        return self.rows.size

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Index) and self._hash == other._hash and np.array_equal(self.rows, other.rows)

    @functools.cached_property
    def is_run(self) -> bool:
        return bool(np.all(np.diff(self.rows) == 1))

    @functools.cached_property
    def is_constant(self) -> bool:
        return self.rows.size > 1 and bool(np.all(self.rows == self.rows[0]))

    def take(self, x):
        """x[rows]."""
        if len(self) == 0:
            return x[:0]
        first = int(self.rows[0])
        if self.is_run:
            return x if len(self) == x.shape[0] else lax.slice_in_dim(x, first, first + len(self))
        if self.is_constant:
            return jnp.broadcast_to(x[first], (len(self), *x.shape[1:]))
        return x.at[self.rows].get(mode="promise_in_bounds")

    def spread(self, y, size: int):
        """An array of `size` rows that holds the sum of all y[i] with rows[i] = row: the transpose of `take`."""
        if len(self) == 0 or y.size == 0:
            return jnp.zeros((size, *y.shape[1:]), y.dtype)
        first = int(self.rows[0])
        if self.is_constant:
            y = jnp.sum(y, axis=0, keepdims=True)
        if self.is_run or self.is_constant:
            if y.shape[0] == size:
                return y
            widths = [(first, size - first - y.shape[0], 0)] + [(0, 0, 0)] * (y.ndim - 1)
            return lax.pad(y, jnp.zeros((), y.dtype), widths)
        table = self._incidence(size)
        if table is None:
            return jnp.zeros((size, *y.shape[1:]), y.dtype).at[self.rows].add(y, mode="promise_in_bounds")
        padded = jnp.concatenate([y, jnp.zeros_like(y[:1])])
        return jnp.sum(padded.at[table].get(mode="promise_in_bounds"), axis=1)

    def add(self, x, y):
        """x with y[i] added to x[rows[i]]."""
        if self.is_run and 0 < y.shape[0] < x.shape[0]:
            first = int(self.rows[0])
            return lax.dynamic_update_slice_in_dim(x, x[first : first + y.shape[0]] + y, first, 0)
        return x + self.spread(y, x.shape[0])

    @functools.lru_cache(maxsize=8)  # noqa: B019 (an Index lives as long as its model)
    def _incidence(self, size: int):
        """For every row the positions in `rows` that hold it, filled up with len(rows); None where that is wasteful."""
        counts = np.bincount(self.rows, minlength=size)
        width = int(counts.max())
        if size * width > 4 * len(self) + 64:
            return None
        table = np.full((size, width), len(self), dtype=np.int32)
        order = np.argsort(self.rows, kind="stable")
        rows = self.rows[order]
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        table[rows, np.arange(len(self)) - starts[rows]] = order
        return table
