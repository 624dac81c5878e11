"""Bodies without a shape of their own, from where others are attached to them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .meshes import Mesh, join, plate, rounded
from .parts import directed
from .shape_meshes import shape
from .viewpoint import Viewpoint

_BAR = 0.55
"""Half the width of what joins the markers of a body, in units."""


def body_mesh(
    element: Any, points: Sequence[np.ndarray], center: np.ndarray, unit: float, view: Viewpoint, bare: bool = False
) -> Mesh:
    """What joins the points where others are attached, and the centre of mass; about the origin of its frame.

    In the plane an outline, in space bars; where nothing is attached off the centre, a box as heavy to turn; if `bare`
    only a ball, because a connector shows more.
    """
    near = _distinct([center, *points], 1e-6 * view.size)
    if len(near) == 1 and bare:
        return shape("sphere").moved(0.8 * unit, center)
    if len(near) == 1:
        return _by_inertia(element, center, unit, view)
    flat = np.ptp(np.array(near) @ view.front) <= 1e-9 * view.size
    if view.plane and flat:
        corners = np.array(near) @ np.stack([view.right, view.up], axis=1)
        outline = plate(rounded(corners, _BAR * 1.6 * unit), 0.8 * unit)
        basis = np.stack([view.right, view.up, view.front], axis=1)
        offset = (near[0] @ view.front) * view.front
        whole = outline.placed(basis, offset)
        return whole._replace(pieces=((len(whole.points), True),))
    return join([bars(center, near[1:], unit), shape("sphere").moved(1.7 * _BAR * unit, center)])


def bars(center: np.ndarray, points: Sequence[np.ndarray], unit: float) -> Mesh:
    """From the centre to points, with round ends."""
    ends = [shape("sphere").moved(1.25 * _BAR * unit, point) for point in points]
    return join([_bar(center, point, _BAR * unit) for point in points] + ends)


def outside(points: Sequence[np.ndarray], center: np.ndarray, size: np.ndarray, unit: float) -> list[np.ndarray]:
    """Points that are not in a shape of that size about the centre, nor near it."""
    far = float(np.linalg.norm(size)) / 2 + unit
    return [point for point in _distinct(points, 0.1 * unit) if np.linalg.norm(point - center) > far]


def _bar(begin: np.ndarray, end: np.ndarray, radius: float) -> Mesh:
    straight = shape("cylinder").moved(1, [0.5, 0, 0])
    axes = directed(end - begin, radius, (0, 0, 1))
    return straight.placed(axes, begin)


def _by_inertia(element: Any, center: np.ndarray, unit: float, view: Viewpoint) -> Mesh:
    sides, axes = inertia_box(element)
    if sides is None:
        return shape("sphere").moved(unit, center)
    sides = np.clip(sides, 1.6 * unit, 0.14 * view.size)
    if np.ndim(element.inertia) == 0:
        sides = np.array([sides[0], sides[0], 0.8 * unit])
    return shape("box").moved(sides).placed(axes, center)


def inertia_box(element: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Sides of a box that is as heavy to turn, and its axes; None of what has no inertia."""
    fields = {field.name for field in dataclasses.fields(element)}
    if not {"mass", "inertia"} <= fields:
        return None, np.eye(3)
    mass, inertia = float(element.mass), np.asarray(element.inertia, float)
    if inertia.ndim == 0:
        return np.sqrt(6 * float(inertia) / mass) * np.array([1.0, 1.0, 0.0]), np.eye(3)
    moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
    if np.linalg.det(axes) < 0:
        axes = axes * [1, 1, -1]
    return np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / mass, 0)), axes


def _distinct(points: Sequence[np.ndarray], little: float) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - other) > little for other in found):
            found.append(np.asarray(point, float))
    return found
