"""Where the unknowns of a system stand in its block-sparse matrix.

The unknowns are one number for each velocity coordinate (an acceleration, a displacement ...) and one multiplier for
each equation of a constraint. A node of the matrix is a body together with multipliers of its constraints, or some
multipliers alone; `_elimination_plan` says which and why.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.types import MaybeValues, Values, Variables
from ..linalg.block_sparse import Elimination, Factors
from ..linalg.elimination_order import BlockNumbers, eliminate, order_of
from ..linalg.index import Index
from ..system.groups import GroupMarker
from ..system.structure import Structure
from .elimination_plan import body_nodes


@dataclasses.dataclass(frozen=True, eq=False)
class NodePlace:
    """A node of each instance, and which of the instance's own unknowns are in it, part by part, from which row on.

    The parts are the velocity coordinates of its markers' bodies, marker by marker, and its multipliers.
    """

    nodes: np.ndarray
    parts: tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Share:
    """Connectors of one group that stand in the matrix alike.

    `pairs` of its places: the rows and columns of the blocks that it contributes.
    """

    kind: str
    group: int
    instances: Index
    pairs: tuple[tuple[NodePlace, NodePlace], ...]

    def blocks(self, jacobian: list[list[Any]], size: int) -> list[Any]:
        """The blocks of one instance from its Jacobian by parts (None: zero)."""

        def block(a: NodePlace, b: NodePlace) -> Values:
            parts = [(jacobian[i][j], m, n) for i, m in a.parts for j, n in b.parts]
            found = [padded(*part, size) for part in parts if part[0] is not None]
            return sum(found[1:], found[0]) if found else jnp.zeros((size, size), jacobian[-1][0].dtype)

        return [block(a, b) for a, b in self.pairs]


@dataclasses.dataclass(frozen=True, eq=False)
class MatrixLayout:
    """Nodes, shares of the connectors, and the elimination of the whole.

    `blocks`: for each array of blocks that the shares and fields contribute, the number of each in the matrix.
    `diagonal` (nodes, size): what the diagonal holds beside, 1 in unused rows; `regularization`, of the same shape or
    None: what is taken off it before it is factorized, where multipliers of redundant constraints stand;
    `refinements`: how often solutions are refined.
    """

    nodes: int
    size: int
    unknowns: int
    bodies: tuple[int, ...]
    shares: tuple[Share, ...]
    multipliers: dict[int, slice]
    blocks: tuple[np.ndarray, ...]
    slots: BlockNumbers
    elimination: Elimination
    to_nodes: Index
    from_nodes: Index
    diagonal: np.ndarray
    regularization: np.ndarray | None
    refinements: int

    def spread(self, u: Variables) -> Values:
        """Unknowns by node."""
        padded = jnp.concatenate([u, jnp.zeros(1, u.dtype)])
        return self.to_nodes.take(padded).reshape(self.nodes, self.size)

    def collect(self, x: Values) -> Variables:
        """Unknowns in their own order."""
        return self.from_nodes.take(x.reshape(-1))

    def matrix(self, bodies: Sequence[Any], contributed: Sequence[Any]) -> Any:
        """The matrix from the blocks of the bodies, group by group, and those contributed by connectors."""
        size, nodes, total = self.size, self.nodes, self.elimination.blocks
        pieces = [padded(block, 0, 0, size) for block in bodies]
        alone = nodes - sum(len(piece) for piece in pieces)
        pieces.append(jnp.zeros((alone, size, size), pieces[0].dtype))
        fixed = jnp.asarray(self.diagonal[:, :, None] * np.eye(size), pieces[0].dtype)
        diagonal = jnp.concatenate(pieces) + fixed
        others, numbers, mixed = [diagonal[:0]], [np.zeros(0, int)], []
        for slots, block in zip(self.blocks, contributed, strict=True):
            if slots.max() < nodes:
                diagonal += Index(slots).spread(block, nodes)
            elif slots.min() >= nodes:
                others.append(block)
                numbers.append(slots - nodes)
            else:
                # Some of these connect two points of one body.
                mixed.append(Index(slots).spread(block, total))
        rest = Index(np.concatenate(numbers)).spread(jnp.concatenate(others), total - nodes)
        return sum(mixed, jnp.concatenate([diagonal, rest]))

    def inverse(self, matrix: Values) -> "FactorizedMatrix":
        """The matrix, factorized."""
        kept = matrix if self.refinements else None
        if self.regularization is not None:
            less = jnp.asarray(self.regularization[:, :, None] * np.eye(self.size), matrix.dtype)
            matrix = matrix.at[: self.nodes].add(-less)
        return FactorizedMatrix(self.elimination.factor(matrix), kept, self)

    def product(self, matrix: Values, x: Values) -> Values:
        """The matrix times x, by node."""
        rows, columns = (Index(nodes) for nodes in np.asarray(sorted(self.slots, key=self.slots.__getitem__)).T)
        return rows.spread(jnp.sum(matrix[: len(rows)] * columns.take(x)[:, None, :], axis=-1), self.nodes)


class FactorizedMatrix(eqx.Module):
    """Solves A x = b and A^T x = b. With `matrix` solutions are refined, where constraints are redundant and `factors`
    those of a regularized matrix, or where bodies are very light."""

    factors: Factors
    matrix: MaybeValues
    layout: MatrixLayout = eqx.field(static=True)

    def solve(self, b: Values) -> Values:
        return self._refined(self.layout.elimination.solve, functools.partial(self.layout.product, self.matrix), b)

    def solve_transposed(self, b: Values) -> Values:
        def product(x):
            return jax.linear_transpose(functools.partial(self.layout.product, self.matrix), x)(x)[0]

        return self._refined(self.layout.elimination.solve_transposed, product, b)

    def _refined(self, solve, product, b):
        b = self.layout.spread(b)
        x = solve(self.factors, b)
        if self.matrix is not None:
            x = lax.fori_loop(0, self.layout.refinements, lambda _, x: x + solve(self.factors, b - product(x)), x)
        return self.layout.collect(x)


@functools.lru_cache(maxsize=64)
def layout(structure: Structure, with_forces: bool) -> MatrixLayout:
    """The layout of a structure; forces couple bodies where they depend on the unknowns."""
    return _LayoutBuilder(structure, with_forces).finish()


class _LayoutBuilder:
    """Numbers the nodes: bodies with velocity coordinates, group by group, then those of constraints alone."""

    def __init__(self, structure: Structure, with_forces: bool):
        self.structure = structure
        self.with_forces = with_forces
        sizes, self.first = body_nodes(structure)
        alone = max((int(c.nodes.rows.max(initial=-1)) + 1 for c in structure.couplings), default=0)
        self.used = np.zeros(max(len(sizes), alone), int)
        self.rows: list[np.ndarray] = []
        """Node of each unknown, and its row there."""
        for number, first in self.first.items():
            bodies = structure.bodies[number]
            self._place(first + np.arange(bodies.count), bodies.velocities_each)
        self.shares: list[Share] = []
        self.before: dict[int, set[int]] = {}
        self.regularized: list[tuple[np.ndarray, np.ndarray]] = []
        self.multipliers: dict[int, slice] = {}
        for number, group in enumerate(structure.forces if with_forces else ()):
            if group.active:
                self._share("forces", number, Index(np.arange(group.count)), self._sides(group.slots))
        for number, group in enumerate(structure.constraints):
            if group.active:
                self._constraints(number)

    def finish(self) -> MatrixLayout:
        structure, nodes, size = self.structure, len(self.used), int(self.used.max())
        unknown = np.concatenate(self.rows)
        position = unknown[:, 0] * size + unknown[:, 1]
        back = np.full(nodes * size, len(position))
        back[position] = np.arange(len(position))
        diagonal = (back == len(position)).astype(float).reshape(nodes, size)
        regularization = None
        if self.regularized:
            regularization = np.zeros((nodes, size))
            for where, values in self.regularized:
                regularization[where[:, 0], where[:, 1]] = values
        slots: BlockNumbers = {(a, a): a for a in range(nodes)}
        pairs = [(a.nodes, b.nodes) for share in self.shares for a, b in share.pairs]
        if self.with_forces:
            pairs += [pair for group in structure.fields if group.active for pair in self._all_pairs(group.slots)]
        numbers = [
            np.asarray([slots.setdefault(pair, len(slots)) for pair in zip(a.tolist(), b.tolist(), strict=True)])
            for a, b in pairs
        ]
        for a, b in list(slots):
            slots.setdefault((b, a), len(slots))
        elimination = eliminate(nodes, slots, order_of(nodes, slots, self.before))
        return MatrixLayout(
            nodes, size, len(position), tuple(self.first), tuple(self.shares), self.multipliers, tuple(numbers), slots,
            elimination, Index(back), Index(position), diagonal, regularization, structure.analysed.refinements,
        )  # fmt: skip

    def _place(self, nodes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Puts `count` unknowns of each instance into its node: the first row there, and nodes and rows of all."""
        first = np.zeros_like(nodes)
        for i, node in enumerate(nodes.tolist()):
            first[i] = self.used[node]
            self.used[node] += count
        where = np.stack(np.broadcast_arrays(nodes[:, None], first[:, None] + np.arange(count)), axis=-1).reshape(-1, 2)
        self.rows.append(where)
        return first, where

    def _sides(self, slots: tuple[GroupMarker, ...]) -> dict[int, np.ndarray]:
        """The nodes of the bodies of each marker; markers on the ground have none."""
        return {i: self.first[s.body] + s.rows.rows for i, s in enumerate(slots) if s.body in self.first}

    def _constraints(self, number: int) -> None:
        group, coupling = self.structure.constraints[number], self.structure.couplings[number]
        sides, nodes, equations = self._sides(group.slots), coupling.nodes.rows, coupling.equations
        start = sum(len(rows) for rows in self.rows)
        self.multipliers[number] = slice(start, start + group.count * equations)
        offsets, where = self._place(nodes, equations)
        if coupling.exponents is not None:
            self.regularized.append((where, np.repeat(10.0**coupling.exponents.rows, equations)))
        for i in np.flatnonzero(coupling.waits.rows).tolist():
            bodies = {int(its_nodes[i]) for its_nodes in sides.values()}
            self.before.setdefault(int(nodes[i]), set()).update(bodies - {int(nodes[i])})
        owners = np.full(group.count, -1)
        for side, its_nodes in sides.items():
            owners = np.where(nodes == its_nodes, side, owners)
        for owner, offset in sorted(set(zip(owners.tolist(), offsets.tolist(), strict=True))):
            chosen = Index(np.flatnonzero((owners == owner) & (offsets == offset)))
            here = {side: its_nodes[chosen.rows] for side, its_nodes in sides.items()}
            mine = (len(group.slots), offset)
            self._share("constraints", number, chosen, here, mine, owner, nodes[chosen.rows])

    def _share(self, kind, number, chosen, sides, mine=None, owner=-1, alone=None) -> None:
        places = [NodePlace(n, ((side, 0), *([mine] if side == owner else []))) for side, n in sides.items()]
        if mine is not None and owner < 0:
            places.append(NodePlace(alone, (mine,)))
        # Where nothing depends on where bodies are, they meet in constraints only.
        pairs = [(a, b) for a in places for b in places if self.with_forces or mine in (*a.parts, *b.parts)]
        if pairs:
            self.shares.append(Share(kind, number, chosen, tuple(pairs)))

    def _all_pairs(self, slots: tuple[GroupMarker, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
        """All pairs of the markers of a field, side by side."""
        sides = self._sides(slots).values()
        return [tuple(x.reshape(-1) for x in np.meshgrid(a, b, indexing="ij")) for a in sides for b in sides]


def padded(block: Values, row: int, column: int, size: int) -> Values:
    """A block, or an array of them, at a place in an otherwise empty one of full size."""
    m, n = block.shape[-2:]
    widths = [(0, 0, 0)] * (block.ndim - 2) + [(row, size - row - m, 0), (column, size - column - n, 0)]
    return lax.pad(block, jnp.zeros((), block.dtype), widths)
