"""How numbers of many runs are distributed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import LEGEND, SERIES, axes_or_new, chosen, dots, label, style

_MOST_BINS, _MOST_POINTS = 80, 20_000
_BANDS = ((0.05, 0.95), (0.25, 0.75))


def histogram(values: np.ndarray, name: str, ax: Any = None) -> Axes:
    """Numbers of runs over values; the median is a line."""
    with style():
        axes = axes_or_new(ax)
        drawn = len(axes.patches)
        color = SERIES[drawn % len(SERIES)]
        counts, edges = np.histogram(values, bins=_bins(values))
        axes.stairs(counts, edges, fill=True, color=color, alpha=0.45, label=label(name))
        axes.axvline(float(np.median(values)), color=color)
        axes.set_xlabel(label(name, 44) if not drawn else "")
        axes.set_ylabel("runs")
        if drawn:
            axes.legend(**LEGEND)
    return axes


def points(x: np.ndarray, named: Mapping[str, np.ndarray], over: str, ax: Any = None) -> Axes:
    """A point for each run."""
    with style():
        axes = axes_or_new(ax)
        for i, (name, values) in enumerate(named.items()):
            kept = chosen(values, _MOST_POINTS)
            dots(axes, x[kept], values[kept], SERIES[i % len(SERIES)], label=label(name))
        (only, *more) = named
        axes.set_xlabel(label(over, 44))
        axes.set_ylabel("" if more else label(only, 44))
        if more:
            axes.legend(**LEGEND)
    return axes


def band(t: np.ndarray, named: Mapping[str, np.ndarray], ax: Any = None) -> Axes:
    """Medians over time, and between which values half and nine tenths of the runs are."""
    with style():
        axes = axes_or_new(ax)
        for i, (name, values) in enumerate(named.items()):
            color = SERIES[i % len(SERIES)]
            for lower, upper in _BANDS:
                axes.fill_between(t, *np.quantile(values, [lower, upper], axis=0), color=color, alpha=0.2, lw=0)
            axes.plot(t, np.median(values, axis=0), color=color, label=label(name))
        (only, *more) = named
        axes.set_xlabel("time [s]")
        axes.set_ylabel("" if more else label(only, 44))
        if more:
            axes.legend(**LEGEND)
        axes.margins(x=0.01)
    return axes


def _bins(values: np.ndarray) -> np.ndarray:
    """Edges after Freedman and Diaconis; of numbers that are all the same, one bin around them."""
    low, high = float(np.min(values)), float(np.max(values))
    if not high > low:
        half = max(abs(low), 1.0) * 1e-3
        return np.array([low - half, low + half])
    width = 2 * float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / len(values) ** (1 / 3)
    count = int(np.clip(np.ceil((high - low) / width) if width > 0 else 10, 1, _MOST_BINS))
    return np.linspace(low, high, count + 1)
