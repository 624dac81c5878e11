"""A sweep that is being made: which runs are done, and what is known of them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..batches.chunk_loop import ChunkLoop
from ..batches.chunk_size import chunk_size
from ..batches.chunks import Chunks
from ..batches.portable_work import PortableWork
from ..core.errors import ParameterError
from ..core.parameters import ParameterPath, as_array
from ..core.progress_bar import looked_at, progress_bar
from ..files.checkpoint import fingerprint_of
from ..files.saved_sweeps import ARRIVED, INTERRUPTED, SweepResult
from ..search.run_settings import RunSettings
from .sweep_folder import SweepFolder
from .sweep_task import (
    REACHED,
    STATUS,
    SweepProgram,
    SweepTask,
    bytes_of,
    code_of,
    derivative_name,
    most_chunks,
    row_shapes,
    shapes_of,
)

_SIDE_BY_SIDE = 100
"""Runs that a core makes at once: more do not fit into its cache."""
_FEWEST_CHUNKS = 16
"""Of few runs the chunks are smaller, so that several cores have some."""


class LaterStage(NamedTuple):
    """The settings of runs that are made again: those that ended with one of these `codes`; `only_if_better`: only if
    they arrive this time."""

    settings: RunSettings
    codes: tuple[int, ...]
    only_if_better: bool


@dataclasses.dataclass(frozen=True)
class SweepPlan:
    """All that results depend on; `later`: how runs that fail are made again. `samples` as they were given, `values`:
    the whole parameters."""

    task: SweepTask
    samples: Mapping[str, Any]
    values: Mapping[ParameterPath, np.ndarray]
    later: tuple[LaterStage, ...]

    @property
    def count(self) -> int:
        return len(next(iter(self.values.values())))

    def chunk_size(self) -> int:
        """The one that suits the device."""
        on_cpu = min(_SIDE_BY_SIDE, -(-self.count // _FEWEST_CHUNKS))
        return chunk_size(self.count, on_cpu, self.task.run, row_shapes(self.values))

    def of(self, chunks: Chunks) -> str:
        """The fingerprint of the whole sweep, also where this is a part of it."""
        task = self.task
        words = (
            task.outputs,
            task.derivatives,
            task.settings,
            (task.t0, task.t1, task.saveat),
            self.later,
            chunks.size,
            sorted(self.samples),
            [code_of(what) for _, what in task.outputs],
        )
        return fingerprint_of(task.system, [self.values[path] for path in sorted(self.values)], map(repr, words))


class SweepRun:
    """The runs of some chunks of a sweep. `max_memory`: of the results [bytes]."""

    def __init__(self, plan: SweepPlan, chunks: Chunks, max_memory: float):
        self.plan, self.chunks = plan, chunks
        self.of = plan.of(chunks)
        self.rows = chunks.rows(chunks.numbers)
        if not len(chunks.numbers):
            first, count = chunks.part
            raise ParameterError(
                f"part = ({first}, {count}) is empty: there are {-(-chunks.count // chunks.size)} chunks of "
                f"{chunks.size} runs. Pass a smaller chunk, in all parts."
            )
        shapes = shapes_of(plan.task, plan.values)
        each = bytes_of(shapes)
        _check_memory(each * self.rows.size, max_memory, self.rows.size)
        self._most = most_chunks(chunks.size * (each + bytes_of(row_shapes(plan.values))))
        empty = lambda x: np.full((self.rows.size, *x.shape), np.nan if np.dtype(x.dtype).kind == "f" else 0, x.dtype)
        self.found = {name: empty(x) for name, x in shapes.items()}
        self.found[STATUS][:] = INTERRUPTED
        # Where the rows of a chunk are among those of this part.
        self._places = {number: i * chunks.size for i, number in enumerate(chunks.numbers)}
        self._left = dict.fromkeys(chunks.numbers)
        self.finished = False

    def restore(self, kept: SweepFolder) -> None:
        """The runs that are on disk."""
        for numbers, results in kept.blocks():
            self._put(numbers, results)

    def make(self, executor: Any, kept: SweepFolder | None, progress: bool | None, stopped: Callable[[], bool]) -> None:
        """All that are left, or those until it is stopped, by Ctrl-C or otherwise."""
        whole = self._make_left(executor, kept, progress, stopped)
        if whole and not self._left:
            self.finished = self._make_again(executor, progress, stopped)

    def _make_left(
        self, executor: Any, kept: SweepFolder | None, progress: bool | None, stopped: Callable[[], bool]
    ) -> bool:
        """Whether nobody stopped it."""
        shown = looked_at() if progress is None else progress
        begun = self.rows.size - self.chunks.rows(list(self._left)).size
        bar = progress_bar(self.rows.size, "runs", begun=begun) if shown else None

        def take(numbers: Sequence[int], results: dict[str, np.ndarray]) -> None:
            cut = self.chunks.cut(numbers, results)
            self._put(numbers, cut)
            if kept is not None:
                kept.add(numbers, cut)
            if bar is not None:
                bar.update(len(cut[STATUS]))

        work = PortableWork(SweepProgram(self.plan.task, self._most))
        rows_of = lambda numbers: self.chunks.filled(numbers, dict(self.plan.values))
        try:
            return ChunkLoop(work, list(self._left), rows_of, take, most=self._most, executor=executor).run(stopped)
        except KeyboardInterrupt:
            return False
        finally:
            if bar is not None:
                bar.refresh()
                bar.close()
            if kept is not None:
                kept.save()

    def _make_again(self, executor: Any, progress: bool | None, stopped: Callable[[], bool]) -> bool:
        """Runs that failed, as the later stages of the plan say; what fails again stays as it was. Whether all are
        made."""
        for stage in self.plan.later:
            failed = np.flatnonzero(np.isin(self.found[STATUS], stage.codes))
            if failed.size == 0:
                continue
            values = {path: x[self.rows[failed]] for path, x in self.plan.values.items()}
            task = dataclasses.replace(self.plan.task, settings=stage.settings)
            # Each alone, but for very many.
            size = 1 if failed.size < self.chunks.size else self.chunks.size
            second = SweepRun(SweepPlan(task, {}, values, ()), Chunks(failed.size, size), np.inf)
            second.make(executor, None, progress, stopped)
            if not second.finished:
                return False
            better = np.isin(second.found[STATUS], ARRIVED) | (not stage.only_if_better)
            for name, array in self.found.items():
                array[failed[better]] = second.found[name][better]
        return True

    def result(self) -> SweepResult:
        task, found = self.plan.task, self.found
        names = [name for name, _ in task.outputs]
        derivatives = {
            name: {".".join(path): found[derivative_name(name, path)] for path in task.derivatives} for name in names
        }
        return SweepResult(
            samples={name: np.asarray(as_array(x))[self.rows] for name, x in self.plan.samples.items()},
            outputs={name: found[name] for name in names},
            derivatives=derivatives if task.derivatives else {},
            units=task.units(),
            t=np.asarray(task.saveat),
            code=found[STATUS].astype(int),
            time=found[REACHED],
            over_time=tuple(name for name, what in task.outputs if isinstance(what, str)),
            rows=self.rows,
            count=self.plan.count,
            fingerprint=self.of,
        )

    def _put(self, numbers: Sequence[int], results: Mapping[str, np.ndarray]) -> None:
        first = 0
        for number in numbers:
            count, place = self.chunks.rows([number]).size, self._places[number]
            for name, array in self.found.items():
                array[place : place + count] = results[name][first : first + count]
            first += count
            self._left.pop(number, None)


def _check_memory(needed: float | int, most: float, count: int) -> None:
    if needed > most:
        raise ParameterError(
            f"the results of {count} runs would take {needed / 1e9:.3g} GB, max_memory is {most / 1e9:.3g} GB. "
            "Reduce outputs over time to quantities such as mbs.Maximum, save fewer times with saveat, make a part of "
            "the runs, or pass a larger max_memory."
        )
