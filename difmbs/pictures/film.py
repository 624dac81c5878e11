"""Motions as a film without a browser: a GIF, or an MP4 where ffmpeg is installed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.animation import FFMpegWriter, PillowWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..core.errors import ParameterError
from .packing import Run
from .sketch import limits, sketch

FILMS = (".gif", ".mp4")
_DOTS, _INCHES = 100, 6.4


def film(runs: Sequence[Run], kind: str, seconds: float, title: str, unit: str = "s", loads: bool = True) -> bytes:
    """The bytes of a file of a kind, with one picture for each time of the first run; `seconds` it lasts."""
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
                    sketch(axes, run.scene, i, names=False, loads=loads, alpha=run.alpha)
                axes.set_xlim(left, right)
                axes.set_ylim(low, high)
                said = f"{title}   t = {scenes[0].times[k]:.4g} {unit}".strip()
                figure.text(0.02, 0.985, said, va="top", fontsize=9, parse_math=False)
                writer.grab_frame()
        return path.read_bytes()


def _joined(every: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> tuple[tuple[float, float], ...]:
    across, above = (np.array([x[i] for x in every]) for i in range(2))
    return tuple((float(x[:, 0].min()), float(x[:, 1].max())) for x in (across, above))
