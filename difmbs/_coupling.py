"""What is found out about the constraints of a system when it is assembled, from numbers.

Which body each constraint can be eliminated with, in which order, and which constraints repeat what others fix.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from ._errors import ModelError
from ._index import Index
from ._layout import Builder, Layout
from ._structure import Coupling, Structure, instance_names
from .linalg import order_of
from .system import System

_SOUND = 1e-4
"""A body can carry a constraint if it gives it more than this share of its flexibility."""

_DEPENDENT = 1e-9
"""Eigenvalues of the scaled G M^-1 G^T below this are zero."""

_REGULARIZATION = 1e-8
_DISPLACED = 0.1

_FAR = 24
"""So many configurations anywhere are looked at, and as many turned by any angle."""

_TURNS = 0.3
"""A determinant that changes its sign vanishes on the way if it is smaller somewhere than this share of the largest."""

_DENSE_UP_TO = 1500


def couple(system: System, redundant: str) -> System:
    """The system with couplings and orders of its constraints.

    `redundant`: what to do about constraints that repeat what others fix: "warn", "min_norm" (say nothing) or "error".
    """
    structure = system.structure
    sizes = _equations(system)
    couplings = tuple(
        Coupling(m, Index(np.full(g.count, -1))) for m, g in zip(sizes, structure.constraints, strict=True)
    )
    if not any(group.active for group in structure.constraints):
        return _with(system, couplings, (None, None))
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(system)):
        raise ModelError("a model with constraints cannot be assembled from traced values: assemble it once from plain "
                         "numbers and pass the traced ones to simulate(params=...).")  # fmt: skip
    found = _Found(system)
    couplings = tuple(dataclasses.replace(c, owners=Index(found.owners[n])) for n, c in enumerate(couplings))
    plain = _with(system, couplings, (None, None))
    if not found.any_without_owner and _is_forest(plain.structure):
        return plain
    layouts = [Builder(plain.structure, with_forces).finish(None) for with_forces in (False, True)]
    examples = [found.matrix(layout) for layout in layouts]
    (order, strengths), (other, _) = (order_of(x.nodes, x.slots, m) for x, m in zip(layouts, examples, strict=True))
    dependent = found.dependent() if found.equations <= _DENSE_UP_TO else found.weak(layouts[0], strengths)
    if dependent:
        _say(plain, dependent, redundant)
        couplings = tuple(dataclasses.replace(c, exponents=found.exponents(n)) for n, c in enumerate(couplings))
    return _with(system, couplings, (Index(order), Index(other)))


def _equations(system: System) -> list[int]:
    """How many each constraint of a group has."""

    def residuals(system: System) -> list[Any]:
        world, zero = system.world(*system.initial_state()), jnp.zeros((), system.gravity.dtype)
        groups = system.with_leaves("constraints")
        return [system.local(world, *group).each(lambda x: x.velocity_residual(zero)) for group in groups]

    return [residual.shape[1] for residual in eqx.filter_eval_shape(residuals, system)]


def _with(system: System, couplings: Any, orders: Any) -> System:
    return dataclasses.replace(
        system, structure=dataclasses.replace(system.structure, couplings=couplings, orders=orders)
    )


def _is_forest(structure: Structure) -> bool:
    layout = Builder(structure, False).finish(None)
    pairs = np.asarray([pair for pair in layout.slots if pair[0] < pair[1]]).reshape(-1, 2)
    graph = csr_array((np.ones(len(pairs)), pairs.T), shape=(layout.nodes, layout.nodes))
    return len(pairs) == layout.nodes - connected_components(graph, directed=False, return_labels=False)


@jax.jit
def _evaluate(system: System, directions: Any, turned: Any) -> tuple[Any, Any]:
    """The mass matrices of the bodies by group, and G of the active constraints by group and marker: at the start and
    displaced in these directions, by as many times the largest coordinate or by half a turn."""
    q, v = system.initial_state()
    size, zero = jnp.max(jnp.abs(q), initial=1e-3), jnp.zeros((), q.dtype)

    def at(direction: Any, turned: Any) -> tuple[Any, Any]:
        there = system.retract(q, jnp.where(turned, jnp.pi, size) * direction)
        masses = system.each_body(lambda body, q, v: body.mass_matrix(q), there, v)
        world = system.world(there, v)
        jacobians = {
            number: system.local(world, group, leaves).each(lambda x: x.constraint_jacobian(zero))
            for number, (group, leaves) in enumerate(system.with_leaves("constraints"))
            if group.active
        }
        return masses, jacobians

    return jax.vmap(at)(directions, turned)


Dependent = dict[int, list[tuple[int, list[tuple[int, int]] | None]]]
"""Constraints that are redundant, by group: the instance, and (group, instance) of those that it follows from."""


class _Found:
    """M and G at the start and in configurations near it, scaled so that M is 1 and the rows of G have length 1.

    `far`: G anywhere else, if that has to be known.
    """

    def __init__(self, system: System):
        self.structure = structure = system.structure
        how_far = np.asarray([0, _DISPLACED, _DISPLACED, *[1.0] * (2 * _FAR if _any_square(system) else 0)])
        directions = np.random.default_rng(0).standard_normal((len(how_far), structure.velocity_count))
        directions, turned = how_far[:, None] * directions, np.arange(len(how_far)) >= 3 + _FAR
        everywhere = _evaluate(system, jnp.asarray(directions, system.gravity.dtype), turned)
        self.far: dict[int, Sequence[np.ndarray]] = jax.tree.map(np.asarray, everywhere[1])
        masses, jacobians = jax.tree.map(lambda x: np.asarray(x[:3]), everywhere)
        scales = [np.sqrt(np.abs(np.diagonal(m, axis1=-2, axis2=-1))) for m in masses]
        self.masses = [m / (s[..., :, None] * s[..., None, :]) for m, s in zip(masses, scales, strict=True)]
        self.jacobians: dict[int, list[np.ndarray]] = {}
        self.lengths: dict[int, np.ndarray] = {}
        self.owners = {n: np.full(g.count, -1) for n, g in enumerate(structure.constraints)}
        for number, blocks in jacobians.items():
            slots = structure.constraints[number].slots
            scaled = [g / scales[s.body][:, s.rows.rows][..., None, :] for s, g in zip(slots, blocks, strict=True)]
            squares = sum(np.sum(g**2, axis=-1) for g in scaled)
            self.lengths[number] = np.sqrt(np.where(squares > 0, squares, 1))
            self.jacobians[number] = [g / self.lengths[number][..., None] for g in scaled]
        self.equations = sum(x.shape[1] * x.shape[2] for x in self.lengths.values())
        self._match()

    @property
    def any_without_owner(self) -> bool:
        return any(np.any(self.owners[number] < 0) for number in self.jacobians)

    def matrix(self, layout: Layout) -> np.ndarray:
        """[M G^T; G 0] as blocks, by sample."""
        samples = self.masses[0].shape[0]
        matrix = np.zeros((samples, len(layout.slots), layout.size, layout.size))
        node = 0
        for number in layout.bodies:
            masses = self.masses[number]
            matrix[:, node : node + masses.shape[1], : masses.shape[2], : masses.shape[2]] = masses
            node += masses.shape[1]
        matrix[:, : layout.nodes] += layout.diagonal[:, :, None] * np.eye(layout.size)
        numbers = iter(layout.blocks)
        for share in layout.shares:
            for a in share.places:
                for b in share.places:
                    slots = next(numbers)
                    if share.kind == "constraints":
                        self._add(matrix, slots, share, a.parts, b.parts)
        return matrix

    def dependent(self) -> Dependent:
        """Constraints (by group) whose rows of G follow from those of others: the instance and these others."""
        rows, owners = self._rows()
        if np.linalg.eigvalsh(rows @ rows.T).min() > _DEPENDENT:
            return {}
        basis: list[np.ndarray] = []
        kept: list[int] = []
        found: Dependent = {}
        for i, row in enumerate(rows):
            rest = row.copy()
            for _ in range(2):
                rest -= np.asarray(basis).T @ (np.asarray(basis) @ rest) if basis else 0
            if np.sum(rest**2) > _DEPENDENT:
                basis.append(rest / np.sqrt(np.sum(rest**2)))
                kept.append(i)
                continue
            share = np.linalg.lstsq(rows[kept].T, row)[0] if kept else np.zeros(0)
            others = sorted({owners[k] for k, x in zip(kept, share, strict=True) if abs(x) > 1e-6})
            number, instance = owners[i]
            found.setdefault(number, []).append((instance, others))
        return found

    def weak(self, layout: Layout, strengths: np.ndarray) -> Dependent:
        """The same for many constraints: those whose pivots vanish; of which others they follow is not known."""
        found: Dependent = {}
        for share in layout.shares:
            for place in share.places:
                if any(part == len(self.structure.constraints[share.group].slots) for part, _ in place.parts):
                    weak = np.flatnonzero(strengths[place.nodes] < _DEPENDENT)
                    found.setdefault(share.group, []).extend((int(share.instances.rows[i]), None) for i in weak)
        return {number: constraints for number, constraints in found.items() if constraints}

    def exponents(self, number: int) -> Index | None:
        if number not in self.lengths:
            return None
        return Index(np.round(np.log10(_REGULARIZATION * np.mean(self.lengths[number][0] ** 2, axis=-1))))

    def _match(self) -> None:
        """At most one constraint for each body that can carry it."""
        start, starts = 0, {}
        for number, group in enumerate(self.structure.bodies):
            starts[number] = start
            start += group.count
        rows, columns, markers = [], [], []
        where: list[tuple[int, int]] = []
        for number, jacobian in self.jacobians.items():
            slots = self.structure.constraints[number].slots
            nodes = [starts[s.body] + s.rows.rows for s in slots]
            for marker in range(len(slots)):
                equations, velocities = jacobian[marker].shape[-2:]
                if equations > velocities:
                    continue
                values = np.linalg.svd(_on_body(jacobian, marker, nodes), compute_uv=False)
                can = np.min(values[..., -1], axis=0) ** 2 > _SOUND
                if equations == velocities:
                    # Also on the way to where it can again it could not: a crank at dead centre does not hold its rod.
                    can &= ~_turns(_on_body(self.far[number], marker, nodes))
                able = np.flatnonzero(can)
                rows += (len(where) + able).tolist()
                columns += nodes[marker][able].tolist()
                markers += [marker] * able.size
            where += [(number, i) for i in range(self.lengths[number].shape[1])]
        graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(where), max(start, 1)))
        matched = maximum_bipartite_matching(graph, perm_type="column")
        chosen = {(r, c): m for r, c, m in zip(rows, columns, markers, strict=True)}
        for r, (number, instance) in enumerate(where):
            if matched[r] >= 0:
                self.owners[number][instance] = chosen[r, int(matched[r])]

    def _add(self, matrix, slots, share, rows, columns) -> None:
        group = self.jacobians[share.group]
        last = len(group)
        for i, m in rows:
            for j, n in columns:
                if (i == last) == (j == last):
                    continue
                block = group[min(i, j)][:, share.instances.rows]
                block = block if i == last else np.swapaxes(block, -1, -2)
                height, width = block.shape[-2:]
                for sample in range(len(matrix)):
                    np.add.at(matrix[sample, :, m : m + height, n : n + width], slots, block[sample])

    def _rows(self) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """G at the start as a dense matrix, whose rows belong to (group, instance)."""
        structure, rows, owners = self.structure, [], []
        for number, jacobian in self.jacobians.items():
            count, equations = self.lengths[number].shape[1:]
            dense = np.zeros((count, equations, structure.velocity_count))
            for slot, block in zip(structure.constraints[number].slots, jacobian, strict=True):
                columns = structure.bodies[slot.body].velocity_indices(slot.rows.rows)
                at = (np.arange(count)[:, None, None], np.arange(equations)[:, None], columns[:, None, :])
                np.add.at(dense, at, block[0])
            rows.append(dense.reshape(count * equations, -1))
            owners += [(number, i) for i in range(count) for _ in range(equations)]
        return np.concatenate(rows), owners


def _on_body(jacobian: Sequence[np.ndarray], marker: int, nodes: Sequence[np.ndarray]) -> np.ndarray:
    """G of all markers that are on the same body as this one."""
    same = [other for other in range(len(nodes)) if jacobian[other].shape[-1] == jacobian[marker].shape[-1]]
    here = [np.where((nodes[o] == nodes[marker])[:, None, None], jacobian[o], 0.0) for o in same]
    return np.sum(here, axis=0)


def _turns(square: np.ndarray) -> np.ndarray:
    """Whether the determinant changes its sign between samples, and not in jumps: then it vanishes somewhere."""
    determinant = np.linalg.det(square)
    low, high, size = determinant.min(axis=0), determinant.max(axis=0), np.abs(determinant)
    return (low < 0) & (high > 0) & (size.min(axis=0) < _TURNS * size.max(axis=0))


def _any_square(system: System) -> bool:
    """Whether constraints have as many equations as one of their bodies has velocities."""
    groups = zip(_equations(system), system.structure.constraints, strict=True)
    return any(system.structure.bodies[slot.body].kind.velocities == m for m, group in groups for slot in group.slots)


def _say(system: System, dependent: Dependent, redundant: str) -> None:
    """Names the redundant constraints."""
    sentences = []
    for number, constraints in dependent.items():
        for instance, others in constraints:
            name = instance_names(system.structure, number)[instance]
            by = list(dict.fromkeys(repr(instance_names(system.structure, n)[i]) for n, i in others or ()))
            equations = system.structure.couplings[number].equations
            what = f"'{name}'" if equations == 1 else f"an equation of '{name}'"
            said = f"repeats what {', '.join(by)} {'fix' if len(by) > 1 else 'fixes'}" if by else "fixes nothing"
            sentences.append(f"{what} {'repeats what others fix' if others is None else said}")
    text = "redundant constraints: " + "; ".join(dict.fromkeys(sentences)) + " at the start. "
    if redundant == "error":
        raise ModelError(text + "Remove one of them, or allow them with assemble(redundant='min_norm').")
    if redundant == "warn":
        warnings.warn(
            text
            + "If they agree wherever the system goes, the motion does not depend on that, and of the multipliers the "
            "smallest ones are found; to say that this is wanted: assemble(redundant='min_norm'). If only the start is "
            "such a configuration, it is a singular one: start from another.",
            stacklevel=5,
        )
