"""Samples by name as whole parameters, checked before anything runs."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import ParameterPath, as_array, flatten, is_numbers, show
from ..core.ranges import RANGES
from ..search.unknowns import entries_of
from ..system.system import System


def by_dotted_names(samples: Any, prefix: str = "") -> dict[str, Any]:
    """A part of the parameter tree as a dictionary of dotted names; names that are dotted already stay as they are."""
    if not isinstance(samples, Mapping) or not samples:
        example = "{'spring.stiffness': array}"
        raise ParameterError(f"samples must be a dictionary of parameters such as {example}, got {show(samples)}.")
    found: dict[str, Any] = {}
    for key, value in samples.items():
        name = f"{prefix}{key}"
        more = by_dotted_names(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
        if twice := set(found) & set(more):
            raise ParameterError(f"samples: '{min(twice)}' is given twice.")
        found |= more
    return found


def sampled_values(samples: Mapping[str, Any], system: System) -> dict[ParameterPath, np.ndarray]:
    """Whole parameters with a leading axis of runs, from arrays by dotted names."""
    dtype = system.gravity.dtype
    known = {path: np.asarray(x) for path, x in flatten(system.params()).items()}
    arrays = {name: _checked(name, value) for name, value in samples.items()}
    counts = {name: len(x) for name, x in arrays.items()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{n} for '{name}'" for name, n in counts.items())
        raise ParameterError(f"samples: all parameters need the same number of values, got {said}.")
    found: dict[ParameterPath, np.ndarray] = {}
    taken: dict[tuple[ParameterPath, int], str] = {}
    for name, array in arrays.items():
        if tuple(name.split(".")) in system.structure.derived_paths:
            raise ParameterError(f"samples: '{name}' follows from other parameters of the model: sample those.")
        for path, entries in entries_of(name, known):
            for entry in entries.reshape(-1).tolist():
                if (path, entry) in taken:
                    raise ParameterError(f"samples: '{name}' and '{taken[path, entry]}' are about the same number.")
                taken[path, entry] = name
            if array.shape[1:] != entries.shape:
                one = "one value" if entries.shape == () else f"an array of shape {entries.shape}"
                raise ParameterError(f"samples: '{name}' needs {one} for each run; got shape {array.shape}.")
            if path not in found:
                found[path] = np.repeat(known[path][None], len(array), axis=0)
            rows = array.reshape(len(array), -1)
            found[path].reshape(len(array), -1)[:, entries.reshape(-1)] = np.broadcast_to(
                rows, (len(array), entries.size)
            )
    for path, values in found.items():
        _check_range(path, values, system)
    return {path: values.astype(dtype) for path, values in found.items()}


def _checked(name: str, value: Any) -> np.ndarray:
    array = as_array(value)
    if isinstance(array, jax.core.Tracer):
        raise ParameterError(
            f"samples: '{name}' is traced by JAX. In jit, vmap and grad use simulate with jax.lax.map."
        )
    if not is_numbers(array) or array.ndim == 0 or len(array) == 0:
        raise ParameterError(f"samples: '{name}' needs an array with a value for each run, got {show(value)}.")
    return np.asarray(array)


def _check_range(path: ParameterPath, values: np.ndarray, system: System) -> None:
    """Refuses what breaks a rule; what is not finite makes its own run fail, and no other."""
    spec = system.structure.homes[path].spec
    finite = np.all(np.isfinite(values.reshape(len(values), -1)), axis=1)
    if spec.range is None or not np.any(finite):
        return
    numbers = np.flatnonzero(finite)
    for is_bad, sentence in RANGES[spec.range]:
        # A rule may judge numbers, instances, or the shape of all.
        bad = np.asarray(is_bad(values[finite]))
        bad = bad if bad.ndim else np.broadcast_to(bad, len(numbers))
        rows = numbers[np.any(bad.reshape(len(numbers), -1), axis=1)]
        if rows.size:
            name, first = ".".join(path), rows[0]
            raise ParameterError(
                f"samples: '{name}' of run {first} = {show(values[first])} {sentence}; {rows.size} of {len(values)} "
                "runs are so. Draw from a distribution that has no such values."
            )
