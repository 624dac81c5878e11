"""Fits of many sets of data, some of them side by side, chunk by chunk."""

import dataclasses
import functools
import hashlib
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..batches.chunk_loop import ChunkLoop
from ..batches.chunk_size import chunk_size, spread_over_cores
from ..batches.chunks import Chunks
from ..batches.portable_work import PortableWork
from ..search import levenberg_marquardt as lm
from ..search.progress import Console
from .fit_checkpoint import fingerprint_of_fit, read_state, write_state
from .fit_problem import FitProblem
from .setup import FitSetup

_SHARE = 0.1
"""Share of the time for writing what is done."""
_SIDE_BY_SIDE = 50
"""Fits that a core makes at once: of more all wait for the slowest one."""
_MOST_CHUNKS = 64


class BatchResults(NamedTuple):
    """Results of the fits in rows: where each search ended, and `done`, whether it was made."""

    z: np.ndarray
    chi2: np.ndarray
    R: np.ndarray
    g: np.ndarray
    code: np.ndarray
    iterations: np.ndarray
    done: np.ndarray


class FitBatches:
    """The fits of a problem of experiments that are all alike, each by itself; `most` iterations each; `chunk`: so many
    side by side."""

    def __init__(self, setup: FitSetup, most: int, folder: str | os.PathLike[str] | None, chunk: int | None = None):
        self.setup, self.most, self.folder = setup, most, folder
        self.problem = setup.problem(dict.fromkeys(setup.estimated, 1.0))
        (group,) = self.problem.groups
        # One experiment to each member of the batch.
        names = ("given", "loads", "slots", "measured", "weights")
        self._data = jax.tree.map(lambda x: np.asarray(x)[:, None], {name: getattr(group, name) for name in names})
        first = dataclasses.replace(group, members=(0,), **jax.tree.map(lambda x: x[0], self._data))
        single = dataclasses.replace(self.problem, groups=(first,))
        self._program = FitProgram(single, setup.start, most)
        self.count, p = len(group.members), len(setup.start)
        self._chunks = Chunks(self.count, min(chunk or self._chunk_size(), self.count))
        rows = lambda *shape: np.full((self.count, *shape), np.nan)
        zeros = np.zeros(self.count, int)
        self.found = BatchResults(rows(p), rows(), rows(p, p), rows(p), zeros, zeros.copy(), np.zeros(self.count, bool))
        self._next_write = -np.inf

    @functools.cached_property
    def of(self) -> str:
        """The fingerprint of all fits, which is not that of one fit of the same experiments."""
        return hashlib.sha256(f"each {fingerprint_of_fit(self.setup)}".encode()).hexdigest()

    def restore(self) -> None:
        """Goes on from the folder; fits that were cut off are made again if they may now take more iterations."""
        rest, arrays = read_state(self.folder, self.of)
        self.found = BatchResults(**{name: arrays[name].copy() for name in BatchResults._fields})
        if rest["most"] != self.most:
            self.found.done[self.found.code == lm.RUNNING] = False

    def run(self, console: Console, executor: Any = None) -> None:
        """Until all are made, or Ctrl-C."""
        begun = time.perf_counter()
        made = int(np.sum(self.found.done))

        def take(numbers: Sequence[int], results: dict[str, np.ndarray]) -> None:
            nonlocal made
            rows = self._chunks.rows(numbers)
            for name, values in self._chunks.cut(numbers, results).items():
                getattr(self.found, name)[rows] = values
            self.found.done[rows] = True
            made = int(np.sum(self.found.done))
            self._write()
            if console.due or made == self.count:
                console.show(self._line(made, time.perf_counter() - begun))

        left = [n for n in self._chunks.numbers if not np.all(self.found.done[self._chunks.rows([n])])]
        work = PortableWork(self._program)
        rows_of = lambda numbers: self._chunks.filled(numbers, self._data)
        try:
            ChunkLoop(work, left, rows_of, take, most=_MOST_CHUNKS, executor=executor).run()
        except KeyboardInterrupt:
            console.say("interrupted")
        self._write(last=True)

    def _chunk_size(self) -> int:
        row = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), self._data)
        return chunk_size(self.count, spread_over_cores(self.count, _SIDE_BY_SIDE), self._program.one, row)

    def _write(self, last: bool = False) -> None:
        """Not after each chunk where there are so many results that writing them would take long."""
        now = time.perf_counter()
        if self.folder is not None and (last or now > self._next_write):
            write_state(self.folder, self.of, {"most": self.most}, self.found._asdict())
            self._next_write = now + (time.perf_counter() - now) / _SHARE

    def _line(self, made: int, seconds: float) -> str:
        converged = int(np.sum(self.found.done & (self.found.code == lm.CONVERGED)))
        return f"{made:>6} of {self.count} fits, {converged} converged  {seconds:>6.1f} s"


@dataclasses.dataclass(frozen=True, eq=False)
class FitProgram:
    """Fits of many sets of data, all from the same start; `single`: the problem of one of them."""

    single: FitProblem
    start: np.ndarray
    most: int

    def __call__(self, data: dict[str, Any]) -> dict[str, np.ndarray]:
        """`data`: with axes of chunks, of fits side by side, and their own."""
        results = []
        for i in range(len(jax.tree.leaves(data)[0])):
            state = _fits_of_each(self.single, self.start, self.most, jax.tree.map(lambda x, i=i: x[i], data))
            results.append({name: np.asarray(getattr(state, name)) for name in BatchResults._fields[:-1]})
        return {name: np.stack([r[name] for r in results]) for name in results[0]}

    def one(self, data: dict[str, Any]) -> lm.LeastSquaresState:
        return _fit(self.single, self.start, self.most, data)


@eqx.filter_jit
def _fits_of_each(single: FitProblem, start: Any, most: int, data: dict[str, Any]) -> lm.LeastSquaresState:
    return jax.vmap(lambda row: _fit(single, start, most, row))(data)


def _fit(single: FitProblem, start: Any, most: int, data: dict[str, Any]) -> lm.LeastSquaresState:
    """`data`: what of the one group is replaced."""
    (group,) = single.groups
    groups = (dataclasses.replace(group, **data),)
    return lm.search(dataclasses.replace(single, groups=groups), jnp.asarray(start), most)
