"""The search for the best design: sequential quadratic programming with exact derivatives."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from ..batches.in_chunks import in_chunks
from ..core.errors import FileError, ParameterError, SimulationError
from ..core.parameters import flatten, show
from ..jaxtools.compile_messages import silence
from ..search.progress import Iteration, Lines, Progress, Watch
from ..search.run_settings import RunSettings
from ..search.scaling import Scaling
from ..search.starts import random_starts
from ..search.unknowns import AbstractUnknown, Unknowns, resolve
from ..simulation.arguments import check_number, check_system, check_times, check_whole, output_times
from ..system.system import System
from .design import Design
from .evaluation_log import EvaluationLog, Interruption
from .objectives import AbstractQuantity, Limit, check_objective, check_quantity, names_of
from .smooth_program import SmoothProgram
from .task import DesignTask, evaluate, excesses, quantities_at, split, unit_of, value_at, values_at, violation


def optimize(
    system: System,
    objective: Any,
    unknowns: Mapping[str, Any],
    *,
    t1: float,
    t0: float = 0.0,
    dt: float | None = None,
    solver: diffrax.AbstractSolver | None = None,
    saveat: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
    limits: Sequence[Any] = (),
    max_iterations: int = 100,
    tolerance: float = 1e-9,
    starts: int = 1,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = None,
    watch: Watch = None,
) -> Design:
    """The unknowns for which the objective of a motion is least.

    **Arguments:** `objective`: `LargestSize`, `RootMeanSquare`, `Final` and so on of an output, or a function of the
    solution, which should be smooth; of a list the sum; for the largest of something pass it with weight=-1;
    `unknowns`: by name, as in `identify`; `limits`: inequalities that must be met; `tolerance`: ends the search when
    objective and limits change by less, relative; `starts`: so many starts are compared, the first one as given, the
    others at random in the ranges, and the search goes on from the best three; `folder`, `resume`, `progress`,
    `watch`: as in `identify`; `saveat`: the output times, None: 101 of them; the others: as in `simulate`.

    Ctrl-C ends it with the best design so far.
    """
    run = dict(t0=t0, t1=t1, dt=dt, solver=solver, saveat=saveat, rtol=rtol, atol=atol, max_steps=max_steps)
    search = set_up_design(system, objective, unknowns, limits, **run)
    search.most, search.tolerance = check_whole("max_iterations", max_iterations), _checked(tolerance)
    search.lines = Lines(search.unknowns.names, progress, "objective", watch)
    search.log = EvaluationLog(folder, search.task, search.unknowns, resume)
    with silence(progress is False):
        return search.run(check_whole("starts", starts), seed)


def set_up_design(
    system: System,
    objective: Any,
    unknowns: Mapping[str, Any],
    limits: Sequence[Any],
    *,
    t0: float,
    t1: float,
    saveat: Any,
    **settings: Any,
) -> "DesignSearch":
    """The search as `optimize` makes it, with all that it was given checked; `settings`: those of `RunSettings`."""
    check_system("optimize", system)
    objectives = tuple(objective) if isinstance(objective, (list, tuple)) else (objective,)
    for quantity in objectives:
        check_quantity("objective", quantity)
        check_objective(quantity, system)
    for limit in limits:
        if not isinstance(limit, Limit):
            raise ParameterError(f"limits must be a list of mbs.Limit(quantity, upper=...), got {show(limit)}.")
        check_quantity("a limit", limit.quantity)
        if isinstance(limit.quantity, AbstractQuantity):
            limit.quantity.shape(system)
    t0, t1, settings["dt"] = check_times(t0, t1, settings["dt"])
    given = {path: np.asarray(x) for path, x in flatten(system.params()).items()}
    found = resolve(unknowns, given, ("",))
    _check_for_designs(unknowns)
    paths = {*found.fixed, *(t.path for t in found.targets)}
    task = DesignTask(
        system,
        {path: jnp.asarray(found.fixed.get(path, given[path])) for path in sorted(paths)},
        Scaling.of(found),
        found.targets,
        objectives,
        tuple(limits),
        RunSettings.of(system, **settings),
        (("t0", t0), ("t1", t1), ("saveat", _output_times(saveat, t0, t1))),
    )
    return DesignSearch(task, found)


def _output_times(saveat: Any, t0: float, t1: float) -> tuple[float, ...] | None:
    """As a part of what is compiled."""
    if isinstance(saveat, diffrax.SaveAt):
        raise ParameterError(
            "optimize compares designs at given times: pass them as saveat, for example np.linspace(0, 5, 501), "
            "instead of a diffrax.SaveAt."
        )
    return None if saveat is None else output_times(saveat, t0, t1)


def _checked(tolerance: Any) -> float:
    number = check_number("tolerance", tolerance)
    if number <= 0:
        raise ParameterError(f"tolerance must be > 0, got {show(tolerance)}. Take 1e-9 or so.")
    return number


def _check_for_designs(unknowns: Mapping[str, Any]) -> None:
    for key, unknown in unknowns.items():
        if isinstance(unknown, AbstractUnknown) and unknown.prior is not None:
            raise ParameterError(
                f"'{key}': a prior counts like a measurement, and a design has none. Leave it out, or add it to the "
                "objectives as a function."
            )
        if isinstance(unknown, AbstractUnknown) and unknown.own:
            raise ParameterError(f"'{key}': own=True is for experiments, and a design has none. Leave it out.")


_SLACK = 1e-7
"""Relative violation of a limit that is only rounding and does not count."""


_SIDE_BY_SIDE = 100
"""Motions that a core makes at once."""


class _Nothing(Exception):  # noqa: N818 (not an error)
    """There is nothing left to be gained."""


@dataclasses.dataclass
class DesignSearch:
    """A search that is being made; `log` remembers what was evaluated."""

    task: DesignTask
    unknowns: Unknowns
    most: int = 100
    tolerance: float = 1e-9
    lines: Lines = dataclasses.field(default_factory=lambda: Lines((), False))
    log: Any = None
    history: list[Iteration] = dataclasses.field(default_factory=list)
    best: tuple[float, float, Any] | None = None
    """Violation, objective and place of the best point so far."""
    status: str = "interrupted"
    """How the search ended that found it."""
    shapes: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    scales: tuple[float, ...] = ()
    """What a violation of each limit is compared with where the bound is 0."""
    compared: int = 0
    """Number of starts that were only simulated."""

    def run(self, starts: int, seed: int) -> Design:
        scaling, unknowns = self.task.scaling, self.unknowns
        first = scaling.inverse(unknowns.start)
        self.shapes = self.task.shapes(jnp.asarray(first))
        try:
            for start in self._starts(first, starts, seed):
                before, ended = self.best, self._from(start)
                if self.best is not before:
                    self.status = ended
        except _Nothing:
            self.status = "converged"
        except (KeyboardInterrupt, Interruption):
            if self.best is None:
                raise
            self.status = "interrupted"
        if self.best is None:
            raise SimulationError("the objective is not a finite number anywhere. Start elsewhere.")
        self.lines.end(self.status)
        z = self.best[2]
        entries, _ = self._at(z)
        values = [float(np.max(x)) for x in entries]
        count = len(self.task.objectives)
        judged, limited = self._judged(entries)
        return Design(
            self.task,
            unknowns,
            np.asarray(scaling.values(jnp.asarray(z))),
            self.status,
            dict(zip(names_of(self.task.objectives), values[:count], strict=True)),
            limited,
            tuple(self.history),
            self.log.evaluations + self.compared,
            tuple(over <= _SLACK for over in self._violations(entries)),
            judged,
            self._step_error(z, entries) if self.status == "converged" else 0.0,
        )

    def stored(self, folder: str | os.PathLike[str], starts: int, seed: int) -> Design:
        """The design as far as its evaluations are on the disk, without going on."""
        self.log = EvaluationLog(folder, self.task, self.unknowns, resume=True, known_only=True)
        try:
            return self.run(starts, seed)
        except Interruption:
            raise FileError(f"{folder} has no finished iteration yet.") from None

    def _starts(self, first: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
        if count == 1:
            return [first]
        self.compared = count
        many = random_starts(self.unknowns, self.task.scaling, count, seed)
        objective, over = in_chunks(
            lambda z: values_at(self.task, z), many, one=lambda z: value_at(self.task, z), on_cpu=_SIDE_BY_SIDE
        )
        sound = np.isfinite(objective) & np.isfinite(over)
        if not np.any(sound):
            raise SimulationError(f"none of the {count} starts could be simulated. Give narrower ranges.")
        # Those that meet the limits first.
        order = np.lexsort((objective, over))
        return [many[i] for i in order if sound[i]][:3]

    def _at(self, z: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Entries and Jacobians of objectives and limits."""
        entries, jacobian = self.log.remembered(z, lambda: evaluate(self.task, jnp.asarray(z)))
        return split(entries, self.shapes), split(jacobian, self.shapes)

    def _note(self, z: np.ndarray) -> None:
        entries, _ = self._at(z)
        values = [float(np.max(x)) for x in entries]
        count = len(self.task.objectives)
        objective = sum(values[:count])
        over = max(self._violations(entries), default=0.0)
        key = (0.0 if over <= _SLACK else over, objective)
        better = np.isfinite(objective) and (self.best is None or key < self.best[:2])
        step = 0.0 if self.best is None else float(np.max(np.abs(z - self.best[2])))
        if better:
            self.best = (*key, z.copy())
        numbers = tuple(np.asarray(self.task.scaling.values(jnp.asarray(z))).tolist())
        line = Iteration(len(self.history), objective, step, bool(better), numbers, self.log.seconds())
        self.history.append(line)
        self.lines.show(line)
        # What cannot be negative is not made less than nothing.
        sizes = all(isinstance(q, AbstractQuantity) and q.is_size for q in self.task.objectives)
        if (
            sizes
            and self.best is not None
            and self.best[0] == 0
            and self.best[1] <= self.tolerance * self.history[0].value
        ):
            raise _Nothing

    def _violations(self, entries: list[np.ndarray]) -> list[float]:
        """Relative violation of each limit."""
        pairs = zip(self.task.limits, entries[len(self.task.objectives) :], strict=False)
        return [float(violation(*pair, scale)) for pair, scale in zip(pairs, self.scales, strict=True)]

    def _judged(self, entries: list[np.ndarray]) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Index and value, for each limit, of the number that is nearest to it or farthest beyond."""
        limited = entries[len(self.task.objectives) :]
        triples = zip(self.task.limits, limited, self.scales, strict=False)
        which = tuple(int(np.argmax(excesses(*triple))) for triple in triples)
        return which, tuple(float(np.max(rows[i])) for rows, i in zip(limited, which, strict=False))

    def _step_error(self, z: np.ndarray, entries: list[np.ndarray]) -> float:
        """The largest change by shorter time steps, relative: of the objective, of limited quantities."""
        shorter = self.task.with_shorter_steps
        if shorter is None:
            return 0.0
        count = len(self.task.objectives)
        others = split(np.asarray(quantities_at(shorter, jnp.asarray(z))), self.shapes)
        there, here = (sum(float(np.max(x)) for x in rows[:count]) for rows in (others, entries))
        size = max(abs(here), abs(self.history[0].value)) or abs(there)
        changes = [abs(there - here) / size if size > 0 else 0.0]
        for limit, scale, *rows in zip(self.task.limits, self.scales, others[count:], entries[count:], strict=False):
            changes.append(float(np.max(np.abs(np.subtract(*(excesses(limit, x, scale) for x in rows))))))
        return float(np.max(changes))

    def _scales(self, z: np.ndarray) -> tuple[float, ...]:
        """The sizes of the limited quantities at the start; where they are 0, of their slopes."""
        first, last = len(self.task.objectives), len(self.task.objectives) + len(self.task.limits)
        largest = [[float(np.max(np.abs(x))) for x in rows[first:last]] for rows in self._at(z)]
        return tuple(map(unit_of, *largest))

    def _from(self, z: np.ndarray) -> str:
        """One search; returns how it ended."""
        task, count = self.task, len(self.task.objectives)
        if not all(np.all(np.isfinite(rows)) for rows in self._at(z)[0]):
            raise SimulationError(f"the motion of the start {self._lacking(z)}")
        self.scales = self.scales or self._scales(z)
        self._note(z)
        last = count + len(task.limits)
        if task.approaches:
            z = self._descended(z, range(last, last + count))[0]
        return self._descended(z, range(count))[1]

    def _lacking(self, z: np.ndarray) -> str:
        """Why there are no objectives and limits, in the words of `simulate`."""
        try:
            solution = self.task.motion(jnp.asarray(z), throw=True)
        except SimulationError as error:
            return f"cannot be simulated to its end: it {error}"
        if solution.status == "event":
            return f"ends at t = {float(solution.stats['time']):.6g} by an event, before the last output time."
        return "has an objective or a limit that is not a finite number."

    def _descended(self, z: np.ndarray, goals: range) -> tuple[np.ndarray, str]:
        """From z to where the sum of some of the quantities is least."""
        program = SmoothProgram(self.task, self._at, self.shapes, goals, z)
        lower, upper = (self.task.scaling.inverse(b) for b in (self.unknowns.lower, self.unknowns.upper))
        bounds = [*zip(lower, upper, strict=True), *((None, None) for _ in program.kinks)]
        constraint = dict(
            type="ineq", fun=lambda x: program.inequalities(x)[0], jac=lambda x: program.inequalities(x)[1]
        )
        result = minimize(
            program.objective,
            program.start,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[constraint] if program.kinks or self.task.limits else [],
            callback=lambda x: self._note(x[: z.size]),
            options=dict(maxiter=self.most, ftol=self.tolerance),
        )
        return result.x[: z.size], {0: "converged", 9: "max_iterations"}.get(result.status, "stalled")
