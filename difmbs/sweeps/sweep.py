"""Many simulations of one model with different parameters."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..batches.chunks import Chunks
from ..core.errors import ParameterError
from ..core.parameters import ParameterPath, flatten, show
from ..core.status import Status
from ..files.saved_sweeps import FAILED, SweepResult
from ..files.writing import output_folder
from ..search.run_settings import RunSettings
from ..search.unknowns import entries_of
from ..simulation.arguments import (
    check_number,
    check_solvable,
    check_system,
    check_times,
    check_whole,
    output_times,
    warn_of_single_precision,
)
from ..system.system import System
from .sampled_parameters import by_dotted_names, sampled_values
from .sweep_folder import SweepFolder
from .sweep_run import LaterStage, SweepPlan, SweepRun
from .sweep_task import SweepTask, named_outputs

_FEW_STEPS = 4096
"""Runs with adaptive steps that need more are made again by themselves: else those beside them would wait, and the
record for derivatives would be large for all."""


def sweep(
    system: System,
    samples: Any,
    outputs: Any,
    *,
    t1: float,
    t0: float = 0.0,
    dt: float | None = None,
    solver: Any = None,
    saveat: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
    derivatives: Any = (),
    again: Mapping[str, Any] | None = None,
    chunk: int | None = None,
    part: Any = (0, 1),
    executor: Any = None,
    folder: Any = None,
    resume: bool = False,
    force: bool = False,
    max_memory: float | int = 2e9,
    progress: bool | None = None,
) -> SweepResult:
    """One model with many sets of parameters, all of them by one compiled program: Monte Carlo, grids, tolerances.

    **Arguments:** `samples`: a part of the parameter tree with a leading axis of runs, or arrays by dotted names, see
    `grid_samples`, `random_samples` and `latin_hypercube_samples`; `outputs`: what is kept of each run, a list or a
    dictionary of quantities (`Final`, `Maximum`, `RootMeanSquare`, ...), of names of outputs, which are kept over time,
    and of functions of the solution; `t1` to `max_steps`: those of `simulate`; `derivatives`: dotted names of
    parameters by which all outputs are differentiated; `again`: arguments of `simulate` with which runs that failed are
    made again, each alone, such as `dict(max_steps=10**6)`; `chunk`: number of runs side by side, None: what suits the
    device; `part`: (i, n), of n parts of the runs the i-th, from 0 on, see `merge_sweeps`; `executor`: an executor of
    `concurrent.futures` or a function that makes one, None: all cores or devices of this process; `folder`: where the
    runs are saved every few seconds, and at the end as sweep.npz; it must be empty; `resume`: go on from what is there,
    if there is something; `force`: whatever is there, begin from the beginning; `max_memory`: of the results [bytes];
    `progress`: show how far it is, None: on terminals and in notebooks.

    A run that fails costs itself and nobody else. Ctrl-C stops the sweep after the chunks that are being made; runs
    that were not made have the status "interrupted". A sweep that was stopped and resumed has the same results in every
    bit.
    """
    plan = sweep_plan(system, samples, outputs, t0, t1, dt, solver, saveat, rtol, atol, max_steps, derivatives, again)
    size = plan.chunk_size() if chunk is None else min(check_whole("chunk", chunk), plan.count)
    run = SweepRun(plan, Chunks(plan.count, size, checked_part(part)), check_number("max_memory", max_memory))
    return run_sweep(run, executor, folder, resume, force, progress)


def sweep_plan(
    system, samples, outputs, t0, t1, dt=None, solver=None, saveat=None, rtol=None, atol=None, max_steps=100_000,
    derivatives=(), again=None,
) -> SweepPlan:  # fmt: skip
    """What is to be done, checked."""
    check_system("sweep", system)
    t0, t1, dt = check_times(t0, t1, dt)
    settings = RunSettings.of(system, dt, solver, rtol, atol, max_steps)
    check_solvable(system, solver, dt, settings.rtol, settings.atol, max_steps)
    warn_of_single_precision(system.gravity.dtype)
    arrays = by_dotted_names(samples)
    values = sampled_values(arrays, system)
    times = output_times(saveat, t0, t1)
    later = () if again is None else (LaterStage(_settings_of(again, system, settings, (t0, t1)), FAILED, True),)
    first = settings
    if settings.dt is None and settings.max_steps > _FEW_STEPS:
        first = dataclasses.replace(settings, max_steps=_FEW_STEPS)
        later = (LaterStage(settings, (Status.max_steps.value,), False), *later)
    task = SweepTask(system, named_outputs(outputs, system, arrays), _paths(derivatives, system), first, t0, t1, times)
    return SweepPlan(task, arrays, values, later)


def run_sweep(
    run: SweepRun,
    executor: Any,
    folder: Any,
    resume: bool,
    force: bool,
    progress: bool | None,
    stopped: Callable[[], bool] = lambda: False,
) -> SweepResult:
    """All of it, or what is made until it is stopped."""
    if folder is None:
        if resume:
            raise ParameterError("resume needs the folder that the sweep was begun with.")
        run.make(executor, None, progress, stopped)
        return run.result()
    if not isinstance(folder, str | os.PathLike):
        raise ParameterError(f"folder must be a path, got {show(folder)}.")
    kept = SweepFolder(folder, f"{run.of} {run.chunks.part}")
    goes_on = resume and kept.begun
    with output_folder(folder, force=force or goes_on):
        if not goes_on:
            kept.clear()
        elif (result := kept.result(run.of, run.rows)) is not None:
            return result
        else:
            run.restore(kept)
        run.make(executor, kept, progress, stopped)
        result = run.result()
        if run.finished:
            kept.finish(result)
        return result


def checked_part(part: Any) -> tuple[int, int]:
    whole = isinstance(part, tuple | list) and len(part) == 2 and all(isinstance(x, int | np.integer) for x in part)
    if not whole or not 0 <= part[0] < part[1]:
        raise ParameterError(f"part must be (i, n), the i-th of n parts with i from 0 to n - 1, got {show(part)}.")
    return int(part[0]), int(part[1])


def _settings_of(again: Any, system: System, first: RunSettings, span: tuple[float, float]) -> RunSettings:
    """The settings of runs that are made again."""
    known = first.arguments
    if not isinstance(again, Mapping) or not set(again) <= set(known):
        raise ParameterError(
            f"again takes arguments of simulate such as dict(max_steps=10**6), of {', '.join(known)}; got "
            f"{show(again)}."
        )
    arguments = {**known, **again}
    if first.dt is not None and arguments["dt"] == first.dt and arguments["solver"] is first.solver:
        raise ParameterError("again needs another dt or solver: with fixed steps the runs would be the same again.")
    *_, arguments["dt"] = check_times(*span, arguments["dt"])
    settings = RunSettings.of(system, **arguments)
    check_solvable(system, settings.solver, settings.dt, settings.rtol, settings.atol, settings.max_steps)
    return settings


def _paths(derivatives: Any, system: System) -> tuple[ParameterPath, ...]:
    names = [derivatives] if isinstance(derivatives, str) else derivatives
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"derivatives must be a list such as ['spring.stiffness'], got {show(derivatives)}.")
    known = {path: np.asarray(x) for path, x in flatten(system.params()).items()}
    for name in names:
        entries_of(name, known)
        if tuple(name.split(".")) not in known:
            raise ParameterError(f"derivatives: {show(name)} must be a whole parameter such as 'spring.stiffness'.")
    return tuple(tuple(name.split(".")) for name in names)
