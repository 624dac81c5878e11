"""The elimination of a larger block-sparse matrix for GPUs: one node after the other, all around it at once.

The loop has a known end, and in it nothing but operations on arrays; where nodes have fewer neighbours than others,
they are filled up with what is read as zero and written nowhere.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from .rows import row, with_row
from .small_blocks import inverse_without_loop

_MOST = 8
"""The work may grow by this factor where nodes are filled up."""
_NOWHERE = np.iinfo(np.int32).max


class WideTables(NamedTuple):
    """By step: the pivot; edges, their blocks in its row and column; updates: two places among the edges, a target."""

    pivot: Any
    edges: Any
    upper: Any
    lower: Any
    left: Any
    right: Any
    target: Any


def tables_of(pattern: Any) -> WideTables | None:
    """Those of a `block_sparse.Elimination`; None where they would be filled up too much."""
    steps = range(pattern.nodes)
    edges = [np.arange(pattern.first[s], pattern.first[s + 1]) for s in steps]
    updates = [np.arange(pattern.first_update[s], pattern.first_update[s + 1]) for s in steps]
    if pattern.nodes * max(map(len, updates)) > _MOST * len(pattern.left) + 64:
        return None
    among = lambda table: _filled([table[u] - pattern.first[s] for s, u in enumerate(updates)])
    return WideTables(
        pivot=pattern.pivot,
        edges=_filled(edges),
        upper=_filled([pattern.upper[e] for e in edges]),
        lower=_filled([pattern.lower[e] for e in edges]),
        left=among(pattern.left),
        right=among(pattern.right),
        target=_filled([pattern.target[u] for u in updates]),
    )


def _filled(lists: list[np.ndarray]) -> np.ndarray:
    table = np.full((len(lists), max(map(len, lists))), _NOWHERE, np.int32)
    for numbers, one in zip(table, lists, strict=True):
        numbers[: len(one)] = one
    return table


def factored(tables: WideTables, edges: int, matrix: Any) -> tuple[Any, Any, Any]:
    """The factors of `block_sparse.Elimination`."""
    steps = WideTables(*(jnp.asarray(table, jnp.int32) for table in tables))

    def step(s, carry):
        matrix, inverses, upper, lower = carry
        here = WideTables(*(row(table, s) for table in steps))
        inverted = inverse_without_loop(row(matrix, here.pivot))
        columns = _read(matrix, here.lower)
        rows = _products(inverted[None], _read(matrix, here.upper))
        change = _products(_read(columns, here.left), _read(rows, here.right))
        matrix = matrix.at[here.target].add(-change, mode="drop")
        upper = upper.at[here.edges].set(rows, mode="drop")
        lower = lower.at[here.edges].set(_products(columns, inverted[None]), mode="drop")
        return matrix, with_row(inverses, here.pivot, inverted), upper, lower

    count, size = len(tables.pivot), matrix.shape[-1]
    empty = jnp.zeros((edges, size, size), matrix.dtype)
    carry = (matrix, jnp.zeros((count, size, size), matrix.dtype), empty, empty)
    return lax.fori_loop(0, count, step, carry)[1:]


def _read(blocks: Any, numbers: Any) -> Any:
    return blocks.at[numbers].get(mode="fill", fill_value=0)


def _products(a: Any, b: Any) -> Any:
    return jnp.sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)
