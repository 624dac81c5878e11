"""What objects show of themselves: what one wants to see, in a few lines."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np

from .errors import counted

MOST_LINES = 30
_MOST_NUMBERS = 12
_MOST_CHARACTERS = 100
_LAST_LINES = 8


def limited(text: str) -> str:
    """A text of at most 30 lines; of a longer one the beginning and the end."""
    lines = text.splitlines()
    if len(lines) <= MOST_LINES:
        return text
    first = MOST_LINES - _LAST_LINES - 1
    left_out = f"... {len(lines) - MOST_LINES + 1} lines more: print it to see all of them ..."
    return "\n".join([*lines[:first], left_out, *lines[-_LAST_LINES:]])


def of_fields(thing: Any) -> str:
    """A dataclass by those of its fields that are not as they are if left out; long arrays by their shapes."""
    fields = [f for f in dataclasses.fields(thing) if f.repr and not _is(getattr(thing, f.name), f.default)]
    said = ", ".join(f"{f.name}={value(getattr(thing, f.name))}" for f in fields)
    return f"{type(thing).__name__}({said})"


def value(x: Any) -> str:
    """In one short line."""
    if isinstance(x, jax.core.Tracer):
        return f"traced {x.dtype}{list(x.shape)}"
    if isinstance(x, np.ndarray | jax.Array):
        return repr(x.tolist()) if x.size <= _MOST_NUMBERS else f"array of shape {x.shape}"
    if callable(x) and hasattr(x, "__name__"):
        return str(x.__name__)
    if isinstance(x, Sequence) and not isinstance(x, str) and len(x) > _MOST_NUMBERS:
        return f"{len(x)} items from {value(x[0])} to {value(x[-1])}"
    text = " ".join(repr(x).split())
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def of_arrays(thing: Any) -> str:
    """A tuple with names for its arrays: their numbers as far as there is room, else their shapes."""
    leaves = jax.tree_util.tree_leaves_with_path(thing)
    label = lambda path: jax.tree_util.keystr(path).removeprefix(".")
    full = "\n".join(f"{label(path)} =\n{x}" for path, x in leaves)
    short = "\n".join(f"{label(path)}: array of shape {np.shape(x)}" for path, x in leaves)
    traced = any(isinstance(x, jax.core.Tracer) for _, x in leaves)
    inner = short if traced or len(full.splitlines()) > MOST_LINES - 2 else full
    return limited(f"{type(thing).__name__}(\n{inner}\n)")


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in a line."""
    known = [str(name) for name in names]
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def times(t: Any) -> str:
    """ "101 times from 0 to 1 s"; of a batch, or traced, their shape."""
    if isinstance(t, jax.core.Tracer) or np.ndim(t) != 1 or len(t) == 0:
        return f"times of shape {np.shape(t)}"
    ends = np.asarray(t)[[0, -1]]
    return f"{counted(len(t), 'time')} from {ends[0]:g} to {ends[1]:g} s"


def _is(x: Any, default: Any) -> bool:
    """Whether a field has its default."""
    if default is dataclasses.MISSING:
        return False
    if not isinstance(x, np.ndarray | jax.Array):
        return bool(x is default or (type(x) is type(default) and x == default))
    if isinstance(x, jax.core.Tracer) or default is None or callable(default):
        return False
    return np.shape(x) == np.shape(default) and bool(np.all(np.asarray(x) == np.asarray(default)))
