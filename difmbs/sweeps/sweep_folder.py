"""Where the runs of a sweep are on disk: blocks of them while it goes on, one file when it has ended."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..files.checkpoint import read_checkpoint, write_checkpoint

RESULT = "sweep.npz"
_BLOCK, _OF_BLOCKS = "block-{:06d}.npz", re.compile(r"block-\d{6,}\.npz")
_SHARE = 25
"""Saving takes at most this part of the time."""
_PAUSE = 1.0
"""Seconds between two savings at least."""


class SweepFolder:
    """Blocks of finished chunks in a folder; `of`: the fingerprint of the sweep."""

    def __init__(self, path: str | os.PathLike[str], of: str):
        self.path, self._of = Path(path), of
        self._new: list[tuple[list[int], dict[str, np.ndarray]]] = []
        self._count = 0
        self._saved, self._cost = time.monotonic(), 0.0

    def add(self, numbers: Any, results: dict[str, np.ndarray]) -> None:
        """More that is to be saved; saved it is every few seconds."""
        self._new.append((list(numbers), results))
        if time.monotonic() - self._saved > max(_PAUSE, _SHARE * self._cost):
            self.save()

    def save(self) -> None:
        """What is new, as a block."""
        if not self._new:
            return
        begun = time.monotonic()
        numbers = [n for chunk, _ in self._new for n in chunk]
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
            what = "a sweep whose model, samples, outputs or settings"
            rest, arrays = read_checkpoint(path, self._of, what)
            self._count = int(path.stem.partition("-")[2]) + 1
            yield rest["chunks"], {name: arrays[f"result{i}"] for i, name in enumerate(rest["names"])}

    @property
    def begun(self) -> bool:
        """Whether there is something to go on from."""
        return bool(self._files())

    def clear(self) -> None:
        """Away with the blocks."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        found = sorted(self.path.glob("block-*.npz"))
        return [path for path in found if _OF_BLOCKS.fullmatch(path.name)]
