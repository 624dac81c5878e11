"""How much of what a fit found is the error of its time steps."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..search import levenberg_marquardt as lm
from ..search.run_settings import RunSettings
from .fit_problem import ExperimentGroup, FitProblem, flat
from .identifiability import RANK


def step_shifts(problem: FitProblem, state: lm.LeastSquaresState, names: tuple[str, ...]) -> dict[str, float]:
    """Changes of the unknowns if the steps were half as long, by the linearization; empty where the steps
    are chosen by the usual tolerances, NaN where what is simulated with shorter steps is not finite.

    It takes one simulation with shorter steps, and one more with derivatives, of the program that there is.
    """
    if coarse(problem.groups) is None:
        return {}
    finer = tuple(_with_shorter_steps(group) for group in problem.groups)
    change = np.asarray(_predictions(finer, problem.scaling.values(jnp.asarray(state.z)))) - np.asarray(
        state.predictions
    )
    weights = np.concatenate([np.asarray(flat(group, group.weights)) for group in problem.groups])
    if not np.all(np.isfinite(change[weights > 0])):
        return dict.fromkeys(names, np.nan)
    # Predictions that are larger are measurements that are smaller.
    moved = _measured_less(problem, np.where(weights > 0, change, 0))
    free = np.ones(len(names), bool)
    there = lm.one_iteration(moved, lm.begin(moved, np.asarray(state.z)), free)
    R, change_of_g = np.asarray(state.R), np.asarray(there.g) - np.asarray(state.g)
    z = np.asarray(state.z)
    inside = (z > np.asarray(problem.lower)) & (z < np.asarray(problem.upper))
    lengths = np.linalg.norm(R, axis=0)
    kept = inside & (lengths > 0)
    shift = np.zeros(z.size)
    shift[kept] = -np.linalg.lstsq(R[:, kept] / lengths[kept], change_of_g, rcond=RANK)[0] / lengths[kept]
    slopes = problem.scaling.slopes(problem.scaling.values(z))
    return dict(zip(names, (shift * slopes).tolist(), strict=True))


def coarse(groups: Iterable[ExperimentGroup]) -> RunSettings | None:
    """How the first of the groups is simulated whose steps are not those of the usual tolerances."""
    found = (group.settings for group in groups)
    return next((settings for settings in found if settings is not None and settings.with_shorter_steps), None)


def _with_shorter_steps(group: ExperimentGroup) -> ExperimentGroup:
    shorter = None if group.settings is None else group.settings.with_shorter_steps
    return group if shorter is None else group.simulated_with(shorter)


@eqx.filter_jit
def _predictions(groups: tuple[ExperimentGroup, ...], values: Any) -> Any:
    return jnp.concatenate([flat(group, group.predict(values)) for group in groups])


def _measured_less(problem: FitProblem, change: np.ndarray) -> FitProblem:
    """The problem with other measurements."""
    groups, first = [], 0
    for group in problem.groups:
        count = len(group.members)
        last = first + sum(x.size for x in group.measured.values())
        rows, column = change[first:last].reshape(count, -1), 0
        measured: Mapping[str, Any] = group.measured
        for name, *_ in group.program.channels:
            width = measured[name].size // count
            less = rows[:, column : column + width].reshape(measured[name].shape)
            measured, column = {**measured, name: measured[name] - less}, column + width
        groups.append(dataclasses.replace(group, measured=dict(measured)))
        first = last
    return dataclasses.replace(problem, groups=tuple(groups))
