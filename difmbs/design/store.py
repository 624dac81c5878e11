"""What a search has evaluated, in memory and on disk: an interrupted search goes on from there."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._errors import FileError
from ..files import replacing
from ..identification.unknowns import Unknowns
from .task import Task

NAME = "evaluations.npz"


class Log:
    """Evaluations by their place. With a folder they are kept there, too."""

    def __init__(self, folder: str | os.PathLike[str] | None, task: Task, unknowns: Unknowns, resume: bool):
        self._known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self._folder = None if folder is None else Path(folder)
        self._begun = time.perf_counter()
        self._of = _fingerprint(task, unknowns)
        if resume:
            self._read()

    def seconds(self) -> float:
        return time.perf_counter() - self._begun

    @property
    def evaluations(self) -> int:
        return len(self._known)

    def remembered(self, z: np.ndarray, evaluate: Callable[[], Any]) -> tuple[np.ndarray, np.ndarray]:
        key = np.asarray(z, float).tobytes()
        if key not in self._known:
            self._known[key] = tuple(np.asarray(x) for x in evaluate())  # type: ignore[assignment]
            self._write()
        return self._known[key]

    def _write(self) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        places = np.stack([np.frombuffer(key) for key in self._known])
        entries, jacobians = (np.stack(x) for x in zip(*self._known.values(), strict=True))
        with replacing(self._folder / NAME, force=True) as file:
            rest = np.frombuffer(json.dumps(dict(of=self._of)).encode(), np.uint8)
            np.savez(file, rest=rest, places=places, entries=entries, jacobians=jacobians)

    def _read(self) -> None:
        if self._folder is None:
            raise FileError("resume needs the folder of the search that is to go on.")
        path = self._folder / NAME
        try:
            with np.load(path, allow_pickle=False) as file:
                of = json.loads(file["rest"].tobytes())["of"]
                rows = list(zip(file["places"], file["entries"], file["jacobians"], strict=True))
        except FileNotFoundError:
            raise FileError(f"{path} does not exist: there is nothing to resume.") from None
        except Exception as error:  # whatever a damaged archive raises
            raise FileError(f"{path} cannot be read: {type(error).__name__}. Start again without resume.") from None
        if of != self._of:
            raise FileError(f"{path} belongs to another task. Start again without resume.")
        self._known = {place.tobytes(): (entries, jacobian) for place, entries, jacobian in rows}


def _fingerprint(task: Task, unknowns: Unknowns) -> str:
    digest = hashlib.sha256()
    for array in map(np.asarray, jax.tree.leaves((task.system.stacks, task.system.gravity, task.given))):
        digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    said = [unknowns.names, unknowns.targets, [str(q) for q in task.objectives], [str(x.quantity) for x in task.limits]]
    digest.update(repr([said, [(x.upper, x.lower) for x in task.limits], task.options]).encode())
    for numbers in (unknowns.start, unknowns.lower, unknowns.upper):
        digest.update(numbers.tobytes())
    return digest.hexdigest()
