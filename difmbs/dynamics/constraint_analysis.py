"""What is found out about the constraints of a system when it is assembled, from numbers.

Which bodies could carry each constraint alone, and which constraints repeat what others fix.
"""

import dataclasses
import warnings
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from ..core.errors import ModelError
from ..core.types import Values
from ..linalg.index import Index
from ..system.structure import ConstraintPlan, Coupling, Structure, instance_names
from ..system.system import System
from .elimination_plan import PlannedConstraint, body_nodes, plan_elimination

_SOUND = 1e-4
"""A body can carry a constraint if nowhere it gives it less than this share of the flexibility that it gives it
elsewhere."""

_DEPENDENT = 1e-9
"""A row of the balanced G repeats others if not more than this is left of its squared length without them."""

_BALANCES = 10
"""Rounds in which rows and columns are scaled to unit length by turns, so that no mass and no unit decides."""

_INACCURATE = (1e-5, 1e-10)
"""Pivots of the scaled G M^-1 G^T below each of these cost a refinement of solutions."""

_REGULARIZATION = 1e-8

_MOST_REFINEMENTS = 3
"""Of solutions where constraints are redundant."""

_FAR = 24
"""Number of displaced configurations that are looked at, and of turned ones."""

_TURNS = 0.3
"""A determinant that changes its sign vanishes on the way if it is smaller somewhere than this share of the largest."""

_DENSE_UP_TO = 1500


def couple(system: System, redundant: str) -> System:
    """The system with the couplings of its constraints.

    `redundant`: what to do about constraints that repeat what others fix: "warn", "min_norm" (say nothing) or "error".
    """
    structure = system.structure
    if not system.constrained:
        return _with(system, {})
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(system)):
        raise ModelError("a model with constraints cannot be assembled from traced values: assemble it once from plain "
                         "numbers and pass the traced ones to simulate(params=...).")  # fmt: skip
    found = _Found(system)
    nodes, waits = plan_elimination(found.sizes, found.held)
    couplings = {
        number: Coupling(
            found.equations[number], Index(nodes[where]), Index(waits[where]), weight=found.weights.get(number, 0.0)
        )
        for number, where in found.numbers.items()
    }
    if not np.any(waits):
        # A tree of bodies that carry their constraints: these are independent.
        return _with(system, couplings)
    dependent = found.dependent()
    if dependent:
        _say(structure, found.equations, dependent, redundant)
        couplings = {n: dataclasses.replace(c, exponents=found.exponents(n)) for n, c in couplings.items()}
    refinements = _MOST_REFINEMENTS if dependent else found.refinements(waits)
    return _with(system, couplings, sum(map(len, dependent.values())), refinements)


def _with(system: System, couplings: dict[int, Coupling], repeated: int = 0, refinements: int = 0) -> System:
    structure, none = system.structure, Coupling(0, Index([]), Index([]))
    every = tuple(couplings.get(number, none) for number in range(len(structure.constraints)))
    plan = ConstraintPlan(every, repeated, refinements)
    return dataclasses.replace(system, structure=dataclasses.replace(structure, plan=plan))


@jax.jit
def _evaluate(system: System, directions: Values, turned: Values) -> tuple[Any, Any]:
    """The mass matrices of the bodies by group at the start, and G of the active constraints by group and marker:
    displaced in these directions, by as many times the largest coordinate or by half a turn."""
    q, v = system.initial_state()
    size, zero = jnp.max(jnp.abs(q), initial=1e-3), jnp.zeros((), q.dtype)

    def at(direction: Values, turned: Values) -> dict[int, Any]:
        world = system.world(system.retract(q, jnp.where(turned, jnp.pi, size) * direction), v)
        return {
            number: system.local(world, group, leaves).each(lambda x: x.constraint_jacobian(zero))
            for number, (group, leaves) in enumerate(system.with_leaves("constraints"))
            if group.active
        }

    masses = system.each_body(lambda body, q, v: body.mass_matrix(q), q, v)
    return masses, jax.vmap(at)(directions, turned)


Dependent = dict[int, list[tuple[int, list[tuple[int, int]] | None]]]
"""Constraints that are redundant, by group: the instance, and (group, instance) of those that it follows from."""


class _Found:
    """M at the start and G there and anywhere else, scaled so that M is 1 and the rows of G have length 1.

    `held`: the constraints with the bodies that could carry them, group by group; `sizes`: of the bodies' nodes;
    `numbers`: by group which of them are its own; `weights`: of groups on bodies that have coordinates without mass.
    """

    def __init__(self, system: System):
        self.structure = structure = system.structure
        how_far = np.asarray([0.0, *[1.0] * (2 * _FAR)])[:, None]
        directions = how_far * np.random.default_rng(0).standard_normal((len(how_far), structure.velocity_count))
        turned = np.arange(len(how_far)) > _FAR
        everything = _evaluate(system, jnp.asarray(directions, system.gravity.dtype), turned)
        masses, jacobians = jax.tree.map(np.asarray, everything)
        scales = [_scales(m) for m in masses]
        self.jacobians: dict[int, list[np.ndarray]] = {}
        self.lengths: dict[int, np.ndarray] = {}
        self.weights: dict[int, float] = {}
        light = [_is_light(m) for m in masses]
        for number, blocks in jacobians.items():
            slots = structure.constraints[number].slots
            scaled = [g / scales[s.body][s.rows.rows][:, None, :] for s, g in zip(slots, blocks, strict=True)]
            squares = sum(np.sum(g**2, axis=-1) for g in scaled)
            lengths = np.sqrt(np.where(squares > 0, squares, 1))
            self.lengths[number] = lengths[0]
            self.jacobians[number] = [g / lengths[..., None] for g in scaled]
            if any(np.any(light[slot.body][slot.rows.rows]) for slot in slots):
                self.weights[number] = float(1 / np.mean(lengths[0] ** 2))
        self.equations = {number: length.shape[1] for number, length in self.lengths.items()}
        self.sizes, first = body_nodes(structure)
        self.held: list[PlannedConstraint] = []
        self.numbers: dict[int, np.ndarray] = {}
        for number in self.jacobians:
            held = self._held(number, first)
            self.numbers[number] = len(self.held) + np.arange(len(held))
            self.held += held

    def _held(self, number: int, first: dict[int, int]) -> list[PlannedConstraint]:
        """The constraints of a group."""
        slots, blocks = self.structure.constraints[number].slots, self.jacobians[number]
        sides = [i for i, slot in enumerate(slots) if slot.body in first]
        bodies = np.stack([first[slots[i].body] + slots[i].rows.rows for i in sides], axis=-1)
        able = np.stack([_always_regular(blocks[i]) for i in sides], axis=-1)
        return [
            PlannedConstraint(tuple(those.tolist()), tuple(those[can].tolist()), self.equations[number])
            for those, can in zip(bodies, able, strict=True)
        ]

    def dependent(self) -> Dependent:
        """Constraints (by group) whose rows of G follow from those of others: the instance and these others, None
        where they are not known because there are many."""
        rows, owners = self._rows()
        rows = _balanced(rows)
        weak = np.flatnonzero(_pivots(rows) < _DEPENDENT)
        if not weak.size:
            return {}
        if rows.shape[0] > _DENSE_UP_TO:
            return _grouped((owners[i], None) for i in weak)
        dense = rows.toarray()
        basis = np.zeros((0, dense.shape[1]))
        kept: list[int] = []
        found = []
        for i, row in enumerate(dense):
            rest = row.copy()
            for _ in range(2):
                rest -= basis.T @ (basis @ rest)
            if np.sum(rest**2) > _DEPENDENT:
                basis = np.append(basis, [rest / np.sqrt(np.sum(rest**2))], axis=0)
                kept.append(i)
                continue
            share = np.linalg.lstsq(dense[kept].T, row)[0] if kept else np.zeros(0)
            found.append((owners[i], sorted({owners[k] for k, x in zip(kept, share, strict=True) if abs(x) > 1e-6})))
        return _grouped(found)

    def refinements(self, waits: np.ndarray) -> int:
        """Number of refinements of solutions, where constraints that wait for their bodies leave little of numbers
        of the size of 1, as they do on bodies that are much lighter than others."""
        rows, owners = self._rows()
        waiting = {(number, i) for number, where in self.numbers.items() for i in np.flatnonzero(waits[where]).tolist()}
        least = np.min(_pivots(rows[[i for i, owner in enumerate(owners) if owner in waiting]]))
        return sum(bool(least < limit) for limit in _INACCURATE)

    def exponents(self, number: int) -> Index:
        return Index(np.round(np.log10(_REGULARIZATION * np.mean(self.lengths[number] ** 2, axis=-1))))

    def _rows(self) -> tuple[csr_array, list[tuple[int, int]]]:
        """G at the start, whose rows belong to (group, instance)."""
        places, numbers = [], []
        owners: list[tuple[int, int]] = []
        for number, blocks in self.jacobians.items():
            count, equations = self.lengths[number].shape
            rows = len(owners) + np.arange(count * equations).reshape(count, equations, 1)
            for slot, block in zip(self.structure.constraints[number].slots, blocks, strict=True):
                columns = self.structure.bodies[slot.body].velocity_indices(slot.rows.rows)[:, None, :]
                places.append(np.stack(np.broadcast_arrays(rows, columns)).reshape(2, -1))
                numbers.append(block[0].ravel())
            owners += [(number, i) for i in range(count) for _ in range(equations)]
        shape = (len(owners), self.structure.velocity_count)
        return csr_array((np.concatenate(numbers), np.concatenate(places, axis=1)), shape=shape), owners


def _is_light(masses: np.ndarray) -> np.ndarray:
    """Whether bodies have mass matrices that are not regular."""
    found = [np.linalg.eigvalsh(x) for x in masses]
    return np.asarray([x.size > 0 and x[0] <= 1e-12 * x[-1] for x in found], bool)


def _scales(masses: np.ndarray) -> np.ndarray:
    """Square roots of the masses on the diagonals; the largest one of the body for coordinates without mass, which
    constraints have to hold."""
    found = np.sqrt(np.abs(np.diagonal(masses, axis1=-2, axis2=-1)))
    largest = np.max(found, axis=-1, keepdims=True, initial=0)
    return np.where(found > 1e-12 * largest, found, largest)


def _always_regular(blocks: np.ndarray) -> np.ndarray:
    """Whether blocks (configurations, instances, equations, velocities) have independent rows wherever they are."""
    equations, velocities = blocks.shape[-2:]
    if equations > velocities:
        return np.zeros(blocks.shape[1], bool)
    # Whatever the other body is.
    longest = np.max(np.sqrt(np.sum(blocks**2, axis=-1)), axis=0)
    blocks = blocks / np.where(longest > 0, longest, 1)[..., None]
    regular = np.min(np.linalg.svd(blocks, compute_uv=False)[..., -1], axis=0) ** 2 > _SOUND
    # Also on the way from one of these configurations to the other: a crank at dead centre does not hold its rod.
    return regular & ~_turns(blocks) if equations == velocities else regular


def _turns(square: np.ndarray) -> np.ndarray:
    """Whether the determinant changes its sign between samples, and not in jumps: then it vanishes somewhere."""
    determinant = np.linalg.det(square)
    low, high, size = determinant.min(axis=0), determinant.max(axis=0), np.abs(determinant)
    return (low < 0) & (high > 0) & (size.min(axis=0) < _TURNS * size.max(axis=0))


def _balanced(rows: csr_array) -> csr_array:
    """Rows and columns scaled to about the same lengths, rows last; which rows follow from others stays the same."""
    for _ in range(_BALANCES):
        for axis in (0, 1):
            lengths = np.sqrt(np.asarray((rows * rows).sum(axis=axis)).ravel())
            scale = diags_array(1 / np.where(lengths > 0, lengths, 1))
            rows = csr_array(rows @ scale if axis == 0 else scale @ rows)
    return rows


def _pivots(rows: csr_array) -> np.ndarray:
    """What is left of the squared length of each row without those that are eliminated before it."""
    products = (rows @ rows.T + 1e-3 * _DEPENDENT * eye_array(rows.shape[0])).tocsc()
    factors = splu(products, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
    return np.abs(factors.U.diagonal())[factors.perm_c]


def _grouped(found: Iterable[tuple[tuple[int, int], list[tuple[int, int]] | None]]) -> Dependent:
    groups: Dependent = {}
    for (number, instance), others in found:
        groups.setdefault(number, []).append((instance, others))
    return groups


def _say(structure: Structure, equations: dict[int, int], dependent: Dependent, redundant: str) -> None:
    """Names the redundant constraints."""
    sentences = []
    for number, constraints in dependent.items():
        names = instance_names(structure, number)
        for instance, others in constraints:
            by = list(dict.fromkeys(repr(instance_names(structure, n)[i]) for n, i in others or ()))
            what = f"'{names[instance]}'" if equations[number] == 1 else f"an equation of '{names[instance]}'"
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
