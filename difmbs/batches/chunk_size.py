"""How many of a kind are made side by side."""

import math
from collections.abc import Callable
from typing import Any

import jax

from .workers import local_devices, local_workers

_SHARE = 0.5
"""Of an accelerator's memory, for one chunk."""
_FIRST = 100
"""Number of them that are compiled to see what memory they need."""
_MOST = 1 << 20


def chunk_size(count: int, on_cpu: int, program: Callable[[Any], Any], row: Any) -> int:
    """`on_cpu`: as many as fit into a core's cache; elsewhere as many as fit into the device's memory. `row`: shapes of
    what `program` is given for one of them."""
    device = local_devices()[0]
    if device.platform == "cpu":
        return min(on_cpu, count)
    return min(most_in(_SHARE * _memory_of(device), memory_of_each(program, row)), count)


def spread_over_cores(count: int, most: int) -> int:
    """At most so many of `count`, and so few that no core is idle; few numbers, for each of which is compiled."""
    share = math.ceil(count / local_workers())
    return min(most, 1 << (share - 1).bit_length())


def memory_of_each(program: Callable[[Any], Any], row: Any) -> float:
    """Bytes that a run of the program takes, of many side by side, beside what it is given and returns."""
    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((_FIRST, *x.shape), x.dtype), row)
    memory: Any = jax.jit(jax.vmap(program)).lower(rows).compile().memory_analysis()
    return float(memory.temp_size_in_bytes + memory.output_size_in_bytes + memory.argument_size_in_bytes) / _FIRST


def most_in(memory: float, each: float) -> int:
    """The largest power of two of them that fits."""
    count = 1
    while count < _MOST and 2 * count * each <= memory:
        count *= 2
    return count


def _memory_of(device: Any) -> float:
    stats = device.memory_stats() or {}
    return float(stats.get("bytes_limit", 8e9))
