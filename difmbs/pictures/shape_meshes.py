"""The shapes of elements as triangles, each of about unit size.

Stretched shapes reach from x = 0 to x = 1, with a radius of 1 about the x axis; still ones are about the origin, within
1 of it, a box with sides of 1, and turn about the x axis.
"""

import functools
from collections.abc import Callable

import numpy as np

from .meshes import Mesh, faceted, join, plate, revolved, tube


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
