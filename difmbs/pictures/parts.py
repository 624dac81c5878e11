"""What a scene consists of."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

ARROWS = ("loads", "gravity")
"""Layers that are no part of the mechanism."""


class Place(NamedTuple):
    """A point fixed in the frame of a body, by its number."""

    frame: int
    point: np.ndarray


@dataclasses.dataclass(frozen=True)
class Part:
    """One shape of an element, called `name`.

    `layer`: "ground", "bodies", "connectors", "loads" or "gravity"; `mesh`: its key among the meshes; `place` where it
    is; either `axes` (3, 3), by which a point of its mesh is where it is in the frame of the body, or `to`, the place
    that it reaches to, or `vector` (n, 3) along which it points, as a part of the longest one; `size`: the radius of
    the latter two; `active`: whether it ever acts; `hue`: the number of its colour, of bodies.
    """

    name: str
    layer: str
    mesh: str
    place: Place
    axes: Any = None
    size: float = 1.0
    to: Place | None = None
    vector: np.ndarray | None = None
    active: bool = True
    hue: int = 0


def directed(along: Any, radius: float, front: Any, unit: bool = False) -> np.ndarray:
    """Axes of which the first one is `along`, or has length 1 if `unit`, and the others the radius as length; the third
    one points to the front, as far as it can. All of them are 0 if `along` is."""
    along = np.asarray(along, float)
    length = float(np.linalg.norm(along))
    if length == 0:
        return np.zeros((3, 3))
    x = along / length
    across = np.cross(front, x)
    if np.linalg.norm(across) < 1e-6:
        across = np.cross([0, 1, 0] if abs(x[1]) < 0.9 else [1, 0, 0], x)
    y = across / np.linalg.norm(across)
    return np.stack([x if unit else along, radius * y, radius * np.cross(x, y)], axis=1)
