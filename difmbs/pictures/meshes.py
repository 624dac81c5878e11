"""Surfaces as triangles, and how they are made."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

_AROUND = 20
"""Number of corners of what is round."""


class Mesh(NamedTuple):
    """`points` (n, 3) and the normals there, `triangles` (m, 3) of them, counter-clockwise from outside.

    `pieces`: of what it is put together, how many points each piece has, and whether it is convex.
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    pieces: tuple[tuple[int, bool], ...]

    def moved(self, scale: object = 1.0, offset: object = 0.0) -> "Mesh":
        """Scaled along the axes, then displaced."""
        sizes = np.broadcast_to(np.asarray(scale, float), 3)
        return self._replace(points=self.points * sizes + offset, normals=_unit(self.normals / sizes))

    def turned(self, axis: int) -> "Mesh":
        """With what was x along another axis."""
        order = [(k - axis) % 3 for k in range(3)]
        return self._replace(points=self.points[:, order], normals=self.normals[:, order])

    def placed(self, A: np.ndarray, p: object) -> "Mesh":
        """With each point x at A x + p."""
        return self._replace(points=self.points @ A.T + p, normals=_unit(self.normals @ np.linalg.inv(A)))

    def ranges(self) -> Iterator[tuple[slice, bool]]:
        """Where the points of each piece are, and whether it is convex."""
        ends = np.cumsum([0, *(count for count, _ in self.pieces)]).tolist()
        for (begin, end), (_, convex) in zip(itertools.pairwise(ends), self.pieces, strict=True):
            yield slice(begin, end), convex


def join(meshes: Iterable[Mesh]) -> Mesh:
    points, normals, triangles, pieces = zip(*meshes, strict=True)
    first = np.cumsum([0, *map(len, points[:-1])])
    shifted = [t + n for t, n in zip(triangles, first, strict=True)]
    return Mesh(np.concatenate(points), np.concatenate(normals), np.concatenate(shifted), sum(pieces, ()))


def faceted(points: np.ndarray, triangles: np.ndarray, convex: bool = False) -> Mesh:
    """Flat faces: each triangle has points of its own."""
    corners = points[triangles]
    normals = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    count = len(triangles)
    own = np.arange(3 * count).reshape(count, 3)
    return Mesh(corners.reshape(-1, 3), np.repeat(normals, 3, axis=0), own, ((3 * count, convex),))


def revolved(profile: Sequence[tuple[float | int, float | int]], around: int = _AROUND, smooth: bool = False) -> Mesh:
    """A convex body of revolution about the x axis; `profile`: (x, radius), with the outside to its left; `smooth`:
    without edges along it."""
    turn = np.linspace(0, 2 * np.pi, around + 1)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if smooth:
        x, r = np.array(profile).T
        slope = np.stack([np.gradient(x), np.gradient(r)], axis=1)
        return _bands(x, r, np.stack([-slope[:, 1], slope[:, 0]], axis=1), ring)
    pieces = []
    for (x0, r0), (x1, r1) in itertools.pairwise(profile):
        normal = np.tile([[-(r1 - r0), x1 - x0]], (2, 1))
        pieces.append(_bands(np.array([x0, x1]), np.array([r0, r1]), normal, ring))
    whole = join(pieces)
    return whole._replace(pieces=((len(whole.points), True),))


def _bands(x: np.ndarray, r: np.ndarray, normal: np.ndarray, ring: np.ndarray) -> Mesh:
    rows, columns = len(x), len(ring)
    points = np.concatenate([np.repeat(x, columns)[:, None], (r[:, None, None] * ring).reshape(-1, 2)], axis=1)
    across = (normal[:, 1, None, None] * ring).reshape(-1, 2)
    normals = np.concatenate([np.repeat(normal[:, 0], columns)[:, None], across], axis=1)
    return Mesh(points, _unit(normals), _grid(rows, columns), ((len(points), True),))


def _grid(rows: int, columns: int) -> np.ndarray:
    """Two triangles between four neighbours."""
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij")
    a = (i * columns + j).reshape(-1)
    b, c, d = a + columns, a + columns + 1, a + 1
    return np.concatenate([np.stack([d, b, a], axis=1), np.stack([c, b, d], axis=1)])


def tube(path: np.ndarray, radius: object, around: int = 8) -> Mesh:
    """Round about a path (n, 3); `radius`: one number, or along x, y and z."""
    along = _unit(np.gradient(path, axis=0))
    first = np.cross(along, [0.3, 0.5, 0.8])
    across = _unit(first)
    other = np.cross(along, across)
    turn = np.linspace(0, 2 * np.pi, around + 1)
    normals = np.cos(turn)[None, :, None] * across[:, None] + np.sin(turn)[None, :, None] * other[:, None]
    points = path[:, None] + np.broadcast_to(np.asarray(radius, float), 3) * normals
    count = len(path) * (around + 1)
    return Mesh(points.reshape(-1, 3), normals.reshape(-1, 3), _grid(len(path), around + 1), ((count, False),))


def plate(outline: np.ndarray, thickness: float) -> Mesh:
    """A polygon (n, 2) in the x-y plane, counter-clockwise or not, convex or not, with a thickness along z."""
    outline = np.asarray(outline, float)
    x, y = outline.T
    if np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) < 0:
        outline = outline[::-1]
    inside = _ears(outline)
    top = np.pad(outline, ((0, 0), (0, 1)), constant_values=thickness / 2)
    bottom = top * [1, 1, -1]
    n = len(outline)
    a = np.arange(n)
    b = (a + 1) % n
    sides = np.concatenate([np.stack([a + n, b + n, b], axis=1), np.stack([a + n, b, a], axis=1)])
    return faceted(np.concatenate([top, bottom]), np.concatenate([inside, inside[:, ::-1] + n, sides]))


def _ears(outline: np.ndarray) -> np.ndarray:
    """Triangles of a counter-clockwise polygon: corners that hold no other corner are cut off, one after the other."""
    left, found = list(range(len(outline))), []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = (left[(k + i) % len(left)] for i in (-1, 0, 1))
            rest = outline[[i for i in left if i not in (a, b, c)]]
            if _area(*outline[[a, b, c]]) > 0 and not np.any(_inside(rest, *outline[[a, b, c]])):
                break
        else:
            # It crosses itself: whatever is cut off is as good.
            a, b, c = left[-1], left[0], left[1]
            k = 0
        found.append((a, b, c))
        del left[k]
    return np.array([*found, tuple(left)])


def _area(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Any:
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def _inside(points: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return (_area(a, b, points) >= 0) & (_area(b, c, points) >= 0) & (_area(c, a, points) >= 0)


def rounded(points: np.ndarray, radius: float, around: int = 24) -> np.ndarray:
    """The outline of all discs of a radius about points (n, 2): their convex hull, counter-clockwise."""
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    circle = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return hull((points[:, None] + circle).reshape(-1, 2))


def hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points (n, 2), counter-clockwise, but for those that hardly are."""
    size = float(np.ptp(points, axis=0).max())
    # In steps, so that rounding does not decide which is the first.
    steps = np.round(points / (1e-7 * size if size > 0 else 1.0))
    order = np.lexsort(steps.T[::-1])
    chains = []
    for way in (order, order[::-1]):
        chain: list[np.ndarray] = []
        for p in points[way]:
            while len(chain) > 1 and _area(chain[-2], chain[-1], p) <= 1e-6 * size**2:
                chain.pop()
            chain.append(p)
        chains += chain[:-1]
    return np.array(chains) if chains else points[:1]


def _unit(vectors: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(sizes > 0, sizes, 1)
