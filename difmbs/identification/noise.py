"""What the residuals tell about the noise, and how much of it the unknowns take up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..search import levenberg_marquardt as lm
from .fit_problem import ExperimentGroup, FitProblem, SampleRange
from .identifiability import RANK
from .setup import FitSetup
from .uncertainty import NORMAL


def rows_of(
    groups: Sequence[ExperimentGroup], places: Sequence[SampleRange], predictions: Any
) -> Iterator[tuple[SampleRange, Any, Any, Any]]:
    """By experiment and channel: predictions, measured numbers and weights."""
    # At once, because JAX takes long for a row.
    predictions = np.asarray(predictions)
    numbers = [jax.tree.map(np.asarray, (group.measured, group.weights)) for group in groups]
    members = {member: (g, row) for g, group in enumerate(groups) for row, member in enumerate(group.members)}
    for place in places:
        g, row = members[place.experiment]
        measured, weights = (x[place.channel][row] for x in numbers[g])
        yield place, predictions[place.rows].reshape(place.shape), measured, weights


def estimated_noise(
    setup: FitSetup, problem: FitProblem, state: lm.LeastSquaresState, noise: Mapping[str, float]
) -> dict[str, float]:
    """The standard deviation of each channel for which none was given."""
    off: dict[str, list[tuple[float, np.ndarray]]] = {name: [] for name in noise}
    total = 0
    for place, predicted, measured, weights in rows_of(problem.groups, setup.places, state.predictions):
        experiment, used = setup.experiments[place.experiment], weights > 0
        total += int(used.sum())
        if place.channel in noise and experiment.noise(place.channel) is None:
            off[place.channel].append((experiment.weight, (measured - predicted)[used]))
    _, taken = taken_up(problem, state, ~at_bounds(problem, state))
    share = max(1 - taken / max(total, 1), 1e-3)
    size = _size if setup.loss == "linear" else _usual_size
    return {n: max(size(rows) / np.sqrt(share), 1e-14 * noise[n]) for n, rows in off.items()}


def taken_up(problem: FitProblem, state: lm.LeastSquaresState, free: np.ndarray) -> tuple[int, float]:
    """How many combinations of the unknowns are determined, and how many of these by samples instead of by what was
    known beforehand.
    """
    R = np.asarray(state.R)[:, free]
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > 0, lengths, 1)
    _, singular, rows = np.linalg.svd(R / lengths)
    kept = np.flatnonzero(singular > RANK)
    slopes = problem.scaling.slopes(problem.scaling.values(np.asarray(state.z)))
    priors = (slopes * np.asarray(problem.prior_weight))[free] / lengths
    from_priors = np.sum((priors[:, None] * (rows[kept].T / singular[kept])) ** 2)
    return kept.size, float(kept.size - from_priors)


def at_bounds(problem: FitProblem, state: lm.LeastSquaresState) -> np.ndarray:
    """Which unknowns are held at a bound."""
    z, gradient = np.asarray(state.z), np.asarray(state.R).T @ np.asarray(state.g)
    return ((z <= np.asarray(problem.lower)) & (gradient >= 0)) | ((z >= np.asarray(problem.upper)) & (gradient <= 0))


def _size(rows: list[tuple[float, np.ndarray]]) -> float:
    squares = sum(weight * float(np.sum(off**2)) for weight, off in rows)
    return float(np.sqrt(squares / sum(weight * off.size for weight, off in rows)))


def _usual_size(rows: list[tuple[float, np.ndarray]]) -> float:
    """Whatever outliers there are."""
    return NORMAL * float(np.median(np.abs(np.concatenate([off for _, off in rows]))))
