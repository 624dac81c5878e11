"""Several starts, side by side, of which the best one goes on."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import SimulationError
from ..search import levenberg_marquardt as lm
from ..search.starts import random_starts
from .fit_problem import FitProblem
from .setup import FitSetup


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
    starts = jnp.asarray(random_starts(setup.unknowns, setup.scaling, count, seed))
    state = lm.search_from_each(problem, starts, most)
    order = np.argsort(np.asarray(state.chi2))
    if not np.isfinite(state.chi2[order[0]]):
        raise SimulationError(f"none of the {count} starts could be simulated. Give narrower ranges.")
    values = lambda z: np.asarray(jax.vmap(problem.scaling.values)(z))[order]
    return state.z[order[0]], TriedStarts(values(starts), values(state.z), np.asarray(state.chi2)[order])
