"""Results of simulations as files of arrays that anybody's numpy reads, numbers and text only."""

import dataclasses
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import FileError, MismatchError, ParameterError, did_you_mean
from ..core.parameters import show
from ..core.reprs import listed, times, value
from ..core.status import Status
from ..dynamics.output_units import of_output
from ..dynamics.outputs import COMPONENTS, component_index, is_single, names_of_entries, output_names
from ..simulation.solution import Solution, all_outputs, data_frame, poses
from ..system.system import System
from .fingerprint import fingerprint
from .reading import opened
from .saved_searches import SavedDesign, SavedFit, from_arrays
from .saved_sweeps import SWEEP, SweepResult, sweep_from_arrays
from .toml import SCHEMA
from .writing import replacing

_LONGEST_HEADER = 10_000
_MOST_ARRAYS = 400_000
_PARTS = ("stats", "events", "outputs", "coordinates", "velocities", "units")
_SHOWN = 6


@dataclasses.dataclass(frozen=True)
class Result:
    """A finished simulation: `t`, `q`, `v`, `status`, `stats` and `events` as in a `Solution`.

    `outputs`: every sensor, the force of every constraint, and `position` and `rotation` of every body, by name; where
    the model names no sensor, all outputs of all elements. `result["tip"]` is one of them, `result["tip.x"]` a
    component; `many`: those of them that have an axis of instances; `units` by name. `coordinates` and `velocities`: by
    name of body which entries of `q` and `v` are its own. `fingerprint` is that of the system, see
    `difmbs.fingerprint`; with the system `solution(system)` is what was saved. `on`: the switches at each output, if
    there are some.
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
    units: Mapping[str, str] = dataclasses.field(default_factory=dict)
    on: np.ndarray | None = None

    def __repr__(self) -> str:
        status = self.status if isinstance(self.status, str) else value(self.status)
        return f"Result(status={status}, {times(self.t)}; {listed(self.outputs, 10) or 'no outputs'})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    def solution(self, system: System) -> Solution:
        """The solution that was saved, of the system that it belongs to."""
        if not isinstance(system, System):
            raise FileError(f"solution takes the System that was simulated, got {show(system)}.")
        if fingerprint(system) != self.fingerprint:
            raise MismatchError("the result belongs to another system: the model or its parameters were changed.")
        code = np.vectorize(lambda word: Status[word].value)(self.status)
        t, q, v, code, stats, on = jax.tree.map(jnp.asarray, (self.t, self.q, self.v, code, dict(self.stats), self.on))
        moments = jnp.asarray(np.stack([*self.events.values()], axis=-1)) if self.events else None
        return Solution(system, t, q, v, code, stats, on, moments)

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output, picture_of

        rows = [("status", self.status), ("times", times(self.t)), ("outputs", listed(self.outputs, 20))]
        shown = self.usual[:3]
        return cell_output("Result", rows, picture=picture_of(lambda axes: self.plot(*shown, ax=axes)))

    def plot(self, *names: str, ax: Any = None, label: str | None = None, **options: Any) -> Any:
        """As `Solution.plot`."""
        from ..plots.curves import panels

        columns: dict[str, dict[str, np.ndarray]] = {}
        if not self.outputs:
            raise FileError("the result has no outputs.")
        for name in names or self.usual:
            columns.setdefault(self.unit(name), {}).update(self.entries(name))
        return panels(self.t, columns, ax, label, **options)

    def to_pandas(self, *names: str) -> Any:
        """As `Solution.to_pandas`."""
        return data_frame(self.t, {n: x for name in names or self.outputs for n, x in self.entries(name).items()})

    @property
    def usual(self) -> list[str]:
        """What one would ask for first: the sensors, else what is first."""
        return [name for name in self.outputs if "." not in name][:_SHOWN] or list(self.outputs)[:_SHOWN]

    def unit(self, name: str) -> str:
        """Of an output or a component of it; "" where it is not known."""
        return self.units.get(name) or self.units.get(str(name).rpartition(".")[0], "")

    def entries(self, name: str) -> dict[str, np.ndarray]:
        """Each number of an output over time by its name, such as "tip.x"."""
        if self.t.ndim != 1:
            raise FileError("this takes the result of one simulation, not of a batch.")
        values = self[name]
        names = names_of_entries(name, values.shape[1:], name not in self.many)
        return dict(zip(names, values.reshape(len(values), len(names)).T, strict=True))

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
    system, structure = solution.one_system, solution.system.structure
    kinds = {name: element.kind for name, element in structure.elements.items() if name != "ground"}
    bodies = [name for name, kind in kinds.items() if kind == "bodies"]
    constraints = {name for name, kind in kinds.items() if kind == "constraints"}
    known = (name.rpartition(".") for name in output_names(system))
    efforts = [f"{name}.{x}" for name, _, x in known if name in constraints and x in ("force", "torque")]
    outputs = {name: np.asarray(solution[name]) for name in structure.readings}
    if not outputs and solution.t.ndim == 1:
        outputs = all_outputs(solution)
    else:
        outputs |= {name: np.asarray(solution[name]) for name in efforts} | poses(solution)
    happened = solution.events if structure.events else {}
    t, q, v, stats, events = jax.tree.map(np.asarray, (solution.t, solution.q, solution.v, solution.stats, happened))
    return Result(
        *(t, q, v, solution.status, stats, events, outputs, fingerprint(solution.system)),
        coordinates={name: system.coordinates(name) for name in bodies},
        velocities={name: system.velocities(name) for name in bodies},
        many=frozenset(name for name in outputs if not is_single(system, name)),
        units={name: unit for name in outputs if (unit := of_output(system, name))},
        on=None if solution.on is None else np.asarray(solution.on),
    )


def save_solution(solution: Solution, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Writes a solution to a .npz file; `force`: replace an existing one."""
    result = result_of(solution)
    arrays = dict(schema=SCHEMA, t=result.t, q=result.q, v=result.v, status=result.status)
    for part in _PARTS:
        arrays |= {f"{part}:{name}": np.asarray(value) for name, value in getattr(result, part).items()}
    if result.many:
        arrays["many"] = np.array(sorted(result.many))
    if result.on is not None:
        arrays["on"] = result.on
    with replacing(path, force=force) as file:
        np.savez(file, allow_pickle=False, fingerprint=result.fingerprint, **arrays)


def load_result(path: str | os.PathLike[str]) -> Result | SavedFit | SavedDesign | SweepResult:
    """What `save_result` or `difmbs simulate` wrote into a file: a `Result`, of a fit a `SavedFit`, of a design a
    `SavedDesign`, of a sweep a `SweepResult`."""
    with opened(path) as file:
        try:
            arrays = _arrays(file)
            return _result(arrays)
        except OSError:
            raise
        except Exception as error:  # whatever zipfile and numpy raise when they are given noise
            raise FileError(f"{path} is not a result of difmbs, or is damaged: {error}.") from None


def _result(arrays: dict[str, np.ndarray]) -> Result | SavedFit | SavedDesign | SweepResult:
    schema = int(arrays["schema"])
    if schema != SCHEMA:
        raise ValueError(f"schema {schema} is not {SCHEMA}; update difmbs")
    if str(arrays.get("kind")) == SWEEP:
        return sweep_from_arrays(arrays)
    if "kind" in arrays:
        return from_arrays(arrays)
    parts: dict[str, dict[str, np.ndarray]] = {part: {} for part in _PARTS}
    for key, array in arrays.items():
        part, colon, name = key.partition(":")
        if colon:
            parts[part][name] = array
    status = arrays["status"]
    _check_arrays(arrays, parts["outputs"])
    units = {name: str(unit) for name, unit in parts.pop("units").items()}
    return Result(
        arrays["t"],
        arrays["q"],
        arrays["v"],
        str(status) if status.ndim == 0 else status,
        fingerprint=str(arrays["fingerprint"]),
        many=frozenset(arrays.get("many", np.array([], str)).tolist()),
        units=units,
        on=arrays.get("on"),
        **parts,
    )


def _check_arrays(arrays: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> None:
    t = arrays["t"]
    for name in ("t", "q", "v"):
        x = arrays[name]
        if x.dtype.kind != "f" or x.shape[: t.ndim] != t.shape or x.ndim != t.ndim + (name != "t"):
            raise ValueError(f"'{name}' has another shape than it should")
    for name, x in outputs.items():
        if x.shape[: t.ndim] != t.shape:
            raise ValueError(f"'outputs:{name}' has another number of times")
    unknown = set(np.ravel(arrays["status"]).tolist()) - {status.name for status in Status}
    if unknown:
        raise ValueError(f"there is no status '{min(map(str, unknown))}'")


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
