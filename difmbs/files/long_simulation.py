"""Long simulations that are written to a folder while they run, and go on from there after any stop."""

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import FileError
from ..core.progress_bar import looked_at, progress_bar
from ..simulation.early_stops import raise_if_failed
from ..simulation.moved_starts import warn_if_moved
from ..simulation.pieces import OutputRow, PiecewiseRun
from ..simulation.simulate import piecewise_run
from ..simulation.solution import Solution
from ..system.system import System
from .checkpoint import read_checkpoint, said, write_checkpoint
from .fingerprint import fingerprint
from .writing import output_folder, replacing

STATE = "pieces.npz"
_ROWS, _OF_ROWS = "rows-{:06d}.npz", re.compile(r"rows-\d{6,}\.npz")
_SHARE = 25
"""Saving takes at most this part of the time."""
_PAUSE = 1.0
"""Seconds between two savings at least."""


class RunFolder:
    """Where a piecewise run is on disk: `pieces.npz`, its state, and files of rows, which are only added."""

    def __init__(self, path: str | os.PathLike[str], run: PiecewiseRun):
        self.path, self._run = Path(path), run
        self._of = _identity(run)
        self._files = self._written = 0

    @classmethod
    def begun(cls, path: str | os.PathLike[str]) -> bool:
        """Whether there is something to go on from."""
        return (Path(path) / STATE).exists()

    def save(self) -> None:
        """What is new: rows first, then the state that says how many there are."""
        run = self._run
        new = run.rows[self._written :]
        if new:
            joined = jax.tree.map(lambda *x: np.concatenate(x), *new)
            with replacing(self.path / _ROWS.format(self._files), force=True) as file:
                np.savez(file, allow_pickle=False, **_numbered(joined))
            self._files += 1
            self._written = len(run.rows)
        rest = {"files": self._files, "passed": run.passed}
        write_checkpoint(self.path / STATE, self._of, rest, _numbered(run.state))

    def restore(self) -> None:
        """The run as it was saved."""
        run = self._run
        rest, arrays = read_checkpoint(self.path / STATE, self._of, "a simulation whose model or settings")
        run.state = _filled(run.state, arrays)
        run.rows = [self._rows(i) for i in range(rest["files"])]
        run.passed, self._files, self._written = rest["passed"], rest["files"], len(run.rows)
        if sum(len(row.good) for row in run.rows) != run.passed:
            raise FileError(f"{self.path} lacks rows of the simulation. Start again without resume.")

    def clear(self) -> None:
        """Away with all of it."""
        clear_pieces(self.path)

    def _rows(self, number: int) -> OutputRow:
        path = self.path / _ROWS.format(number)
        try:
            with np.load(path, allow_pickle=False) as file:
                return jax.tree.map(np.asarray, _filled(self._run.start.row, dict(file), stacked=True))
        except Exception as error:  # whatever a damaged archive raises
            raise FileError(f"{path} cannot be read: {type(error).__name__}. Start again without resume.") from None


def clear_pieces(path: str | os.PathLike[str]) -> None:
    """Removes what a run in pieces has left in a folder; the state first, so that nothing goes on from half of it."""
    rows = [entry for entry in sorted(Path(path).glob("rows-*.npz")) if _OF_ROWS.fullmatch(entry.name)]
    for entry in [Path(path) / STATE, *rows]:
        entry.unlink(missing_ok=True)


def simulate_in_pieces(
    system: System,
    *,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
    throw: bool = True,
    force: bool = False,
    **arguments: Any,
) -> Solution:
    """As `simulate`, for long runs: compiled in pieces, with a bar, and written to a folder while it runs.

    **Arguments:** `folder`: where it is saved every few seconds, which must be empty, None: nowhere; `resume`: go on
    from what is there, if there is something; `force`: whatever is there, begin from the beginning; `progress`: show
    simulated time, rate and time left, None: on terminals and in notebooks; `throw`, and all other `arguments`: those
    of `simulate`, but `adjoint`.

    Ctrl-C stops it after the present piece, at most a second or two, with all of it saved. The result is the same in
    every bit as that of a run that was never stopped. It cannot be differentiated.
    """
    run = piecewise_run("simulate_in_pieces", system, arguments)
    if folder is None:
        go_on(run, None, progress=progress)
    else:
        goes_on = resume and RunFolder.begun(folder)
        with output_folder(folder, force=force or goes_on):
            kept = RunFolder(folder, run)
            if goes_on:
                kept.restore()
            else:
                kept.clear()
            go_on(run, kept, progress=progress)
            kept.clear()
    solution = run.solution()
    if throw:
        raise_if_failed(solution)
        warn_if_moved(solution)
    return solution


def go_on(
    run: PiecewiseRun,
    kept: RunFolder | None,
    *,
    progress: bool | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Runs to the end, or until it is `stopped`; then, and every few seconds, it is saved."""
    bar = _bar(run) if (looked_at() if progress is None else progress) else None
    saved, cost, shown = time.monotonic(), 0.0, run.reached
    try:
        while not run.finished and not stopped():
            run.advance()
            if bar is not None:
                bar.update(max(run.reached - shown, 0.0))
                bar.set_postfix_str(f"{run.steps} steps", refresh=False)
                shown = max(shown, run.reached)
            if kept is not None and time.monotonic() - saved > max(_PAUSE, _SHARE * cost):
                begun = time.monotonic()
                kept.save()
                saved, cost = time.monotonic(), time.monotonic() - begun
    finally:
        if bar is not None:
            bar.refresh()
            bar.close()
        if kept is not None and not run.finished:
            kept.save()


def _bar(run: PiecewiseRun) -> Any:
    loop = run.time_loop
    return progress_bar(loop.t1 - loop.t0, "s", begun=run.reached - loop.t0)


def _identity(run: PiecewiseRun) -> str:
    """The simulation: its system with all numbers, solver, times and tolerances."""
    digest = hashlib.sha256(fingerprint(run.system).encode())
    digest.update(said(run.time_loop))
    digest.update(said(np.asarray(run.time_loop.outputs).tobytes()))
    return digest.hexdigest()


def _numbered(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree."""
    return {f"leaf{i}": np.asarray(x) for i, x in enumerate(jax.tree.leaves(eqx.filter(tree, eqx.is_array)))}


def _filled(tree: Any, arrays: dict[str, np.ndarray], stacked: bool = False) -> Any:
    """A tree with other arrays in place of its own; `stacked`: in rows."""
    own, rest = eqx.partition(tree, eqx.is_array)
    leaves, structure = jax.tree.flatten(own)
    found = [arrays[f"leaf{i}"] for i in range(len(leaves))]
    for x, y in zip(leaves, found, strict=True):
        if y.shape[1 if stacked else 0 :] != x.shape or y.dtype != x.dtype:
            raise FileError("the saved state has other shapes. Start again without resume.")
    return eqx.combine(jax.tree.unflatten(structure, found if stacked else list(map(jnp.asarray, found))), rest)
