"""A fit on disk after each of its iterations."""

import dataclasses
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..core.errors import FileError
from ..files.checkpoint import fingerprint_of, read_checkpoint, write_checkpoint
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
    rest = dict(noise=stored.noise, history=history, stage=stored.stage)
    arrays: dict[str, Any] = {name: np.asarray(x) for name, x in stored.state._asdict().items()}
    arrays |= {f"pieces_{i}": np.asarray(x) for i, x in enumerate(stored.pieces)}
    if stored.tried is not None:
        arrays |= {f"tried_{name}": x for name, x in dataclasses.asdict(stored.tried).items()}
    write_state(folder, of, rest, arrays)


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


def write_state(folder: str | os.PathLike[str], of: str, rest: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Writes the state of one or many fits into their folder."""
    write_checkpoint(Path(folder) / NAME, of, rest, arrays)


def read_state(folder: str | os.PathLike[str] | None, of: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_state` wrote; refused if it belongs to something else."""
    if folder is None:
        raise FileError("resume needs the folder of the fit that is to go on.")
    return read_checkpoint(Path(folder) / NAME, of, "another fit: model, experiments, unknowns or settings")


def fingerprint_of_fit(setup: FitSetup) -> str:
    """Fingerprint of all numbers and names of a fit; of what is only predicted, too."""
    noise, unknowns = setup.first_noise(), setup.unknowns
    arrays = setup.problem(noise), setup.weighted_validation(noise), unknowns.start
    groups = [(group.program, group.targets, group.members) for group in (*setup.groups, *setup.held_out)]
    estimated = [[e.noise(name) is None for name in e.channels] for e in setup.experiments]
    words = unknowns.names, unknowns.targets, setup.loss, setup.segments, groups, estimated
    return fingerprint_of(setup.system, arrays, words)


def _plain(line: Iteration) -> Any:
    return line.number, line.value, line.step, line.accepted, line.values, line.seconds
