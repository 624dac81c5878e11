"""How columns of numbers were measured."""

import dataclasses
from typing import Any

import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import as_array, is_numbers, show
from ..core.reprs import of_fields
from ..core.units import unit_of


@dataclasses.dataclass(frozen=True)
class Channel:
    """How a column of numbers was measured: gain * output(t - delay) + bias, plus noise.

    **Arguments:** `output`: a sensor or output variable, such as "tip" or "spring.force", None: the channel's name;
    `component`: which entry of it, None: all; `noise`: standard deviation, one number or one for each sample, in SI
    units, None: it is estimated; `scale` and `unit`, such as "mm", turn the numbers of the record into SI units: scale
    times a number is in that unit; `gain`, `bias` and `delay` [s] of the sensor may be unknowns, by the names
    "channel.gain" and so on; `missing`: whether samples may be NaN, and do not count then; `column`, or columns for the
    entries of a vector, of the file that `from_csv` reads, None: the channel's name.
    """

    output: str | None = None
    component: int | tuple[int, ...] | None = None
    noise: Any = dataclasses.field(default=None, kw_only=True)
    scale: float = dataclasses.field(default=1.0, kw_only=True)
    unit: str | None = dataclasses.field(default=None, kw_only=True)
    gain: float = dataclasses.field(default=1.0, kw_only=True)
    bias: float = dataclasses.field(default=0.0, kw_only=True)
    delay: float = dataclasses.field(default=0.0, kw_only=True)
    missing: bool = dataclasses.field(default=False, kw_only=True)
    column: str | tuple[str, ...] | None = dataclasses.field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return of_fields(self)

    def in_unit(self, unit: str | None) -> "Channel":
        return dataclasses.replace(self, unit=unit)

    def at(self, kept: np.ndarray) -> "Channel":
        """As it is for some of the samples."""
        noise = as_array(self.noise)
        alone = is_numbers(noise) and noise.ndim > 0 and len(noise) == kept.size
        return dataclasses.replace(self, noise=noise[kept]) if alone else self


def measured(experiment: str, name: str, numbers: Any, channel: Channel) -> np.ndarray:
    """What a channel has recorded, in SI units."""
    where = f"experiment '{experiment}': channel '{name}'"
    if not isinstance(channel, Channel):
        raise ParameterError(f"{where} must be described by mbs.Channel(output), got {show(channel)}.")
    values = as_array(numbers)
    if not is_numbers(values) or values.ndim == 0:
        raise ParameterError(f"{where} needs an array of numbers, got {show(numbers)}.")
    values = np.asarray(values, float) * channel.scale
    if channel.unit is not None:
        try:
            values = values * unit_of(channel.unit).factor
        except ParameterError as error:
            raise ParameterError(f"{where}: {error}") from None
    bad = ~np.isfinite(values)
    if np.any(bad) and (not channel.missing or np.any(np.isinf(values))):
        at = np.argwhere(bad)[0].tolist()
        raise ParameterError(f"{where}: sample {at} is not a finite number. NaN is allowed with Channel(missing=True).")
    if np.all(bad):
        raise ParameterError(f"{where} has no sample that is not missing.")
    return values


def in_window(experiment: str, times: np.ndarray, window: Any) -> np.ndarray:
    """Which times are in the window, whose ends belong to it; None leaves an end open."""
    ends = [None if x is None else as_array(x) for x in window] if isinstance(window, (tuple, list)) else []
    numbers = [x for x in ends if x is not None]
    if len(ends) != 2 or not all(is_numbers(x) and x.shape == () and np.isfinite(x) for x in numbers):
        raise ParameterError(
            f"experiment '{experiment}': window must be two times such as (0.5, 4.0), or None, got {show(window)}."
        )
    first, last = (bound if x is None else float(x) for x, bound in zip(ends, (-np.inf, np.inf), strict=True))
    if first > last:
        raise ParameterError(f"experiment '{experiment}': window = ({first:g}, {last:g}) ends before it begins.")
    kept = (times >= first) & (times <= last)
    if np.sum(kept) < 2:
        raise ParameterError(
            f"experiment '{experiment}': {np.sum(kept)} samples are from {first:g} to {last:g} s, two are needed. The "
            f"record has times from {times[0]:g} to {times[-1]:g} s."
        )
    return kept
