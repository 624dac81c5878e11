"""Curves of numbers over time, over frequency, and over each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..core.errors import ParameterError
from .style import DATA, LEGEND, SERIES, axes_or_new, chosen, dots, label, line, logarithmic, style

_MOST_POINTS = 3000
_MOST_LINES, _MOST_NAMES = 60, 9
"""Of a batch, and of components; and those with a name in the legend."""


def panels(
    t: np.ndarray,
    columns: Mapping[str, Mapping[str, np.ndarray]],
    ax: Any = None,
    name: str | None = None,
    **options: Any,
) -> Any:
    """Curves over time, a panel for each unit; `columns`: values (n,) or of a batch (members, n), by name, by unit.

    `ax`: axes, as many as units, or one for all of them; `name`: what the run is called in the legend. Returns one pair
    of axes, or an array of them.
    """
    units = list(columns)
    with style():
        axes = _axes(ax, len(units))
        for one, unit in zip(axes, units, strict=True):
            here = _joined(columns) if len(set(axes)) == 1 and len(units) > 1 else columns[unit]
            _lines(one, t, here, name, **options)
            one.set_ylabel(label(_axis_label(list(here), unit if len(set(axes)) > 1 or len(units) == 1 else ""), 44))
            if len(set(axes)) == 1:
                break
        axes[-1].set_xlabel("time [s]")
    return axes[0] if len(set(axes)) == 1 else np.array(axes)


def _joined(columns: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {f"{n} [{unit}]" if unit else n: x for unit, named in columns.items() for n, x in named.items()}


def _axes(ax: Any, count: int) -> list[Axes]:
    if ax is None and count > 1:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(count, 1, sharex=True, figsize=(6.4, 1.2 + 1.9 * count), layout="constrained")
        return list(axes)
    if ax is not None and np.size(ax) == count:
        return [axes_or_new(one) for one in np.ravel(ax)]
    if ax is not None and np.size(ax) != 1:
        raise ParameterError(f"there are {count} units: pass that many axes, or one, got {np.size(ax)}.")
    return [axes_or_new(ax if ax is None else np.ravel(ax)[0])] * count


def _axis_label(names: Sequence[str], unit: str) -> str:
    said = names[0] if len(names) == 1 else ""
    stem = {n.rpartition(".")[0] for n in names}
    if len(names) > 1 and len(stem) == 1 and "" not in stem:
        said = stem.pop()
    return f"{said} [{unit}]" if said and unit and "[" not in said[-8:] else said or (f"[{unit}]" if unit else "")


def _lines(axes: Axes, t: np.ndarray, named: Mapping[str, np.ndarray], name: str | None, **options: Any) -> None:
    drawn = len(axes.get_lines())
    for i, (key, values) in enumerate(list(named.items())[:_MOST_LINES]):
        said = " ".join(x for x in ((key if len(named) > 1 else ""), name or "") if x) or key
        if i >= _MOST_NAMES:
            said = f"and {len(named) - i} more" if i == _MOST_NAMES else "_more"
        if values.ndim == 1:
            line(axes, t, values, **{"label": label(said), "color": SERIES[(drawn + i) % len(SERIES)], **options})
            continue
        color = SERIES[(drawn + i) % len(SERIES)]
        for k, member in enumerate(values[:_MOST_LINES]):
            words = label(f"{said}, {len(values)} runs") if k == 0 else None
            given = {"label": words, "alpha": 0.35, "lw": 0.8, "color": color, **options}
            line(axes, t if t.ndim == 1 else t[k], member, **given)
    if len(axes.get_lines()) > 1:
        axes.legend(**LEGEND)
    axes.margins(x=0.01)


def measured_points(axes: Axes, t: np.ndarray, values: np.ndarray, noise: Any, name: str) -> None:
    """Data with bars of one standard deviation, where that is known."""
    with style():
        many = len(t) > 400
        if noise is None or many:
            at = chosen(values, _MOST_POINTS)
            dots(axes, t[at], values[at], DATA, 2.2 if many else 3.5, label(name))
        else:
            spread = np.broadcast_to(np.asarray(noise, float), values.shape)
            bars: Any = dict(elinewidth=0.6, capsize=1.2, ms=3.5, zorder=1)
            axes.errorbar(t, values, spread, fmt=".", color=DATA, label=label(name), **bars)
        axes.legend(**LEGEND)


def amplitudes(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and the amplitudes of sines of these, by Hann's window; at equal distances between the first
    time and the last."""
    good = np.isfinite(y)
    t, y = t[good], y[good]
    if len(t) < 8 or t[-1] <= t[0]:
        raise ParameterError(f"a spectrum needs 8 samples or more at different times, got {len(t)}.")
    even = np.linspace(t[0], t[-1], len(t))
    values = np.interp(even, t, y)
    window = np.hanning(len(even) + 1)[:-1]
    found = np.abs(np.fft.rfft((values - np.mean(values)) * window)) * 2 / np.sum(window)
    return np.fft.rfftfreq(len(even), even[1] - even[0])[1:], found[1:]


def spectrum(t: np.ndarray, y: np.ndarray, name: str, unit: str, ax: Any = None, said: str | None = None) -> Axes:
    with style():
        axes = axes_or_new(ax)
        frequencies, sizes = amplitudes(t, y)
        drawn = len(axes.get_lines())
        axes.plot(frequencies, sizes, label=label(said or name), color=SERIES[drawn % len(SERIES)])
        if np.any(sizes > 0):
            logarithmic(axes)
        axes.set_xlabel("frequency [Hz]")
        axes.set_ylabel(label(f"amplitude of {name}" + (f" [{unit}]" if unit else ""), 44))
        if drawn:
            axes.legend(**LEGEND)
        axes.margins(x=0.01)
    return axes


def phase(x: np.ndarray, y: np.ndarray, names: tuple[str, str], ax: Any = None, said: str | None = None) -> Axes:
    """One quantity over another, with a dot where it begins."""
    with style():
        axes = axes_or_new(ax, 4.6, 4.2)
        drawn = len(axes.get_lines()) // 2
        color = SERIES[drawn % len(SERIES)]
        axes.plot(x, y, color=color, label=label(said or "motion"))
        axes.plot(x[:1], y[:1], "o", color=color, ms=4)
        axes.set_xlabel(label(names[0], 44))
        axes.set_ylabel(label(names[1], 44))
        if drawn or said:
            axes.legend(**LEGEND)
    return axes


def over_time(
    t: np.ndarray, named: Mapping[str, np.ndarray], title: str, ax: Any = None, log: bool = False, steps: bool = False
) -> Axes:
    """Several numbers of one kind."""
    with style():
        axes = axes_or_new(ax)
        for i, (name, values) in enumerate(named.items()):
            shown = np.where(values > 0, values, np.nan) if log else values
            color = SERIES[i % len(SERIES)]
            axes.plot(t, shown, label=label(name), color=color, drawstyle="steps-post" if steps else "default")
        if log and any(np.any(values > 0) for values in named.values()):
            logarithmic(axes)
        axes.set_xlabel("time [s]")
        axes.set_ylabel(title)
        if len(axes.get_lines()) > 1:
            axes.legend(**LEGEND)
        axes.margins(x=0.01)
    return axes
