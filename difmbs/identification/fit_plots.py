"""What a fit and its experiments show when they are plotted."""

from typing import Any

import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import show
from ..dynamics.output_units import of_output, with_unit
from ..plots.curves import measured_points
from ..plots.notebook import cell_output, picture_of
from ..plots.style import FIT, HELD_OUT, LEGEND, axes_or_new, label, line, style
from .experiments import AbstractExperiment, Experiment, ModalTest


def plot_experiment(record: AbstractExperiment, channel: str | None, ax: Any, unit: str = "") -> Any:
    """Data of a channel, None: of the first one, with bars of the noise."""
    name = _known("channel", channel, list(record.data))
    axes = axes_or_new(ax)
    x, values = _where(record), record.data[name].reshape(record.samples, -1)
    noise = record.noise(name)
    spread = None if noise is None else noise.reshape(record.samples, -1)
    for i in range(values.shape[1]):
        said = f"{name}, measured" if values.shape[1] == 1 else f"{name}[{i}], measured"
        measured_points(axes, x, values[:, i], None if spread is None else spread[:, i], said)
    with style():
        axes.set_xlabel("time [s]" if isinstance(record, Experiment) else "sample")
        axes.set_ylabel(label(with_unit(name, unit), 44))
    return axes


def plot_fit(fit: Any, channel: str | None, experiment: str | None, ax: Any) -> Any:
    """Measured and fitted values of a channel of an experiment, None: of the first ones; `fit`: a `Fit`."""
    known = {e.name: (e, p, FIT, "fit") for e, p in zip(fit.experiments, fit.predicted, strict=True)}
    held_out = zip(fit.setup.validation, fit.predicted_validation, strict=True)
    known |= {e.name: (e, p, HELD_OUT, "prediction") for e, p in held_out}
    record, predicted, color, word = known[_known("experiment", experiment, list(known))]
    name = _known("channel", channel, list(record.data))
    output = record.channels[name].output or name
    unit = "" if isinstance(record, ModalTest) else of_output(fit.setup.system, output)
    axes = plot_experiment(record, name, ax, unit)
    x, values = _where(record), np.asarray(predicted[name]).reshape(record.samples, -1)
    with style():
        for i in range(values.shape[1]):
            said = f"{name}, {word}" if values.shape[1] == 1 else f"{name}[{i}], {word}"
            if isinstance(record, Experiment):
                line(axes, x, values[:, i], color=color, label=label(said))
            else:
                axes.plot(x, values[:, i], "x", color=color, label=label(said))
        axes.legend(**LEGEND)
        axes.margins(x=0.01)
    return axes


def fit_cell(fit: Any) -> str:
    """What a notebook shows of a `Fit`."""
    intervals = fit.interval()
    rows = [
        (name, *(f"{x:.7g}" for x in (fit.values[name], fit.standard_errors[name], *intervals[name], fit.start[name])))
        for name in fit.names
    ]
    head = ("unknown", "value", "standard error", "95 % from", "to", "start")
    title = f"Fit: {fit.status}. {fit.verdict.text}"
    return cell_output(title, rows, head, picture_of(lambda axes: plot_fit(fit, None, None, axes)))


def _where(record: AbstractExperiment) -> np.ndarray:
    return record.times if isinstance(record, Experiment) else np.arange(record.samples)


def _known(what: str, name: str | None, names: list[str]) -> str:
    if name is None:
        return names[0]
    if name not in names:
        raise ParameterError(f"there is no {what} {show(name)}. {did_you_mean(name, names)}")
    return name
