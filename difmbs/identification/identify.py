"""From experiments to parameters."""

import dataclasses
import functools
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..core.errors import ParameterError, SimulationError, did_you_mean
from ..core.parameters import show
from ..jaxtools.compile_messages import silence
from ..jaxtools.over_devices import is_first_process, mesh_of
from ..search import levenberg_marquardt as lm
from ..search.gradient_descent import descended
from ..search.progress import Lines, Progress, Watch
from ..search.run_settings import RunSettings
from ..simulation.arguments import check_system, check_whole
from ..system.system import System
from .best_start import TriedStarts, best_start
from .experiments import AbstractExperiment, Experiment
from .failures import why_not
from .fit import Fit, Iteration
from .fit_checkpoint import SearchCheckpoint, fingerprint_of_fit, restored, store
from .fit_problem import LOSSES, ExperimentGroup, FitProblem, SampleRange, flat
from .hints import Hint, before, of_start, rows, texts
from .identifiability import Identifiability, analyse
from .noise import at_bounds, estimated_noise, rows_of, taken_up
from .segment_search import SegmentSearch
from .setup import FitSetup, set_up_fit
from .step_error import step_shifts
from .uncertainty import Residuals, covariance, residuals_of

_REACHABLE = 0.5
"""Of chi^2 at the start: if the unknowns, linearized, can take away more, there is nothing to ask yet."""


def identify(
    system: System,
    experiments: AbstractExperiment | Sequence[AbstractExperiment],
    unknowns: Mapping[str, Any],
    *,
    dt: float | None = None,
    solver: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
    loss: str = "linear",
    max_iterations: int = 100,
    starts: int = 1,
    seed: int = 0,
    segments: int = 1,
    optimizer: optax.GradientTransformation | None = None,
    devices: Any = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = None,
    watch: Watch = None,
) -> Fit:
    """The unknowns for which the system behaves as measured, by weighted least squares.

    **Arguments:** `experiments`: `Experiment`, `StaticTest`, `ModalTest`, one or several; `unknowns`: what is to be
    found, by name, such as {"spring.stiffness": mbs.Positive(80.0)}; `dt`, `solver`, `rtol`, `atol`, `max_steps`: as in
    `simulate`; `loss`: "linear", or "soft_l1", "huber", "cauchy", which let outliers count less; `starts`: so many
    starts are tried, the first one as given, the others at random in the ranges, and the best one goes on;
    `segments`: time series are cut into so many, which are joined in the course of the search: for long or chaotic
    records; `optimizer`: one of optax, which makes `max_iterations` steps along the gradient instead of those of
    Levenberg and Marquardt; `devices`: those of JAX over which the experiments are spread, such as `jax.devices()`,
    also of several processes, each of which makes the same call;
    `folder`: the state is written there after each iteration, and with `resume` the search goes on from it; `progress`:
    a function of a line of text, None: to the terminal if there is one, False: silent; `watch`: a function that gets
    each `Iteration`, with the best values so far.

    Ctrl-C ends it with the best values so far.
    """
    starts, segments = check_whole("starts", starts), check_whole("segments", segments)
    if segments > 1 and (starts > 1 or optimizer is not None):
        other = "an optimizer" if optimizer is not None else "several starts"
        raise ParameterError(f"segments and {other} cannot be combined: leave one of them out.")
    if devices is not None and starts > 1:
        raise ParameterError("devices and several starts cannot be combined: these use all devices anyway.")
    if optimizer is not None and (folder is not None or resume):
        raise ParameterError("with an optimizer nothing is kept on the disk: leave out folder and resume.")
    with silence(progress is False):
        setup = checked_setup(system, experiments, unknowns, dt, solver, rtol, atol, max_steps, loss, segments)
        if devices is not None:
            setup = dataclasses.replace(setup, mesh=_mesh(devices))
        lines = Lines(setup.unknowns.names, progress if devices is None or is_first_process() else False, watch=watch)
        search = FitSearch(setup, check_whole("max_iterations", max_iterations), lines, folder)
        return search.run(starts, seed, optimizer, resume)


def _mesh(devices: Any) -> Any:
    if (
        not isinstance(devices, Sequence)
        or not devices
        or not all(isinstance(x, jax.Device) for x in devices)
        or len(set(devices)) < len(devices)
    ):
        raise ParameterError(f"devices must be a list of devices such as jax.devices(), got {show(devices)}.")
    return mesh_of(devices)


def checked_setup(
    system, experiments, unknowns, dt, solver, rtol, atol, max_steps, loss="linear", segments=1
) -> FitSetup:
    check_system("identify", system)
    if isinstance(experiments, AbstractExperiment):
        experiments = [experiments]
    if not isinstance(experiments, Sequence) or not experiments:
        raise ParameterError(f"experiments must be a list of mbs.Experiment, got {show(experiments)}.")
    if loss not in LOSSES:
        raise ParameterError(f"there is no loss {show(loss)}. {did_you_mean(loss, LOSSES)}")
    settings = RunSettings.of(system, dt, solver, rtol, atol, max_steps)
    # Who gives a solver or tolerances wants the steps that these make.
    chooses_steps = all(x is None for x in (dt, solver, rtol, atol))
    return set_up_fit(system, experiments, unknowns, settings, loss, segments, chooses_steps)


@dataclasses.dataclass
class FitSearch:
    """A fit that is being made."""

    setup: FitSetup
    most: int
    lines: Lines
    folder: Any
    history: list[Iteration] = dataclasses.field(default_factory=list)
    begun: float = dataclasses.field(default_factory=time.perf_counter)
    tried: TriedStarts | None = None
    """What several starts led to."""
    last: Any = None
    """Problem, state and noise after the last iteration."""

    @functools.cached_property
    def of(self) -> str:
        """The fingerprint of the fit."""
        return fingerprint_of_fit(self.setup)

    @property
    def _writes(self) -> bool:
        """Of several processes that make one fit, the first one."""
        return self.folder is not None and (self.setup.mesh is None or is_first_process())

    def run(self, starts: int, seed: int, optimizer: Any, resume: bool) -> Fit:
        setup, noise = self.setup, self.setup.first_noise()
        problem = setup.problem(noise)
        z, free = setup.start, np.ones(len(setup.start), bool)
        state, status, joining = lm.begin(problem, z), "", None
        for remark in (*setup.remarks, *self._questions(before(setup, jnp.asarray(setup.unknowns.start)))):
            self.lines.say(remark)
        try:
            if resume:
                stored = restored(self.folder, self.of, state)
                state, noise, self.history = stored.state, stored.noise, list(stored.history)
                self.tried = stored.tried
                if stored.stage is not None:
                    joining = SegmentSearch.restored(setup, setup.problem(noise), state, stored.stage, stored.pieces)
                if int(state.code) == lm.TOO_MANY:
                    state = state._replace(code=np.asarray(lm.RUNNING))
                problem = setup.problem(noise)
            elif starts > 1:
                z, self.tried = best_start(setup, problem, starts, seed, self.most)
                state = lm.begin(problem, z)
            elif any(cuts is not None for cuts in setup.cuts):
                joining = SegmentSearch.begin(setup, problem, z)
            if joining is not None:
                state, joining = self._joined(joining, noise)
            if optimizer is not None:
                note = lambda *line: self.lines.show(self._noted(problem, *line))
                z, status = descended(problem, z, optimizer, self.most, note)
                state = lm.one_iteration(problem, lm.begin(problem, z), free)
            else:
                state, problem, noise = self._searched(problem, state, free, noise)
                if joining is not None:
                    joining.warn_unless_joined(state.z)
        except KeyboardInterrupt:
            status = "interrupted"
            problem, state, noise = self.last or (problem, state, noise)
        self.lines.end(status or lm.WORDS[int(state.code)])
        if setup.mesh is not None:
            # What follows is little, and each process does it by itself.
            setup = dataclasses.replace(setup, mesh=None)
            problem = setup.problem(noise)
            state = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), state)
        fit = finished(setup, problem, state, status or lm.WORDS[int(state.code)], noise, tuple(self.history))
        return dataclasses.replace(fit, tried=self.tried)

    def stored(self) -> Fit:
        """The fit as it was after the last iteration on the disk, without going on."""
        setup = self.setup
        begun = lm.begin(setup.problem(setup.first_noise()), setup.start)
        kept = restored(self.folder, self.of, begun)
        problem, state = setup.problem(kept.noise), kept.state
        code = lm.RUNNING if kept.stage is not None else int(state.code)
        if kept.stage is not None:
            state = SegmentSearch.restored(setup, problem, state, kept.stage, kept.pieces).whole()
        status = "interrupted" if code == lm.RUNNING else lm.WORDS[code]
        fit = finished(setup, problem, state, status, kept.noise, kept.history)
        return dataclasses.replace(fit, tried=kept.tried)

    def _joined(
        self, joining: SegmentSearch, noise: dict[str, float]
    ) -> tuple[lm.LeastSquaresState, SegmentSearch | None]:
        """The search from where the pieces of the motion have become one; their last stage if they have not."""
        problem = joining.shooting.problem
        try:
            while len(self.history) < self.most:
                before, joining = joining, joining.iterated()
                if not self.history:
                    _check_start(self.setup, problem, joining.state)
                chi2 = float(joining.state.chi2)
                self.lines.show(self._noted(problem, joining.z, chi2, before.step, bool(joining.state.accepted)))
                if joining.finished(before):
                    whole = joining.whole()
                    good = joining.joined(whole)
                    if good or joining.last:
                        self.lines.show(self._noted(problem, whole.z, float(whole.chi2), 0.0, True))
                        return whole, None if good else joining
                    joining = joining.next()
                if self._writes:
                    pieces = joining.numbers
                    kept = SearchCheckpoint(joining.state, noise, tuple(self.history), joining.stage, pieces)
                    store(self.folder, self.of, kept)
        except KeyboardInterrupt:
            self.last = problem, joining.whole(), noise
            raise
        return joining.whole()._replace(code=jnp.asarray(lm.TOO_MANY)), None

    def _searched(self, problem: FitProblem, state: lm.LeastSquaresState, free: Any, noise: dict[str, float]) -> Any:
        while True:
            while int(state.code) == lm.RUNNING:
                previous, state = state, lm.one_iteration(problem, state, free)
                if not self.history:
                    _check_start(self.setup, problem, state)
                step = float(np.max(np.abs(np.asarray(previous.trial) - np.asarray(previous.z))))
                line = self._noted(problem, state.z, float(state.chi2), step, bool(state.accepted))
                if len(self.history) >= self.most and int(state.code) == lm.RUNNING:
                    state = state._replace(code=np.asarray(lm.TOO_MANY))
                self.last = problem, state, noise
                if self._writes:
                    store(self.folder, self.of, SearchCheckpoint(state, noise, tuple(self.history), tried=self.tried))
                self.lines.show(line)
                if len(self.history) == 1 and self.tried is None:
                    self._ask(problem, state)
            found = estimated_noise(self.setup, problem, state, noise)
            if int(state.code) != lm.CONVERGED or all(abs(np.log(found[n] / noise[n])) < 1e-4 for n in noise):
                return state, problem, noise
            noise, problem = found, self.setup.problem(found)
            state = lm.begin(problem, state.z)

    def _ask(self, problem: FitProblem, state: lm.LeastSquaresState) -> None:
        """Questions about the data after the first evaluation, if what is left is not what the unknowns can change."""
        if float(np.sum(np.asarray(state.g) ** 2)) < _REACHABLE * float(state.chi2):
            found = rows(self.setup.experiments, problem.groups, self.setup.places, state.predictions)
            for question in self._questions(of_start(found, self.setup)):
                self.lines.say(question)

    @staticmethod
    def _questions(hints: list[Hint]) -> list[str]:
        return [f"hint: {text}" for text in texts(hints)]

    def _noted(self, problem: FitProblem, z: Any, chi2: float, step: float, accepted: bool) -> Iteration:
        values = tuple(problem.scaling.values(np.asarray(z)).tolist())
        seconds = time.perf_counter() - self.begun
        line = Iteration(len(self.history), chi2, step, accepted, values, seconds)
        self.history.append(line)
        return line


def _check_start(setup: FitSetup, problem: FitProblem, state: lm.LeastSquaresState) -> None:
    if not np.isfinite(float(state.chi2)):
        raise SimulationError(why_not(setup, problem))
    lengths = np.linalg.norm(np.asarray(state.R), axis=0)[: len(setup.unknowns.names)]
    idle = [n for n, x in zip(setup.unknowns.names, lengths, strict=True) if x <= 1e-14 * lengths.max()]
    if idle:
        raise ParameterError(
            f"no sample depends on {', '.join(repr(n) for n in idle)}. Leave it out of the unknowns, or measure "
            "something that it acts on."
        )


def finished(
    setup: FitSetup,
    problem: FitProblem,
    state: lm.LeastSquaresState,
    status: str,
    noise: dict[str, float],
    history: tuple[Iteration, ...],
) -> Fit:
    if setup.estimated and status != lm.WORDS[lm.CONVERGED] and np.isfinite(float(state.chi2)):
        # The search ended before it came to that.
        noise = estimated_noise(setup, problem, state, noise)
        problem = setup.problem(noise)
        state = lm.one_iteration(problem, lm.begin(problem, state.z), np.ones(state.z.size, bool))
    numbers = problem.scaling.values(np.asarray(state.z))
    slopes = problem.scaling.slopes(numbers)
    R = np.asarray(state.R)
    found = identifiable(setup, problem, state.z, R, numbers, slopes)
    free = ~at_bounds(problem, state)
    residuals = _residuals(setup, problem.groups, setup.places, state.predictions, setup.experiments)
    held_out = _validated(setup, problem, state, noise)
    counted = sum(r.count for r in residuals) + int(np.sum(np.asarray(problem.prior_weight) > 0))
    return Fit(
        setup,
        state,
        status,
        covariance(R, found, slopes, free),
        found,
        noise,
        counted - taken_up(problem, state, free)[0],
        residuals,
        held_out[0],
        history,
        _by_experiment(setup.groups, setup.places, np.asarray(state.predictions), len(setup.experiments)),
        _by_experiment(setup.held_out, setup.held_out_places, np.asarray(held_out[1]), len(setup.validation)),
        step_shifts(problem, state, setup.unknowns.names) if status == lm.WORDS[lm.CONVERGED] else {},
    )


def _by_experiment(
    groups: tuple[ExperimentGroup, ...], places: tuple[SampleRange, ...], predictions: Any, count: int
) -> Any:
    """Predictions by channel; NaN where a sensor shows what was before the motion."""
    found: tuple[dict[str, np.ndarray], ...] = tuple({} for _ in range(count))
    programs = {member: group.program for group in groups for member in group.members}
    for place in places:
        known = programs[place.experiment].counts(place.channel, place.shape)
        predicted = predictions[place.rows].reshape(place.shape)
        found[place.experiment][place.channel] = np.where(known, predicted, np.nan)
    return found


def identifiable(
    setup: FitSetup, problem: FitProblem, z: Any, R: np.ndarray, numbers: np.ndarray, slopes: np.ndarray
) -> Identifiability:
    here = None

    def same(values: np.ndarray) -> float:
        nonlocal here
        here = np.asarray(_predictions(problem, z)) if here is None else here
        there = np.asarray(_predictions(problem, problem.scaling.inverse(values)))
        return float(np.nanmax(np.abs(there - here))) if np.all(np.isfinite(there)) else np.inf

    return analyse(setup.unknowns.names, R, numbers, slopes, same)


@eqx.filter_jit
def _predictions(problem: FitProblem, z: Any) -> Any:
    return problem.predictions(z)


def _residuals(setup, groups, places, predictions, experiments) -> tuple[Residuals, ...]:
    found = []
    for place, predicted, measured, weights in rows_of(groups, places, predictions):
        experiment = experiments[place.experiment]
        # In standard deviations of the noise, however much the experiment counts.
        weights = weights / np.sqrt(experiment.weight)
        if np.any(weights > 0):
            off = weights * (measured - predicted)
            times = experiment.times if isinstance(experiment, Experiment) else None
            found.append(residuals_of(experiment.name, place.channel, off, weights, measured, times))
    return tuple(found)


def _validated(
    setup: FitSetup, problem: FitProblem, state: lm.LeastSquaresState, noise: Mapping[str, float]
) -> tuple[Any, Any]:
    if not setup.held_out:
        return (), np.zeros(0)
    groups = setup.weighted_validation(noise)
    predictions = _held_out(groups, problem.scaling.values(state.z))
    return _residuals(setup, groups, setup.held_out_places, predictions, setup.validation), np.asarray(predictions)


@eqx.filter_jit
def _held_out(groups: tuple[ExperimentGroup, ...], values: Any) -> Any:
    return jnp.concatenate([flat(group, group.predict(values)) for group in groups])
