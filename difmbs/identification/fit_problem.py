"""The least-squares problem of a fit: from unknown numbers to weighted residuals, as one compiled function."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.parameters import ParameterPath
from ..jaxtools.over_devices import over_devices
from ..search.least_squares import AbstractLeastSquares, linearized
from ..search.run_settings import RunSettings
from ..search.scaling import Scaling
from ..search.unknowns import Target, into
from ..system.system import System
from .predictions import CHANNEL_PARAMETERS, AbstractPrediction


class ExperimentGroup(eqx.Module):
    """Experiments that run the same program, side by side: arrays have a leading axis of experiments."""

    system: System
    given: dict[ParameterPath, Any]
    """Parameters that the experiments or the unknowns change, those of channels among them."""
    loads: dict[ParameterPath, Any]
    slots: tuple[Any, ...]
    measured: dict[str, Any]
    weights: dict[str, Any]
    """The reciprocal of the standard deviation; 0 where a sample does not count."""
    program: AbstractPrediction = eqx.field(static=True)
    targets: tuple[Target, ...] = eqx.field(static=True)
    members: tuple[int, ...] = eqx.field(static=True)
    mesh: Any = eqx.field(static=True, default=None)
    """The devices over which the experiments are spread; None: the usual one."""

    def predict(self, values: Any) -> dict[str, Any]:
        """What each channel should have measured."""
        return self.each(values, self.program.predict)

    def only(self, row: int) -> "ExperimentGroup":
        """One of the experiments by itself. All of them run the same program."""
        cut = lambda tree: jax.tree.map(lambda x: x[row : row + 1], tree)
        parts = dict(given=cut(self.given), loads=cut(self.loads), slots=cut(self.slots))
        parts |= dict(measured=cut(self.measured), weights=cut(self.weights), members=(0,))
        return dataclasses.replace(self, **parts)

    @property
    def settings(self) -> RunSettings | None:
        """How it is simulated; None of what is no motion."""
        return getattr(self.program, "settings", None)

    def simulated_with(self, settings: RunSettings) -> "ExperimentGroup":
        """Its motions, simulated otherwise."""
        return dataclasses.replace(self, program=dataclasses.replace(self.program, settings=settings))  # type: ignore

    def each(self, values: Any, function: Callable[..., Any], *more: Any) -> Any:
        """function(system, loads, sensors, ...) of each experiment; `more` have an axis of experiments."""

        def one(common, rows):
            system, values = common
            given, loads, slots, more = rows
            given = into(given, self.targets, values, slots)
            sensors = {
                path: x for path, x in given.items() if path[0] in self.measured and path[1] in CHANNEL_PARAMETERS
            }
            system = system.with_values({p: x for p, x in given.items() if p not in sensors})
            return function(system, loads, sensors, *more)

        common, rows = (self.system, values), (self.given, self.loads, self.slots, more)
        if len(self.members) == 1:
            return jax.tree.map(lambda x: x[None], one(common, jax.tree.map(lambda x: x[0], rows)))
        each = jax.vmap(one, in_axes=(None, 0))
        return each(common, rows) if self.mesh is None else over_devices(self.mesh, each, common, rows)

    def on(self, mesh: Any) -> "ExperimentGroup":
        """Spread over devices, with arrays that every process has."""
        return dataclasses.replace(jax.tree.map(np.asarray, self), mesh=mesh)


class FitProblem(AbstractLeastSquares):
    """Residuals, weighted, of all experiments and of what is known beforehand."""

    groups: tuple[ExperimentGroup, ...]
    scaling: Scaling
    lower: Any
    upper: Any
    prior_mean: Any
    prior_weight: Any
    has_prior: bool = eqx.field(static=True)
    loss: str = eqx.field(static=True)

    @property
    def count(self) -> int:
        return sum(x.size for group in self.groups for x in jax.tree.leaves(group.measured))

    def linearized(self, z: Any) -> tuple[Any, Any, Any]:
        return linearized(self, z)

    def predictions(self, z: Any) -> Any:
        """All samples one after the other: by group, experiment, channel."""
        values = self.scaling.values(z)
        return jnp.concatenate([flat(group, group.predict(values)) for group in self.groups])

    def residuals(self, z: Any) -> tuple[Any, Any]:
        """The residuals, and the predictions."""
        predictions = self.predictions(z)
        return self.weighted(z, predictions), predictions

    def weighted(self, z: Any, predictions: Any) -> Any:
        """The residuals: measured less predicted, in standard deviations."""
        measured = jnp.concatenate([flat(group, group.measured) for group in self.groups])
        weights = jnp.concatenate([flat(group, group.weights) for group in self.groups])
        # Not 0 * NaN: what does not count may not even exist.
        counts = weights > 0
        residuals = jnp.where(counts, weights * (jnp.where(counts, measured, 0) - jnp.where(counts, predictions, 0)), 0)
        residuals = LOSSES[self.loss](residuals)
        if self.has_prior:
            prior = (self.prior_mean - self.scaling.values(z)) * self.prior_weight
            residuals = jnp.concatenate([residuals, prior])
        return residuals


def flat(group: ExperimentGroup, channels: Mapping[str, Any]) -> Any:
    rows = [channels[name].reshape(len(group.members), -1) for name, *_ in group.program.channels]
    return jnp.concatenate(rows, axis=1).reshape(-1)


def _smooth(f):
    """A function of r^2 that is r^2 where that is small, as one of r whose square it is."""

    def root(r):
        square = r * r
        small = square < 1e-12
        return r * jnp.where(small, 1, jnp.sqrt(f(jnp.where(small, 1, square)) / jnp.where(small, 1, square)))

    return root


LOSSES = {
    "linear": lambda r: r,
    "soft_l1": _smooth(lambda s: 2 * (jnp.sqrt(1 + s) - 1)),
    "huber": _smooth(lambda s: jnp.where(s <= 1, s, 2 * jnp.sqrt(jnp.maximum(s, 1)) - 1)),
    "cauchy": _smooth(jnp.log1p),
}
"""Functions of a residual in standard deviations; all but the first let large ones count less."""


@dataclasses.dataclass(frozen=True)
class SampleRange:
    """Where the samples of one channel of one experiment are among all samples."""

    experiment: int
    channel: str
    rows: slice
    shape: tuple[int, ...]
