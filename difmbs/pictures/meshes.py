"""Shapes as triangles, each of about unit size.

Stretched shapes reach from x = 0 to x = 1, with a radius of 1 about the x axis; still ones are about the origin, within
1 of it, a box with sides of 1, and turn about the x axis.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """Corners of the convex hull of points (n, 2), counter-clockwise."""
    order = np.lexsort(points.T[::-1])
    chains = []
    for way in (order, order[::-1]):
        chain: list[np.ndarray] = []
        for p in points[way]:
            while len(chain) > 1 and _area(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        chains += chain[:-1]
    return np.array(chains) if chains else points[:1]


def _unit(vectors: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(sizes > 0, sizes, 1)


def helix(turns: float, begin: float, end: float, each: int = 14) -> np.ndarray:
    """The middle of a coil's wire, with straight ends on the axis."""
    s = np.linspace(0, 1, int(turns * each) + 1)
    angle = 2 * np.pi * turns * s
    wire = np.stack([begin + (end - begin) * s, np.sin(angle), np.cos(angle)], axis=1)
    return np.concatenate([[[0, 0, 0], [begin, 0, 0]], wire, [[end, 0, 0], [1, 0, 0]]])


def zigzag(peaks: int, begin: float, end: float) -> np.ndarray:
    x = np.linspace(begin, end, 2 * peaks + 2)
    y = np.where(np.arange(2 * peaks + 2) % 2, 1.0, -1.0)
    y[[0, -1]] = 0
    inner = np.stack([x, y, 0 * x], axis=1)
    return np.concatenate([[[0, 0, 0]], inner, [[1, 0, 0]]])


def _rod(begin: float | int = 0, end: float | int = 1, radius: float | int = 1) -> Mesh:
    return revolved([(begin, 0), (begin, radius), (end, radius), (end, 0)])


def _box() -> Mesh:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return faceted(corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]), True)


def _ball() -> Mesh:
    turn = np.linspace(0, np.pi, 13)
    return revolved(list(zip(-np.cos(turn), np.sin(turn), strict=True)), smooth=True)


def _spiral() -> np.ndarray:
    angle = np.linspace(0, 5 * np.pi, 60)
    radius = 0.15 + 0.85 * angle / angle[-1]
    return np.stack([0 * angle, radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _torus(radius: float, wire: float) -> Mesh:
    turn = np.linspace(0, 2 * np.pi, 33)
    circle = np.stack([0 * turn, radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    return tube(circle, wire)


def _curl() -> Mesh:
    """An arrow about the x axis."""
    turn = np.linspace(0, 1.5 * np.pi, 25)
    arc = np.stack([0 * turn, np.cos(turn), np.sin(turn)], axis=1)
    head = revolved([(0, 0), (0, 0.22), (0.5, 0)]).turned(1).moved(1, [0, 0, -1])
    return join([tube(arc, 0.07), head])


def _wheel() -> Mesh:
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    radius = np.where(np.arange(48) % 4 < 2, 1.0, 0.82)
    disc = plate(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), 0.3)
    return disc.turned(1)


def _frame() -> Mesh:
    return join([_rod(0, 1, 0.08).turned(axis) for axis in range(3)] + [_ball().moved(0.2)])


def _plane() -> Mesh:
    """A plate with its upper side through the origin, across the x axis."""
    return _box().moved([0.06, 4, 4], [-0.03, 0, 0])


def _pin() -> Mesh:
    return join([_rod(-0.5, 0.5, 1.0), _rod(-0.62, 0.62, 0.45)])


def _buffer() -> Mesh:
    plates = [_rod(0.38, 0.44), _rod(0.56, 0.62)]
    return join([*plates, _rod(0, 0.38, 0.25), _rod(0.62, 1, 0.25)])


def _shoes() -> Mesh:
    thin = [1, 0.3, 0.8]
    lower, upper = (_box().moved([0.4, 0.5, 1.4], offset) for offset in ([0.42, -0.3, 0], [0.58, 0.3, 0]))
    return join([lower, upper, _rod(0, 0.3, 0.25).moved(thin), _rod(0.7, 1, 0.25).moved(thin)])


def _pointer() -> Mesh:
    return join([_rod(0, 0.6, 0.12), revolved([(0.6, 0), (0.6, 0.3), (1, 0)])])


def _ground() -> Mesh:
    """Its upper side at the origin; x to the right, y up."""
    plate = _box().moved([3, 0.25, 2.4], [0, -0.45, 0])
    foot = _box().moved([0.9, 0.5, 0.9], [0, -0.2, 0])
    slant = np.array([[1.0, 0.75, 0], [0, 1, 0], [0, 0, 1]])
    bar = _box().moved([0.13, 0.6, 2.4])
    slanted = bar.placed(slant, 0.0)
    return join([plate, foot, *(slanted.moved(1, [x, -0.85, 0]) for x in np.linspace(-1.3, 1.1, 5))])


_WIRE = (0.016, 0.15, 0.15)
"""Half the thickness of the wire of a spring, along and across it."""

_BUILDERS: dict[str, Callable[[], Mesh]] = {
    "arrow": lambda: join([_rod(0, 0.8, 0.35), revolved([(0.8, 0), (0.8, 1), (1, 0)])]),
    "axes": _frame,
    "ball": lambda: join([_ball().moved(0.75), _torus(0.8, 0.2)]),
    "block": lambda: _box().moved(1.3),
    "box": _box,
    "buffer": _buffer,
    "coil": lambda: tube(helix(6.0, 0.1, 0.9), _WIRE, 6),
    "cross": lambda: join([_rod(-1, 1, 0.22), _rod(-1, 1, 0.22).turned(1), _ball().moved(0.4)]),
    "curl": _curl,
    "cylinder": lambda: _rod(-0.5, 0.5, 1.0),
    "damper": lambda: join([_rod(0, 0.25, 0.2), _rod(0.25, 0.6, 1.0), _rod(0.6, 1, 0.3)]),
    "dashes": lambda: join([_rod(k / 11, (k + 0.5) / 11, 0.25) for k in range(11)]),
    "diamond": lambda: revolved([(-1, 0), (0, 1), (1, 0)], 4),
    "disc": lambda: _rod(-0.5, 0.5, 1.0),
    "gearwheel": _wheel,
    "ground": _ground,
    "halo": lambda: _torus(1.6, 0.08),
    "hinge": _pin,
    "housing": lambda: join([_rod(-1.2, 0.5, 0.9), _rod(0.5, 1.1, 0.3)]),
    "plane": _plane,
    "pointer": _pointer,
    "rail": lambda: _rod(0, 1, 0.12),
    "ring": lambda: join([_torus(0.8, 0.3), _rod(-0.6, 0.6, 0.35)]),
    "rod": lambda: _rod(0, 1, 0.3),
    "rotor": lambda: join([_rod(-0.15, 0.15, 1.0), _box().moved([0.36, 0.9, 0.14], [0, 0.5, 0])]),
    "shoes": _shoes,
    "sleeve": lambda: join([_rod(-0.7, 0.7, 0.8), _rod(-1.3, 1.3, 0.4)]),
    "slide": lambda: join([_box().moved([1.4, 1.2, 1.2]), _box().moved([2.8, 0.5, 0.5])]),
    "sphere": _ball,
    "spiral": lambda: tube(_spiral(), 0.08, 6),
    "strut": lambda: join([_rod(0, 0.55, 1.0), _rod(0.55, 1, 0.45)]),
    "zigzag": lambda: tube(zigzag(5, 0.15, 0.85), _WIRE, 6),
}


@functools.cache
def shape(name: str) -> Mesh:
    """A shape of `elements.symbols` as triangles; of a "link", which has a mesh of its own, there is none."""
    return _BUILDERS[name]()
