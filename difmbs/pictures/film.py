"""Motions as a film without a browser: a GIF, or an MP4 where ffmpeg is installed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter, PillowWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..core.errors import ParameterError
from ..core.formatting import plain
from .packing import Run
from .sketch import COLORS, draw_trails, limits, sketch

FILMS = (".gif", ".mp4")
_DOTS, _INCHES = 100, 6.4


def film(
    runs: Sequence[Run], kind: str, seconds: float, title: str, unit: str = "s", legend: Any = None, loads: bool = True
) -> bytes:
    """The bytes of a file of a kind, with a picture for each time of the first run.

    `seconds` it lasts; `legend`: what colours mean.
    """
    if kind == ".mp4" and not FFMpegWriter.isAvailable():
        raise ParameterError("an .mp4 needs the program ffmpeg, which is not installed. Write a .gif or .html instead.")
    scenes = [run.scene for run in runs]
    (left, right), (low, high) = _joined([limits(scene) for scene in scenes])
    shape = (high - low) / (right - left)
    width = _INCHES if shape < 1 else max(_INCHES / shape, 0.4 * _INCHES)
    height = float(np.clip(width * shape, 0.3 * _INCHES, _INCHES))
    figure = Figure(figsize=(round(width, 2), round(height + 0.35, 2)), dpi=_DOTS)
    FigureCanvasAgg(figure)
    count = len(scenes[0].times)
    rate = int(np.clip(round(count / max(seconds, 0.1)), 1, 50))
    writer = (PillowWriter if kind == ".gif" else FFMpegWriter)(fps=rate)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"film{kind}"
        with writer.saving(figure, str(path), _DOTS):
            for k in range(count):
                figure.clear()
                axes = figure.add_axes((0, 0, 1, height / (height + 0.35)))
                for run in runs:
                    # Another run may have ended, or have other times.
                    i = int(np.clip(np.searchsorted(run.scene.times, scenes[0].times[k]), 0, len(run.scene.times) - 1))
                    tints = {part: COLORS(float(x[i])) for part, x in run.colors.items()}
                    sketch(axes, run.scene, i, names=False, loads=loads, alpha=run.alpha, tints=tints)
                    draw_trails(axes, run.scene, run.trails, i, run.alpha)
                axes.set_xlim(left, right)
                axes.set_ylim(low, high)
                figure.text(0.02, 0.985, _said(runs, k, title, unit, legend), va="top", fontsize=8, parse_math=False)
                writer.grab_frame()
        return path.read_bytes()


def _said(runs: Sequence[Run], k: int, title: str, unit: str, legend: Any) -> str:
    """Title, time, what the runs are called, numbers, and what colours mean."""
    lines = [f"{title}   t = {runs[0].scene.times[k]:.4g} {unit}".strip()]
    if len(runs) > 1:
        lines.append("; ".join(f"{run.label} ({'solid' if run.alpha == 1 else 'pale'})" for run in runs))
    elif runs[0].label:
        lines.append(runs[0].label)
    lines += [f"{name}: {x[k]:.5g}" for name, x in runs[0].values.items()]
    if legend is not None:
        lines.append(f"{legend['label']}: {legend['low']:.4g} dark to {legend['high']:.4g} bright")
    return "\n".join(plain(line) for line in lines)


def _joined(every: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> tuple[tuple[float, float], ...]:
    across, above = (np.array([x[i] for x in every]) for i in range(2))
    return tuple((float(x[:, 0].min()), float(x[:, 1].max())) for x in (across, above))
