"""Recorded functions of time in the place of those of a model."""

from collections.abc import Mapping

import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import ParameterPath
from ..elements.piecewise import Piecewise
from ..system.function_points import functions_of, resized, smoothed, stored_together
from ..system.structure import Structure
from ..system.system import System


def with_inputs(
    where: str, system: System, inputs: Mapping[str, Piecewise]
) -> tuple[System, dict[ParameterPath, np.ndarray]]:
    """The system with room for as many points as the inputs have, and their parameters.

    An input that is smooth makes the function of the model smooth.
    """
    functions = {_path_of(where, system.structure, key): function for key, function in inputs.items()}
    points: dict[ParameterPath, np.ndarray] = {}
    for path, function in functions.items():
        points[*path, "times"], points[*path, "values"] = np.asarray(function.times), np.asarray(function.values)
    _check_together(where, system.structure, functions, points)
    system = smoothed(system, [path for path, function in functions.items() if function.smooth])
    return resized(system, {path: x.shape for path, x in points.items()}), points


def _path_of(where: str, structure: Structure, key: str) -> ParameterPath:
    path = tuple(key.split("."))
    if (*path, "times") not in structure.homes:
        known = [".".join(path) for path in functions_of(structure)]
        raise ParameterError(
            f"{where}'{key}' is not a function given by points: make it one in the model, for example "
            f"mbs.Piecewise((0, 1), (0, 0)). {did_you_mean(key, known)}"
        )
    return path


def _check_together(
    where: str,
    structure: Structure,
    functions: Mapping[ParameterPath, Piecewise],
    points: Mapping[ParameterPath, np.ndarray],
) -> None:
    """Refuses inputs that would change other functions, which are stored together with theirs."""
    for path, x in points.items():
        function = path[:-1]
        for other in stored_together(structure, path):
            names = f"{where}'{'.'.join(other[:-1])}' is stored together with '{'.'.join(function)}': give"
            smooth = other[:-1] in functions and functions[other[:-1]].smooth
            if functions[function].smooth and not smooth:
                raise ParameterError(f"{names} smooth inputs for both.")
            if structure.homes[path].shape != x.shape and points.get(other, np.zeros(0)).shape != x.shape:
                raise ParameterError(f"{names} inputs with equally many points for both.")
