"""Which node of the matrix each constraint is in, so that no pivot vanishes wherever the system goes.

[M G^T; G 0] can be eliminated in any order in which a constraint comes after all of its bodies: M is positive definite,
and then what is left of G M^-1 G^T is definite as long as the constraints are independent. Two things make this fast:

- In a tree a constraint is carried by its outer body, if that can carry it alone in any configuration: both are one
  node, whose pivot [M G^T; G 0] is regular by itself, and trees are eliminated from their tips without fill-in.
- A constraint of a loop is put into the node of the last of its bodies, as far as there is room.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..linalg.elimination_order import order_of
from ..system.structure import Structure


class PlannedConstraint(NamedTuple):
    """A constraint: the nodes of its bodies, those of them that could carry it, and the number of its equations."""

    bodies: tuple[int, ...]
    able: tuple[int, ...]
    equations: int


class EliminationPlan(NamedTuple):
    """The node of each constraint, those of bodies first, and whether it waits for all of its bodies."""

    nodes: np.ndarray
    waits: np.ndarray


def body_nodes(structure: Structure) -> tuple[list[int], dict[int, int]]:
    """The number of velocity coordinates of each body that moves, and by group of bodies the first of them."""
    sizes: list[int] = []
    first = {}
    for number, group in enumerate(structure.bodies):
        if group.moves:
            first[number] = len(sizes)
            sizes += [group.velocities_each] * group.count
    return sizes, first


def plan_elimination(sizes: Sequence[int], constraints: Sequence[PlannedConstraint]) -> EliminationPlan:
    """`sizes`: the numbers of velocity coordinates of the bodies' nodes."""
    nodes = _carried(len(sizes), constraints)
    waits = [node < 0 for node in nodes]
    by_last = _by_last_body(len(sizes), constraints, nodes)
    used = list(sizes)
    for held, node in zip(constraints, nodes, strict=True):
        used[node] += held.equations if node >= 0 else 0
    # As large as a node has to be: one constraint for each body.
    room = max([*used, *(used[body] + constraints[first].equations for body, (first, *_) in by_last.items())])
    for body, those in by_last.items():
        node = body
        for c in those:
            if used[node] + constraints[c].equations > room:
                node = len(used)
                used.append(0)
            nodes[c] = node
            used[node] += constraints[c].equations
    return EliminationPlan(np.asarray(nodes, int), np.asarray(waits, bool))


def _carried(bodies: int, constraints: Sequence[PlannedConstraint]) -> list[int]:
    """The bodies that carry constraints of trees; -1 for the other constraints.

    A body carries a constraint if it has no other, but for those that are carried by bodies farther out.
    """
    carriers = [-1] * len(constraints)
    on_body: list[set[int]] = [set() for _ in range(bodies)]
    for c, held in enumerate(constraints):
        for body in held.bodies:
            on_body[body].add(c)
    tips = [body for body in range(bodies) if len(on_body[body]) == 1]
    while tips:
        body = tips.pop()
        if len(on_body[body]) != 1 or body not in constraints[next(iter(on_body[body]))].able:
            continue
        c = on_body[body].pop()
        carriers[c] = body
        for other in constraints[c].bodies:
            on_body[other].discard(c)
            if len(on_body[other]) == 1:
                tips.append(other)
    return carriers


def _by_last_body(
    bodies: int, constraints: Sequence[PlannedConstraint], carriers: Sequence[int]
) -> dict[int, list[int]]:
    """The constraints that nobody carries, by the last of their bodies in an order with little fill-in.

    It grows from the ground, so that each body finds there a constraint that it can share a node with.
    """
    pairs = set()
    after: dict[int, set[int]] = {}
    beside: dict[int, set[int]] = {}
    for c, held in enumerate(constraints):
        if carriers[c] < 0:
            after[bodies + c] = set(held.bodies)
            pairs |= {pair for body in held.bodies for pair in ((bodies + c, body), (body, bodies + c))}
            for body in held.bodies:
                beside.setdefault(body, set()).update(set(held.bodies) - {body} or {body})
        else:
            pairs |= {(a, b) for a in held.bodies for b in held.bodies if a != b}
    beside = {body: others for body, others in beside.items() if body not in others}
    places = np.argsort(order_of(bodies + len(constraints), dict.fromkeys(pairs, 0), after, beside))
    found: dict[int, list[int]] = {}
    for c in sorted((c for c in range(len(constraints)) if carriers[c] < 0), key=lambda c: places[bodies + c]):
        found.setdefault(max(constraints[c].bodies, key=lambda body: places[body]), []).append(c)
    return found
