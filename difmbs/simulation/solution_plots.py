"""What a solution shows when it is plotted."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..core.errors import ParameterError
from ..core.reprs import times
from ..dynamics.output_units import of_output, with_unit
from ..dynamics.outputs import check_names, entry_names
from ..plots.curves import panels, phase, spectrum
from ..plots.notebook import cell_output, picture_of
from .solution import Solution, all_outputs

_MOST_SHOWN = 6


def plot(solution: Solution, names: Sequence[str], ax: Any, label: str | None, **options: Any) -> Any:
    t, names = _times(solution), check_names("plot", names)
    t = t.reshape(-1, t.shape[-1]) if t.ndim > 2 else t
    columns: dict[str, dict[str, np.ndarray]] = {}
    for name in names or _usual(solution):
        columns.setdefault(of_output(solution.system, name), {}).update(_moving(_entries(solution, name)))
    return panels(t, columns, ax, label, **options)


def plot_spectrum(solution: Solution, names: Sequence[str], ax: Any, label: str | None) -> Any:
    t = _times(solution, single=True)
    for name in check_names("plot_spectrum", names):
        said = label if len(names) == 1 else " ".join(filter(None, (name, label)))
        ax = spectrum(t, _one(solution, name), name, of_output(solution.system, name), ax, said)
    return ax


def plot_phase(solution: Solution, x: str, y: str, ax: Any, label: str | None) -> Any:
    _times(solution, single=True)
    check_names("plot_phase", (x, y))
    said = tuple(with_unit(name, of_output(solution.system, name)) for name in (x, y))
    return phase(_one(solution, x), _one(solution, y), (said[0], said[1]), ax, label)


def solution_cell(solution: Solution) -> str:
    """What a notebook shows."""
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(solution)):
        return cell_output("Solution", [("traced by JAX",)])
    status = solution.status if np.ndim(solution.code) == 0 else f"{np.shape(solution.code)} simulations"
    rows = [("status", status), ("times", times(solution.t)), ("system", str(solution.system))]
    rows += [(name, f"{np.asarray(x):.6g}") for name, x in solution.stats.items() if np.ndim(x) == 0]
    return cell_output(
        "Solution", rows, picture=picture_of(lambda axes: plot(solution, _usual(solution)[:3], axes, None))
    )


def numbers_by_name(solution: Solution, names: Sequence[str]) -> dict[str, np.ndarray]:
    """A column over time for each number of each output, None of them: of all."""
    _times(solution, single=True)
    names = check_names("to_pandas", names)
    known = {} if names else all_outputs(solution)
    found: dict[str, np.ndarray] = {}
    for name in names or solution.names:
        found |= _entries(solution, name, known.get(name))
    return found


def _moving(entries: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Without components that are zero at all times, such as those across a plane."""
    kept = {name: x for name, x in entries.items() if np.any(x != 0)}
    return kept or entries


def _usual(solution: Solution) -> list[str]:
    """What one would ask for first: the sensors, else where bodies are."""
    readings = list(solution.system.structure.readings)
    if not readings:
        readings = [name for name in solution.names if name.endswith((".position", ".coordinates"))]
    if not readings:
        raise ParameterError("name what is to be plotted, such as solution.plot('spring.force').")
    return readings[:_MOST_SHOWN]


def _times(solution: Solution, single: bool = False) -> np.ndarray:
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(solution)):
        raise ParameterError("the solution is traced by JAX. Plot solutions outside of transformations.")
    t = np.asarray(solution.t)
    if single and t.ndim != 1:
        raise ParameterError("this takes one simulation, not a batch.")
    return t


def _one(solution: Solution, name: str) -> np.ndarray:
    values = np.asarray(solution[name])
    if values.ndim != 1:
        one = entry_names(solution.system, name, values.shape[1:])[0]
        which = f"such as '{one}'" if "[" not in one or one.count("[") == 1 else "which here have no names"
        raise ParameterError(f"'{name}' has several numbers; name one of them, {which}.")
    return values


def _entries(solution: Solution, name: str, known: Any = None) -> dict[str, np.ndarray]:
    """Each number of an output over time, (n,), or of a batch (members, n); `known`: its values."""
    values = np.asarray(solution[name] if known is None else known)
    axes = solution.t.ndim
    names = entry_names(solution.system, name, values.shape[axes:])
    if axes > 1:
        values = values.reshape(-1, values.shape[axes - 1], len(names))
        return {n: values[..., i] for i, n in enumerate(names)}
    flat = values.reshape(len(values), len(names))
    return {n: flat[:, i] for i, n in enumerate(names)}
