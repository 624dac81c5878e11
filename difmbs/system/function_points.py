"""Functions of time that are given by points: systems with other numbers of points, or with smooth functions."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ..core.parameters import ParameterPath, key_name
from ..elements.piecewise import Piecewise
from .groups import Stack
from .structure import KINDS, Structure
from .system import System


def functions_of(structure: Structure) -> list[ParameterPath]:
    """Where there are such functions, without their "times" and "values"."""
    homes = structure.homes
    return [path[:-1] for path in homes if path[-1] == "times" and (*path[:-1], "values") in homes]


def stored_together(structure: Structure, path: ParameterPath) -> list[ParameterPath]:
    """The parameters that are stored in the same array as this one, which is among them."""
    (part,) = structure.homes[path].parts
    homes = structure.homes.items()
    return [p for p, home in homes for s in home.parts if (s.stack, s.leaf) == (part.stack, part.leaf)]


def resized(system: System, shapes: Mapping[ParameterPath, tuple[int, ...]]) -> System:
    """The system with room for parameters of other shapes, which are zero; of what is stored together, of all."""
    stacks, homes = [list(leaves) for leaves in system.stacks], dict(system.structure.homes)
    for path, shape in shapes.items():
        if homes[path].shape != shape:
            (part,) = homes[path].parts
            stored = system.stacks[part.stack][part.leaf]
            stacks[part.stack][part.leaf] = jnp.zeros((stored.shape[0], *shape), stored.dtype)
            homes[path] = dataclasses.replace(homes[path], shape=shape)
    structure = dataclasses.replace(system.structure, homes=homes)
    return System(system.gravity, tuple(map(tuple, stacks)), structure, system.on)


def smoothed(system: System, functions: Iterable[ParameterPath]) -> System:
    """The system in which these functions, and those that are stored together with them, are smooth."""
    structure = system.structure
    for path in functions:
        (part,) = structure.homes[*path, "times"].parts
        kinds: dict[str, Any] = {}
        for kind in KINDS:
            groups, first = list(getattr(structure, kind)), structure.first_stack(kind)
            if 0 <= part.stack - first < len(groups):
                group = groups[part.stack - first]
                groups[part.stack - first] = dataclasses.replace(group, stack=_with_smooth(group.stack, path[1:]))
                kinds[kind] = tuple(groups)
        structure = dataclasses.replace(structure, **kinds)
    return System(system.gravity, system.stacks, structure, system.on)


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
