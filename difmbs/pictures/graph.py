"""What is connected to what, as a graph: bodies as boxes, connectors as lines between them."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ..core.formatting import plain

_MOST_BODIES, _MOST_NAMES, _MOST_IN_ROW = 32, 4, 8
GROUND = "ground"


def draw_graph(axes: Axes, bodies: Sequence[str], connectors: Mapping[str, Sequence[str]]) -> None:
    """`connectors`: the bodies of each by name; those of one body only, loads, are written beside it."""
    shown = list(bodies)[:_MOST_BODIES]
    between: dict[tuple[str, str], list[str]] = {}
    beside: dict[str, list[str]] = {name: [] for name in shown}
    within: dict[str, list[str]] = {name: [] for name in shown}
    alone: list[str] = []
    for name, ends in connectors.items():
        distinct = [b for b in dict.fromkeys(ends) if b in beside]
        if not ends:
            alone.append(name)
        elif len(distinct) == 2:
            first, second = sorted(distinct, key=shown.index)
            between.setdefault((first, second), []).append(name)
        else:
            for body in distinct:
                (within if len(ends) > 1 else beside)[body].append(name)
    places = _places(shown, list(between))
    for (first, second), names in between.items():
        a, b = places[first], places[second]
        axes.plot(*np.array([a, b]).T, color="#6b7785", lw=1.0, zorder=1)
        x, y = (a + b) / 2
        axes.text(x, y, _listed(names), ha="center", va="center", fontsize=7.5, color="#2b5f8c", zorder=2,
                  parse_math=False, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    for body, (x, y) in places.items():
        face = "#d9dee3" if body == GROUND else "#eaf1f8"
        box = {"boxstyle": "round,pad=0.35", "facecolor": face, "edgecolor": "#3d4852", "lw": 0.8}
        axes.text(x, y, plain(body), ha="center", va="center", fontsize=8.5, zorder=3, parse_math=False, bbox=box)
        for names, color, below in ((beside[body], "#c22f3d", -15), (within[body], "#2b5f8c", 15)):
            if names:
                side = "top" if below < 0 else "bottom"
                axes.annotate(_listed(names), (x, y), (0, below), textcoords="offset points", ha="center", va=side,
                              fontsize=7, color=color, parse_math=False)  # fmt: skip
    said = [f"{len(bodies) - _MOST_BODIES} more bodies are not shown"] * (len(bodies) > _MOST_BODIES)
    said += [f"on no body: {', '.join(alone)}"] * bool(alone)
    if said:
        axes.text(0.5, 0, "; ".join(said), transform=axes.transAxes, ha="center", fontsize=8, color="#6b7785")
    every = np.array(list(places.values())) if places else np.zeros((1, 2))
    (low_x, low_y), (high_x, high_y) = every.min(axis=0), every.max(axis=0)
    axes.set_xlim(low_x - 0.8, high_x + 0.8)
    axes.set_ylim(low_y - 0.7, high_y + 0.7)
    axes.set_axis_off()


def _listed(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _MOST_NAMES} more"] * (len(names) > _MOST_NAMES)
    return "\n".join([*(plain(name) for name in names[:_MOST_NAMES]), *more])


def _places(bodies: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, np.ndarray]:
    """In rows by how many connectors they are away from the ground."""
    near: dict[str, set[str]] = {name: set() for name in bodies}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    row: dict[str, int] = {}
    for first in bodies:
        front = [first] if first not in row else []
        row.update(dict.fromkeys(front, 0 if first == GROUND else 1))
        while front:
            front = [b for a in front for b in sorted(near[a], key=bodies.index) if b not in row
                     and row.setdefault(b, row[a] + 1)]  # fmt: skip
    rows: dict[int, list[str]] = {}
    for name in bodies:
        rows.setdefault(row[name], []).append(name)
    places: dict[str, np.ndarray] = {}
    for k in sorted(rows):
        # Under those that they are connected to.
        above = {n: [places[o][0] for o in near[n] if o in places] for n in rows[k]}
        order = sorted(rows[k], key=lambda n: np.mean(above[n]) if above[n] else 0.0)
        for i, name in enumerate(order):
            places[name] = np.array([1.6 * (i - (len(order) - 1) / 2), -1.1 * k])
    return places
