"""Questions about the data where they do not fit the model in a way that mistakes in units and zeros make them.

They are asked as early as they can be known: what the data say by themselves, and their times against the model's,
before anything is simulated; the rest when the start values have been.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.units import si_of, unit_of
from ..dynamics import output_units
from .comparisons import correlation, lag, moves_at_start, ratio, spread
from .experiments import AbstractExperiment, Experiment
from .fit_problem import ExperimentGroup, SampleRange
from .noise import rows_of
from .predictions import MotionPrediction
from .setup import FitSetup
from .time_scale import vibrations

_FEWEST_LATE = 0.5
"""Sampling intervals: less is no delay."""
_FEWEST = 10
"""Samples of which a few things can be said."""
_THOUSANDTH, _THOUSAND = (1 / 3000, 1 / 300), (300, 3000)
_DEGREES, _PER_DEGREE = (57.3 / 1.1, 57.3 * 1.1), (1 / (57.3 * 1.1), 1.1 / 57.3)
_OF_CHANNELS = (
    (_THOUSAND, 1e-3, "in millimetres or the like"),
    (_THOUSANDTH, 1e3, "in thousands of the SI unit"),
    (_DEGREES, np.pi / 180, "in degrees"),
)
"""Where measured over predicted is: the factor that the channel may need, and what to ask."""
_OF_INPUTS = (
    (_THOUSANDTH, 1e-3, "in millimetres or the like"),
    (_THOUSAND, 1e3, "in thousands of the SI unit"),
    (_PER_DEGREE, np.pi / 180, "in degrees"),
)
_G = unit_of("g").factor
_IN_G = (0.6 / _G, 1.7 / _G)
_NAMES = {("m", 1e-3): "mm", ("rad", np.pi / 180): "deg", ("N", 1e3): "kN", ("m/s^2", _G): "g"}
"""Units that a factor may stand for."""
_OR_MODEL = ". Or are lengths or masses of the model not in SI units?"
_OPPOSITE, _ALIKE = -0.9, 0.9
"""Correlations of series that differ by their sign, and of such as do not."""
_CONSTANT = 5
"""An offset is so many times as large as what it varies by, and as the noise."""
_SLOW = 0.05
"""Samples that are closer than this [s] are not taken for samples at milliseconds."""
_SHORT = 0.02
"""Records that are longer than this [s] are not taken for records whose times were divided by a thousand."""
_WITHIN = 20
"""A record is to last a part of so many of the fastest period at least."""


@dataclasses.dataclass(frozen=True)
class Hint:
    """A question about an experiment, or about one of its channels."""

    experiment: str
    channel: str | None
    text: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One channel of one experiment: entries along the second axis, NaN where a sample does not count."""

    experiment: AbstractExperiment
    channel: str
    measured: np.ndarray
    predicted: np.ndarray

    @property
    def where(self) -> str:
        return f"{self.experiment.name}, '{self.channel}'"

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        return self.measured, self.predicted

    @property
    def is_series(self) -> bool:
        """Whether it has samples enough to say something about how they vary in time."""
        return isinstance(self.experiment, Experiment) and len(self.measured) >= _FEWEST


def rows(
    experiments: Sequence[AbstractExperiment],
    groups: Sequence[ExperimentGroup],
    places: Sequence[SampleRange],
    predictions: Any,
) -> list[Row]:
    found = []
    for place, predicted, measured, weights in rows_of(groups, places, predictions):
        two = [np.where(weights > 0, x, np.nan).reshape(len(x), -1) for x in (measured, predicted)]
        found.append(Row(experiments[place.experiment], place.channel, *two))
    return found


def before(setup: FitSetup, values: Any, thorough: bool = False) -> list[Hint]:
    """What can be asked without a simulation; `thorough`: also where there is little reason to."""
    sets = (setup.groups, setup.experiments), (setup.held_out, setup.validation)
    found = [hint for _, experiments in sets for experiment in experiments for hint in _of_noise(experiment)]
    for group, experiments in ((group, experiments) for groups, experiments in sets for group in groups):
        first = experiments[group.members[0]]
        if isinstance(first, Experiment) and isinstance(group.program, MotionPrediction) and (thorough or _odd(first)):
            vibrating = about_start(group, values)
            found += [hint for m in group.members for hint in _of_times(experiments[m], vibrating)]
    return found


def about_start(group: ExperimentGroup, values: Any) -> np.ndarray:
    """The angular frequencies of the vibrations about the start of the first experiment of a group."""
    assert isinstance(group.program, MotionPrediction)
    known: list[np.ndarray] = []
    t0 = group.program.t0

    def look(system: Any, *_: Any) -> Any:
        known.append(vibrations(system, t0))
        return jnp.zeros(())

    group.only(0).each(values, look)
    return known[0]


def of_start(found: Iterable[Row], setup: FitSetup) -> list[Hint]:
    """What the predictions of the start values make one ask: about inputs first, which explain all channels."""
    found = list(found)
    hints: list[Hint] = []
    for experiment in dict.fromkeys(row.experiment for row in found):
        mine = [row for row in found if row.experiment is experiment]
        about_inputs = _of_inputs(experiment, mine)
        about_delays = [_of_delay(row, setup) for row in mine]
        # What is alike but for a shift in time rests at its start for another reason.
        about_rest = [] if any(about_delays) else _of_rest(experiment, mine)
        hints += about_inputs or about_rest
        for row, about_delay in zip(mine, about_delays, strict=True):
            # Of several channels that are wrong by the same factor not each is: one question at a time.
            about_units = [] if about_inputs and len(mine) > 1 else list(_of_units(row, setup))
            if about_units or about_rest:
                hints += about_units
            else:
                hints += _of_offset(row, setup) or _of_sign(row, about_inputs) or about_delay
    return hints


def _of_noise(experiment: AbstractExperiment) -> Iterable[Hint]:
    for name, data in experiment.data.items():
        noise, known = experiment.noise(name), data[np.isfinite(data)]
        if noise is not None and known.size >= _FEWEST and 0 < np.ptp(known) < np.min(noise):
            yield Hint(
                experiment.name,
                name,
                f"{experiment.name}, '{name}': the noise, {np.min(noise):.4g}, is larger than the whole range of the "
                f"data, {np.ptp(known):.4g}: is it in SI units?",
            )


def _odd(experiment: Experiment) -> bool:
    """Whether the times may be in another unit, by themselves."""
    return bool(np.median(np.diff(experiment.times)) > _SLOW or np.ptp(experiment.times) < _SHORT)


def _of_times(experiment: AbstractExperiment, vibrating: np.ndarray) -> Iterable[Hint]:
    if not isinstance(experiment, Experiment) or not vibrating.size:
        return
    apart, lasting = float(np.median(np.diff(experiment.times))), float(experiment.times[-1] - experiment.t0)
    slowest, fastest = (2 * np.pi / float(x) for x in (vibrating.min(), vibrating.max()))
    if apart > slowest / 2:
        yield Hint(
            experiment.name,
            None,
            f"{experiment.name}: samples are {apart:.4g} s apart, and the slowest vibration of the model has a period "
            f'of {slowest:.4g} s: are the times in milliseconds? Then they need time_unit = "ms"',
        )
    elif lasting < fastest / _WITHIN:
        yield Hint(
            experiment.name,
            None,
            f"{experiment.name}: all samples are within {lasting:.4g} s, and the fastest vibration of the model has a "
            f"period of {fastest:.4g} s: are the times in seconds already? Then leave out time_unit or time_scale",
        )


def _of_inputs(experiment: AbstractExperiment, mine: Sequence[Row]) -> list[Hint]:
    """Questions where what varies is wrong by the same factor in all channels. That an input is too small,
    one cannot tell."""
    series = [row for row in mine if row.is_series]
    if not experiment.inputs or not series:
        return []
    ratios = [ratio(*row.both, spread) for row in series]
    everywhere = ", in all channels" if len(ratios) > 1 else ""
    for (low, high), factor, asked in _OF_INPUTS:
        if all(low <= ratio <= high for ratio in ratios) and (factor < 1 or len(ratios) > 1):
            varies = f"what varies is {ratios[0]:.4g} times what the start values predict{everywhere}"
            return [
                Hint(
                    experiment.name,
                    None,
                    f"{experiment.name}: {varies}: is input '{name}', {_range(function)} in SI units, {asked}? Then "
                    f"it has to be multiplied by {factor:.6g}, with scale{_of_length(factor)}",
                )
                for name, function in experiment.inputs.items()
            ]
    if len(series) > 1 and all(correlation(*row.both) < _OPPOSITE for row in series):
        return [
            Hint(
                experiment.name,
                None,
                f"{experiment.name}: in all channels measured is the opposite of what the start values predict: does "
                f"input '{name}' count in the other direction? Then it needs scale = -1",
            )
            for name in experiment.inputs
        ]
    return []


def _of_rest(experiment: AbstractExperiment, mine: Sequence[Row]) -> list[Hint]:
    """A question about a model that moves at once, where what was measured rests."""
    series = [row for row in mine if row.is_series]
    if not series or not all(moves_at_start(*row.both) for row in series):
        return []
    return [
        Hint(
            experiment.name,
            None,
            f"{experiment.name}: what was measured rests in the beginning, and the model moves at once: is it in "
            "equilibrium at its start? Look at masses, lengths, gravity and initial positions, all in SI units; "
            "simulate without inputs shows where it goes, static_equilibrium where it rests",
        )
    ]


def _of_length(factor: float) -> str:
    return ' or unit = "mm"' if factor == 1e-3 else ' or unit = "deg"' if factor < 1 else ""


def _range(function: Any) -> str:
    values = np.asarray(function.values)
    return f"from {values.min():.4g} to {values.max():.4g}"


def _of_units(row: Row, setup: FitSetup) -> Iterable[Hint]:
    times = ratio(*row.both)
    for (low, high), factor, asked in _OF_CHANNELS:
        if low <= times <= high:
            said = f"measured is {times:.4g} times what the start values predict: {asked}?"
            text = f"{row.where}: {said} Then {_remedy(row, setup, factor)}"
            yield Hint(row.experiment.name, row.channel, f"{text}{_OR_MODEL}")
    times = ratio(*row.both, spread)
    if _unit(row, setup) == "m/s^2" and _IN_G[0] <= times <= _IN_G[1] and correlation(*row.both) > _ALIKE:
        said = f"what varies is {times:.4g} times what the start values predict: in g?"
        yield Hint(row.experiment.name, row.channel, f"{row.where}: {said} Then {_remedy(row, setup, _G)}")


def _of_one_size(row: Row) -> bool:
    """Whether what varies is about as large as predicted: the rest may be rounding."""
    return bool(0.1 < ratio(*row.both, spread) < 10)


def _of_sign(row: Row, about_inputs: Sequence[Hint]) -> list[Hint]:
    if about_inputs or not row.is_series or not _of_one_size(row) or correlation(*row.both) > _OPPOSITE:
        return []
    text = (
        f"{row.where}: measured is the opposite of what the start values predict: does the sensor count in the other "
        "direction, or an axis of the model? Then the channel needs scale = -1"
    )
    return [Hint(row.experiment.name, row.channel, f"{text}{', or an input does' if row.experiment.inputs else ''}")]


def _of_delay(row: Row, setup: FitSetup) -> list[Hint]:
    experiment = row.experiment
    if not row.is_series or not isinstance(experiment, Experiment) or f"{row.channel}.delay" in setup.unknowns.names:
        return []
    apart = np.diff(experiment.times)
    if np.ptp(apart) > 0.1 * np.median(apart):
        return []
    late = lag(*row.both) * float(np.median(apart)) if _of_one_size(row) else 0.0
    if abs(late) < _FEWEST_LATE * np.median(apart):
        return []
    delay = experiment.channels[row.channel].delay + late
    if abs(delay) < _FEWEST_LATE * np.median(apart):
        return []
    ends = sorted((0.0, 2 * delay))
    text = (
        f"{row.where}: measured comes {abs(late):.4g} s {'later' if late > 0 else 'earlier'} than what the start "
        "values predict, and is alike otherwise: a delay, or another start of the record? Then the channel needs "
        f"delay = {delay:.4g}, or an unknown '{row.channel}.delay' such as mbs.Interval({delay:.4g}, {ends[0]:.4g}, "
        f"{ends[1]:.4g})"
    )
    return [Hint(experiment.name, row.channel, text)]


def _remedy(row: Row, setup: FitSetup, factor: float) -> str:
    channel = row.experiment.channels[row.channel]
    scale = factor * channel.scale
    if channel.unit is not None:
        if np.isclose(scale * unit_of(channel.unit).factor, 1):
            return "the channel needs neither unit nor scale"
        return f'the channel needs scale = {scale:.6g} beside unit = "{channel.unit}"'
    known = _NAMES.get((_unit(row, setup), factor))
    named = f', or unit = "{known}"' if known and channel.scale == 1 else ""
    return f"the channel needs scale = {scale:.6g}{named}"


def _unit(row: Row, setup: FitSetup) -> str:
    """The SI unit of what a channel measures, without its prefixes; "" where it is not known."""
    return si_of(output_units.of_output(setup.system, row.experiment.channels[row.channel].output or row.channel))


def _of_offset(row: Row, setup: FitSetup) -> list[Hint]:
    if not isinstance(row.experiment, Experiment) or f"{row.channel}.bias" in setup.unknowns.names:
        return []
    found = []
    noise, bias = row.experiment.noise(row.channel), row.experiment.channels[row.channel].bias
    for i, (measured, predicted) in enumerate(zip(row.measured.T, row.predicted.T, strict=True)):
        off = (measured - predicted)[np.isfinite(measured - predicted)]
        if off.size < _FEWEST:
            continue
        mean, least = float(np.mean(off)), max(np.std(off), 0 if noise is None else float(np.max(noise)))
        if abs(mean) > _CONSTANT * least and abs(mean) > np.nanstd(measured):
            entry = "" if row.measured.shape[1] == 1 else f"[{i}]"
            text = (
                f"{row.where}{entry}: measured is {abs(mean):.4g} {'less' if mean < 0 else 'more'} than predicted, "
                f"nearly constant ({mean:.4g} +- {np.std(off):.2g}): a bias, or another zero? Then the channel needs "
                f"bias = {bias + mean:.4g}, or an unknown '{row.channel}.bias'. Or does the model rest elsewhere: are "
                "masses, gravity and free lengths right?"
            )
            found.append(Hint(row.experiment.name, row.channel, text))
    return found


def texts(hints: Iterable[Hint], bad: Mapping[str, set[str]] | None = None) -> tuple[str, ...]:
    """The questions; if `bad` is given, only those about its experiments and their channels."""
    asked = [h for h in hints if bad is None or (h.experiment in bad and h.channel in (None, *bad[h.experiment]))]
    return tuple(dict.fromkeys(hint.text for hint in asked))
