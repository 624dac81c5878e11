"""Where the runs of a sweep are on disk: blocks of them while it goes on, one file when it has ended."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import FileError, MismatchError
from ..core.parameters import show
from ..files.checkpoint import read_checkpoint, write_checkpoint
from ..files.results import load_result
from ..files.saved_sweeps import SweepResult, sweep_arrays
from ..files.toml import SCHEMA
from ..files.writing import replacing

RESULT = "sweep.npz"
_BLOCK, _OF_BLOCKS = "block-{:06d}.npz", re.compile(r"block-\d{6,}\.npz")
_WHAT = "a sweep whose model, samples, outputs or settings"
_SHARE = 25
"""Saving takes at most this part of the time."""
_PAUSE = 1.0
"""Seconds between two savings at least."""


class SweepFolder:
    """Blocks of finished chunks in a folder; `of`: the fingerprint of the sweep and its part."""

    def __init__(self, path: str | os.PathLike[str], of: str):
        self.path, self._of = Path(path), of
        self._new: list[tuple[list[int], dict[str, np.ndarray]]] = []
        self._count = 0
        self._saved, self._cost = time.monotonic(), 0.0

    @property
    def begun(self) -> bool:
        """Whether there is something to go on from."""
        return (self.path / RESULT).exists() or bool(self._files())

    def add(self, numbers: Any, results: dict[str, np.ndarray]) -> None:
        """More that is to be saved; saved it is every second or so."""
        self._new.append((list(numbers), results))
        if time.monotonic() - self._saved > max(_PAUSE, _SHARE * self._cost):
            self.save()

    def save(self) -> None:
        """What is new, as a block."""
        if not self._new:
            return
        begun = time.monotonic()
        numbers = [n for chunks, _ in self._new for n in chunks]
        joined = {name: np.concatenate([r[name] for _, r in self._new]) for name in self._new[0][1]}
        arrays = {f"result{i}": x for i, x in enumerate(joined.values())}
        rest = {"chunks": numbers, "names": list(joined)}
        write_checkpoint(self.path / _BLOCK.format(self._count), self._of, rest, arrays)
        self._count += 1
        self._new = []
        self._saved, self._cost = time.monotonic(), time.monotonic() - begun

    def blocks(self) -> Iterator[tuple[list[int], dict[str, np.ndarray]]]:
        """Those that are there: the chunks of each, and their results."""
        for path in self._files():
            rest, arrays = read_checkpoint(path, self._of, _WHAT)
            self._count = max(self._count, int(path.stem.partition("-")[2]) + 1)
            yield rest["chunks"], {name: arrays[f"result{i}"] for i, name in enumerate(rest["names"])}

    def result(self, of: str, rows: np.ndarray) -> SweepResult | None:
        """What was written when it had ended, if it had."""
        if not (self.path / RESULT).exists():
            return None
        result = sweep_in(self.path)
        if result.fingerprint != of or not np.array_equal(result.rows, rows):
            raise MismatchError(f"{self.path / RESULT} belongs to {_WHAT} were changed. Start again without resume.")
        self._clear_blocks()
        return result

    def finish(self, result: SweepResult) -> None:
        """All of it in one file instead of the blocks."""
        save_sweep(result, self.path / RESULT, force=True)
        self._clear_blocks()

    def clear(self) -> None:
        """Away with what was here before."""
        (self.path / RESULT).unlink(missing_ok=True)
        self._clear_blocks()

    def _clear_blocks(self) -> None:
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        found = sorted(self.path.glob("block-*.npz"))
        return [path for path in found if _OF_BLOCKS.fullmatch(path.name)]


def save_sweep(result: SweepResult, path: str | os.PathLike[str], *, force: bool = False) -> None:
    with replacing(path, force=force) as file:
        np.savez(file, allow_pickle=False, schema=SCHEMA, **sweep_arrays(result))


def sweep_in(path: str | os.PathLike[str]) -> SweepResult:
    """From its folder, or its file."""
    file = Path(path) / RESULT if Path(path).is_dir() else Path(path)
    if Path(path).is_dir() and not file.exists():
        raise FileError(f"{path} holds no sweep that has ended: there is no {RESULT} in it.")
    result = load_result(file)
    if not isinstance(result, SweepResult):
        raise FileError(f"{file} holds no sweep, but {show(type(result).__name__)}.")
    return result
