"""What was measured: time series, static displacements, frequencies and damping ratios."""

import abc
import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, ClassVar

import numpy as np

from ..core.errors import ParameterError, counted, did_you_mean
from ..core.parameters import as_array, is_numbers, show
from ..core.reprs import listed, times
from ..dynamics.outputs import component_of, output_shape
from ..elements.piecewise import Piecewise
from ..files.columns import Column, column_of, times_of, unit_in
from ..files.tables import read_table
from ..search.run_settings import RunSettings
from ..system.system import System
from .channels import Channel, in_window, measured
from .predictions import AbstractPrediction, ModalPrediction, MotionPrediction, StaticPrediction


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
        self.data = {key: measured(name, key, data[key], channel) for key, channel in self.channels.items()}
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
    def program(self, settings: RunSettings, delays: Mapping[str, tuple[float, float]]) -> AbstractPrediction:
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
        """Shapes of data that fit what the channels measure."""

    def plot(self, channel: str | None = None, *, ax: Any = None) -> Any:
        """What a channel has measured, None: the first one, with bars of its noise; returns the axes."""
        from .fit_plots import plot_experiment

        return plot_experiment(self, channel, ax)

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
    state; `window`: samples before the first and after the second of these times do not count, None: all do.
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
        window: tuple[float | None, float | None] = (None, None),
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
        for channel, numbers in self.data.items():
            if len(numbers) != self.times.size:
                raise ParameterError(
                    f"experiment '{name}': channel '{channel}' has {len(numbers)} samples at {self.times.size} times."
                )
        kept = in_window(name, self.times, window)
        self.channels = {key: how.at(kept) for key, how in self.channels.items()}
        self.data = {key: numbers[kept] for key, numbers in self.data.items()}
        self.times = self.times[kept]
        if not self.times[0] >= self.t0:
            raise ParameterError(
                f"experiment '{name}': the first time {self.times[0]} is before the start t0 = {t0}. Let t0 be that "
                "time, or leave out what is before t0 with window=(t0, None)."
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
        time_unit: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        delimiter: str = ",",
        decimal: str = ".",
        skip: int = 0,
        units_row: bool = False,
        encoding: str = "utf-8",
        **rest: Any,
    ) -> "Experiment":
        """A motion from a file of comma-separated values.

        **Arguments:** `path` of the file, whose first row names the columns; `channels`: how its columns were measured;
        `time`: the column of times; `time_scale` and `time_unit` turn them into seconds; `inputs`: functions of time as
        in `Experiment`, or the names of their columns, or `Column`s, which have a scale and a unit; `delimiter`,
        `decimal`, `skip`, `units_row`, `encoding`: as in `read_table`; the others as in `Experiment`, which gets the
        name of the file.
        """
        dialect: Any = dict(delimiter=delimiter, decimal=decimal, skip=skip, units_row=units_row, encoding=encoding)
        table, known = read_table(path, time=time, missing="drop", **dialect), {"name": FilePath(path).stem} | rest
        scale = as_array(time_scale)
        if not is_numbers(scale) or scale.shape != () or not 0 < scale < np.inf:
            raise ParameterError(f"experiment '{known['name']}': time_scale must be > 0, got {show(time_scale)}.")
        times, data, described = times_of(table, time, float(scale), time_unit), {}, {}
        for name, how in channels.items():
            column = how.column or name
            data[name] = column_of(table, column, how.missing)
            described[name] = how.in_unit(unit_in(table, column, how.scale, how.unit))
        points = {}
        for key, what in (inputs or {}).items():
            what = Column(what) if isinstance(what, str) else what
            points[key] = what.function(table, times) if isinstance(what, Column) else what
        return cls(times, data, described, inputs=points, **known)

    def program(self, settings: RunSettings, delays: Mapping[str, tuple[float, float]]) -> AbstractPrediction:
        channels = tuple((n, c.output or n, c.component, delays.get(n)) for n, c in self.channels.items())
        return MotionPrediction(channels, tuple(self.times.tolist()), self.t0, settings)

    @property
    def extent(self) -> str:
        return times(self.times)

    def shapes(self, system: System) -> dict[str, tuple[int, ...]]:
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
    def extent(self) -> str:
        return counted(self.cases, "case")

    def shapes(self, system: System) -> dict[str, tuple[int, ...]]:
        return _output_shapes(self, system, self.cases)

    def program(self, settings: RunSettings, delays: Mapping[str, tuple[float, float]]) -> AbstractPrediction:
        return StaticPrediction(tuple((n, c.output or n, c.component, None) for n, c in self.channels.items()))


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
    def extent(self) -> str:
        return counted(len(self.numbers), "mode")

    def shapes(self, system: System) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(self.channels, (len(self.numbers),))

    def program(self, settings: RunSettings, delays: Mapping[str, tuple[float, float]]) -> AbstractPrediction:
        channels = tuple((n, c.output or n, None, None) for n, c in self.channels.items())
        return ModalPrediction(channels, self.numbers, self.loaded)


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
