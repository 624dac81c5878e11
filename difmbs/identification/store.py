"""The state of a search on disk, so that it can go on after any stop."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import FileError, MismatchError
from ..files import fingerprint as of_system
from ..files import replacing
from . import levenberg_marquardt as lm
from .pose import Posed
from .progress import Iteration

NAME = "state.npz"


class Stored(NamedTuple):
    """A search after an iteration; while a fit is in pieces, its stage and arrays of numbers that describe them."""

    state: lm.State
    noise: dict[str, float]
    history: tuple[Iteration, ...]
    stage: int | None = None
    pieces: tuple[Any, ...] = ()


def store(folder: str | os.PathLike[str], posed: Posed, stored: Stored) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    rest = dict(
        of=fingerprint(posed), noise=stored.noise, history=[tuple(line) for line in map(_plain, stored.history)],
        stage=stored.stage,
    )  # fmt: skip
    with replacing(Path(folder) / NAME, force=True) as file:
        arrays: dict[str, Any] = {name: np.asarray(x) for name, x in stored.state._asdict().items()}
        arrays |= {f"pieces_{i}": np.asarray(x) for i, x in enumerate(stored.pieces)}
        np.savez(file, rest=np.frombuffer(json.dumps(rest).encode(), np.uint8), **arrays)


def restored(folder: str | os.PathLike[str] | None, posed: Posed, like: lm.State) -> Stored:
    """What `store` wrote; refused if it belongs to another fit."""
    if folder is None:
        raise FileError("resume needs the folder of the fit that is to go on.")
    path = Path(folder) / NAME
    try:
        with np.load(path, allow_pickle=False) as file:
            rest = json.loads(file["rest"].tobytes())
            arrays = {name: file[name] for name in like._fields}
            pieces = tuple(jnp.asarray(file[f"pieces_{i}"]) for i in range(len(file.files) - len(arrays) - 1))
    except FileNotFoundError:
        raise FileError(f"{path} does not exist: there is nothing to resume.") from None
    except Exception as error:  # whatever a damaged archive raises
        raise FileError(f"{path} cannot be read: {type(error).__name__}. Start again without resume.") from None
    if rest["of"] != fingerprint(posed):
        raise MismatchError(
            f"{path} belongs to another fit: model, experiments, unknowns or settings were changed. Start again "
            "without resume.",
        )
    state = lm.State(**{name: jnp.asarray(arrays[name]) for name in like._fields})
    history = tuple(Iteration(n, c, s, a, tuple(v), t) for n, c, s, a, v, t in rest["history"])
    return Stored(state, rest["noise"], history, rest["stage"], pieces)


def fingerprint(posed: Posed) -> str:
    """Of all numbers and names of a fit."""
    digest = hashlib.sha256(of_system(posed.system).encode())
    arrays = jax.tree.leaves((posed.params, posed.groups, [e.data for e in posed.experiments]))
    for array in map(np.asarray, arrays):
        digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    unknowns = posed.unknowns
    text = [unknowns.names, unknowns.targets, posed.loss, posed.segments, [e.channels for e in posed.experiments]]
    digest.update(repr([text, [group.program for group in posed.groups]]).encode())
    for numbers in (unknowns.start, unknowns.lower, unknowns.upper, unknowns.prior_mean, unknowns.prior_deviation):
        digest.update(numbers.tobytes())
    return digest.hexdigest()


def _plain(line: Iteration) -> Any:
    return line.number, line.chi2, line.step, line.accepted, line.values, line.seconds
