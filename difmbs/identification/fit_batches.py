"""Fits of many sets of data, some of them side by side, one batch after the other."""

import dataclasses
import functools
import hashlib
import os
import time
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..search import levenberg_marquardt as lm
from ..search.progress import Console
from .fit_checkpoint import fingerprint_of_fit, read_state, write_state
from .fit_problem import FitProblem
from .setup import FitSetup

_SHARE = 0.1
"""Share of the time for writing what is done."""


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
    """The fits of a problem of experiments that are all alike, each by itself; `most` iterations each."""

    def __init__(self, setup: FitSetup, most: int, folder: str | os.PathLike[str] | None):
        self.setup, self.most, self.folder = setup, most, folder
        self.problem = setup.problem(dict.fromkeys(setup.estimated, 1.0))
        (group,) = self.problem.groups
        # One experiment to each member of the batch.
        names = ("given", "loads", "slots", "measured", "weights")
        self._data = jax.tree.map(lambda x: x[:, None], {name: getattr(group, name) for name in names})
        self._single = dataclasses.replace(self.problem, groups=(dataclasses.replace(group, members=(0,)),))
        self.count, p = len(group.members), len(setup.start)
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

    def run(self, console: Console) -> None:
        """Until all are made, or Ctrl-C."""
        begun, size = time.perf_counter(), min(_together(), self.count)
        try:
            for first in range(0, self.count, size):
                rows = np.arange(first, min(first + size, self.count))
                if not np.all(self.found.done[rows]):
                    self._make(rows, size)
                    self._write()
                if console.due or rows[-1] == self.count - 1:
                    console.show(self._line(first + rows.size, time.perf_counter() - begun))
        except KeyboardInterrupt:
            console.say("interrupted")
        self._write(last=True)

    def _make(self, rows: np.ndarray, size: int) -> None:
        # Filled up, so that the last batch is made by the same program.
        filled = np.resize(rows, size)
        data = jax.tree.map(lambda x: x[filled], self._data)
        state = _fits_of_each(self._single, data, jnp.asarray(self.setup.start), self.most)
        kept = {name: np.asarray(getattr(state, name))[: rows.size] for name in BatchResults._fields[:-1]}
        # All at once, so that Ctrl-C does not leave a row half filled.
        for name, values in (*kept.items(), ("done", True)):
            getattr(self.found, name)[rows] = values

    def _write(self, last: bool = False) -> None:
        """Not after each batch where there are so many results that writing them would take long."""
        now = time.perf_counter()
        if self.folder is not None and (last or now > self._next_write):
            write_state(self.folder, self.of, {"most": self.most}, self.found._asdict())
            self._next_write = now + (time.perf_counter() - now) / _SHARE

    def _line(self, made: int, seconds: float) -> str:
        converged = int(np.sum(self.found.done & (self.found.code == lm.CONVERGED)))
        return f"{made:>6} of {self.count} fits, {converged} converged  {seconds:>6.1f} s"


@eqx.filter_jit
def _fits_of_each(problem: FitProblem, data: dict[str, Any], start: Any, most: int) -> lm.LeastSquaresState:
    """Fits of many sets of data side by side, from the same start; `data`: what of the one group is replaced, with a
    leading axis."""

    def one(data):
        (group,) = problem.groups
        groups = (dataclasses.replace(group, **data),)
        return lm.search(dataclasses.replace(problem, groups=groups), start, most)

    return jax.vmap(one)(data)


def _together() -> int:
    """Number of fits that run side by side: on a CPU more are no faster, because all wait for the slowest one."""
    return 25 if jax.default_backend() == "cpu" else 10_000
