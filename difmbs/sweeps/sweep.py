"""Many simulations of one model with different parameters."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..batches.chunk_loop import ChunkLoop
from ..batches.chunks import Chunks
from ..core.errors import ParameterError
from ..core.parameters import ParameterPath, as_array, flatten, show
from ..core.progress_bar import looked_at, progress_bar
from ..files.checkpoint import fingerprint_of
from ..files.writing import output_folder
from ..search.run_settings import RunSettings
from ..search.unknowns import entries_of
from ..simulation.arguments import (
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
from .sweep_result import GOOD, INTERRUPTED, SweepResult
from .sweep_task import REACHED, STATUS, SweepTask, SweepWork, bytes_of_run, derivative_name, named_outputs, shapes_of

_SIDE_BY_SIDE = 100
"""Runs that a core makes at once: more do not fit into its cache."""
_MOST_CHUNKS = 64
"""Chunks that are handed out at once at most."""
_MOST_MEMORY = 2e9


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
    derivatives: Sequence[str] = (),
    chunk: int | None = None,
    part: tuple[int, int] = (0, 1),
    executor: Any = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    again: Mapping[str, Any] | None = None,
    max_memory: float = _MOST_MEMORY,
    progress: bool | None = None,
) -> SweepResult:
    """One model with many sets of parameters, all of them by one compiled program: Monte Carlo, grids, tolerances.

    **Arguments:** `samples`: a part of the parameter tree with a leading axis of runs, or arrays by dotted names, see
    `grid_samples`, `random_samples` and `latin_hypercube_samples`; `outputs`: what is kept of each run, a list or a
    dictionary of quantities (`Final`, `Maximum`, `RootMeanSquare`, ...), names of outputs, which are kept over time, and
    functions of the solution; `derivatives`: dotted names of parameters by which all outputs are differentiated; `t1`
    to `max_steps`: those of `simulate`; `chunk`: number of runs side by side, None: 100, what suits a core's cache;
    `part`: of n parts of the runs the i-th, as (i, n); `executor`: an executor of `concurrent.futures` or a function
    that makes one, None: all cores or devices of this process; `folder`: where what is done is saved, from which
    `resume` goes on; `again`: arguments of `simulate` with which runs that failed are made again, alone, such as
    `dict(max_steps=10**6)`; `max_memory`: of the results [bytes].

    A run that fails costs itself and nobody else. Ctrl-C stops the sweep after the present chunks; those that were not
    made have the status "interrupted".
    """
    check_system("sweep", system)
    t0, t1, dt = check_times(t0, t1, dt)
    settings = RunSettings.of(system, dt, solver, rtol, atol, max_steps)
    check_solvable(system, solver, dt, settings.rtol, settings.atol, max_steps)
    warn_of_single_precision(system.gravity.dtype)
    times = (("t0", t0), ("t1", t1), ("saveat", output_times(saveat, t0, t1)))
    arrays = by_dotted_names(samples)
    values = sampled_values(arrays, system)
    task = SweepTask(system, named_outputs(outputs, system), _paths(derivatives, system), settings, times)
    count = len(next(iter(values.values())))
    size = min(_SIDE_BY_SIDE if chunk is None else check_whole("chunk", chunk), count)
    run = SweepRun(task, arrays, values, Chunks(count, size, _checked_part(part)), max_memory)
    if folder is None:
        run.make(executor, None, progress)
    else:
        with output_folder(folder, force=force or resume):
            kept = SweepFolder(folder, run.of)
            if resume:
                run.restore(kept)
            else:
                kept.clear()
            run.make(executor, kept, progress)
    if again is not None:
        run.make_again(_settings_of(again, system, settings), executor)
    return run.result()


class SweepRun:
    """The runs of a sweep: which are made, and what is known of them."""

    def __init__(
        self,
        task: SweepTask,
        samples: Mapping[str, np.ndarray],
        values: Mapping[ParameterPath, np.ndarray],
        chunks: Chunks,
        max_memory: float,
    ):
        self.task, self.samples, self.values, self.chunks = task, samples, values, chunks
        shapes = shapes_of(task, values)
        self.rows = chunks.rows(chunks.numbers)
        _check_memory(bytes_of_run(shapes) * self.rows.size, max_memory, self.rows.size)
        nothing = {np.dtype(float): np.nan, np.dtype(np.float32): np.nan}
        self.found = {
            name: np.full((self.rows.size, *x.shape), nothing.get(np.dtype(x.dtype), 0), x.dtype)
            for name, x in shapes.items()
        }
        self.found[STATUS][:] = INTERRUPTED
        # Where the rows of a chunk are among those of this part.
        self._places = {number: i for i, number in enumerate(chunks.numbers)}
        self._left = dict.fromkeys(chunks.numbers)

    @property
    def of(self) -> str:
        """The fingerprint of all that results depend on."""
        words = (self.task.outputs, self.task.derivatives, self.task.settings, self.task.times, self.chunks)
        return fingerprint_of(self.task.system, [self.values[path] for path in sorted(self.values)], map(repr, words))

    def restore(self, kept: SweepFolder) -> None:
        """The runs that are on disk."""
        for numbers, results in kept.blocks():
            self._put(numbers, results)

    def make(self, executor: Any, kept: SweepFolder | None, progress: bool | None) -> None:
        """All that are left, or those until Ctrl-C."""
        work = SweepWork(self.task, self.of, jax.config.read("jax_enable_x64"))
        shown = looked_at() if progress is None else progress
        done = self.rows.size - self.chunks.rows(list(self._left)).size if self._left else self.rows.size
        bar = progress_bar(self.rows.size, "runs", begun=done) if shown else None

        def take(numbers: Sequence[int], results: dict[str, np.ndarray]) -> None:
            cut = self.chunks.cut(numbers, results)
            self._put(numbers, cut)
            if kept is not None:
                kept.add(numbers, cut)
            if bar is not None:
                bar.update(len(cut[STATUS]))

        rows_of = lambda numbers: self.chunks.filled(numbers, dict(self.values))
        try:
            ChunkLoop(work, list(self._left), rows_of, take, most=_MOST_CHUNKS, executor=executor).run()
        except KeyboardInterrupt:
            pass
        finally:
            if bar is not None:
                bar.close()
            if kept is not None:
                kept.save()

    def _put(self, numbers: Sequence[int], results: Mapping[str, np.ndarray]) -> None:
        first, size = 0, self.chunks.size
        for number in numbers:
            count = self.chunks.rows([number]).size
            place = self._places[number] * size
            for name, array in self.found.items():
                array[place : place + count] = results[name][first : first + count]
            first += count
            self._left.pop(number, None)

    def make_again(self, settings: RunSettings, executor: Any) -> None:
        """The runs that failed, each alone, in another way; what fails again stays as it was."""
        failed = np.flatnonzero(~np.isin(self.found[STATUS], (*GOOD, INTERRUPTED)))
        if failed.size == 0:
            return
        values = {path: x[self.rows[failed]] for path, x in self.values.items()}
        task = dataclasses.replace(self.task, settings=settings)
        second = SweepRun(task, {}, values, Chunks(failed.size, 1), np.inf)
        second.make(executor, None, False)
        better = np.isin(second.found[STATUS], GOOD)
        for name, array in self.found.items():
            array[failed[better]] = second.found[name][better]

    def result(self) -> SweepResult:
        names = [name for name, _ in self.task.outputs]
        slopes = {
            name: {".".join(path): self.found[derivative_name(name, path)] for path in self.task.derivatives}
            for name in names
        }
        return SweepResult(
            samples={name: np.asarray(as_array(x))[self.rows] for name, x in self.samples.items()},
            outputs={name: self.found[name] for name in names},
            slopes=slopes if self.task.derivatives else {},
            code=self.found[STATUS],
            time=self.found[REACHED],
            rows=self.rows,
            fingerprint=self.of,
        )


def _settings_of(again: Any, system: System, first: RunSettings) -> RunSettings:
    """The settings of runs that are made again."""
    known = first.arguments
    if not isinstance(again, Mapping) or not set(again) <= set(known):
        raise ParameterError(
            f"again takes arguments of simulate such as dict(max_steps=10**6), of {', '.join(known)}; got {show(again)}."
        )
    arguments = {**known, **again}
    settings = RunSettings.of(system, *arguments.values())
    check_solvable(system, settings.solver, settings.dt, settings.rtol, settings.atol, settings.max_steps)
    return settings


def _paths(derivatives: Any, system: System) -> tuple[ParameterPath, ...]:
    names = [derivatives] if isinstance(derivatives, str) else list(derivatives)
    known = {path: np.asarray(x) for path, x in flatten(system.params()).items()}
    for name in names:
        entries_of(name, known)
        if tuple(name.split(".")) not in known:
            raise ParameterError(f"derivatives: {show(name)} must be a whole parameter such as 'spring.stiffness'.")
    return tuple(tuple(name.split(".")) for name in names)


def _checked_part(part: Any) -> tuple[int, int]:
    whole = isinstance(part, tuple | list) and len(part) == 2 and all(isinstance(x, int | np.integer) for x in part)
    if not whole or not 0 <= part[0] < part[1]:
        raise ParameterError(f"part must be (i, n), the i-th of n parts with i from 0 to n - 1, got {show(part)}.")
    return int(part[0]), int(part[1])


def _check_memory(needed: float, most: float, count: int) -> None:
    if needed > most:
        raise ParameterError(
            f"the results of {count} runs would take {needed / 1e9:.3g} GB, more than max_memory = {most / 1e9:.3g} GB. "
            "Reduce outputs over time to quantities such as mbs.Maximum, save fewer times with saveat, make a part of "
            "the runs, or pass a larger max_memory."
        )
