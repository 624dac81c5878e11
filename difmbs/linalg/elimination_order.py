"""The elimination order of a block-sparse matrix, found once on the host."""

import heapq
from collections.abc import Mapping
from typing import Any

import numpy as np

from .block_sparse import Elimination

BlockNumbers = dict[tuple[int, int], int]
"""The number of the block in the row of one node and the column of another; of (a, a) it is a."""

Nodes = Mapping[int, set[int]]


def order_of(nodes: int, slots: BlockNumbers, after: Nodes | None = None, after_any: Nodes | None = None) -> np.ndarray:
    """Nodes in an order with little fill-in: next is, of those that may be, the one with the fewest neighbours left.

    `after`: the nodes that have to be eliminated before a node; `after_any`: those of which one should be.
    """
    neighbours = _neighbours(nodes, slots)
    waiting = {a: set(first) for a, first in (after or {}).items() if first}
    hoping = {a: set(first) for a, first in (after_any or {}).items()}
    behind: dict[int, list[int]] = {}
    for wanted in (waiting, hoping):
        for a, first in wanted.items():
            for b in first:
                behind.setdefault(b, []).append(a)
    key = lambda a: (a in hoping, len(neighbours[a]), a)
    queue = [key(a) for a in range(nodes) if a not in waiting]
    heapq.heapify(queue)
    order: list[int] = []
    gone: set[int] = set()
    while queue:
        *known, a = heapq.heappop(queue)
        if a in gone or (*known, a) != key(a):
            continue
        gone.add(a)
        order.append(a)
        changed = set(_remove(a, neighbours))
        for b in behind.get(a, ()):
            if b in waiting:
                waiting[b].discard(a)
            hoping.pop(b, None)
            changed.add(b)
        for b in changed - gone:
            if not waiting.get(b):
                heapq.heappush(queue, key(b))
    return np.asarray(order, int)


def eliminate(nodes: int, slots: BlockNumbers, order: Any) -> Elimination:
    """The steps of an elimination. `slots` are the blocks that may differ from zero, fill-in is numbered after them."""
    slots, neighbours = dict(slots), _neighbours(nodes, slots)
    first, first_update = [0], [0]
    edges: list[tuple[int, int, int]] = []
    updates: list[tuple[int, int, int]] = []
    for a in np.asarray(order).tolist():
        near = _remove(a, neighbours)
        start = len(edges)
        edges += [(b, slots[a, b], slots[b, a]) for b in near]
        for i, b in enumerate(near):
            updates += [(start + i, start + j, slots.setdefault((b, c), len(slots))) for j, c in enumerate(near)]
        first.append(len(edges))
        first_update.append(len(updates))
    neighbour, upper, lower = np.asarray(edges, int).reshape(-1, 3).T
    left, right, target = np.asarray(updates, int).reshape(-1, 3).T
    pivot = np.asarray(order, int)
    return Elimination(
        nodes, len(slots), pivot, np.asarray(first), np.repeat(pivot, np.diff(first)), neighbour, upper, lower,
        np.asarray(first_update), left, right, target,
    )  # fmt: skip


def _neighbours(nodes: int, slots: BlockNumbers) -> list[set[int]]:
    neighbours: list[set[int]] = [set() for _ in range(nodes)]
    for a, b in slots:
        if a != b:
            neighbours[a].add(b)
    return neighbours


def _remove(a: int, neighbours: list[set[int]]) -> list[int]:
    """Eliminates a node: those around it become neighbours of each other."""
    near = sorted(neighbours[a])
    for b in near:
        neighbours[b].update(near)
        neighbours[b] -= {a, b}
    return near
