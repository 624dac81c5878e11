"""How measurements are predicted: a simulation, equilibria or vibrations, compiled once for many experiments."""

import abc
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..analysis.modes import modes
from ..analysis.statics import static_equilibrium
from ..core.errors import ParameterError, SimulationError
from ..core.parameters import ParameterPath
from ..dynamics.outputs import component_of
from ..search.run_settings import RunSettings
from ..system.system import System

_MOST_NODES = 1_000_000
CHANNEL_PARAMETERS = ("gain", "bias", "delay")


ChannelSpec = tuple[str, str, Any, tuple[float, float] | None]
"""Name, output, component, and the range of the delay if there is one."""


@dataclasses.dataclass(frozen=True)
class AbstractPrediction(abc.ABC):
    """The part of an experiment that is compiled: experiments with equal programs run side by side."""

    channels: tuple[ChannelSpec, ...]

    @abc.abstractmethod
    def outputs(self, system: System, loads: Mapping[ParameterPath, Any], delays: Mapping[str, Any]) -> dict[str, Any]:
        """What is measured by each channel, before gain and bias."""

    @abc.abstractmethod
    def raise_if_failed(self, system: System, loads: Mapping[ParameterPath, Any]) -> None:
        """Of one experiment that cannot be predicted: raises the `SimulationError` that says why, if that is known."""

    def predict(
        self, system: System, loads: Mapping[ParameterPath, Any], sensors: Mapping[ParameterPath, Any]
    ) -> dict[str, Any]:
        delays = {name: sensors[name, "delay"] for name, *_, span in self.channels if span is not None}
        outputs = self.outputs(system, loads, delays)
        return {n: sensors[n, "gain"] * x + sensors[n, "bias"] for n, x in outputs.items()}

    def counts(self, channel: str, shape: tuple[int, ...]) -> np.ndarray:
        """Which samples can be predicted at all."""
        return np.ones(shape, bool)


@dataclasses.dataclass(frozen=True)
class MotionPrediction(AbstractPrediction):
    """A simulation with outputs at the times of the samples."""

    times: tuple[float, ...]
    t0: float
    settings: RunSettings

    def outputs(self, system: System, loads: Mapping[ParameterPath, Any], delays: Mapping[str, Any]) -> dict[str, Any]:
        nodes = self._nodes()
        union = np.asarray(sorted({*self.times, *nodes}))
        solution = self.motion(system, union, throw=False)
        at_samples, at_nodes = np.searchsorted(union, self.times), np.searchsorted(union, nodes)
        read = {output: solution[output] for output in dict.fromkeys(output for _, output, *_ in self.channels)}
        found = {}
        for name, output, component, span in self.channels:
            values = component_of(output, read[output], component)
            if span is None:
                found[name] = values[at_samples]
            else:
                late = jnp.asarray(self.times) - delays[name]
                found[name] = _interpolated(values[at_nodes], (late - nodes[0]) / (nodes[1] - nodes[0]))
        return found

    def raise_if_failed(self, system: System, loads: Mapping[ParameterPath, Any]) -> None:
        solution = self.motion(system, np.asarray(self.times), throw=True)
        if solution.status == "event":
            time = float(solution.stats["time"])
            raise SimulationError(f"an event of the model ends the simulation at t = {time:.6g}.", "event", time)

    def motion(self, system: System, times: np.ndarray, throw: bool) -> Any:
        """The solution at these times."""
        return self.settings.simulate(system, t0=self.t0, t1=float(times[-1]), saveat=times, throw=throw)

    def counts(self, channel: str, shape: tuple[int, ...]) -> np.ndarray:
        span = next(span for name, *_, span in self.channels if name == channel)
        if span is None:
            return np.ones(shape, bool)
        begun = np.asarray(self.times) - span[1] >= self.t0
        return np.broadcast_to(begun.reshape(-1, *(1 for _ in shape[1:])), shape)

    def _nodes(self) -> np.ndarray:
        """Equally spaced times, four to the shortest interval of samples, on which late signals are interpolated."""
        spans = [span for *_, span in self.channels if span is not None]
        if not spans:
            return np.zeros(0)
        first = max(self.t0, self.times[0] - max(upper for _, upper in spans))
        last = self.times[-1] - min(lower for lower, _ in spans)
        # Interpolation takes six of them.
        count = max(int(np.ceil((last - first) / (np.min(np.diff(self.times)) / 4))), 5)
        if count > _MOST_NODES:
            raise ParameterError(
                f"to shift late signals by interpolation takes {count} times, because two samples are only "
                f"{np.min(np.diff(self.times)):g} s apart. Leave one of them out."
            )
        return first + (last - first) / count * np.arange(count + 1)


@dataclasses.dataclass(frozen=True)
class StaticPrediction(AbstractPrediction):
    """Equilibria, one for each case of load."""

    def outputs(self, system: System, loads: Mapping[ParameterPath, Any], delays: Mapping[str, Any]) -> dict[str, Any]:
        def one(loads):
            rest = static_equilibrium(_loaded(system, loads), throw=False)
            return {
                name: component_of(output, rest[output], component, 0) for name, output, component, _ in self.channels
            }

        if loads:
            return jax.vmap(one)(dict(loads))
        return jax.tree.map(lambda x: x[None], one({}))

    def raise_if_failed(self, system: System, loads: Mapping[ParameterPath, Any]) -> None:
        for case in range(len(next(iter(loads.values()))) if loads else 1):
            static_equilibrium(_loaded(system, {path: load[case] for path, load in loads.items()}))


@dataclasses.dataclass(frozen=True)
class ModalPrediction(AbstractPrediction):
    """Natural vibrations about a state at rest."""

    numbers: tuple[int, ...]
    loaded: bool

    def outputs(self, system: System, loads: Mapping[ParameterPath, Any], delays: Mapping[str, Any]) -> dict[str, Any]:
        rest = static_equilibrium(system, throw=False).q if self.loaded else None
        found = modes(system, q=rest, count=max(self.numbers) + 1, throw=False).only(*self.numbers)
        known = {"frequency": found.frequencies, "damping_ratio": found.damping_ratios}
        return {name: known[output] for name, output, *_ in self.channels}

    def raise_if_failed(self, system: System, loads: Mapping[ParameterPath, Any]) -> None:
        modes(system, q=static_equilibrium(system).q if self.loaded else None, count=max(self.numbers) + 1)


def _loaded(system: System, loads: Mapping[ParameterPath, Any]) -> System:
    """The system in one case of load; each load has its numbers, and which entries of the parameter they are."""
    params: Any = system.params()
    known = {path: functools.reduce(lambda tree, key: tree[key], path, params) for path in loads}
    return system.with_values({path: jnp.where(x[1] > 0, x[0], known[path]) for path, x in loads.items()})


def _interpolated(values: Any, place: Any) -> Any:
    """Values between equally spaced ones, through the six that are nearest: the error falls with the sixth power."""
    first = jnp.clip(jnp.floor(place).astype(int) - 2, 0, values.shape[0] - 6)
    s = place - first.astype(place.dtype)
    total = jnp.zeros(())
    for i in range(6):
        factor = jnp.ones_like(s)
        for j in range(6):
            if j != i:
                factor = factor * (s - j) / (i - j)
        total = total + factor.reshape(-1, *(1 for _ in values.shape[1:])) * values[first + i]
    return total
