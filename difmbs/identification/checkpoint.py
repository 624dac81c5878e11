"""The state of a search on disk, so that it can go on after any stop."""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import FileError, MismatchError
from ..files.fingerprint import fingerprint as of_system
from ..files.writing import replacing
from ..search import levenberg_marquardt as lm
from ..search.progress import Iteration
from .best_start import TriedStarts
from .setup import FitSetup

NAME = "state.npz"


class SearchCheckpoint(NamedTuple):
    """A search after an iteration; while a fit is in pieces, its stage and arrays of numbers that describe them; of
    several starts, what was tried.
    """

    state: lm.LeastSquaresState
    noise: dict[str, float]
    history: tuple[Iteration, ...]
    stage: int | None = None
    pieces: tuple[Any, ...] = ()
    tried: TriedStarts | None = None


def store(folder: str | os.PathLike[str], of: str, stored: SearchCheckpoint) -> None:
    """Writes a search; `of`: the fingerprint of the fit."""
    history = [tuple(line) for line in map(_plain, stored.history)]
    rest = dict(of=of, noise=stored.noise, history=history, stage=stored.stage)
    arrays: dict[str, Any] = {name: np.asarray(x) for name, x in stored.state._asdict().items()}
    arrays |= {f"pieces_{i}": np.asarray(x) for i, x in enumerate(stored.pieces)}
    if stored.tried is not None:
        arrays |= {f"tried_{name}": x for name, x in dataclasses.asdict(stored.tried).items()}
    write_state(folder, rest, arrays)


def restored(folder: str | os.PathLike[str] | None, of: str, like: lm.LeastSquaresState) -> SearchCheckpoint:
    """What `store` wrote; refused if it belongs to another fit."""
    rest, arrays = read_state(folder, of)
    count = sum(name.startswith("pieces_") for name in arrays)
    pieces = tuple(jnp.asarray(arrays[f"pieces_{i}"]) for i in range(count))
    of_tried = {n.removeprefix("tried_"): x for n, x in arrays.items() if n.startswith("tried_")}
    state = lm.LeastSquaresState(**{name: jnp.asarray(arrays[name]) for name in like._fields})
    history = tuple(Iteration(n, c, s, a, tuple(v), t) for n, c, s, a, v, t in rest["history"])
    return SearchCheckpoint(
        state, rest["noise"], history, rest["stage"], pieces, TriedStarts(**of_tried) if of_tried else None
    )


def write_state(folder: str | os.PathLike[str], rest: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Writes arrays, and in `rest` what is none; "of" is the fingerprint of what they belong to."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with replacing(Path(folder) / NAME, force=True) as file:
        np.savez(file, rest=np.frombuffer(json.dumps(rest).encode(), np.uint8), **arrays)


def read_state(folder: str | os.PathLike[str] | None, of: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_state` wrote; refused if it belongs to something else."""
    if folder is None:
        raise FileError("resume needs the folder of the fit that is to go on.")
    path = Path(folder) / NAME
    try:
        with np.load(path, allow_pickle=False) as file:
            rest = json.loads(file["rest"].tobytes())
            arrays = {name: file[name] for name in file.files if name != "rest"}
            mine = rest["of"] == of
    except FileNotFoundError:
        raise FileError(f"{path} does not exist: there is nothing to resume.") from None
    except Exception as error:  # whatever a damaged archive raises
        raise FileError(f"{path} cannot be read: {type(error).__name__}. Start again without resume.") from None
    if not mine:
        raise MismatchError(
            f"{path} belongs to another fit: model, experiments, unknowns or settings were changed. Start again "
            "without resume.",
        )
    return rest, arrays


def fingerprint(posed: FitSetup) -> str:
    """Of all numbers and names of a fit; of what is only predicted, too."""
    digest = hashlib.sha256(of_system(posed.system).encode())
    noise, unknowns = posed.first_noise(), posed.unknowns
    for array in map(np.asarray, jax.tree.leaves((posed.problem(noise), posed.weighted_validation(noise)))):
        digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    groups = [(group.program, group.targets, group.members) for group in (*posed.groups, *posed.held_out)]
    estimated = [[e.noise(name) is None for name in e.channels] for e in posed.experiments]
    text = [unknowns.names, unknowns.targets, posed.loss, posed.segments, groups, estimated]
    # What has no better representation shows its address.
    digest.update(re.sub(r" at 0x[0-9a-f]+", "", repr(text)).encode())
    digest.update(unknowns.start.tobytes())
    return digest.hexdigest()


def _plain(line: Iteration) -> Any:
    return line.number, line.value, line.step, line.accepted, line.values, line.seconds
