"""Results of simulations as files of arrays that anybody's numpy reads, numbers and text only."""

import dataclasses
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import jax
import numpy as np

from ..core.errors import FileError, ParameterError, did_you_mean
from ..core.parameters import show
from ..core.reprs import listed, times, value
from ..dynamics.outputs import COMPONENTS, component_index, is_single, output_names
from ..simulation.solution import Solution, poses
from .fingerprint import fingerprint
from .reading import opened
from .toml import SCHEMA
from .writing import replacing

_LONGEST_HEADER = 10_000
_MOST_ARRAYS = 400_000
_PARTS = ("stats", "events", "outputs", "coordinates", "velocities")


@dataclasses.dataclass(frozen=True)
class Result:
    """A finished simulation: `t`, `q`, `v`, `status`, `stats` and `events` as in a `Solution`.

    `outputs`: every sensor, the force of every constraint, and `position` and `rotation` of every body, by name;
    `result["tip"]` is one of them, `result["tip.x"]` a component; `many`: those of them that have an axis of instances.
    `coordinates` and `velocities`: by name of body which entries of `q` and `v` are its own. `fingerprint` is that of
    the system, see `difmbs.fingerprint`.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    status: Any
    stats: Mapping[str, np.ndarray]
    events: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    fingerprint: str
    coordinates: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    velocities: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    many: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        status = self.status if isinstance(self.status, str) else value(self.status)
        return f"Result(status={status}, {times(self.t)}; {listed(self.outputs, 20) or 'no outputs'})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.outputs:
            return self.outputs[name]
        vector, _, component = str(name).rpartition(".")
        if vector not in self.outputs or component not in COMPONENTS:
            raise FileError(f"the result has no {show(name)}. {did_you_mean(name, self.outputs)}")
        values = self.outputs[vector]
        try:
            shape = values.shape[self.t.ndim + (vector in self.many) :]
            return values[..., component_index(vector, shape, component)]
        except ParameterError as error:
            raise FileError(f"the result has no {show(name)}: {error}") from None


def result_of(solution: Solution) -> Result:
    """What is kept of a solution."""
    if not isinstance(solution, Solution):
        raise FileError(f"save_result takes a Solution, as simulate returns it, got {show(solution)}.", output=True)
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(solution)):
        raise FileError("the solution is traced by JAX. Save solutions outside of transformations.", output=True)
    system, structure = solution.system, solution.system.structure
    kinds = {name: element.kind for name, element in structure.elements.items() if name != "ground"}
    bodies = [name for name, kind in kinds.items() if kind == "bodies"]
    constraints = {name for name, kind in kinds.items() if kind == "constraints"}
    known = (name.rpartition(".") for name in output_names(system))
    efforts = [f"{name}.{x}" for name, _, x in known if name in constraints and x in ("force", "torque")]
    happened = solution.events if structure.events else {}
    t, q, v, stats, events = jax.tree.map(np.asarray, (solution.t, solution.q, solution.v, solution.stats, happened))
    outputs = {name: np.asarray(solution[name]) for name in [*structure.readings, *efforts]} | poses(solution)
    return Result(
        *(t, q, v, solution.status, stats, events, outputs, fingerprint(system)),
        coordinates={name: system.coordinates(name) for name in bodies},
        velocities={name: system.velocities(name) for name in bodies},
        many=frozenset(name for name in outputs if not is_single(system, name)),
    )


def save_result(solution: Solution, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Writes a solution to a .npz file; `force`: replace an existing one."""
    result = result_of(solution)
    arrays = dict(schema=SCHEMA, t=result.t, q=result.q, v=result.v, status=result.status)
    for part in _PARTS:
        arrays |= {f"{part}:{name}": value for name, value in getattr(result, part).items()}
    if result.many:
        arrays["many"] = np.array(sorted(result.many))
    with replacing(path, force=force) as file:
        np.savez(file, allow_pickle=False, fingerprint=result.fingerprint, **arrays)


def load_result(path: str | os.PathLike[str]) -> Result:
    """The solution in a file that `save_result` or `difmbs simulate` wrote."""
    with opened(path) as file:
        try:
            arrays = _arrays(file)
            return _result(arrays)
        except OSError:
            raise
        except Exception as error:  # whatever zipfile and numpy raise when they are given noise
            raise FileError(f"{path} is not a result of difmbs, or is damaged: {error}.") from None


def _result(arrays: dict[str, np.ndarray]) -> Result:
    schema = int(arrays["schema"])
    if schema != SCHEMA:
        raise ValueError(f"schema {schema} is not {SCHEMA}; update difmbs")
    parts: dict[str, dict[str, np.ndarray]] = {part: {} for part in _PARTS}
    for key, array in arrays.items():
        part, colon, name = key.partition(":")
        if colon:
            parts[part][name] = array
    status = arrays["status"]
    return Result(
        arrays["t"],
        arrays["q"],
        arrays["v"],
        str(status) if status.ndim == 0 else status,
        fingerprint=str(arrays["fingerprint"]),
        many=frozenset(arrays.get("many", np.array([], str)).tolist()),
        **parts,
    )


def _arrays(file: BinaryIO) -> dict[str, np.ndarray]:
    """The arrays of a .npz file. Its members are not compressed, so that none is larger than the file."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > _MOST_ARRAYS:
            raise ValueError("it has too many arrays")
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
                raise ValueError(f"'{member.filename}' is compressed")
        return {m.filename.removesuffix(".npy"): _array(archive, m) for m in members}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"'{member.filename}' has a header of version {version}")
        shape, fortran, kind = np.lib.format.read_array_header_1_0(file, max_header_size=_LONGEST_HEADER)
        count = math.prod(shape)
        if kind.hasobject or file.tell() + count * kind.itemsize != member.file_size:
            raise ValueError(f"'{member.filename}' is not as large as it says")
        data = np.frombuffer(file.read(), kind, count)
    return data.reshape(shape, order="F" if fortran else "C")
