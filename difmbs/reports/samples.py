"""What was measured and what was predicted, channel by channel, for the pages."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ..dynamics import output_units
from ..identification.experiments import AbstractExperiment, ModalTest
from ..identification.fit import Fit
from ..identification.fit_problem import ExperimentGroup, SampleRange
from ..identification.uncertainty import Residuals


@dataclasses.dataclass(frozen=True)
class Samples:
    """One channel of one experiment: `measured`, `predicted` and `residuals`, (measured - predicted) in standard
    deviations, which are NaN where a sample does not count; samples along the first axis, entries along the second.

    `entries`: what each entry is called, "" if there is one only; `found`: how the residuals behave, None if no sample
    counts.
    """

    experiment: AbstractExperiment
    channel: str
    measured: np.ndarray
    predicted: np.ndarray
    residuals: np.ndarray
    entries: tuple[str, ...]
    unit: str
    held_out: bool
    found: Residuals | None

    @property
    def title(self) -> str:
        return f"{self.experiment.name}: {self.channel}"

    @property
    def rms(self) -> float:
        return 0.0 if self.found is None else self.found.rms

    @property
    def counted(self) -> np.ndarray:
        """All residuals that count."""
        return self.residuals[np.isfinite(self.residuals)]


def fitted_samples(fit: Fit) -> list[Samples]:
    setup = fit.setup
    return _samples(fit, setup.experiments, fit.problem.groups, setup.places, fit.predicted, fit.residuals, False)


def held_out_samples(fit: Fit) -> list[Samples]:
    setup = fit.setup
    groups = setup.weighted_validation(fit.noise)
    predicted = fit.predicted_validation
    return _samples(fit, setup.validation, groups, setup.held_out_places, predicted, fit.validation, True)


def _samples(
    fit: Fit,
    experiments: Sequence[AbstractExperiment],
    groups: Sequence[ExperimentGroup],
    places: Sequence[SampleRange],
    predicted: Sequence[dict[str, np.ndarray]],
    residuals: Sequence[Residuals],
    held_out: bool,
) -> list[Samples]:
    known = {(r.experiment, r.channel): r for r in residuals}
    rows = {member: (group, row) for group in groups for row, member in enumerate(group.members)}
    found = []
    for place in sorted(places, key=lambda place: place.experiment):
        experiment = experiments[place.experiment]
        group, row = rows[place.experiment]
        weights = np.asarray(group.weights[place.channel][row])
        measured, predictions = experiment.data[place.channel], predicted[place.experiment][place.channel]
        with np.errstate(invalid="ignore"):
            off = np.where(weights > 0, weights * (measured - predictions), np.nan) / np.sqrt(experiment.weight)
        output = experiment.channels[place.channel].output or place.channel
        unit = _unit(fit, experiment, output)
        data, model, off = (x.reshape(len(x), -1) for x in (measured, predictions, off))
        names = _entries(unit, measured.shape[1:])
        found.append(
            Samples(
                experiment,
                place.channel,
                data,
                model,
                off,
                names,
                unit,
                held_out,
                known.get((experiment.name, place.channel)),
            )
        )
    return found


def _unit(fit: Fit, experiment: AbstractExperiment, output: str) -> str:
    if isinstance(experiment, ModalTest):
        return "Hz" if output == "frequency" else ""
    return output_units.of_output(fit.setup.system, output)


def _entries(unit: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the entries of an output of this shape."""
    if np.prod(shape, dtype=int) == 1:
        return ("",)
    # What has a unit is known to be a vector in space.
    if unit and shape in ((2,), (3,)):
        return tuple("xyz"[: shape[0]])
    return tuple(f"[{','.join(map(str, index))}]" for index in np.ndindex(*shape))
