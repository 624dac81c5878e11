"""LU factorization of a block-sparse matrix along a fixed elimination order.

The matrix is an array of square blocks: first the diagonal ones, node after node, then pairs of off-diagonal ones.
Which blocks meet in the elimination is a table of integers, so that the loops below are compiled once for any size and
cost as much as there are blocks. They never read again what they have just written: XLA would copy the whole array.
"""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .small import inverse, matmul, matvec


class Factors(NamedTuple):
    """By step of the elimination the inverse of the pivot; by neighbour of a pivot P^-1 U and L."""

    inverses: Any
    upper: Any
    lower: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Elimination:
    """The pattern of a matrix of `nodes` x `nodes` blocks and the steps of its elimination.

    Step s eliminates node `pivot[s]`, whose remaining neighbours are numbered first[s] to first[s + 1]: neighbour e is
    node `neighbour[e]`, its blocks are `upper[e]`, in the pivot's row, and `lower[e]`, in its column. Updates are
    numbered first_update[s] to first_update[s + 1]: block target[u] -= lower of left[u] times upper of right[u].
    """

    nodes: int
    blocks: int
    pivot: np.ndarray
    first: np.ndarray
    neighbour: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    first_update: np.ndarray
    left: np.ndarray
    right: np.ndarray
    target: np.ndarray

    def factor(self, matrix: Any) -> Factors:
        """Factors of the matrix given as blocks (`blocks`, size, size)."""
        size = matrix.shape[-1]
        pivot, first, upper, lower = _constants(self.pivot, self.first, self.upper, self.lower)
        first_update, left, right, target = _constants(self.first_update, self.left, self.right, self.target)

        def step(s, carry):
            matrix, factors = carry
            inverted = inverse(_at(matrix, pivot[s]))

            def solve(e, carry):
                matrix, rows, columns = carry
                rows = _put(rows, matmul(inverted, _at(matrix, upper[e])), e)
                return matrix, rows, _put(columns, _at(matrix, lower[e]), e)

            def update(u, carry):
                matrix, rows, columns = carry
                change = matmul(_at(columns, left[u]), _at(rows, right[u]))
                return _put(matrix, _at(matrix, target[u]) - change, target[u]), rows, columns

            carry = (matrix, factors.upper, factors.lower)
            if len(self.upper):
                carry = lax.fori_loop(first[s], first[s + 1], solve, carry)
                carry = lax.fori_loop(first_update[s], first_update[s + 1], update, carry)
            matrix, rows, columns = carry
            return matrix, Factors(_put(factors.inverses, inverted, s), rows, columns)

        edges = jnp.zeros((len(self.upper), size, size), matrix.dtype)
        empty = Factors(jnp.zeros((self.nodes, size, size), matrix.dtype), edges, edges)
        return lax.fori_loop(0, self.nodes, step, (matrix, empty))[1]

    def solve(self, factors: Factors, b: Any) -> Any:
        """x with A x = b; both of shape (nodes, size)."""
        pivot, first, neighbour = _constants(self.pivot, self.first, self.neighbour)

        def forward(s, carry):
            b, x = carry
            solved = matvec(_at(factors.inverses, s), _at(b, pivot[s]))

            def push(e, b):
                return _put(b, _at(b, neighbour[e]) - matvec(_at(factors.lower, e), solved), neighbour[e])

            b = lax.fori_loop(first[s], first[s + 1], push, b) if len(neighbour) else b
            return b, _put(x, solved, pivot[s])

        def backward(i, x):
            s = self.nodes - 1 - i

            def pull(e, found):
                return found - matvec(_at(factors.upper, e), _at(x, neighbour[e]))

            return _put(x, lax.fori_loop(first[s], first[s + 1], pull, _at(x, pivot[s])), pivot[s])

        x = lax.fori_loop(0, self.nodes, forward, (b, jnp.zeros_like(b)))[1]
        return lax.fori_loop(0, self.nodes, backward, x) if len(neighbour) else x

    def solve_transposed(self, factors: Factors, b: Any) -> Any:
        """x with A^T x = b."""
        pivot, first, neighbour = _constants(self.pivot, self.first, self.neighbour)

        def forward(s, b):
            known = _at(b, pivot[s])

            def push(e, b):
                return _put(b, _at(b, neighbour[e]) - matvec(_at(factors.upper, e).T, known), neighbour[e])

            return lax.fori_loop(first[s], first[s + 1], push, b)

        def backward(i, x):
            s = self.nodes - 1 - i

            def pull(e, found):
                return found - matvec(_at(factors.lower, e).T, _at(x, neighbour[e]))

            found = _at(x, pivot[s])
            if len(neighbour):
                found = lax.fori_loop(first[s], first[s + 1], pull, found)
            return _put(x, matvec(_at(factors.inverses, s).T, found), pivot[s])

        x = lax.fori_loop(0, self.nodes, forward, b) if len(neighbour) else b
        return lax.fori_loop(0, self.nodes, backward, x)


def _constants(*tables):
    return [jnp.asarray(table, jnp.int32) for table in tables]


def _at(x, i):
    return lax.dynamic_index_in_dim(x, i, 0, keepdims=False)


def _put(x, row, i):
    return lax.dynamic_update_index_in_dim(x, row, i, 0)
