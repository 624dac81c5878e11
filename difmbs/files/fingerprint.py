"""Whether two systems are the same one."""

import dataclasses
import hashlib
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from ..linalg.index import Index
from ..system.system import System


def fingerprint(system: System) -> str:
    """A number for everything about a system but the code of user functions: the same again in another process."""
    digest = hashlib.sha256()
    for word in _words(system.structure):
        # What has no better representation shows its address.
        digest.update(re.sub(r" at 0x[0-9a-f]+", "", word).encode() + b"\n")
    for leaf in jax.tree.leaves((system.stacks, system.gravity)):
        digest.update(f"{leaf.shape} {leaf.dtype}".encode() + np.asarray(leaf).tobytes())
    return digest.hexdigest()


def _words(value: Any) -> Iterator[str]:
    """All that a structure consists of, one after the other."""
    if isinstance(value, Index):
        yield value.rows.tobytes().hex()
    elif inspect.isclass(value) or inspect.isroutine(value):
        yield value.__qualname__
    elif dataclasses.is_dataclass(value):
        yield from _words(type(value))
        for field in dataclasses.fields(value):
            yield field.name
            yield from _words(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from _words([*value.items()])
    elif isinstance(value, tuple | list):
        yield str(len(value))
        for item in value:
            yield from _words(item)
    else:
        yield repr(value)
