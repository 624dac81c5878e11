"""What needs more evaluations after a fit: intervals without linearization, checks of derivatives and of units."""

import warnings
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from . import levenberg_marquardt as lm
from .noise import rows_of
from .problem import Problem
from .uncertainty import Residuals, covariance

if TYPE_CHECKING:
    from .fit import Fit

_MOST = 60
"""Iterations of one of the fits with an unknown held."""
_UNITS = (
    (300, 3000, 1e-3, "in millimetres or the like"),
    (1 / 3000, 1 / 300, 1e3, "in thousands of the SI unit"),
    (57.3 / 1.1, 57.3 * 1.1, np.pi / 180, "in degrees"),
)
"""Of data that are between so many times as large as predicted: the factor they may need, and what to ask."""


def profile(fit: "Fit", index: int, level: float) -> tuple[float, float]:
    problem = fit.problem
    # Where the noise was estimated, what counts is the increase relative to the noise.
    margin = fit.quantile(level)
    slopes = fit.posed.scaling.slopes(fit.numbers)
    # As if nothing were at a bound, where it would have no deviation.
    errors = covariance(np.asarray(fit.state.R), fit.identifiability, slopes, np.ones(len(slopes), bool))
    deviation = float(np.sqrt(errors[index, index]) / slopes[index])
    ends = [_end(fit, problem, index, side * margin, side * margin * deviation) for side in (-1, 1)]
    values = [float(np.asarray(problem.scaling.values(fit.state.z.at[index].set(z)))[index]) for z in ends]
    return values[0], values[1]


def _end(fit: "Fit", problem: Problem, index: int, wanted: float, step: float) -> float:
    """Where the root of the increase of chi^2 is `wanted`, which it nearly is after a step of the linearization."""
    best, lower, upper = (float(x[index]) for x in (fit.state.z, problem.lower, problem.upper))
    if not np.isfinite(step):
        return upper if wanted > 0 else lower
    place, reached, z = best, 0.0, fit.state.z
    for _ in range(20):
        place = float(np.clip(place + step, lower, upper))
        state = _held(problem, z.at[index].set(place), index)
        increase = float(np.sign(wanted)) * float(np.sqrt(max(float(state.chi2) - fit.chi2, 0)))
        at_bound = place in (lower, upper)
        if abs(increase - wanted) < 1e-3 * abs(wanted) or (at_bound and abs(increase) < abs(wanted)):
            return place
        slope = (increase - reached) / step if increase != reached else wanted / step
        z, reached = state.z, increase
        step = float(np.clip((wanted - increase) / slope, -2 * abs(step), 2 * abs(step)))
    warnings.warn(f"the end of the interval of '{fit.names[index]}' was not found: it is given as NaN.", stacklevel=4)
    return np.nan


def _held(problem: Problem, z: Any, index: int) -> lm.State:
    """The best of the others."""
    free = jnp.ones(z.size, bool).at[index].set(False)
    state = lm.begin(problem, z)
    for _ in range(_MOST):
        state = lm.one_iteration(problem, state, free)
        if int(state.code) != lm.RUNNING:
            break
    return state


def gradient_error(fit: "Fit", seed: int) -> float:
    problem, z = fit.problem, fit.state.z
    direction = jnp.asarray(np.random.default_rng(seed).normal(size=z.size))
    _, tangent = _along(problem, z, direction)
    h = 1e-6 * max(1.0, float(jnp.max(jnp.abs(z))))
    # The predictions are those of the same program: compiling another one takes longer than running this one.
    (after, _), (before, _) = (_along(problem, z + side * h * direction, direction) for side in (1, -1))
    quotient = (after - before) / (2 * h)
    return float(jnp.nanmax(jnp.abs(tangent - quotient)) / jnp.nanmax(jnp.abs(tangent)))


def other_units(fit: "Fit") -> tuple[str, ...]:
    """Of each channel that is fitted badly, whether the data may be in other units than those of the model: with the
    start values, at least their size should be right."""
    cut_off = fit.status in ("stalled", "max_iterations")
    bad = {(r.experiment, r.channel) for r in fit.residuals if cut_off or _bad(r)}
    if not bad:
        return ()
    problem, z = fit.problem, jnp.asarray(fit.posed.start)
    # The program of gradient_error.
    predictions, _ = _along(problem, z, jnp.zeros_like(z))
    said = []
    for place, predicted, measured, weights in rows_of(problem.groups, fit.posed.places, predictions):
        experiment, counts = fit.posed.experiments[place.experiment], weights > 0
        if (experiment.name, place.channel) in bad and np.any(predicted[counts]):
            ratio = float(np.linalg.norm(measured[counts]) / np.linalg.norm(predicted[counts]))
            for factor, asked in ((factor, asked) for low, high, factor, asked in _UNITS if low <= ratio <= high):
                scale = factor * experiment.channels[place.channel].scale
                said.append(
                    f"{experiment.name}, '{place.channel}': measured is {ratio:.4g} times what the start values "
                    f"predict: {asked}? Then the channel needs scale = {scale:.6g}"
                )
    return tuple(said)


def _bad(r: Residuals) -> bool:
    return not r.r_squared > 0.75 or r.rms > 10


@eqx.filter_jit
def _along(problem: Problem, z: Any, direction: Any) -> tuple[Any, Any]:
    """The predictions, and their derivative along a direction."""
    return jax.jvp(problem.predictions, (z,), (direction,))
