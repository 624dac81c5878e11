"""How figures look, and what they are drawn with."""

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter

from ..core.errors import ParameterError
from ..core.formatting import plain
from ..core.parameters import show

DATA, FIT, HELD_OUT, QUIET = "#3c4650", "#d1495b", "#2a7f62", "#9aa3ad"
SERIES = ("#0b5394", "#d1495b", "#2a7f62", "#c77700", "#6a4c93", "#1b998b", "#8d5524", "#5b6470")
LEGEND: dict[str, Any] = {"handlelength": 1.2, "frameon": True, "framealpha": 0.75, "edgecolor": "none"}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "difmbs",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6470",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-3, 4),
    "axes.unicode_minus": True,
    "grid.color": "#e8ebee",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.3,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "path.simplify": False,
    # Names of elements are text, not formulas.
    "text.parse_math": False,
}


@contextmanager
def style() -> Iterator[None]:
    """How all figures look, whatever the user's settings are."""
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        # The browser has glyphs that the font used for the layout lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def label(text: str, most: int = 40) -> str:
    """A name as it fits into a plot."""
    text = plain(text).replace("\n", " ").replace("\t", " ")
    return text if len(text) <= most else f"{text[: most - 1]}…"


def dots(axes: Axes, x: np.ndarray, y: np.ndarray, color: str, size: float = 2.6, label: str | None = None) -> None:
    """Points as one path, which takes a quarter of the place of markers."""
    axes.plot([], [], "o", color=color, ms=size, mew=0, label=label)
    finite = np.isfinite(x) & np.isfinite(y)
    places = np.repeat(np.stack([x[finite], y[finite]], axis=1), 2, axis=0)
    if len(places):
        # Lines without length, or moved to whole pixels, are no dots where they are drawn with pixels.
        places[1::2, 0] += 1e-9 * (np.ptp(places[:, 0]) or np.max(np.abs(places[:, 0])) or 1.0)
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], np.uint8), len(places) // 2)
        patch = PathPatch(
            Path(places, codes), fill=False, lw=size, capstyle="round", gid="dots", edgecolor=color, snap=False
        )
        axes.add_patch(patch)
        axes.update_datalim(places)
        axes.autoscale_view()


def line(axes: Axes, x: np.ndarray, y: np.ndarray, **options: Any) -> None:
    axes.plot(x, np.where(np.isfinite(y), y, np.nan), **options)


def chosen(y: np.ndarray, most: int) -> np.ndarray:
    """Which samples are drawn: all, or the smallest and the largest of each stretch, so that no peak is lost."""
    if y.size <= most:
        return np.arange(y.size)
    edges = np.linspace(0, y.size, max(most // 2, 1) + 1).astype(int)
    filled = np.where(np.isfinite(y), y, np.nanmean(y) if np.any(np.isfinite(y)) else 0.0)
    picked = [a + np.array([np.argmin(filled[a:b]), np.argmax(filled[a:b])]) for a, b in itertools.pairwise(edges)]
    return np.unique(np.concatenate(picked))


def logarithmic(axes: Any) -> None:
    """Powers of ten at the ticks of the y axis."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: _power(x)))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda x, _: ""))
    low, high = axes.get_ylim()
    if high < 20 * low:
        axes.set_ylim(low / 5, high * 5)


def _power(x: float) -> str:
    exponent = round(np.log10(x)) if x > 0 else 0
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.0) -> Axes:
    """The axes that were given, or those of a new figure, as notebooks show it."""
    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise ParameterError(f"ax must be axes of matplotlib, got {show(ax)}.")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]
