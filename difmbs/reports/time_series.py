"""Time series of data and fit, with what the residuals look like."""

import numpy as np
from matplotlib.axes import Axes

from ..core.formatting import short
from ..core.markup import Html, figure
from ..identification.experiments import Experiment
from ..plots.curves import amplitudes
from ..plots.inline_svg import Drawing
from ..plots.style import DATA, FIT, HELD_OUT, QUIET, chosen, dots, label, line, logarithmic, new_figure, style
from .samples import Samples

ENTRIES = 6
"""Largest number of components of one channel that are drawn."""
_COLUMNS = 3
_FOR_SPECTRA, _LINES = 32, 400
"""Samples that a spectrum takes at least, and frequencies that are drawn of it."""


def series(drawing: Drawing, samples: Samples, most: int) -> Html:
    """Data against fit over time with the residuals beneath, their distribution and their autocorrelation."""
    several = len(samples.entries) > 1
    with style():
        picture = _several(drawing, samples, most) if several else _single(drawing, samples, most)
        beside = _behaviour(drawing, samples) if several else ""
        beneath = _spectra(drawing, samples)
    return figure(Html(picture + beside + beneath), _caption(samples, most))


def _caption(samples: Samples, most: int) -> str:
    words = ["Dots: data; line: " + ("prediction." if samples.held_out else "fit.")]
    words.append("Residuals are data less fit in standard deviations of the noise; the band is ±2.")
    count = len(samples.measured)
    if count >= _FOR_SPECTRA:
        words.append("At the bottom their amplitudes over frequency.")
    if count > most:
        words.append(f"Of {count} samples about {most} are drawn: the smallest and the largest of each stretch.")
    if len(samples.entries) > ENTRIES:
        words.append(f"Of {len(samples.entries)} components the first {ENTRIES} are drawn.")
    lost = samples.residuals.size - samples.counted.size
    if lost:
        words.append(f"{lost} of {samples.residuals.size} samples are missing or do not count.")
    if samples.experiment.weight != 1:
        words.append(f"In the fit the experiment counts {samples.experiment.weight:g} times.")
    return " ".join(words)


def _single(drawing: Drawing, samples: Samples, most: int) -> Html:
    whole = new_figure(8.4, 4.1)
    # Two columns that are laid out by themselves.
    columns = whole.add_gridspec(1, 2, width_ratios=[2.7, 1])
    left = columns[0].subgridspec(2, 1, height_ratios=[1.7, 1])
    right = columns[1].subgridspec(2, 1, height_ratios=[1.2, 1])
    above, below = whole.add_subplot(left[0]), whole.add_subplot(left[1])
    above.sharex(below)
    _motion(above, samples, 0, most)
    above.legend(loc="best", handlelength=1.2)
    above.tick_params(labelbottom=False)
    _residuals(below, samples, 0, most)
    below.set_xlabel("time [s]")
    below.set_ylabel("residual [σ]")
    _distribution(whole.add_subplot(right[0]), samples.counted)
    _autocorrelation(whole.add_subplot(right[1]), samples.residuals)
    return drawing.svg(whole, f"data, fit and residuals of {samples.title}")


def _several(drawing: Drawing, samples: Samples, most: int) -> Html:
    shown = min(len(samples.entries), ENTRIES)
    columns = min(shown, _COLUMNS)
    rows = -(-shown // columns)
    whole = new_figure(8.4, 2.9 * rows)
    grid = whole.add_gridspec(2 * rows, columns, height_ratios=[1.7, 1] * rows)
    for i in range(shown):
        row, column = divmod(i, columns)
        above, below = whole.add_subplot(grid[2 * row, column]), whole.add_subplot(grid[2 * row + 1, column])
        above.sharex(below)
        _motion(above, samples, i, most)
        above.set_ylabel("")
        unit = f" [{samples.unit}]" if samples.unit else ""
        above.set_title(label(f"{samples.channel} {samples.entries[i]}{unit}"))
        above.tick_params(labelbottom=False)
        _residuals(below, samples, i, most)
        below.set_ylabel("residual [σ]" if column == 0 else "")
        below.set_xlabel("time [s]")
    return drawing.svg(whole, f"data, fit and residuals of {samples.title}")


def _behaviour(drawing: Drawing, samples: Samples) -> Html:
    whole = new_figure(8.4, 1.9)
    axes = whole.subplots(1, 2)
    _distribution(axes[0], samples.counted)
    _autocorrelation(axes[1], samples.residuals)
    return drawing.svg(whole, f"distribution and autocorrelation of the residuals of {samples.title}")


def _spectra(drawing: Drawing, samples: Samples) -> Html:
    """Of data, fit and residuals of the first entry, if there are enough samples."""
    assert isinstance(samples.experiment, Experiment)
    times, data, fit = samples.experiment.times, samples.measured[:, 0], samples.predicted[:, 0]
    counts = np.isfinite(data) & np.isfinite(fit)
    if np.sum(counts) < _FOR_SPECTRA:
        return Html("")
    whole = new_figure(8.4, 2.1)
    axes = whole.add_subplot()
    word = "prediction" if samples.held_out else "fit"
    curves = {
        "data": (data, DATA),
        word: (fit, HELD_OUT if samples.held_out else FIT),
        "data less it": (data - fit, QUIET),
    }
    for name, (y, color) in curves.items():
        frequencies, sizes = _thinned(*amplitudes(times[counts], y[counts]))
        axes.plot(frequencies, np.where(sizes > 0, sizes, np.nan), color=color, lw=1.0, label=name)
    if any(np.any(np.asarray(x.get_ydata()) > 0) for x in axes.get_lines()):
        logarithmic(axes)
    axes.legend(loc="upper right", ncols=3, handlelength=1.2)
    axes.set_xlabel("frequency [Hz]")
    axes.set_ylabel(label(f"amplitude{f' [{samples.unit}]' if samples.unit else ''}", 30))
    axes.margins(x=0.01)
    return drawing.svg(whole, f"spectra of {samples.title}")


def _thinned(frequencies: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest of neighbours, where there are many."""
    each = -(-len(sizes) // _LINES)
    count = len(sizes) // each * each
    rows = sizes[:count].reshape(-1, each)
    return frequencies[:count].reshape(-1, each)[np.arange(len(rows)), rows.argmax(axis=1)], rows.max(axis=1)


def _motion(axes: Axes, samples: Samples, entry: int, most: int) -> None:
    assert isinstance(samples.experiment, Experiment)
    times, data, fit = samples.experiment.times, samples.measured[:, entry], samples.predicted[:, entry]
    at, curve = chosen(data, most), chosen(fit, most)
    dots(axes, times[at], data[at], color=DATA, label="data")
    color = HELD_OUT if samples.held_out else FIT
    line(axes, times[curve], fit[curve], color=color, label="prediction" if samples.held_out else "fit")
    unit = f" [{samples.unit}]" if samples.unit else ""
    axes.set_ylabel(label(f"{samples.channel}{unit}", 30))
    axes.margins(x=0.01)


def _residuals(axes: Axes, samples: Samples, entry: int, most: int) -> None:
    assert isinstance(samples.experiment, Experiment)
    times, off = samples.experiment.times, samples.residuals[:, entry]
    at = chosen(off, most)
    axes.axhspan(-2, 2, color="#eef3f8", zorder=0)
    axes.axhline(0, color=QUIET, lw=0.8)
    dots(axes, times[at], off[at], color=DATA, size=2.2)
    size = float(np.nanmax(np.abs(off))) if np.any(np.isfinite(off)) else 0.0
    axes.set_ylim(-max(1.1 * size, 2.6), max(1.1 * size, 2.6))
    axes.margins(x=0.01)


def _distribution(axes: Axes, off: np.ndarray) -> None:
    """Histogram, with the normal distribution of the same size."""
    axes.set_title("distribution of residuals")
    axes.grid(visible=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    rms = float(np.sqrt(np.mean(off**2))) if off.size else 0.0
    if rms == 0:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "all residuals are 0", ha="center", va="center", transform=axes.transAxes, color=QUIET)
        return
    bins = int(np.clip(np.sqrt(off.size) * 1.5, 8, 40))
    axes.hist(np.clip(off / rms, -4, 4), bins=bins, range=(-4, 4), density=True, color="#c9d3dd")
    x = np.linspace(-4, 4, 81)
    axes.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=FIT, lw=1.2)
    beyond = int(np.sum(np.abs(off) > 4 * rms))
    more = f", {beyond} beyond" if beyond else ""
    axes.set_xlabel(f"residual / {short(rms, 3)} σ{more}")


def _autocorrelation(axes: Axes, residuals: np.ndarray) -> None:
    axes.set_title("autocorrelation")
    correlations, pairs = autocorrelation(residuals)
    band = 1.96 / np.sqrt(max(pairs, 1))
    axes.axhspan(-band, band, color="#eef3f8", zorder=0)
    axes.axhline(0, color=QUIET, lw=0.8)
    lags = np.arange(1, len(correlations) + 1)
    axes.vlines(lags, 0, correlations, color=DATA, lw=1.6)
    axes.set_xlabel("lag [samples]")
    size = float(np.max(np.abs(correlations), initial=0.0))
    axes.set_ylim(-max(0.4, 1.1 * size), max(0.4, 1.1 * size))


def autocorrelation(residuals: np.ndarray, most: int = 40) -> tuple[np.ndarray, int]:
    """From lag 1 on, along the first axis, of all entries together; and the number of pairs at lag 1."""
    count = min(most, len(residuals) // 4)
    known = np.isfinite(residuals)
    x = np.where(known, residuals, 0.0)
    power = np.sum(x**2) / max(np.sum(known), 1)
    found = []
    for lag in range(1, count + 1):
        pairs = np.sum(known[lag:] & known[:-lag])
        found.append(np.sum(x[lag:] * x[:-lag]) / pairs / power if pairs and power > 0 else 0.0)
    return np.array(found), int(np.sum(known[1:] & known[:-1]))
