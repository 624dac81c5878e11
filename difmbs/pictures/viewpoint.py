"""From where a mechanism is looked at: straight on a plane where it moves in one, else from a corner."""

import dataclasses

import numpy as np

_FLAT = 1e-9
_AZIMUTH, _ELEVATION = np.deg2rad(35.0), np.deg2rad(22.0)


@dataclasses.dataclass(frozen=True)
class Viewpoint:
    """`right`, `up` and `front`, towards the eye, in the world; `center` and `size`, the diagonal of all that is seen,
    [m]; `width` and `height` as they are seen; `plane`: whether all motion is in the plane across `front`; `upright`:
    the direction in the world against gravity."""

    right: np.ndarray
    up: np.ndarray
    front: np.ndarray
    center: np.ndarray
    size: float
    width: float
    height: float
    plane: bool
    upright: np.ndarray


def viewpoint(points: np.ndarray, sized: np.ndarray, turns: np.ndarray, gravity: np.ndarray, flat: bool) -> Viewpoint:
    """`points` (n, m, 3) at n times, not finite where there are none, tell the plane; `sized` (k, 3): what else is to
    be seen; `turns` (n, f, 3, 3); `flat`: whether all bodies can move in the x-y plane only."""
    seen = points[np.all(np.isfinite(points), axis=-1)]
    if not len(seen):
        seen = np.zeros((1, 3))
    low, high = seen.min(axis=0), seen.max(axis=0)
    extent = high - low
    every = np.concatenate([seen, sized])
    size = _size(every)
    normals = (
        [2]
        if flat
        else [k for k in (2, 1, 0) if extent[k] <= _FLAT * (size + float(np.abs(seen).max())) and _keeps(turns, k)]
    )
    upright = _upright(gravity, normals)
    # Where all is on a line, the plane that gravity is in.
    normals = [k for k in normals if abs(upright[k]) < 0.5]
    if normals:
        front = np.eye(3)[normals[0]] * (-1 if normals[0] == 1 else 1)
        up = upright - (upright @ front) * front
        up = up / np.linalg.norm(up)
        right = np.cross(up, front)
    else:
        side = np.roll(np.abs(np.round(upright)), 1)
        side = side - (side @ upright) * upright
        side = side / np.linalg.norm(side)
        other = np.cross(upright, side)
        level = np.cos(_AZIMUTH) * -other + np.sin(_AZIMUTH) * side
        front = np.cos(_ELEVATION) * level + np.sin(_ELEVATION) * upright
        up = upright - (upright @ front) * front
        up = up / np.linalg.norm(up)
        right = np.cross(up, front)
    return framed(Viewpoint(right, up, front, seen[0], size, 0.0, 0.0, bool(normals), upright), every)


def framed(view: Viewpoint, points: np.ndarray) -> Viewpoint:
    """From the same direction, with all points in view."""
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    across, above = (points - center) @ view.right, (points - center) @ view.up
    width, height = float(np.ptp(across)), float(np.ptp(above))
    return dataclasses.replace(view, center=center, size=_size(points), width=width, height=height)


def _size(points: np.ndarray) -> float:
    """The diagonal; 1 of what is all in one place but for rounding."""
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    return size if size > _FLAT * float(np.abs(points).max()) else 1.0


def _keeps(turns: np.ndarray, axis: int) -> bool:
    """Whether all bodies turn about this axis only."""
    return bool(np.all(np.abs(turns[..., axis, axis] - 1) <= 1e-9))


def _upright(gravity: np.ndarray, normals: list[int]) -> np.ndarray:
    size = float(np.linalg.norm(gravity))
    if size > 0:
        return -gravity / size
    return np.eye(3)[1 if 2 in normals else 2]
