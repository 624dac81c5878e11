"""The elements of a system that pictures show, with plain numbers, and where their markers are."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from ..elements.sensors import Position
from ..elements.symbols import Symbol
from ..system.system import System
from .parts import Place

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
        groups = [(g, jax.tree.map(np.asarray, g.stack.instances(leaves))) for g, leaves in system.with_leaves(kind)]
        for name, element in structure.elements.items():
            if element.kind != kind or name == "ground":
                continue
            for part in element.parts:
                group, tree = groups[part.group]
                if kind == "fields":
                    # One law with all places.
                    law = _instance(tree, 0)
                    places = tuple(p for i, s in enumerate(group.slots) for p in _places(law, i, s, frames))
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
                    places = tuple(
                        place
                        for i, slot in enumerate(group.slots)
                        for place in _places(tree, i, slot, frames)[row : row + 1]
                    )
                    yield DrawnElement(said, kind, _instance(tree["element"], row), places, group.active)


def _places(tree: Any, i: int, slot: Any, frames: FrameNumbers) -> list[Place]:
    """Those of a marker of a group, by instance; none of states."""
    points = tree.get(f"marker{i}")
    rows = slot.rows.rows.tolist()
    if (slot.body, rows[0]) not in frames:
        return []
    none = np.zeros(3)
    return [Place(frames[slot.body, r][1], none if points is None else points[k]) for k, r in enumerate(rows)]


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
        tree = jax.tree.map(np.asarray, group.stack.instances(leaves))
        places = _places(tree, 0, group.slot, frames)
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
