"""Scenes drawn with matplotlib: one state in a figure, with names."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon

from .meshes import Mesh, hull
from .palette import rgb_of
from .parts import ARROWS, Part, Place
from .scene import Scene
from .shape_meshes import helix, zigzag

_STRAIGHT = np.array([[0.0, 0, 0], [1, 0, 0]])
_TURN = np.linspace(0, 2 * np.pi, 41)
_LINES = {
    "coil": helix(7.0, 0.12, 0.88, 16),
    "zigzag": zigzag(5, 0.15, 0.85),
    "dashes": _STRAIGHT,
    "rail": _STRAIGHT,
    "halo": np.stack([0 * _TURN, 1.6 * np.cos(_TURN), 1.6 * np.sin(_TURN)], axis=1),
}
"""Shapes that are lines."""
_WIDTHS = {"dashes": (1.1, "--"), "rail": (1.6, "-")}
_MOST_PIECES = 60
_THIN = 0.006
"""Radius, relative to the mechanism, below which what is stretched is a thin line."""
COLORS = matplotlib.colormaps["viridis"]
_CORNERS = 36
"""Points of a box, three for each triangle."""
_LIGHT = np.array([0.3, 0.5, 0.81])
_MARGIN = 0.07


def sketch(
    axes: Axes,
    scene: Scene,
    k: int = 0,
    *,
    names: bool = True,
    loads: bool = True,
    alpha: float = 1.0,
    tints: Mapping[int, Any] = MappingProxyType({}),
) -> None:
    """Draws a scene at time k; `names`: at bodies, connectors and sensors of positions; `tints`: colours of parts by
    number."""
    colors = {
        id(part): np.array(to_rgb(tints[i]) if i in tints else rgb_of(part)) for i, part in enumerate(scene.parts)
    }
    parts = [part for part in scene.parts if part.layer not in ARROWS or (loads and part.layer == "loads")]
    placed = [(part, *scene.placed(part, k)) for part in parts]
    basis = np.stack([scene.view.right, scene.view.up, scene.view.front], axis=1)
    layers = []
    for part, A, p in placed:
        if np.any(A):
            points = (scene.meshes[part.mesh].points @ A.T + p) @ basis
            layers.append((part, A, p, points, _depth(np.mean(points[:, 2]), scene)))
    # In the plane small things are before large ones, in space near ones before far ones.
    rank = {"ground": 0, "bodies": 1, "connectors": 2, "loads": 3}
    plane = lambda x: (rank[x[0].layer], -float(np.prod(np.ptp(x[3][:, :2], axis=0))))
    space = lambda x: (x[0].layer == "loads", x[4], rank[x[0].layer])
    for part, A, p, points, _ in sorted(layers, key=plane if scene.view.plane else space):
        _draw(axes, scene, part, A, p, points, basis, colors[id(part)], alpha)
    axes.set_aspect("equal")
    axes.margins(0.1)
    axes.autoscale_view()
    if names:
        _names(axes, scene, k, basis)
    axes.set_axis_off()


def limits(scene: Scene) -> tuple[tuple[float, float], tuple[float, float]]:
    """What is to be seen at all times, right and up."""
    basis = np.stack([scene.view.right, scene.view.up], axis=1)
    found = []
    every = np.unique(np.linspace(0, len(scene.times) - 1, min(60, len(scene.times))).astype(int))
    for part in scene.parts:
        if part.layer not in ARROWS:
            size = np.abs(scene.meshes[part.mesh].points).max() * part.size if part.axes is None else 0.0
            far = scene.meshes[part.mesh].points if part.axes is not None else np.zeros((1, 3))
            for k in every:
                A, p = scene.placed(part, int(k))
                places = (far @ A.T + p) @ basis
                found += [places.min(axis=0) - size, places.max(axis=0) + size]
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    space = _MARGIN * float(max(*(high - low), scene.unit))
    return (low[0] - space, high[0] + space), (low[1] - space, high[1] + space)


def draw_trails(axes: Axes, scene: Scene, trails: Iterable[Place], k: int, alpha: float) -> None:
    """The ways of places until time k."""
    basis = np.stack([scene.view.right, scene.view.up], axis=1)
    for place in trails:
        axes.plot(*(scene.position(place)[: k + 1] @ basis).T, color="#c22f5c", lw=0.9, alpha=alpha)


def _draw(
    axes: Axes, scene: Scene, part: Part, A: Any, p: Any, points: Any, basis: Any, color: np.ndarray, alpha: float
) -> None:
    slim = part.to is not None and part.size < _THIN * scene.view.size
    if part.mesh in _LINES or slim:
        line = (_STRAIGHT if slim else _LINES[part.mesh]) @ A.T @ basis + p @ basis
        width, dashes = (0.8, "-") if slim else _WIDTHS.get(part.mesh, (1.3, "-"))
        axes.plot(*line[:, :2].T, dashes, color=color, lw=width, alpha=alpha, solid_joinstyle="round")
        return
    mesh = scene.meshes[part.mesh]
    pieces = list(mesh.ranges())
    if len(pieces) > _MOST_PIECES:
        pieces = [(slice(0, len(points)), False)]
    # Far ones first.
    for here, convex in sorted(pieces, key=lambda piece: _depth(np.mean(points[piece[0], 2]), scene)):
        # The sides of boxes in space are told apart by their shades.
        flat = convex and (scene.view.plane or here.stop - here.start > _CORNERS)
        if not flat:
            _fill(axes, scene, mesh, here, points, np.linalg.inv(A), basis, color, alpha)
        if convex:
            face = color if flat else "none"
            axes.add_patch(Polygon(hull(points[here, :2]), facecolor=face, edgecolor=0.55 * color, lw=0.8, alpha=alpha))


def _depth(height: Any, scene: Scene) -> Any:
    """Of what is drawn later the larger: in steps, so that rounding does not decide between what is equally near."""
    return np.round(np.asarray(height) / (1e-6 * scene.view.size))


def _fill(
    axes: Axes,
    scene: Scene,
    mesh: Mesh,
    here: slice,
    points: Any,
    inverse: Any,
    basis: Any,
    color: np.ndarray,
    alpha: float,
) -> None:
    """The triangles of a piece that face the eye, shaded."""
    inside = (mesh.triangles[:, 0] >= here.start) & (mesh.triangles[:, 0] < here.stop)
    corners = points[mesh.triangles[inside]]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] > 1e-9 * scene.view.size**2
    normals = (mesh.normals[mesh.triangles[inside][facing]].mean(axis=1) @ inverse) @ basis
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    order = np.argsort(_depth(corners[facing][:, :, 2].mean(axis=1), scene), kind="stable")
    shade = 0.62 + 0.38 * np.clip(normals[order] @ _LIGHT, 0, 1)
    colors = np.clip(shade[:, None] * color * 1.05, 0, 1)
    shown = corners[facing][order][:, :, :2]
    axes.add_collection(PolyCollection(shown, facecolors=colors, edgecolors=colors, linewidths=0.3, alpha=alpha))
    axes.update_datalim(shown.reshape(-1, 2))


def _names(axes: Axes, scene: Scene, k: int, basis: np.ndarray) -> None:
    """Each where there is room, if there is not too much."""
    placed: dict[str, list[np.ndarray]] = {}
    for part in scene.parts:
        if part.layer not in ("ground", "gravity") and "[" not in part.name:
            ends = [scene.position(part.place, k)] + ([] if part.to is None else [scene.position(part.to, k)])
            if part.axes is not None:
                A, p = scene.placed(part, k)
                ends = [(scene.meshes[part.mesh].points @ A.T + p).mean(axis=0)]
            placed.setdefault(part.name, ends)
    wanted = [(name, np.mean(ends, axis=0) @ basis) for name, ends in placed.items()]
    wanted += [(name, scene.position(place, k) @ basis) for name, place in scene.points.items() if "[" not in name]
    if scene.points:
        marks = np.array([scene.position(place, k) @ basis for place in scene.points.values()])
        axes.plot(marks[:, 0], marks[:, 1], "+", color="#7a1f5c", ms=6, mew=1.1)
    write(axes, wanted)


def write(axes: Axes, wanted: Iterable[tuple[str, Any]], most: int = 60) -> None:
    """Names at places, beside each other where they would overlap; of many the first ones."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches() * 72 * axes.get_position().bounds[2:]
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    # Of the same scale right and up, as the axes will have.
    scale = min(width / (high[0] - low[0]), height / (high[1] - low[1]))
    taken: list[tuple[float, float, float, float]] = []
    for name, place in list(wanted)[:most]:
        text = name if len(name) <= 28 else f"{name[:27]}…"
        w, h = 4.7 * len(text), 9.5
        x, y = (np.asarray(place[:2]) - (low + high) / 2) * scale
        best = None
        for far in (7, 16, 27, 40):
            for ox, oy in ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0)):
                left = x + far * ox - (w if ox < 0 else w / 2 if ox == 0 else 0)
                low_y = y + far * oy - h / 2
                box = (left, low_y, left + w, low_y + h)
                over = sum(_overlap(box, other) for other in taken)
                if best is None or over < best[0]:
                    best = (over, ox, oy, far, box)
            if best is not None and best[0] == 0:
                break
        assert best is not None
        _, ox, oy, far, box = best
        taken.append(box)
        side = {1: "left", -1: "right", 0: "center"}[ox]
        line = {"arrowstyle": "-", "color": "#9aa3ad", "lw": 0.5, "shrinkA": 0, "shrinkB": 0}
        written = axes.annotate(
            text, (place[0], place[1]), (far * ox, far * oy), textcoords="offset points", ha=side, va="center",
            fontsize=8, color="#1d2733", arrowprops=line if far > 10 else None, annotation_clip=False, zorder=10,
        )  # fmt: skip
        # The mechanism has the room; names may reach beyond.
        written.set_in_layout(False)


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
