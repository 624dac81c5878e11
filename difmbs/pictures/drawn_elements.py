"""The elements of a system that pictures show, with plain numbers, and where their markers are."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..elements.sensors import Position
from ..elements.symbols import Symbol
from ..system.system import System
from .parts import Place

GROUND = "ground"
FrameNumbers = Mapping[tuple[int, int], tuple[str, int]]
"""By group and row of a body, its name and the number of its frame."""


@dataclasses.dataclass(frozen=True)
class DrawnElement:
    """An instance of an element: its name, what it is with plain numbers, and the places of its markers."""

    name: str
    kind: str
    element: Any
    places: tuple[Place, ...]
    active: bool


def drawn_elements(system: System, frames: FrameNumbers) -> Iterator[DrawnElement]:
    """All that has a picture, with plain numbers."""
    structure = system.structure
    for kind in ("bodies", "forces", "fields", "constraints"):
        groups = [(g, _numbers(g.stack.instances(leaves))) for g, leaves in system.with_leaves(kind)]
        for name, element in structure.elements.items():
            if element.kind != kind or name == "ground":
                continue
            for part in element.parts:
                group, tree = groups[part.group]
                sides = [
                    _places(system, tree, i, group.slots, frames)
                    for i in range(len(group.slots) if kind not in ("bodies", "fields") else 0)
                ]
                if kind == "fields":
                    # One law with all places.
                    law = _instance(tree, 0)
                    places = tuple(
                        p for i in range(len(group.slots)) for p in _places(system, law, i, group.slots, frames)
                    )
                    yield DrawnElement(name, kind, law["element"], places, group.active)
                    continue
                rows, positions = part.instances.rows.tolist(), part.positions.rows.tolist()
                for row, position in zip(rows, positions, strict=True):
                    said = name if element.single else f"{name}[{position}]"
                    if kind == "bodies":
                        if (part.group, row) in frames:
                            place = Place(frames[part.group, row][1], np.zeros(3))
                            yield DrawnElement(said, kind, _instance(tree["element"], row), (place,), True)
                        continue
                    places = tuple(side[row] for side in sides if side)
                    yield DrawnElement(said, kind, _instance(tree["element"], row), places, group.active)


def _places(system: System, tree: Any, i: int, slots: Any, frames: FrameNumbers) -> list[Place]:
    """Those of a marker of a group, by instance; none of states."""
    slot, points = slots[i], tree.get(f"marker{i}")
    rows = slot.rows.rows.tolist()
    if (slot.body, rows[0]) not in frames:
        return []
    none = np.zeros(3)
    if slot.port is not None and slot.port.of_coordinates and frames[slot.body, rows[0]][0] == GROUND:
        # A coordinate of the ground is where the other one is zero.
        others = [s for s in slots if s is not slot and (s.body, int(s.rows.rows[0])) in frames]
        return [_at_zero(system, others[0], frames, k) if others else Place(0, none) for k in range(len(rows))]
    return [Place(frames[slot.body, r][1], none if points is None else points[k]) for k, r in enumerate(rows)]


def _at_zero(system: System, slot: Any, frames: FrameNumbers, k: int) -> Place:
    """Where a body is when its coordinates are zero, on the ground; of a body that is nowhere, itself."""
    row = int(slot.rows.rows[k])
    group, leaves = system.with_leaves("bodies")[slot.body]
    if not group.kind.in_space:
        return Place(frames[slot.body, row][1], np.zeros(3))
    body = jax.tree.map(lambda x: x[row] if eqx.is_array(x) else x, group.stack.instances(leaves)["element"])
    point = jnp.zeros(3) if group.kind.extended else None
    return Place(0, np.asarray(body.point(jnp.zeros(group.coordinates_each), point)))


def _numbers(tree: Any) -> Any:
    """Arrays as numpy has them; functions as they are."""
    return jax.tree.map(lambda x: np.asarray(x) if eqx.is_array(x) else x, tree)


def _instance(tree: Any, row: int) -> Any:
    return jax.tree.map(lambda x: x[row] if isinstance(x, np.ndarray) else x, tree)


def sensor_places(system: System, frames: FrameNumbers) -> dict[str, Place]:
    """The sensors of positions, by name."""
    groups = system.with_leaves("sensors")
    found: dict[str, Place] = {}
    for name, reading in system.structure.readings.items():
        if not isinstance(reading, int) or groups[reading][0].sensor is not Position:
            continue
        group, leaves = groups[reading]
        tree = _numbers(group.stack.instances(leaves))
        places = _places(system, tree, 0, [group.slot], frames)
        found |= {name if group.single else f"{name}[{i}]": place for i, place in enumerate(places)}
    return found


def symbols_of(x: DrawnElement) -> tuple[Symbol, ...]:
    """Those whose markers are there."""
    reach = len(x.places)
    return tuple(s for s in x.element.symbols() if max(s.marker, s.to or 0) < reach)


def has_mass(element: Any) -> bool:
    fields = {field.name for field in dataclasses.fields(element)}
    return "mass" in fields and np.ndim(element.mass) == 0


def base_name(name: str) -> str:
    return name.partition("[")[0]
