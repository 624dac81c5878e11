"""What needs more evaluations after a fit: intervals without linearization, and checks of derivatives."""

import warnings
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..batches.portable_work import PortableWork
from ..batches.workers import at_once
from ..jaxtools.gradient_check import quotient_error
from ..search import levenberg_marquardt as lm
from ..simulation.arguments import difference_step
from .fit_problem import FitProblem
from .uncertainty import covariance

if TYPE_CHECKING:
    from .fit import Fit

_MOST = 60
"""Iterations of one of the fits with an unknown held."""


def profile(fit: "Fit", index: int, level: float) -> tuple[float, float]:
    problem = fit.problem
    # Where the noise was estimated, what counts is the increase relative to the noise.
    margin = fit.quantile(level)
    slopes = fit.setup.scaling.slopes(fit.numbers)
    # As if nothing were at a bound, where it would have no deviation.
    errors = covariance(np.asarray(fit.state.R), fit.identifiability, slopes, np.ones(len(slopes), bool))
    deviation = float(np.sqrt(errors[index, index]) / slopes[index])
    # Compiled once, by the first of the two.
    iterate = PortableWork(lambda state_and_free: lm.one_iteration(problem, *state_and_free))
    ends = at_once(lambda side: _end(fit, iterate, index, side * margin, side * margin * deviation), (-1, 1))
    if np.any(np.isnan(ends)):
        warnings.warn(
            f"the end of the interval of '{fit.names[index]}' was not found: it is given as NaN.", stacklevel=3
        )
    values = [float(np.asarray(problem.scaling.values(fit.state.z.at[index].set(z)))[index]) for z in ends]
    return values[0], values[1]


def _end(fit: "Fit", iterate: Any, index: int, wanted: float, step: float) -> float:
    """Where the root of the increase of chi^2 is `wanted`, which it nearly is after a step of the linearization."""
    problem = fit.problem
    best, lower, upper = (float(x[index]) for x in (fit.state.z, problem.lower, problem.upper))
    if not np.isfinite(step):
        return upper if wanted > 0 else lower
    place, reached, z = best, 0.0, fit.state.z
    for _ in range(20):
        place = float(np.clip(place + step, lower, upper))
        state = _held(problem, iterate, z.at[index].set(place), index)
        increase = float(np.sign(wanted)) * float(np.sqrt(max(float(state.chi2) - fit.chi2, 0)))
        at_bound = place in (lower, upper)
        if abs(increase - wanted) < 1e-3 * abs(wanted) or (at_bound and abs(increase) < abs(wanted)):
            return place
        slope = (increase - reached) / step if increase != reached else wanted / step
        z, reached = state.z, increase
        step = float(np.clip((wanted - increase) / slope, -2 * abs(step), 2 * abs(step)))
    return np.nan


def _held(problem: FitProblem, iterate: Any, z: Any, index: int) -> lm.LeastSquaresState:
    """The best of the others."""
    free = jnp.ones(z.size, bool).at[index].set(False)
    state = lm.begin(problem, z)
    for _ in range(_MOST):
        state = iterate((state, free))
        if int(state.code) != lm.RUNNING:
            break
    return state


def gradient_error(fit: "Fit", seed: int) -> float:
    problem, z = fit.problem, fit.state.z
    direction = jnp.asarray(np.random.default_rng(seed).normal(size=z.size))
    step = difference_step(z.dtype) * max(1.0, float(jnp.max(jnp.abs(z))))
    return quotient_error(lambda z: _along(problem, z, direction), z, direction, step)


def start_predictions(fit: "Fit") -> Any:
    """Predictions of all samples with the start values, by the program of `gradient_error`."""
    z = jnp.asarray(fit.setup.start)
    return _along(fit.problem, z, jnp.zeros_like(z))[0]


@eqx.filter_jit
def _along(problem: FitProblem, z: Any, direction: Any) -> tuple[Any, Any]:
    """The predictions, and their derivative along a direction."""
    return jax.jvp(problem.predictions, (z,), (direction,))
