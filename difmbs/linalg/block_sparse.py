"""LU factorization of a block-sparse matrix along a fixed elimination order.

The matrix is an array of square blocks: first the diagonal ones, node after node, then pairs of off-diagonal ones.
Which blocks meet in the elimination is a table of integers, so that the loops below are compiled once for any size and
cost as much as there are blocks. They never read again what they have just written: XLA would copy the whole array.
On GPUs the elimination of a small matrix is written out instead; on CPUs that would be slower.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..jaxtools.platforms import on_gpu
from . import wide_elimination, written_out
from .rows import row, with_row
from .small_blocks import inverse, matmul, matvec


class Factors(NamedTuple):
    """By node the inverse P^-1 of its pivot; by edge P^-1 U and L P^-1. Arrays, or if written out tuples of blocks."""

    inverses: Any
    upper: Any
    lower: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Elimination:
    """The pattern of a matrix of `nodes` x `nodes` blocks and the steps of its elimination.

    Step s eliminates node `pivot[s]`. Edges first[s] to first[s + 1] lead from there to the neighbours that are left:
    edge e from `source[e]` to `neighbour[e]`, with block `upper[e]` in the pivot's row and `lower[e]` in its column.
    Updates first_update[s] to first_update[s + 1]: block target[u] -= L of edge left[u] times P^-1 U of edge right[u].
    """

    nodes: int
    blocks: int
    pivot: np.ndarray
    first: np.ndarray
    source: np.ndarray
    neighbour: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    first_update: np.ndarray
    left: np.ndarray
    right: np.ndarray
    target: np.ndarray

    @property
    def written_out(self) -> bool:
        return self.nodes <= written_out.MOST_NODES and on_gpu()

    @functools.cached_property
    def _wide(self) -> wide_elimination.WideTables | None:
        return wide_elimination.tables_of(self)

    @functools.partial(jax.jit, static_argnums=0)
    def factor(self, matrix: Any) -> Factors:
        """Factors of the matrix given as blocks (`blocks`, size, size)."""
        if self.written_out:
            return Factors(*written_out.factored(self, matrix))
        if on_gpu() and self._wide is not None:
            return Factors(*wide_elimination.factored(self._wide, len(self.upper), matrix))
        size = matrix.shape[-1]
        pivot, first, upper, lower = _constants(self.pivot, self.first, self.upper, self.lower)
        first_update, left, right, target = _constants(self.first_update, self.left, self.right, self.target)

        def step(s, carry):
            matrix, columns, factors = carry
            inverted = inverse(row(matrix, row(pivot, s)))

            def edge(e, carry):
                matrix, columns, rows, scaled = carry
                column = row(matrix, row(lower, e))
                rows = with_row(rows, e, matmul(inverted, row(matrix, row(upper, e))))
                return matrix, with_row(columns, e, column), rows, with_row(scaled, e, matmul(column, inverted))

            def update(u, carry):
                matrix, columns, rows, scaled = carry
                change = matmul(row(columns, row(left, u)), row(rows, row(right, u)))
                block = row(target, u)
                return with_row(matrix, block, row(matrix, block) - change), columns, rows, scaled

            carry = (matrix, columns, factors.upper, factors.lower)
            if len(self.upper):
                carry = lax.fori_loop(row(first, s), row(first, s + 1), edge, carry)
                carry = lax.fori_loop(row(first_update, s), row(first_update, s + 1), update, carry)
            matrix, columns, rows, scaled = carry
            return matrix, columns, Factors(with_row(factors.inverses, row(pivot, s), inverted), rows, scaled)

        edges = jnp.zeros((len(self.upper), size, size), matrix.dtype)
        empty = Factors(jnp.zeros((self.nodes, size, size), matrix.dtype), edges, edges)
        return lax.fori_loop(0, self.nodes, step, (matrix, edges, empty))[2]

    @functools.partial(jax.jit, static_argnums=0)
    def solve(self, factors: Factors, b: Any) -> Any:
        """x with A x = b; both of shape (nodes, size)."""
        return self._swept(factors.inverses, factors.lower, factors.upper, b)

    @functools.partial(jax.jit, static_argnums=0)
    def solve_transposed(self, factors: Factors, b: Any) -> Any:
        """x with A^T x = b."""
        inverses, upper, lower = jax.tree.map(lambda x: jnp.swapaxes(x, -1, -2), factors)
        return self._swept(inverses, upper, lower, b)

    def _swept(self, inverses, down, up, x):
        if self.written_out:
            return written_out.swept(self, inverses, down, up, x)
        source, neighbour = _constants(self.source, self.neighbour)
        last = len(self.source) - 1

        def push(e, x):
            a, b = row(source, e), row(neighbour, e)
            return with_row(x, b, row(x, b) - matvec(row(down, e), row(x, a)))

        def pull(i, x):
            e = last - i
            a, b = row(source, e), row(neighbour, e)
            return with_row(x, a, row(x, a) - matvec(row(up, e), row(x, b)))

        if last >= 0:
            x = lax.fori_loop(0, last + 1, push, x)
        x = jnp.sum(inverses * x[:, None, :], axis=-1)
        return lax.fori_loop(0, last + 1, pull, x) if last >= 0 else x


def _constants(*tables):
    return [jnp.asarray(table, jnp.int32) for table in tables]
