"""From what the user gives - a system, experiments, unknowns - to a least-squares problem."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import ParameterPath, flatten
from ..search.run_settings import RunSettings
from ..search.scaling import Scaling, floats
from ..search.unknowns import Target, Unknowns, changed, resolve
from ..system.system import System
from .channel_units import check_unit
from .experiments import AbstractExperiment, StaticTest
from .fit_problem import ExperimentGroup, FitProblem, SampleRange
from .predictions import CHANNEL_PARAMETERS, AbstractPrediction, MotionPrediction
from .recorded_inputs import with_inputs
from .segments import Segmentation, cut
from .time_steps import with_steps


@dataclasses.dataclass(frozen=True)
class FitSetup:
    """A fit before it is made. `experiments` are those that count, `validation` those that are only predicted."""

    system: System
    params: dict[ParameterPath, np.ndarray]
    experiments: tuple[AbstractExperiment, ...]
    validation: tuple[AbstractExperiment, ...]
    unknowns: Unknowns
    scaling: Scaling
    groups: tuple[ExperimentGroup, ...]
    """Without weights."""
    places: tuple[SampleRange, ...]
    held_out: tuple[ExperimentGroup, ...]
    held_out_places: tuple[SampleRange, ...]
    loss: str
    estimated: tuple[str, ...]
    """The channels whose noise is to be estimated."""
    segments: int
    cuts: tuple[Segmentation | None, ...]
    """Segmentation of the time series of each group."""
    remarks: tuple[str, ...] = ()
    """What was chosen for the user."""
    mesh: Any = None
    """The devices over which experiments are spread during the search; None: the usual one."""

    def first_noise(self) -> dict[str, float]:
        """Where the noise is not known, as if there were nothing else in the data."""
        data = {n: [e.data[n] for e in self.experiments if n in e.data] for n in self.estimated}
        spread = {n: float(np.nanstd(np.concatenate([x.reshape(-1) for x in rows]))) for n, rows in data.items()}
        return {n: x if x > 0 else 1.0 for n, x in spread.items()}

    def problem(self, noise: Mapping[str, float]) -> FitProblem:
        groups = tuple(_weighted(group, self.experiments, noise) for group in self.groups)
        if self.mesh is not None:
            groups = tuple(group.on(self.mesh) for group in groups)
        unknowns, scaling = self.unknowns, self.scaling
        known = np.isfinite(unknowns.prior_deviation)
        return FitProblem(
            groups=groups,
            scaling=scaling,
            lower=floats(scaling.inverse(unknowns.lower)),
            upper=floats(scaling.inverse(unknowns.upper)),
            prior_mean=floats(np.where(known, unknowns.prior_mean, 0)),
            prior_weight=floats(np.where(known, 1 / unknowns.prior_deviation, 0)),
            has_prior=bool(np.any(known)),
            loss=self.loss,
        )

    def weighted_validation(self, noise: Mapping[str, float]) -> tuple[ExperimentGroup, ...]:
        """Where the noise of what is only predicted is not known either, it counts as 1."""
        named = {n: 1.0 for e in self.validation for n in e.channels} | dict(noise)
        return tuple(_weighted(group, self.validation, named) for group in self.held_out)

    @property
    def start(self) -> np.ndarray:
        return floats(self.scaling.inverse(self.unknowns.start))


def set_up_fit(
    system: System,
    experiments: Sequence[AbstractExperiment],
    unknowns: Mapping[str, Any],
    settings: RunSettings,
    loss: str,
    segments: int,
    chooses_steps: bool,
) -> FitSetup:
    fitted = tuple(e for e in experiments if not e.validation)
    held_out = tuple(e for e in experiments if e.validation)
    names = [e.name for e in experiments]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"there are {names.count(name)} experiments '{name}'. Give each a name of its own.")
    if not fitted:
        raise ParameterError("there is no experiment to fit: pass at least one that is not for validation.")
    params = {path: np.asarray(x) for path, x in flatten(system.params()).items()}
    sensors = _sensors(experiments, params)
    found = resolve(unknowns, params | sensors, tuple(e.name for e in fitted))
    _check_outputs(system, experiments)
    builder = _GroupBuilder(system, params, sensors, found, settings)
    start = jnp.asarray(floats(found.start))
    groups, places = builder.groups(fitted, found.targets)
    groups, remarks = with_steps(groups, fitted, start) if chooses_steps else (groups, ())
    # What experiments have of their own cannot be known of those that are not fitted: they keep the values of the
    # model.
    common = tuple(_with_slots(t, t.slots[0]) for t in found.targets if len(set(t.slots)) == 1)
    validation, held_out_places = builder.groups(held_out, common)
    validation, of_validation = with_steps(validation, held_out, start) if chooses_steps else (validation, ())
    channels = dict.fromkeys(n for e in fitted for n in e.channels)
    estimated = tuple(n for n in channels if any(n in e.channels and e.noise(n) is None for e in fitted))
    scaling = Scaling.of(found)
    setup = FitSetup(
        system,
        params | sensors,
        fitted,
        held_out,
        found,
        scaling,
        groups,
        places,
        validation,
        held_out_places,
        loss,
        estimated,
        segments,
        _cuts(system, groups, fitted, segments),
        (*remarks, *of_validation),
    )
    check_samples(setup, fitted)
    return setup


def check_samples(setup: FitSetup, experiments: Sequence[AbstractExperiment]) -> None:
    """Where the noise is not known, samples beyond those that determine the unknowns have to tell it."""
    samples = sum(int(np.sum(np.isfinite(x))) for e in experiments for x in e.data.values())
    unknowns = int(np.sum(~np.isfinite(setup.unknowns.prior_deviation)))
    if setup.estimated and samples <= unknowns:
        raise ParameterError(
            f"{samples} samples for {unknowns} unknowns leave nothing that would tell the noise. Give "
            f"Channel(noise=...) for '{setup.estimated[0]}'."
        )


def _cuts(
    system: System, groups: Sequence[ExperimentGroup], experiments: Sequence[AbstractExperiment], segments: int
) -> Any:
    if segments > 1 and system.structure.events:
        raise ParameterError(
            "the model has events, with which there can be no segments: what happened before a segment is not known. "
            "Leave out segments."
        )
    return tuple(
        cut(experiments[group.members[0]].name, group.program, segments)
        if segments > 1 and isinstance(group.program, MotionPrediction)
        else None
        for group in groups
    )


def _sensors(
    experiments: Sequence[AbstractExperiment], params: Mapping[ParameterPath, Any]
) -> dict[ParameterPath, np.ndarray]:
    """Gain, bias and delay of each channel, which may be unknowns like parameters of the model."""
    found: dict[ParameterPath, np.ndarray] = {}
    for channel in dict.fromkeys(n for e in experiments for n in e.channels):
        for parameter in CHANNEL_PARAMETERS:
            if (channel, parameter) in params:
                raise ParameterError(
                    f"'{channel}.{parameter}' is a parameter of the model: give the channel another name."
                )
            found[channel, parameter] = np.zeros(())
    return found


def _check_outputs(system: System, experiments: Sequence[AbstractExperiment]) -> None:
    known: dict[Any, dict[str, tuple[int, ...]]] = {}
    for experiment in experiments:
        # Of many experiments that measure the same one is enough.
        asked = (
            type(experiment),
            experiment.samples,
            *((n, c.output, c.component, c.unit) for n, c in experiment.channels.items()),
        )
        if asked not in known:
            known[asked] = experiment.shapes(system)
        for name, shape in known[asked].items():
            data = experiment.data[name].shape
            if data != shape:
                raise ParameterError(
                    f"experiment '{experiment.name}': the data of channel '{name}' have shape {data}, what it measures "
                    f"has shape {shape}. Channel(component=...) chooses an entry."
                )
            channel = experiment.channels[name]
            try:
                check_unit(system, channel.output or name, channel.unit)
            except ParameterError as error:
                raise ParameterError(f"experiment '{experiment.name}': channel '{name}': {error}") from None


class _GroupBuilder:
    """From experiments to groups of those that run the same program."""

    def __init__(
        self,
        system: System,
        params: Mapping[ParameterPath, np.ndarray],
        sensors: Mapping[ParameterPath, np.ndarray],
        unknowns: Unknowns,
        settings: RunSettings,
    ):
        self.system, self.unknowns, self.settings = system, unknowns, settings
        self.params, self.of_channels = {**params, **sensors}, set(sensors)
        self.delays = self._delays()

    def _delays(self) -> dict[str, tuple[float, float]]:
        spans = {}
        for target in self.unknowns.targets:
            if target.path[-1] == "delay" and target.path in self.of_channels:
                rows = sorted({slot for row in target.slots for slot in row})
                bounds = np.concatenate([self.unknowns.lower[rows], self.unknowns.upper[rows]])
                bounds = target.factor * bounds + target.offset
                lower, upper = bounds.min(), bounds.max()
                if not (np.isfinite(lower) and np.isfinite(upper)):
                    raise ParameterError(
                        f"'{'.'.join(target.path)}': give a delay as mbs.Interval(start, lower, upper), with bounds "
                        "in seconds."
                    )
                spans[target.path[0]] = (float(lower), float(upper))
        return spans

    def groups(
        self, experiments: tuple[AbstractExperiment, ...], targets: tuple[Target, ...]
    ) -> tuple[tuple[ExperimentGroup, ...], tuple[SampleRange, ...]]:
        alike: dict[Any, list[tuple[int, _SingleExperiment]]] = {}
        for number, experiment in enumerate(experiments):
            single = self._single(number, experiment, targets)
            shapes = tuple((p, x.shape) for p, x in {**single.given, **single.loads}.items())
            key = (
                single.program,
                single.system.structure,
                shapes,
                tuple((n, x.shape) for n, x in single.measured.items()),
            )
            alike.setdefault(key, []).append((number, single))
        groups, places, row = [], [], 0
        for members in alike.values():
            groups.append(_joined(*zip(*members, strict=True)))
            for number, group in members:
                for channel, *_ in group.program.channels:
                    shape = group.measured[channel].shape[1:]
                    size = int(np.prod(shape))
                    places.append(SampleRange(number, channel, slice(row, row + size), shape))
                    row += size
        return tuple(groups), tuple(places)

    def _single(self, number: int, experiment: AbstractExperiment, targets: tuple[Target, ...]) -> "_SingleExperiment":
        where = f"experiment '{experiment.name}': "
        system, inputs = with_inputs(where, self.system, experiment.inputs)
        params = {**self.params, **inputs, **_of_channels(experiment), **self.unknowns.fixed}
        given = {path: value for path, (value, _) in changed(experiment.params, params, where).items()}
        self._check_conflicts(where, experiment, params, targets)
        delays = dict(self.delays)
        for name in experiment.channels:
            for parameter in CHANNEL_PARAMETERS:
                given.setdefault((name, parameter), params[name, parameter])
            late = float(given[name, "delay"])
            if late != 0:
                delays.setdefault(name, (late, late))
        for path in (*self.unknowns.fixed, *inputs, *(t.path for t in targets)):
            given.setdefault(path, params[path])
        # Gains, biases and delays of channels that the experiment does not have.
        foreign = {path for path in self.of_channels if path[0] not in experiment.channels}
        mine = [t for t in targets if t.path not in foreign]
        slots = tuple(np.asarray([t.slots[number if len(t.slots) > 1 else 0]]) for t in mine)
        given = {path: x for path, x in given.items() if path not in foreign}
        loads = _loads(where, experiment, params | given) if isinstance(experiment, StaticTest) else {}
        return _SingleExperiment(
            system,
            {path: np.asarray(x)[None] for path, x in given.items()},
            {path: x[None] for path, x in loads.items()},
            slots,
            {n: experiment.data[n][None] for n in experiment.channels},
            experiment.program(self.settings, {n: delays[n] for n in experiment.channels if n in delays}),
            tuple(_with_slots(t) for t in mine),
        )

    def _check_conflicts(self, where, experiment, params, targets) -> None:
        taken = {(t.path, entry) for t in targets for entry in t.entries}
        for key, value in experiment.params.items():
            for path, (_, entries) in changed({key: value}, params, where).items():
                if any((path, entry) in taken for entry in entries):
                    raise ParameterError(
                        f"{where}'{key}' is given, but is also an unknown. Leave one out, or make the unknown one "
                        "of each "
                        "experiment with own=True."
                    )


def _of_channels(experiment: AbstractExperiment) -> dict[ParameterPath, np.ndarray]:
    return {
        (name, parameter): np.asarray(float(getattr(channel, parameter)))
        for name, channel in experiment.channels.items()
        for parameter in CHANNEL_PARAMETERS
    }


def _with_slots(target: Target, *slots: tuple[int, ...]) -> Target:
    return dataclasses.replace(target, slots=slots)


class _SingleExperiment(NamedTuple):
    """One experiment as an `ExperimentGroup` of its own, on the host; arrays have an axis of experiments."""

    system: System
    given: dict[ParameterPath, np.ndarray]
    loads: dict[ParameterPath, np.ndarray]
    slots: tuple[np.ndarray, ...]
    measured: dict[str, np.ndarray]
    program: AbstractPrediction
    targets: tuple[Target, ...]


def _joined(numbers: tuple[int, ...], singles: tuple[_SingleExperiment, ...]) -> ExperimentGroup:
    first = singles[0]
    arrays = [(s.given, s.loads, s.slots, s.measured) for s in singles]
    joined = jax.tree.map(lambda *x: jax.device_put(np.concatenate(x)), *arrays)
    given, loads, slots, measured = joined
    return ExperimentGroup(first.system, given, loads, slots, measured, {}, first.program, first.targets, numbers)


def _weighted(
    group: ExperimentGroup, experiments: tuple[AbstractExperiment, ...], noise: Mapping[str, float]
) -> ExperimentGroup:
    weights: dict[str, list[np.ndarray]] = {name: [] for name, *_ in group.program.channels}
    for number in group.members:
        experiment = experiments[number]
        for name, rows in weights.items():
            data, known = experiment.data[name], experiment.noise(name)
            deviation = noise[name] if known is None else known
            counts = np.isfinite(data) & group.program.counts(name, data.shape)
            rows.append(np.where(counts, np.sqrt(experiment.weight) / deviation, 0))
    stacked = {name: jax.device_put(np.stack(rows)) for name, rows in weights.items()}
    return dataclasses.replace(group, weights=stacked)


def _loads(
    where: str, experiment: StaticTest, params: Mapping[ParameterPath, np.ndarray]
) -> dict[ParameterPath, np.ndarray]:
    """The parameters that differ between cases, with an axis of cases: their numbers, and which entries they are."""
    cases = [changed({k: v[i] for k, v in experiment.loads.items()}, params, where) for i in range(experiment.cases)]

    def chosen(value, entries):
        mask = np.zeros(value.size)
        mask[list(entries)] = 1
        return np.stack([value, mask.reshape(value.shape)])

    return {path: np.stack([chosen(*case[path]) for case in cases]) for path in cases[0]}
