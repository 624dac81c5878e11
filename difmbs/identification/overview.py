"""What there is in the data of a fit, beside what the start values predict: for people, before the search."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..core.units import si_of
from ..dynamics import output_units
from .experiments import AbstractExperiment, Experiment
from .failures import reason
from .fit_problem import ExperimentGroup, SampleRange, flat
from .hints import about_start, before, of_start, rows, texts
from .noise import rows_of
from .predictions import MotionPrediction
from .setup import FitSetup


@dataclasses.dataclass(frozen=True)
class Extent:
    """One channel, or an input of an experiment: so many samples, from which to which number, in SI units, and the
    predictions at the start; NaN where these are not known. `times`: of an input, its first and its last."""

    experiment: str
    name: str
    kind: str
    unit: str
    samples: int
    least: float
    most: float
    predicted_least: float = np.nan
    predicted_most: float = np.nan
    times: tuple[float, float] | None = None

    def __str__(self) -> str:
        what = f"input '{self.name}'" if self.kind == "input" else f"'{self.name}'"
        count = f"{self.samples} {'points' if self.kind == 'input' else 'samples'}"
        said = f"{what}: {count} from {self.least:.4g} to {self.most:.4g}{f' {self.unit}' if self.unit else ''}"
        if self.times is not None:
            return f"{said}, given from {self.times[0]:.6g} to {self.times[1]:.6g} s"
        if not np.isfinite(self.predicted_least):
            return f"{said}, not predicted"
        return f"{said}, predicted from {self.predicted_least:.4g} to {self.predicted_most:.4g}"


@dataclasses.dataclass(frozen=True)
class Times:
    """Of an experiment in seconds; `apart`: the median of the intervals, `uniform`: whether all of them are so."""

    experiment: str
    count: int
    first: float
    last: float
    apart: float
    uniform: bool

    def __str__(self) -> str:
        about = "" if self.uniform else "about "
        span = f"{self.count} times from {self.first:.6g} to {self.last:.6g} s"
        return f"{self.experiment}: {span}, {about}{self.apart:.4g} s apart"


@dataclasses.dataclass(frozen=True)
class Overview:
    """`vibrations`: the lowest and the highest frequency [Hz] of the model about the start, if there are any;
    `failures`: why an experiment could not be predicted."""

    times: tuple[Times, ...]
    extents: tuple[Extent, ...]
    vibrations: tuple[float, float] | None
    failures: tuple[str, ...]
    hints: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        by_name = {times.experiment: str(times) for times in self.times}
        for name in dict.fromkeys(extent.experiment for extent in self.extents):
            yield by_name.get(name, f"{name}:")
            yield from (f"  {extent}" for extent in self.extents if extent.experiment == name)
        if self.vibrations is not None:
            low, high = self.vibrations
            yield f"the model vibrates about the start at {low:.4g}{f' to {high:.4g}' if high > low else ''} Hz"
        yield from self.failures
        yield from (f"hint: {hint}" for hint in self.hints)


def overview(setup: FitSetup) -> Overview:
    """Makes one simulation, unless the times are so far from the model's that it would take long."""
    values = jnp.asarray(setup.unknowns.start)
    hints, failures = before(setup, values, thorough=True), []
    absurd = any(hint.channel is None for hint in hints)
    extents: list[Extent] = []
    problem = setup.problem(setup.first_noise())
    held_out = setup.weighted_validation(setup.first_noise())
    parts = (setup.experiments, problem.groups, setup.places), (setup.validation, held_out, setup.held_out_places)
    for experiments, groups, places in parts:
        predictions = _unknown(groups) if absurd else _predicted(groups, values)
        extents += _extents(setup, experiments, groups, places, predictions)
        if absurd:
            continue
        failures += _failures(experiments, groups, places, predictions, values)
        hints += of_start(rows(experiments, groups, places, predictions), setup) if not failures else []
    if absurd:
        failures.append("not simulated, because the times and the model do not fit together")
    known = (*setup.experiments, *setup.validation)
    times = tuple(_times(e) for e in known if isinstance(e, Experiment))
    moving = [about_start(group, values) for group in setup.groups if isinstance(group.program, MotionPrediction)]
    all_rates = np.concatenate([*moving, np.zeros(0)]) / (2 * np.pi)
    vibrations = (float(all_rates.min()), float(all_rates.max())) if all_rates.size else None
    return Overview(times, tuple(extents), vibrations, tuple(failures), texts(hints))


def _predicted(groups: tuple[ExperimentGroup, ...], values: Any) -> np.ndarray:
    found = [np.asarray(_flat(group, values)) for group in groups]
    return np.concatenate([*found, np.zeros(0)])


def _unknown(groups: tuple[ExperimentGroup, ...]) -> np.ndarray:
    return np.full(sum(x.size for group in groups for x in group.measured.values()), np.nan)


@eqx.filter_jit
def _flat(group: ExperimentGroup, values: Any) -> Any:
    return flat(group, group.predict(values))


def _times(experiment: Experiment) -> Times:
    apart = np.diff(experiment.times)
    usual = float(np.median(apart))
    uniform = bool(np.all(np.abs(apart - usual) <= 1e-3 * usual))
    first, last = experiment.times[[0, -1]].tolist()
    return Times(experiment.name, experiment.times.size, first, last, usual, uniform)


def _extents(
    setup: FitSetup,
    experiments: tuple[AbstractExperiment, ...],
    groups: tuple[ExperimentGroup, ...],
    places: tuple[SampleRange, ...],
    predictions: np.ndarray,
) -> list[Extent]:
    found = []
    for row in sorted(rows(experiments, groups, places, predictions), key=lambda r: experiments.index(r.experiment)):
        channel, counts = row.experiment.channels[row.channel], np.isfinite(row.measured)
        known = row.predicted[np.isfinite(row.predicted)]
        predicted = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
        unit = si_of(output_units.of_output(setup.system, channel.output or row.channel))
        ends = float(np.nanmin(row.measured)), float(np.nanmax(row.measured))
        found.append(Extent(row.experiment.name, row.channel, "channel", unit, int(counts.sum()), *ends, *predicted))
    for experiment in experiments:
        for name, function in experiment.inputs.items():
            x, ends = np.asarray(function.values), np.asarray(function.times)[[0, -1]].tolist()
            extent = Extent(experiment.name, name, "input", "", len(x), float(x.min()), float(x.max()))
            found.append(dataclasses.replace(extent, times=(ends[0], ends[1])))
    return found


def _failures(
    experiments: tuple[AbstractExperiment, ...],
    groups: tuple[ExperimentGroup, ...],
    places: tuple[SampleRange, ...],
    predictions: np.ndarray,
    values: Any,
) -> list[str]:
    """Reasons why experiments cannot be predicted wholly."""
    members = {member: (group, row) for group in groups for row, member in enumerate(group.members)}
    failed: dict[int, str] = {}
    for place, predicted, _, weights in rows_of(groups, places, predictions):
        missing = ~np.isfinite(predicted) & (weights > 0)
        if np.any(missing) and place.experiment not in failed:
            group, row = members[place.experiment]
            experiment, at = experiments[place.experiment], int(np.argwhere(missing)[0][0])
            said = reason(group.only(row), values, experiment)
            failed[place.experiment] = (
                f"{experiment.name} cannot be predicted from sample {at} of '{place.channel}' on: {said}"
            )
    return list(failed.values())
