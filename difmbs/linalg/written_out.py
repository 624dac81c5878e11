"""The elimination of a small block-sparse matrix, written out: no loops, which GPUs wait for."""

from typing import Any

import jax.numpy as jnp

from .small_blocks import inverse_without_loop, matmul, matvec

MOST_NODES = 10
"""Programs grow with the number of nodes, and so does the time to compile them."""


def factored(pattern: Any, matrix: Any) -> tuple[Any, Any, Any]:
    """The factors of `block_sparse.Elimination`, each a tuple of blocks."""
    blocks, inverses = list(matrix), [matrix[0]] * pattern.nodes
    rows: list[Any] = []
    scaled: list[Any] = []
    for s, pivot in enumerate(pattern.pivot.tolist()):
        inverted = inverses[pivot] = inverse_without_loop(blocks[pivot])
        edges = range(pattern.first[s], pattern.first[s + 1])
        columns = {e: blocks[pattern.lower[e]] for e in edges}
        rows += [matmul(inverted, blocks[pattern.upper[e]]) for e in edges]
        scaled += [matmul(columns[e], inverted) for e in edges]
        for u in range(pattern.first_update[s], pattern.first_update[s + 1]):
            blocks[pattern.target[u]] -= matmul(columns[pattern.left[u]], rows[pattern.right[u]])
    return tuple(inverses), tuple(rows), tuple(scaled)


def swept(pattern: Any, inverses: Any, down: Any, up: Any, b: Any) -> Any:
    """x by node from b by node."""
    x, edges = list(b), list(enumerate(zip(pattern.source.tolist(), pattern.neighbour.tolist(), strict=True)))
    for e, (here, there) in edges:
        x[there] -= matvec(down[e], x[here])
    x = [matvec(*one) for one in zip(inverses, x, strict=True)]
    for e, (here, there) in reversed(edges):
        x[here] -= matvec(up[e], x[there])
    return jnp.stack(x)
