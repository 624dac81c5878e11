"""The elimination order of a block-sparse matrix, found once on the host."""

import heapq
from typing import Any

import numpy as np

from .block_sparse import Elimination

_SOUND = 1e-3
"""A pivot whose smallest singular value is below this, in a matrix scaled to 1, has to wait for its neighbours."""


Slots = dict[tuple[int, int], int]
"""The number of the block in the row of one node and the column of another; of (a, a) it is a."""


def order_of(nodes: int, slots: Slots, matrix: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in an order with little fill-in: next is the node with the fewest neighbours left.

    With examples of the matrix (samples, blocks, size, size) a node has to wait while its pivot is nearly singular.
    Returned with it: the smallest singular value of each node's pivot in the first example.
    """
    slots, neighbours = dict(slots), _neighbours(nodes, slots)
    numbers = None if matrix is None else _Numbers(matrix)
    queue = [(len(near), a) for a, near in enumerate(neighbours)]
    heapq.heapify(queue)
    waiting: set[int] = set()
    left = set(range(nodes))
    order: list[int] = []
    strengths = np.full(nodes, np.inf)
    while left:
        if queue:
            count, a = heapq.heappop(queue)
            if a not in left or count != len(neighbours[a]) or a in waiting:
                continue
            if numbers is not None and numbers.strength(a)[1] < _SOUND:
                waiting.add(a)
                continue
        else:
            # None of those left is sound: the best of them.
            a = max(left, key=lambda node: 0.0 if numbers is None else numbers.strength(node)[1])
        left.discard(a)
        near = _remove(a, neighbours)
        for b in near:
            waiting.discard(b)
            heapq.heappush(queue, (len(neighbours[b]), b))
        order.append(a)
        if numbers is not None:
            strengths[a] = numbers.strength(a)[0]
            for b in near:
                for c in near:
                    slots.setdefault((b, c), len(slots))
            numbers.eliminate(a, near, slots)
    return np.asarray(order, int), strengths


def eliminate(nodes: int, slots: Slots, order: Any) -> Elimination:
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


def _neighbours(nodes: int, slots: Slots) -> list[set[int]]:
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


class _Numbers:
    """Examples of the matrix while it is eliminated."""

    def __init__(self, matrix: Any):
        self._blocks = {slot: matrix[:, slot] for slot in range(matrix.shape[1])}
        self._strengths: dict[int, tuple[float, float]] = {}

    def strength(self, node: int) -> tuple[float, float]:
        """The smallest singular value of the node's pivot, in the first example and in the worst."""
        if node not in self._strengths:
            values = np.linalg.svd(self._blocks[node], compute_uv=False)[:, -1]
            self._strengths[node] = float(values[0]), float(values.min())
        return self._strengths[node]

    def eliminate(self, a: int, near: list[int], slots: Slots) -> None:
        inverse = np.linalg.pinv(self._blocks[a], rcond=1e-9)
        for b in near:
            left = self._blocks[slots[b, a]] @ inverse
            for c in near:
                change = left @ self._blocks[slots[a, c]]
                self._blocks[slots[b, c]] = self._blocks.get(slots[b, c], 0) - change
            self._strengths.pop(b, None)
