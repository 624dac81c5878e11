"""How far the shapes of a mechanism reach, before and after they are made."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .drawn_elements import DrawnElement, base_name, symbols_of
from .links import inertia_box
from .parts import Place

_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_HALVES = {"box": (0.5, 0.5, 0.5), "cylinder": (0.5, 1, 1), "plane": (1, 2, 2)}
"""Half the size of shapes of size 1; of others 1."""


def sized_places(drawn: Sequence[DrawnElement], shapes: Mapping[str, Any]) -> list[Place]:
    """Corners of what has a size of its own."""
    found = []
    for x in drawn:
        if x.kind == "bodies" and base_name(x.name) in shapes:
            for mesh, axes, point in shapes[base_name(x.name)]:
                ends = np.stack([mesh.points.min(axis=0), mesh.points.max(axis=0)])
                corners = [[ends[i, k] for k, i in enumerate(corner)] for corner in itertools.product((0, 1), repeat=3)]
                found += [Place(x.places[0].frame, c) for c in np.array(corners) @ axes.T + point]
            continue
        for symbol in symbols_of(x):
            if symbol.size is None or symbol.stretched or symbol.vector is not None:
                continue
            half = np.broadcast_to(np.asarray(symbol.size, float), 3) * _HALVES.get(symbol.shape, 1)
            if symbol.axis is not None:
                half = np.full(3, np.max(half))
            place = x.places[symbol.marker]
            center = place.point if symbol.center is None else place.point + np.asarray(symbol.center, float)
            found += [Place(place.frame, center + corner * half) for corner in _CORNERS]
    return found


def by_inertia(drawn: Sequence[DrawnElement], centers: Mapping[int, np.ndarray]) -> list[Place]:
    """Corners of boxes that are as heavy to turn as bodies are: a size where nothing else tells one."""
    found = []
    for x in drawn:
        if x.kind == "bodies":
            sides, axes = inertia_box(x.element)
            frame = x.places[0].frame
            if sides is not None:
                center = centers.get(frame, np.zeros(3))
                found += [Place(frame, center + axes @ (corner * sides / 2)) for corner in _CORNERS]
    return found
