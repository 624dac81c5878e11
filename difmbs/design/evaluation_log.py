"""What a search has evaluated, in memory and on disk: an interrupted search goes on from there."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import jax
import numpy as np

from ..core.errors import FileError
from ..files.checkpoint import bytes_of, fingerprint_of, read_checkpoint, said, write_checkpoint
from ..files.fingerprint import fingerprint
from ..search.unknowns import Unknowns
from ..system.system import System
from .task import DesignTask

NAME = "evaluations.npz"


class Interruption(BaseException):
    """The search would have to go on where it was interrupted."""


class EvaluationLog:
    """Evaluations by their place. With a folder they are written there; with `known_only` there are no new ones."""

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        task: DesignTask,
        unknowns: Unknowns,
        resume: bool,
        known_only: bool = False,
    ):
        self._known_only = known_only
        self._known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self._folder = None if folder is None else Path(folder)
        self._begun = time.perf_counter()
        self._of = fingerprint_of_design(task, unknowns)
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
            if self._known_only:
                raise Interruption
            self._known[key] = tuple(np.asarray(x) for x in evaluate())  # type: ignore[assignment]
            self._write()
        return self._known[key]

    def _write(self) -> None:
        if self._folder is None:
            return
        places = np.stack([np.frombuffer(key) for key in self._known])
        entries, jacobians = (np.stack(x) for x in zip(*self._known.values(), strict=True))
        arrays = dict(places=places, entries=entries, jacobians=jacobians)
        write_checkpoint(self._folder / NAME, self._of, {}, arrays)

    def _read(self) -> None:
        if self._folder is None:
            raise FileError("resume needs the folder of the search that is to go on.")
        changed = "another task: model, unknowns, objectives or settings"
        _, arrays = read_checkpoint(self._folder / NAME, self._of, changed)
        rows = zip(arrays["places"], arrays["entries"], arrays["jacobians"], strict=True)
        self._known = {place.tobytes(): (entries, jacobian) for place, entries, jacobian in rows}


def fingerprint_of_design(task: DesignTask, unknowns: Unknowns) -> str:
    """Fingerprint of all numbers and names of a task, with the code, defaults and numbers in closures of functions.

    Not seen: global variables, other functions that they call, the code of own quantities and of callable objects.
    """
    numbers = task.given, unknowns.start, unknowns.lower, unknowns.upper, unknowns.logarithmic
    arrays = [leaf for leaf in jax.tree.leaves(task.settings.solver) if isinstance(leaf, (np.ndarray, jax.Array))]
    quantities = (*task.objectives, *((x.quantity, x.upper, x.lower) for x in task.limits))
    words = unknowns.names, unknowns.targets, task.run_arguments, *map(_of_quantity, quantities)
    return fingerprint_of(task.system, (numbers, arrays), words)


def _of_quantity(value: Any) -> bytes:
    if isinstance(value, tuple):
        return b"(" + b",".join(map(_of_quantity, value)) + b")"
    if isinstance(value, frozenset):
        # Of words, each process has an order of its own.
        return _of_quantity(tuple(sorted(value, key=repr)))
    if isinstance(value, CodeType):
        return value.co_code + said(value.co_names) + _of_quantity(value.co_consts)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        inner = tuple(x for x in cells if not callable(x))
        return _of_quantity((value.__qualname__, value.__code__, value.__defaults__, inner))
    if isinstance(value, System):
        return fingerprint(value).encode()
    return bytes_of(value) if isinstance(value, (np.ndarray, jax.Array)) else said(value)
