"""Many independent fits at once: the same mechanism, one set of data after the other."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._arguments import check_whole
from .._errors import ParameterError
from .._shown import limited
from ..system import System
from . import levenberg_marquardt as lm
from .experiments import AbstractExperiment
from .identifiability import RANK, analyse
from .noise import at_bounds, taken_up
from .pose import Posed, check_samples
from .problem import Problem
from .search import posed_problem
from .uncertainty import covariance


@dataclasses.dataclass(frozen=True)
class Fits:
    """The results of `identify_each`: arrays with a row for each experiment, columns in the order of `names`.

    `values`, `standard_errors` by the linearization, NaN where a fit failed, infinite where the data do not determine
    an unknown by itself, 0 where it is at a bound; `chi2`; `degrees_of_freedom`; `status`,
    "converged" or the reason of an early end; `iterations`.
    """

    names: tuple[str, ...]
    values: np.ndarray
    standard_errors: np.ndarray
    chi2: np.ndarray
    degrees_of_freedom: np.ndarray
    status: np.ndarray
    iterations: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of one unknown."""
        return self.values[:, self.names.index(name)]

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        good = self.status == "converged"
        width = max(len(n) for n in self.names)
        lines = [
            f"{good.sum()} of {len(self)} fits converged",
            f"{'unknown':<{width}}  {'mean':>13}  {'spread':>10}  {'+- std':>10}",
        ]
        for i, name in enumerate(self.names):
            values, errors = self.values[good, i], self.standard_errors[good, i]
            mean, spread, typical = (
                float(f(x)) if x.size else np.nan for f, x in ((np.mean, values), (np.std, values), (np.median, errors))
            )
            lines.append(f"{name:<{width}}  {mean:>13.7g}  {spread:>10.3g}  {typical:>10.3g}")
        return "\n".join(lines)


def identify_each(
    system: System,
    experiments: Sequence[AbstractExperiment],
    unknowns: Mapping[str, Any],
    *,
    dt: float | None = None,
    solver: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
    loss: str = "linear",
    max_iterations: int = 100,
) -> Fits:
    """A fit for each experiment by itself, all of them in one compiled program: production tests, repeated
    measurements, statistics of noise.

    The arguments are those of `identify`. The experiments must be alike but for their numbers: same times, channels,
    names of changed parameters. Fixed steps (`dt`) are the fastest. Where the noise is not given, the residuals of each
    fit tell it; then there may be one channel only.
    """
    if isinstance(experiments, AbstractExperiment):
        experiments = [experiments]
    posed = posed_problem(system, list(experiments), unknowns, dt, solver, rtol, atol, max_steps, loss)
    _check(posed)
    ones = dict.fromkeys(posed.estimated, 1.0)
    problem = posed.problem(ones)
    (group,) = problem.groups
    # One experiment to each member of the batch.
    names = ("given", "loads", "slots", "measured", "weights")
    data = jax.tree.map(lambda x: x[:, None], {name: getattr(group, name) for name in names})
    single = dataclasses.replace(problem, groups=(dataclasses.replace(group, members=(0,)),))
    most = check_whole("max_iterations", max_iterations)
    state = lm.fits_of_each(single, (data,), jnp.asarray(posed.start), most)
    return _collected(posed, problem, state)


def _check(posed: Posed) -> None:
    if posed.validation:
        raise ParameterError("identify_each fits every experiment: none can be for validation.")
    if len(posed.groups) > 1:
        raise ParameterError("identify_each needs experiments with the same times, channels and changed parameters.")
    if len(set(np.ravel([t.slots for t in posed.unknowns.targets]).tolist())) != len(posed.unknowns.names) or any(
        len(set(t.slots)) > 1 for t in posed.unknowns.targets
    ):
        raise ParameterError("identify_each fits every experiment by itself: leave out own=True.")
    channels = posed.groups[0].program.channels
    if posed.estimated and len(channels) > 1:
        raise ParameterError("identify_each estimates the noise of one channel only: give that of each Channel.")
    if posed.estimated and (posed.loss != "linear" or np.any(np.isfinite(posed.unknowns.prior_deviation))):
        raise ParameterError(
            "identify_each needs the noise of the Channel to weigh priors or to tell outliers: give it."
        )
    for experiment in posed.experiments:
        check_samples(posed, [experiment])


def _collected(posed: Posed, problem: Problem, state: lm.State) -> Fits:
    values = np.asarray(jax.vmap(problem.scaling.values)(state.z))
    host = lm.State(*(np.asarray(x) for x in state))
    sound = np.all(np.isfinite(host.R), axis=(1, 2)) & np.isfinite(host.chi2)
    good = sound & np.isin(host.code, (lm.CONVERGED, lm.STALLED, lm.TOO_MANY))
    weights = [np.asarray(w).reshape(len(values), -1) for w in problem.groups[0].weights.values()]
    counted = np.sum(np.concatenate(weights, axis=1) > 0, axis=1) + int(np.sum(np.asarray(problem.prior_weight) > 0))
    errors, ranks = _plain_errors(problem, host.R, values)
    for row in np.flatnonzero(good & ~(_inside(problem, host.z) & (ranks == values.shape[1]))):
        errors[row], ranks[row] = _errors(posed, problem, lm.State(*(x[row] for x in host)), values[row])
    freedom = counted - ranks
    if posed.estimated:
        errors = errors * np.sqrt(host.chi2 / freedom)[:, None]
    values, errors = (np.where(good[:, None], x, np.nan) for x in (values, errors))
    status = np.array([lm.WORDS[int(c)] if c != lm.RUNNING else lm.WORDS[lm.TOO_MANY] for c in host.code])
    return Fits(posed.unknowns.names, values, errors, host.chi2, freedom, status, host.iterations)


def _inside(problem: Problem, z: np.ndarray) -> np.ndarray:
    """Of each fit, whether no unknown is at a bound."""
    return np.all((z > np.asarray(problem.lower)) & (z < np.asarray(problem.upper)), axis=1)


def _plain_errors(problem: Problem, R: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors and ranks of all fits, where everything is determined and free."""
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(R, axis=1)
        scaled = np.nan_to_num(R / lengths[:, None, :], posinf=0.0, neginf=0.0)
        _, singular, rows = np.linalg.svd(scaled)
        errors = np.sqrt(np.sum((rows / singular[:, :, None]) ** 2, axis=1)) / lengths
        return errors * np.stack([problem.scaling.slopes(v) for v in values]), np.sum(singular > RANK, axis=1)


def _errors(posed: Posed, problem: Problem, state: lm.State, values: np.ndarray) -> tuple[np.ndarray, int]:
    """Standard errors and rank of one fit."""
    slopes, free = problem.scaling.slopes(values), ~at_bounds(problem, state)
    found = analyse(posed.unknowns.names, state.R, values, slopes)
    return np.sqrt(np.diag(covariance(state.R, found, slopes, free))), taken_up(problem, state, free)[0]
