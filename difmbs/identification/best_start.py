"""Several starts, side by side, of which the best one goes on."""

import dataclasses
from typing import Any

import numpy as np

from ..batches.in_chunks import in_chunks
from ..core.errors import SimulationError
from ..search import levenberg_marquardt as lm
from ..search.starts import random_starts
from .fit_problem import FitProblem
from .setup import FitSetup

_SIDE_BY_SIDE = 25
"""Searches that a core makes at once: of more all wait for the slowest one, which may take long from a bad start."""


@dataclasses.dataclass(frozen=True)
class TriedStarts:
    """The results of several starts, the best one first: the values of the unknowns before and after, and chi^2."""

    starts: np.ndarray
    values: np.ndarray
    chi2: np.ndarray

    @property
    def agreeing(self) -> int:
        """How many ended where the best one did."""
        return int(np.sum(self.chi2 <= self.chi2[0] * (1 + 1e-6) + 1e-12))


def best_start(setup: FitSetup, problem: FitProblem, count: int, seed: int, most: int) -> tuple[Any, TriedStarts]:
    starts = random_starts(setup.unknowns, setup.scaling, count, seed).astype(setup.start.dtype)

    def of_each(z):
        state = lm.search_from_each(problem, z, most)
        return state.z, state.chi2

    ends, chi2 = in_chunks(of_each, starts, one=lambda z: lm.search(problem, z, most), on_cpu=_SIDE_BY_SIDE)
    order = np.argsort(chi2)
    if not np.isfinite(chi2[order[0]]):
        raise SimulationError(f"none of the {count} starts could be simulated. Give narrower ranges.")
    values = lambda z: problem.scaling.values(z)[order]
    return ends[order[0]], TriedStarts(values(starts), values(ends), chi2[order])
