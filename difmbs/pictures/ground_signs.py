"""Hatched plates where something is attached to the ground."""

from collections.abc import Sequence

import numpy as np

from .parts import Part
from .viewpoint import Viewpoint

_MOST = 300


def ground_parts(
    parts: Sequence[Part], origins: np.ndarray, turns: np.ndarray, view: Viewpoint, unit: float
) -> list[Part]:
    """One for each place on the ground, on the side away from the mechanism."""
    found: dict[tuple[float, ...], Part] = {}
    for part in parts:
        ends = [part.place, part.to] if part.to is not None else [part.place]
        for this, other in zip(ends, ends[::-1], strict=True):
            key = tuple(np.round(this.point / (0.3 * unit)))
            if this.frame != 0 or part.layer == "loads" or part.mesh == "plane" or key in found or len(found) >= _MOST:
                continue
            there = origins[0, other.frame] + turns[0, other.frame] @ other.point
            away = this.point - there
            found[key] = Part("ground", "ground", "ground", this, axes=_axes(away, view) * 1.25 * unit)
    return list(found.values())


def _axes(away: np.ndarray, view: Viewpoint) -> np.ndarray:
    """Right, up and to the front, turned such that down is where the mechanism is not."""
    up = view.upright if not view.plane else view.up
    right = view.right - (view.right @ up) * up
    right = right / np.linalg.norm(right)
    down, side = -(away @ up), away @ right
    if abs(side) > 1.2 * abs(down):
        up, right = (-right, up) if side > 0 else (right, -up)
    elif down < 0 and abs(down) > 1e-9 * view.size:
        up, right = -up, -right
    return np.stack([right, up, np.cross(right, up)], axis=1)
