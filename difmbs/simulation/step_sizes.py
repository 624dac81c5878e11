"""The steps that a simulation makes."""

import dataclasses
from typing import Any

import numpy as np

from ..core.reprs import times
from ..system.system import System
from .fixed_steps import FixedSteps
from .simulate import piecewise_run


@dataclasses.dataclass(frozen=True, repr=False)
class StepSizes:
    """The accepted steps of a run: `times` at which they start, and `sizes` [s]; `rejected`: number of others."""

    times: np.ndarray
    sizes: np.ndarray
    rejected: int

    def __repr__(self) -> str:
        if not len(self.sizes):
            return "StepSizes(none)"
        said = f"{times(self.times)}, sizes from {self.sizes.min():.3g} to {self.sizes.max():.3g} s"
        return f"StepSizes({said}, {self.rejected} rejected)"

    def plot(self, ax: Any = None) -> Any:
        """Sizes over time; returns the axes."""
        from ..plots.curves import over_time

        return over_time(self.times, {"step": self.sizes}, "step size [s]", ax, log=True, steps=True)


def step_sizes(system: System, **arguments: Any) -> StepSizes:
    """The steps that `simulate` makes with these arguments: the run is made again, step by step if their sizes vary."""
    run = piecewise_run("step_sizes", system, arguments)
    if isinstance(run.time_loop, FixedSteps):
        while not run.finished:
            run.advance()
        grid = run.time_loop.grid_times[: run.steps + 1]
        return StepSizes(grid[:-1], np.diff(grid), 0)
    ends = [run.reached]
    while not run.finished:
        run.advance(steps=1)
        if run.step_end > ends[-1]:
            ends.append(run.step_end)
    found = np.array(ends)
    return StepSizes(found[:-1], np.diff(found), run.rejected)
