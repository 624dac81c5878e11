"""Recorded functions of time in the place of those of a model."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import ParameterPath, key_name
from ..elements.piecewise import Piecewise
from ..system.groups import Stack
from ..system.structure import KINDS, Structure
from ..system.system import System


def with_inputs(
    where: str, system: System, inputs: Mapping[str, Piecewise]
) -> tuple[System, dict[ParameterPath, np.ndarray]]:
    """The system with room for as many points as the inputs have, and their parameters.

    An input that is smooth makes the function of the model smooth.
    """
    points: dict[ParameterPath, np.ndarray] = {}
    smooth: dict[ParameterPath, bool] = {}
    for key, function in inputs.items():
        path = _path_of(where, system.structure, key)
        points[*path, "times"], points[*path, "values"] = np.asarray(function.times), np.asarray(function.values)
        smooth[path] = function.smooth
    structure = _smoothed(where, system.structure, smooth)
    stacks, homes = [list(leaves) for leaves in system.stacks], dict(structure.homes)
    for path, x in points.items():
        if homes[path].shape != x.shape:
            (part,) = homes[path].parts
            stored = system.stacks[part.stack][part.leaf]
            for other in _together(structure, path):
                if points.get(other, np.zeros(0)).shape != x.shape:
                    raise ParameterError(
                        f"{where}'{'.'.join(other[:-1])}' is stored together with '{'.'.join(path[:-1])}': give inputs "
                        "with equally many points for both."
                    )
            stacks[part.stack][part.leaf] = jnp.zeros((stored.shape[0], *x.shape), stored.dtype)
            homes[path] = dataclasses.replace(homes[path], shape=x.shape)
    structure = dataclasses.replace(structure, homes=homes)
    return System(system.gravity, tuple(tuple(leaves) for leaves in stacks), structure, system.on), points


def _path_of(where: str, structure: Structure, key: str) -> ParameterPath:
    path = tuple(key.split("."))
    if (*path, "times") not in structure.homes:
        homes = structure.homes
        known = [".".join(p[:-1]) for p in homes if p[-1] == "times" and (*p[:-1], "values") in homes]
        raise ParameterError(
            f"{where}'{key}' is not a function given by points: make it one in the model, for example "
            f"mbs.Piecewise((0, 1), (0, 0)). {did_you_mean(key, known)}"
        )
    return path


def _together(structure: Structure, path: ParameterPath) -> list[ParameterPath]:
    """The parameters that are stored in the same array."""
    (part,) = structure.homes[path].parts
    homes = structure.homes.items()
    return [p for p, home in homes for s in home.parts if (s.stack, s.leaf) == (part.stack, part.leaf)]


def _smoothed(where: str, structure: Structure, smooth: Mapping[ParameterPath, bool]) -> Structure:
    for path in (path for path, wanted in smooth.items() if wanted):
        others = [other[:-1] for other in _together(structure, (*path, "times"))]
        for other in others:
            if not smooth.get(other, False):
                raise ParameterError(
                    f"{where}'{'.'.join(other)}' is stored together with '{'.'.join(path)}': give smooth inputs for "
                    "both."
                )
        (part,) = structure.homes[*path, "times"].parts
        kinds: dict[str, Any] = {}
        for kind in KINDS:
            groups, first = list(getattr(structure, kind)), structure.first_stack(kind)
            if 0 <= part.stack - first < len(groups):
                group = groups[part.stack - first]
                groups[part.stack - first] = dataclasses.replace(group, stack=_with_smooth(group.stack, path[1:]))
                kinds[kind] = tuple(groups)
        structure = dataclasses.replace(structure, **kinds)
    return structure


def _with_smooth(stack: Stack, fields: ParameterPath) -> Stack:
    """The elements of a stack with a smooth function; `fields`: where it is in them."""
    shape = jax.tree.structure(Piecewise((0, 1), (0, 0), smooth=True))

    def replaced(keys: Any, part: Any) -> Any:
        if not isinstance(part, Piecewise) or tuple(map(key_name, keys))[-len(fields) :] != fields:
            return part
        return jax.tree.unflatten(shape, (part.times, part.values))

    numbered = jax.tree.unflatten(stack.treedef, range(stack.treedef.num_leaves))
    arrays, rest = (
        jax.tree_util.tree_map_with_path(replaced, tree, is_leaf=lambda x: isinstance(x, Piecewise))
        for tree in (numbered, stack.structure)
    )
    return dataclasses.replace(stack, treedef=jax.tree.structure(arrays), structure=rest)
