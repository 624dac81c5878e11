"""How a model is to be simulated, as files say it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import diffrax
import numpy as np

from ..core.errors import FileError, SimulationError, did_you_mean
from ..core.reprs import of_fields
from ..core.types import MaybeNumbers
from ..simulation.arguments import check_number, check_whole, output_times
from ..solvers.newmark import GeneralizedAlpha, TrapezoidalIndex2
from ..solvers.runge_kutta_4 import RungeKutta4
from .error_locations import said_of
from .toml import check_keys

_METHODS: Mapping[str, Any] = {
    "auto": None,
    "tsit5": diffrax.Tsit5,
    "dopri8": diffrax.Dopri8,
    "kvaerno5": diffrax.Kvaerno5,
    "runge_kutta_4": RungeKutta4,
    "generalized_alpha": GeneralizedAlpha,
    "trapezoidal_index_2": TrapezoidalIndex2,
}
_MOST_OUTPUTS = 10**7


@dataclasses.dataclass(frozen=True)
class SimulationSettings:
    """The table [simulation] of a model file; `mbs.simulate(system, **settings.arguments())` runs it.

    **Arguments:** `t_end`, `t_start` [s]; `dt` [s], of fixed steps; `method`: "auto", "tsit5", "dopri8", "kvaerno5",
    "runge_kutta_4", "generalized_alpha" or "trapezoidal_index_2"; `spectral_radius`, of "generalized_alpha"; `rtol`,
    `atol`, of adaptive steps; `save_dt` [s], between outputs, or `save_times` [s], else there are 101; `max_steps`.
    """

    t_end: float | int
    t_start: float | int = 0.0
    dt: float | int | None = None
    method: str = "auto"
    spectral_radius: float | int | None = None
    rtol: float | int | None = None
    atol: float | int | None = None
    save_dt: float | int | None = None
    save_times: MaybeNumbers = None
    max_steps: int = 100_000

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ("method", "save_times", "max_steps") or (value is None and field.default is None):
                continue
            object.__setattr__(self, field.name, check_number(field.name, value))
        check_whole("max_steps", self.max_steps)
        if self.t_end <= self.t_start:
            raise SimulationError(f"t_end = {self.t_end} must be after t_start = {self.t_start}.")
        for name, step in (("dt", self.dt), ("save_dt", self.save_dt)):
            if step is not None and step <= 0:
                raise SimulationError(f"{name} = {step} must be > 0.")
        if not isinstance(self.method, str) or self.method not in _METHODS:
            raise SimulationError(f"there is no method {self.method!r}. {did_you_mean(self.method, _METHODS)}")
        self._solver()
        if self.spectral_radius is not None and self.method != "generalized_alpha":
            raise SimulationError("spectral_radius is for method = 'generalized_alpha' only.")
        if self.save_dt is not None and self.save_times is not None:
            raise SimulationError("give save_dt or save_times, not both.")
        if self.save_dt is not None and (self.t_end - self.t_start) / self.save_dt > _MOST_OUTPUTS:
            raise SimulationError(f"save_dt = {self.save_dt} makes more than {_MOST_OUTPUTS} outputs.")
        if self.save_times is not None:
            times = output_times(self.save_times, self.t_start, self.t_end)
            object.__setattr__(self, "save_times", times)

    def __repr__(self) -> str:
        return of_fields(self)

    @property
    def chooses_steps(self) -> bool:
        """Whether neither steps nor anything that asks for adaptive ones was given."""
        names = ("dt", "method", "rtol", "atol")
        return all(getattr(self, f.name) == f.default for f in dataclasses.fields(self) if f.name in names)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `mbs.simulate`."""
        same = {name: getattr(self, name) for name in ("dt", "rtol", "atol", "max_steps")}
        return same | dict(t0=self.t_start, t1=self.t_end, solver=self._solver(), saveat=self._outputs())

    def table(self) -> dict[str, Any]:
        """What differs from the defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in dataclasses.fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    def _solver(self) -> Any:
        made = _METHODS[self.method]
        if self.spectral_radius is None:
            return None if made is None else made()
        try:
            return GeneralizedAlpha(self.spectral_radius)
        except ValueError as error:
            raise SimulationError(str(error)) from None

    def _outputs(self) -> Any:
        if self.save_dt is None:
            return self.save_times
        count = int((self.t_end - self.t_start) / self.save_dt * (1 + 1e-12))
        return self.t_start + self.save_dt * np.arange(count + 1)


_OF_TIME = ("t_end", "t_start", "save_dt", "save_times")


def read_settings(path: Any, table: Any, *, timed: bool = True) -> SimulationSettings | None:
    """The table [simulation] of a file, if there is one; not `timed`: begin, end and outputs are said elsewhere."""
    if table is None:
        return None
    if not isinstance(table, dict):
        raise FileError(f"{path}: write [simulation] as a table.")
    where = f"{path}: [simulation]:"
    known = [field.name for field in dataclasses.fields(SimulationSettings)]
    check_keys(where, table, known if timed else [key for key in known if key not in _OF_TIME])
    if timed and "t_end" not in table:
        raise FileError(f"{where} t_end is missing.")
    with said_of(where):
        return SimulationSettings(**(table if timed else {"t_end": 1.0, **table}))
