"""What a search has evaluated, in memory and on disk: an interrupted search goes on from there."""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import jax
import numpy as np

from ..core.errors import FileError, MismatchError
from ..files.fingerprint import fingerprint as of_system
from ..files.writing import replacing
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
            if self._known_only:
                raise Interruption
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
            raise MismatchError(
                f"{path} belongs to another task: model, unknowns, objectives or settings were changed. Start again "
                "without resume."
            )
        self._known = {place.tobytes(): (entries, jacobian) for place, entries, jacobian in rows}


def _fingerprint(task: DesignTask, unknowns: Unknowns) -> str:
    """Of all numbers and names of a task, with the code, defaults and numbers in closures of functions.

    Not seen: global variables, other functions that they call, the code of own quantities and of callable objects.
    """
    digest = hashlib.sha256(of_system(task.system).encode())
    numbers = (unknowns.start, unknowns.lower, unknowns.upper, unknowns.logarithmic)
    for array in map(np.asarray, (*jax.tree.leaves(task.given), *numbers)):
        digest.update(_of_array(array))
    digest.update(_said([unknowns.names, unknowns.targets, task.options]))
    for leaf in jax.tree.leaves(task.options):
        digest.update(_of_array(leaf))
    for quantity in (*task.objectives, *((x.quantity, x.upper, x.lower) for x in task.limits)):
        digest.update(_of_quantity(quantity))
    return digest.hexdigest()


def _of_quantity(value: Any) -> bytes:
    if isinstance(value, tuple):
        return b"(" + b",".join(map(_of_quantity, value)) + b")"
    if isinstance(value, frozenset):
        # Of words, each process has an order of its own.
        return _of_quantity(tuple(sorted(value, key=repr)))
    if isinstance(value, CodeType):
        return value.co_code + _said(value.co_names) + _of_quantity(value.co_consts)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        inner = tuple(x for x in cells if not callable(x))
        return _of_quantity((value.__qualname__, value.__code__, value.__defaults__, inner))
    if isinstance(value, System):
        return of_system(value).encode()
    return _of_array(value) or _said(value)


def _of_array(value: Any) -> bytes:
    if not isinstance(value, (np.ndarray, jax.Array)):
        return b""
    array = np.asarray(value)
    return f"{array.shape}{array.dtype}".encode() + array.tobytes()


def _said(value: Any) -> bytes:
    # What has no better representation shows its address.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).encode()
