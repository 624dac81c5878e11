"""What was measured: time series, static displacements, frequencies and damping ratios."""

import abc
import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, ClassVar

import jax
import numpy as np

from .._errors import ParameterError, counted, did_you_mean
from .._parameters import as_array, is_numbers, show
from .._shown import listed, of_fields, times
from ..files import Table, read_table
from ..outputs import Outputs, component_of
from ..piecewise import Piecewise
from ..system import System
from .programs import AbstractProgram, Motion, Rest, Settings, Vibration


@dataclasses.dataclass(frozen=True)
class Channel:
    """How a column of numbers was measured: gain * output(t - delay) + bias, plus noise.

    **Arguments:** `output`: a sensor or output variable, such as "tip" or "spring.force", None: the channel's name;
    `component`: which entry of it, None: all; `noise`: standard deviation, one number or one for each sample, None: it
    is estimated; `scale` turns the numbers of the record into SI units; `gain`, `bias` and `delay` [s] of the sensor
    may be unknowns, by the names "channel.gain" and so on; `missing`: whether samples may be NaN, and do not count
    then; `column`, or columns for the entries of a vector, of the file that `from_csv` reads, None: the channel's name.
    """

    output: str | None = None
    component: int | tuple[int, ...] | None = None
    noise: Any = dataclasses.field(default=None, kw_only=True)
    scale: float = dataclasses.field(default=1.0, kw_only=True)
    gain: float = dataclasses.field(default=1.0, kw_only=True)
    bias: float = dataclasses.field(default=0.0, kw_only=True)
    delay: float = dataclasses.field(default=0.0, kw_only=True)
    missing: bool = dataclasses.field(default=False, kw_only=True)
    column: str | tuple[str, ...] | None = dataclasses.field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return of_fields(self)


class AbstractExperiment(abc.ABC):
    """Measured data with all that was different when they were taken.

    `data`: by channel the measured numbers; `channels`: by the same names how they were measured, None: each is the
    sensor of its name with unknown noise; `params`: parameters that were different from the model's, by name, such as
    {"mass.velocity": [0, 0, 1.0]}; `weight`: counts as so many; `validation`: is only predicted, not fitted.
    """

    name: str
    data: dict[str, np.ndarray]
    channels: dict[str, Channel]
    params: dict[str, Any]
    weight: float
    validation: bool
    inputs: Mapping[str, Any]

    def __repr__(self) -> str:
        words = [self.extent, f"channels {listed(self.channels)}"]
        words += [f"inputs {listed(self.inputs)}"] * bool(self.inputs) + ["only predicted"] * self.validation
        return f"{type(self).__name__}({self.name!r}: {', '.join(words)})"

    def _describe(self, name, data, channels, params, weight, validation) -> None:
        self.name = name
        if not isinstance(data, Mapping) or not data:
            raise ParameterError(
                f"experiment '{name}': data must be a dictionary of measured numbers, got {show(data)}."
            )
        given = {} if channels is None else dict(channels)
        for channel in given:
            if channel not in data:
                raise ParameterError(f"experiment '{name}': there are no data of channel '{channel}'. "
                                     f"{did_you_mean(channel, data)}")  # fmt: skip
        self.channels = {key: given.get(key, Channel()) for key in data}
        self.data = {key: _measured(name, key, data[key], channel) for key, channel in self.channels.items()}
        self.params = dict(_dotted({} if params is None else params))
        number = as_array(weight)
        if not is_numbers(number) or number.shape != () or not 0 < number < np.inf:
            raise ParameterError(f"experiment '{name}': weight must be > 0, got {show(weight)}.")
        self.weight, self.validation = float(weight), bool(validation)

    def _refuse_delays(self) -> None:
        for key, channel in self.channels.items():
            if channel.delay != 0:
                raise ParameterError(
                    f"experiment '{self.name}': channel '{key}': where nothing moves there is no delay."
                )

    @abc.abstractmethod
    def program(self, settings: Settings, delays: Mapping[str, tuple[float, float]]) -> AbstractProgram:
        """What has to be compiled; `delays`: the range of each channel's delay, where there is one."""

    @property
    @abc.abstractmethod
    def extent(self) -> str:
        """How much was measured, in words."""

    @property
    def samples(self) -> int:
        """The length of the first axis of all data."""
        return len(next(iter(self.data.values())))

    @abc.abstractmethod
    def shapes(self, system: System) -> dict[str, tuple[int, ...]]:
        """Of the data that fit what the channels measure."""

    def noise(self, channel: str) -> Any:
        """Standard deviation of each sample of a channel; None if it is to be estimated."""
        given = self.channels[channel].noise
        if given is None:
            return None
        noise = as_array(given)
        shape = self.data[channel].shape
        if not is_numbers(noise) or noise.shape not in ((), shape) or not np.all(noise > 0):
            raise ParameterError(
                f"experiment '{self.name}': noise of '{channel}' must be a number > 0, or one for each sample, got "
                f"{show(given)}."
            )
        return np.broadcast_to(np.asarray(noise, float), shape)


class Experiment(AbstractExperiment):
    """Time series of one motion.

    **Arguments:** `times` [s] of the samples, ascending; `data`, `channels`, `params`, `weight`, `validation` as in
    `AbstractExperiment`, with time along the first axis; `inputs`: functions of time that were recorded, by the name of
    the parameter that is one, such as {"drive.load": (times, values)}; `t0`: when the motion starts from the initial
    state.
    """

    def __init__(
        self,
        times: Any,
        data: Mapping[str, Any],
        channels: Mapping[str, Channel] | None = None,
        *,
        name: str = "experiment",
        params: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        t0: float = 0.0,
        weight: float = 1.0,
        validation: bool = False,
    ):
        self._describe(name, data, channels, params, weight, validation)
        ends = as_array(times)
        if not is_numbers(ends) or ends.ndim != 1 or ends.size < 2 or not np.all(np.diff(ends) > 0):
            raise ParameterError(
                f"experiment '{name}': times must be two or more in ascending order, got {show(times)}."
            )
        self.times, self.t0 = np.asarray(ends, float), float(t0)
        if not self.times[0] >= self.t0:
            raise ParameterError(f"experiment '{name}': the first time {self.times[0]} is before the start t0 = {t0}.")
        for channel, numbers in self.data.items():
            if len(numbers) != self.times.size:
                raise ParameterError(
                    f"experiment '{name}': channel '{channel}' has {len(numbers)} samples at {self.times.size} times."
                )
        self.inputs = {key: _points(name, key, what) for key, what in (inputs or {}).items()}

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        channels: Mapping[str, Channel],
        *,
        time: str = "t",
        time_scale: float = 1.0,
        inputs: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> "Experiment":
        """A motion from a file of comma-separated values.

        **Arguments:** `path` of the file, whose first row names the columns; `channels`: how its columns were measured;
        `time`: the column of times; `time_scale` turns them into seconds; `inputs`: functions of time as in
        `Experiment`, or the names of their columns; the others as in `Experiment`, which gets the name of the file.
        """
        table, known = read_table(path, time=time, missing="drop"), {"name": FilePath(path).stem} | rest
        scale = as_array(time_scale)
        if not is_numbers(scale) or scale.shape != () or not 0 < scale < np.inf:
            raise ParameterError(f"experiment '{known['name']}': time_scale must be > 0, got {show(time_scale)}.")
        times = table.column(time) * float(scale)
        data = {name: column_of(table, how.column or name, how.missing) for name, how in channels.items()}
        points = {
            key: (times, column_of(table, what)) if isinstance(what, str) else what
            for key, what in (inputs or {}).items()
        }
        return cls(times, data, channels, inputs=points, **known)

    def program(self, settings, delays):
        channels = tuple((n, c.output or n, c.component, delays.get(n)) for n, c in self.channels.items())
        return Motion(channels, tuple(self.times.tolist()), self.t0, settings)

    @property
    def extent(self):
        return times(self.times)

    def shapes(self, system):
        return _output_shapes(self, system, self.times.size)


class StaticTest(AbstractExperiment):
    """Displacements, forces or other outputs at rest, in one or several cases of load.

    **Arguments:** `data`, `channels`, `params`, `weight`, `validation` as in `AbstractExperiment`, with the cases along
    the first axis; `loads`: parameters that differ between the cases, by name one value for each case, such as
    {"load.load_vector[2]": [0, -10, -20]}; None: there is one case, and the data have no axis of cases.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        channels: Mapping[str, Channel] | None = None,
        *,
        name: str = "static test",
        loads: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        weight: float = 1.0,
        validation: bool = False,
    ):
        if not loads and isinstance(data, Mapping):
            data = {key: [value] for key, value in data.items()}
        self._describe(name, data, channels, params, weight, validation)
        self._refuse_delays()
        self.loads = {key: as_array(value) for key, value in (loads or {}).items()}
        self.inputs = {}
        self.cases = self.samples
        for key, value in {**self.data, **self.loads}.items():
            if not is_numbers(value) or value.ndim == 0 or len(value) != self.cases:
                raise ParameterError(f"experiment '{name}': '{key}' needs a value for each of the {self.cases} cases.")

    @property
    def extent(self):
        return counted(self.cases, "case")

    def shapes(self, system):
        return _output_shapes(self, system, self.cases)

    def program(self, settings, delays):
        return Rest(tuple((n, c.output or n, c.component, None) for n, c in self.channels.items()))


class ModalTest(AbstractExperiment):
    """Natural frequencies [Hz] and damping ratios, of the lowest modes or of the modes with given numbers.

    **Arguments:** `data`: "frequency" or "damping_ratio" or both, one number for each mode; `numbers` of the modes,
    sorted by frequency from 0 on, None: the first ones; `loaded`: whether the vibrations are about the equilibrium
    under the loads instead of about the initial positions; the others as in `AbstractExperiment`.
    """

    _KNOWN: ClassVar[tuple[str, ...]] = ("frequency", "damping_ratio")

    def __init__(
        self,
        data: Mapping[str, Any],
        channels: Mapping[str, Channel] | None = None,
        *,
        name: str = "modal test",
        numbers: Any = None,
        loaded: bool = True,
        params: Mapping[str, Any] | None = None,
        weight: float = 1.0,
        validation: bool = False,
    ):
        self._describe(name, data, channels, params, weight, validation)
        self._refuse_delays()
        self.inputs = {}
        for key, channel in self.channels.items():
            if channel.component is not None:
                raise ParameterError(
                    f"experiment '{name}': channel '{key}': numbers=... chooses modes; leave out component."
                )
            if (channel.output or key) not in self._KNOWN:
                raise ParameterError(
                    f"experiment '{name}': a modal test has no '{key}'. {did_you_mean(key, self._KNOWN)}"
                )
        count = len(next(iter(self.data.values())))
        self.numbers = tuple(range(count)) if numbers is None else tuple(int(n) for n in numbers)
        if any(value.shape != (len(self.numbers),) for value in self.data.values()):
            raise ParameterError(f"experiment '{name}': give one number for each of the {len(self.numbers)} modes.")
        self.loaded = bool(loaded)

    @property
    def extent(self):
        return counted(len(self.numbers), "mode")

    def shapes(self, system):
        return dict.fromkeys(self.channels, (len(self.numbers),))

    def program(self, settings, delays):
        channels = tuple((n, c.output or n, None, None) for n, c in self.channels.items())
        return Vibration(channels, self.numbers, self.loaded)


def column_of(table: Table, names: str | Sequence[str], missing: bool = False) -> np.ndarray:
    """A column of a file, or columns as the entries of a vector; `missing`: whether numbers may be."""
    column = table.column if missing else table.complete_column
    return column(names) if isinstance(names, str) else np.stack([column(name) for name in names], axis=-1)


def output_shape(system: System, output: str) -> tuple[int, ...]:
    """Of an output at one time; refused if the system does not have it."""
    return jax.eval_shape(lambda q, v: Outputs(system, 0.0, q, v)[output], *system.initial_state()).shape


def _output_shapes(experiment: AbstractExperiment, system: System, count: int) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for name, channel in experiment.channels.items():
        output, component = channel.output or name, channel.component
        try:
            shape = (count, *output_shape(system, output))
            shapes[name] = component_of(output, np.broadcast_to(0.0, shape), component).shape
        except ParameterError as error:
            raise ParameterError(f"experiment '{experiment.name}': channel '{name}': {error}") from None
    return shapes


def _measured(experiment: str, channel: str, numbers: Any, how: Channel) -> np.ndarray:
    where = f"experiment '{experiment}': channel '{channel}'"
    if not isinstance(how, Channel):
        raise ParameterError(f"{where} must be described by mbs.Channel(output), got {show(how)}.")
    values = as_array(numbers)
    if not is_numbers(values) or values.ndim == 0:
        raise ParameterError(f"{where} needs an array of numbers, got {show(numbers)}.")
    values = np.asarray(values, float) * how.scale
    bad = ~np.isfinite(values)
    if np.any(bad) and (not how.missing or np.any(np.isinf(values))):
        at = np.argwhere(bad)[0].tolist()
        raise ParameterError(f"{where}: sample {at} is not a finite number. NaN is allowed with Channel(missing=True).")
    if np.all(bad):
        raise ParameterError(f"{where} has no sample that is not missing.")
    return values


def _points(experiment: str, key: str, what: Any) -> Piecewise:
    if isinstance(what, Piecewise):
        return what
    if not isinstance(what, (tuple, list)) or len(what) != 2:
        raise ParameterError(
            f"experiment '{experiment}': input '{key}' must be (times, values) or a mbs.Piecewise, got {show(what)}."
        )
    return Piecewise(*what)


def _dotted(params: Mapping[str, Any], prefix: str = "") -> Any:
    """{"a": {"b": x}} as "a.b", x; dotted names stay as they are."""
    for key, value in params.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
