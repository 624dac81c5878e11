"""The result of a fit."""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import special

from ..core.errors import ParameterError, did_you_mean
from ..core.formatting import explained
from ..core.parameters import nest
from ..core.reprs import limited
from ..search import levenberg_marquardt as lm
from ..search.progress import Iteration
from ..search.unknowns import into
from ..simulation.solution import Solution
from ..system.system import System
from .fit_problem import FitProblem
from .fitted_motion import motion_of
from .identifiability import Identifiability
from .profile_likelihood import gradient_error, profile
from .questions import asked
from .setup import FitSetup
from .uncertainty import Residuals, correlation, far_from_one
from .verdict import Check, checks, headline


@dataclasses.dataclass(frozen=True)
class Fit:
    """What `identify` found. Prints as a table.

    `names` of the unknowns; `values`, `start` and `standard_errors` by name; `covariance`; `status`: "converged", or
    the reason of an early end; `chi2`, the sum of squared residuals in standard deviations; `degrees_of_freedom`;
    `noise`: the estimated standard deviations by channel; `residuals`: by channel of each experiment how they behave;
    `identifiability`; `verdict`: whether the numbers can be believed; `hints`: questions about the data where the fit
    is bad; `history`; `evaluations`: so many simulations with derivatives were made; `system` with the values put in;
    `validation`: the residuals of what was only predicted; `step_shifts`: by name how far the values would move with
    time steps half as long, empty where a solver chooses them by its usual tolerances; `tried`: where the search was
    started several times, the results, the best one first; `gradient_errors`: what `check_gradient` found, by seed.
    """

    setup: FitSetup
    state: lm.LeastSquaresState
    status: str
    covariance: np.ndarray
    identifiability: Identifiability
    noise: dict[str, float]
    degrees_of_freedom: int
    residuals: tuple[Residuals, ...]
    validation: tuple[Residuals, ...]
    history: tuple[Iteration, ...]
    predicted: tuple[dict[str, np.ndarray], ...]
    predicted_validation: tuple[dict[str, np.ndarray], ...]
    step_shifts: dict[str, float]
    tried: Any = None
    gradient_errors: dict[int, float] = dataclasses.field(default_factory=dict, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return self.setup.unknowns.names

    @property
    def numbers(self) -> np.ndarray:
        """The values in the order of the names."""
        return self.setup.scaling.values(np.asarray(self.state.z))

    @property
    def values(self) -> dict[str, float]:
        return dict(zip(self.names, self.numbers.tolist(), strict=True))

    @property
    def start(self) -> dict[str, float]:
        return dict(zip(self.names, self.setup.unknowns.start.tolist(), strict=True))

    @property
    def standard_errors(self) -> dict[str, float]:
        """Infinite where the data do not determine an unknown by itself, 0 where it is at a bound."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def error_factor(self) -> float:
        """The root of chi^2 / degrees of freedom where that is far from 1, else 1: so many times larger than said is
        the noise if the model is right."""
        if self.setup.loss != "linear" or not far_from_one(self.chi2, self.degrees_of_freedom):
            return 1.0
        return float(np.sqrt(self.chi2 / self.degrees_of_freedom))

    @property
    def scaled_standard_errors(self) -> dict[str, float]:
        """The standard errors times `error_factor`."""
        return {name: self.error_factor * error for name, error in self.standard_errors.items()}

    @property
    def correlation(self) -> np.ndarray:
        return correlation(self.covariance)

    @property
    def chi2(self) -> float:
        return float(self.state.chi2)

    @property
    def evaluations(self) -> int:
        return len(self.history)

    @property
    def experiments(self) -> tuple[Any, ...]:
        return self.setup.experiments

    @property
    def params(self) -> dict[str, Any]:
        """The values as parameters of the model, as `simulate` takes them; what belongs to single experiments or to
        sensors is not among them.
        """
        return nest(self._model_values())

    @property
    def system(self) -> System:
        return self.setup.system.with_values({p: jnp.asarray(x) for p, x in self._model_values().items()})

    def _model_values(self) -> dict[Any, np.ndarray]:
        homes, unknowns = self.setup.system.structure.homes, self.setup.unknowns
        known = {**self.setup.params, **unknowns.fixed}
        targets = [t for t in unknowns.targets if t.common and t.path in homes]
        paths = dict.fromkeys([*(path for path in unknowns.fixed if path in homes), *(t.path for t in targets)])
        found = into({path: known[path] for path in paths}, targets, self.numbers)
        return {path: np.asarray(value) for path, value in found.items()}

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals by the linearization: the value of each unknown and some standard errors to both sides, as far as
        its range goes.

        `profile` does without the linearization.
        """
        margin = self.quantile(level)
        least, most = self.setup.unknowns.lower, self.setup.unknowns.upper
        return {
            n: (float(max(self.values[n] - margin * s, low)), float(min(self.values[n] + margin * s, high)))
            for (n, s), low, high in zip(self.standard_errors.items(), least, most, strict=True)
        }

    def quantile(self, level: float) -> float:
        """Number of standard errors that hold a share `level` of results: Student's t where the noise was estimated."""
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, got {level}.")
        tail = 0.5 + level / 2
        return float(special.stdtrit(self.degrees_of_freedom, tail) if self.setup.estimated else special.ndtri(tail))

    def profile(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The interval outside of which chi^2 is larger by more than `level` allows, with all other unknowns at their
        best: without the linearization that standard errors are made of. Infinite where that never happens.
        """
        return profile(self, self.index(name), level)

    def check_gradient(self, seed: int = 0) -> float:
        """The difference, relative, between the derivative of all predictions along a random direction and a central
        difference quotient: small if the derivatives are right."""
        if seed not in self.gradient_errors:
            self.gradient_errors[seed] = gradient_error(self, seed)
        return self.gradient_errors[seed]

    def _repr_html_(self) -> str:
        from .fit_plots import fit_cell

        return fit_cell(self)

    def plot(self, channel: str | None = None, *, experiment: str | None = None, ax: Any = None) -> Any:
        """What a channel of an experiment has measured, and the fit; None: the first ones. Returns the axes."""
        from .fit_plots import plot_fit

        return plot_fit(self, channel, experiment, ax)

    def motion(self, experiment: str | None = None) -> Solution:
        """The fitted motion of an experiment at the times of its samples; None: of the first one that is a motion."""
        return motion_of(self.setup, self.problem, self.numbers, experiment)

    @property
    def verdict(self) -> Check:
        """Whether the numbers can be believed: its `level` is "good", "doubt" or "bad", its `text` a sentence."""
        return headline(checks(self))

    @functools.cached_property
    def hints(self) -> tuple[str, ...]:
        """Questions about the data of channels that are fitted badly: units, zeros, times, inputs."""
        return asked(self)

    @property
    def problem(self) -> FitProblem:
        return self.setup.problem(self.noise)

    def index(self, name: str) -> int:
        if name not in self.names:
            raise ParameterError(f"there is no unknown '{name}'. {did_you_mean(name, self.names)}")
        return self.names.index(name)

    @property
    def at_bounds(self) -> dict[str, str]:
        """The unknowns that ended at a bound, and at which."""
        z, lower = np.asarray(self.state.z), self.setup.scaling.inverse(self.setup.unknowns.lower)
        held = np.diag(self.covariance) == 0
        return {self.names[i]: "lower" if z[i] <= lower[i] else "upper" for i in np.flatnonzero(held)}

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        return "\n".join([self.summary(), self.verdict.text])

    def summary(self) -> str:
        """What it prints, without the verdict."""
        return "\n".join([*_table(self), "", *_remarks(self)])


def _table(fit: Fit) -> list[str]:
    width = max(9, *(len(n) for n in fit.names))
    scaled = fit.error_factor != 1
    head = f"{'+- std':>10}{'  +- scaled' if scaled else ''}"
    lines = [f"{'unknown':<{width}}  {'value':>13}  {head}  {'95 % interval':>29}  {'start':>12}"]
    intervals = fit.interval()
    for name in fit.names:
        low, high = intervals[name]
        error = fit.standard_errors[name]
        span = f"[{low:.7g}, {high:.7g}]" if np.isfinite(error) and error > 0 else ""
        if np.isinf(error):
            span = "not determined"
        elif name in fit.at_bounds:
            span = f"at its {fit.at_bounds[name]} bound"
        errors = f"{error:>10.3g}" + (f"  {fit.scaled_standard_errors[name]:>9.3g}" if scaled else "")
        lines.append(f"{name:<{width}}  {fit.values[name]:>13.7g}  {errors}  {span:>29}  {fit.start[name]:>12.6g}")
    return lines


def _remarks(fit: Fit) -> list[str]:
    per = fit.chi2 / max(fit.degrees_of_freedom, 1)
    lines = [f"{fit.status} after {fit.evaluations} simulations with derivatives; "
             f"chi^2 {fit.chi2:.6g} for {fit.degrees_of_freedom} degrees of freedom ({per:.3g} each)"]  # fmt: skip
    if fit.error_factor != 1:
        lines.append(
            f"scaled: standard errors times sqrt(chi^2 / degrees of freedom) = {fit.error_factor:.3g}, as if the noise "
            "were as large as the residuals"
        )
    correlations = fit.correlation
    upper = np.triu(np.where(np.isfinite(correlations), np.abs(correlations), 0), 1)
    if upper.size > 1 and upper.max(initial=0) > 0:
        i, j = np.unravel_index(np.argmax(upper), upper.shape)
        lines.append(f"largest correlation: {correlations[i, j]:+.3f} between {fit.names[i]} and {fit.names[j]}")
    lines += [str(fit.identifiability), *fit.setup.remarks]
    for name, noise in fit.noise.items():
        lines.append(f"noise of '{name}': {noise:.4g} (estimated)")
    lines += [_behaviour(r) for r in fit.residuals]
    lines += [f"validation {_behaviour(r)}" for r in fit.validation]
    return [*lines, *(f"hint: {hint}" for hint in fit.hints)]


def _behaviour(r: Residuals) -> str:
    share = f", R^2 {explained(r.unexplained)} %" if np.isfinite(r.unexplained) else ""
    said = f"; {r.remark}" if r.remark else ""
    return f"{r.experiment}, '{r.channel}': {r.count} samples, residuals {r.rms:.3g} standard deviations{share}{said}"
