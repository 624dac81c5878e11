"""The steps that a simulation makes."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ..core.reprs import times
from ..system.system import System
from .simulate import run_in_pieces


@dataclasses.dataclass(frozen=True, repr=False)
class StepSizes:
    """The accepted steps of a run: `times` at which they start, and `sizes` [s]; `rejected`: number of others."""

    times: np.ndarray
    sizes: np.ndarray
    rejected: int

    def __repr__(self) -> str:
        said = f"{times(self.times)}, sizes from {self.sizes.min():.3g} to {self.sizes.max():.3g} s"
        return f"StepSizes({said}, {self.rejected} rejected)"

    def plot(self, ax: Any = None) -> Any:
        """Sizes over time; returns the axes."""
        from ..plots.curves import over_time

        return over_time(self.times, {"step": self.sizes}, "step size [s]", ax, log=True, steps=True)


def step_sizes(system: System, **arguments: Any) -> StepSizes:
    """The steps that `simulate` makes with these arguments: the run is made again, step by step."""
    run = run_in_pieces(system, **arguments)
    ends, before = [], run.reached
    first = before
    while not run.finished:
        run.advance(steps=1)
        if run.reached > before:
            before = run.reached
            ends.append(before)
    found = np.array([first, *ends])
    return StepSizes(found[:-1], np.diff(found), int(jax.device_get(run.rejected)))
