"""How fast a system moves by itself, and the time step that follows from what was recorded."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from scipy.linalg import LinAlgError, eigvals, null_space, solve

from ..analysis.linearize import Linearization, linearize
from ..core.errors import SimulationError
from ..elements.piecewise import Piecewise
from ..system.system import System

_LARGEST = 300
"""Largest number of velocity coordinates for dense matrices."""
_FEWEST = 20
"""Number of points from which on a function is a record, at each of which adaptive steps would begin anew."""
_REGULAR = 0.1
"""Intervals that differ by more, relative, are not those of one sampling; a tenth of them may."""
_TURN = 0.25
"""In one step the fastest vibration turns by this angle at most: RungeKutta4 is then right to some 1e-5 of it."""
_MOST_PARTS = 50


@dataclasses.dataclass(frozen=True)
class SuggestedStep:
    """A time step of `dt`: one of so many `parts` of the `sampling` of an input; `rate`: of the fastest vibration."""

    name: str
    sampling: float
    parts: int
    rate: float | None

    @property
    def dt(self) -> float:
        return self.sampling / self.parts

    def __str__(self) -> str:
        if self.parts == 1:
            return f"dt = {self.dt:.6g} s, the sampling of '{self.name}'"
        period = 2 * np.pi / (self.rate or np.nan)
        return (
            f"dt = {self.dt:.6g} s, a part of the sampling of '{self.name}' ({self.sampling:.6g} s), because the "
            f"fastest vibration of the model has a period of {period:.3g} s"
        )


def step_of(inputs: Mapping[str, Piecewise], t0: float, t1: float) -> SuggestedStep | None:
    """The sampling of the inputs as a time step, if they are records."""
    found = {name: _sampling(function, t0, t1) for name, function in inputs.items()}
    known = {name: sampling for name, sampling in found.items() if sampling is not None}
    name = min(known, key=lambda n: known[n], default=None)
    return None if name is None else SuggestedStep(name, known[name], 1, None)


def refined(step: SuggestedStep, rate: float | None) -> SuggestedStep | None:
    """A step that follows a vibration of that angular frequency, too; None if it would be far smaller."""
    parts = 1 if rate is None else max(1, int(np.ceil(step.sampling * rate / _TURN)))
    return dataclasses.replace(step, parts=parts, rate=rate) if parts <= _MOST_PARTS else None


def _sampling(function: Piecewise, t0: float, t1: float) -> float | None:
    times = np.asarray(function.times)
    inside = np.diff(times[(times >= t0) & (times <= t1)])
    if inside.size < _FEWEST:
        return None
    usual = float(np.median(inside))
    odd = np.mean(np.abs(inside - usual) > _REGULAR * usual)
    # The mean has no rounding of the single times in it, so that these are at the ends of steps.
    return float(np.mean(inside)) if odd == 0 else usual if odd <= 0.1 else None


def fastest(system: System, t: float) -> float | None:
    """The largest angular frequency about the start, None if it is not known."""
    found = rates(system, t)
    return float(np.max(np.abs(found))) if found.size else None


def vibrations(system: System, t: float) -> np.ndarray:
    """The angular frequencies of what vibrates about the start, not of what creeps."""
    found = rates(system, t)
    size = np.abs(found)
    # Motions without restoring force have eigenvalues that are rounding.
    return size[(np.abs(found.imag) > np.abs(found.real)) & (size > 1e-6 * size.max(initial=0))]


def rates(system: System, t: float) -> np.ndarray:
    """The eigenvalues of small motions about the start; none where they are not known."""
    if system.structure.velocity_count > _LARGEST:
        return np.zeros(0)
    try:
        return _eigenvalues(linearize(system, t=t))
    except (SimulationError, LinAlgError):
        return np.zeros(0)


def _eigenvalues(linear: Linearization) -> np.ndarray:
    """Angular frequencies of the motions that constraints leave."""
    M, K, D, G = (np.asarray(x, float) for x in linear)
    if not all(np.all(np.isfinite(x)) for x in (M, K, D, G)):
        return np.zeros(0)
    free = null_space(G) if len(G) else np.eye(len(M))
    M, K, D = (free.T @ x @ free for x in (M, K, D))
    if not len(M):
        return np.zeros(0)
    return eigvals(np.block([[np.zeros_like(M), np.eye(len(M))], [-solve(M, K), -solve(M, D)]]))
