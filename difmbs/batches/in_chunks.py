"""A function of many rows, chunk by chunk on all cores or devices of this process."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from .chunk_loop import ChunkLoop
from .chunk_size import chunk_size, spread_over_cores
from .chunks import Chunks
from .portable_work import PortableWork


def in_chunks(of_each: Callable[[Any], Any], rows: Any, *, one: Callable[[Any], Any], on_cpu: int) -> Any:
    """Results, with a row for each, of a compiled function that takes rows; `rows`: a tree of numpy arrays; `one`: the
    function of one row, by which the memory is estimated; `on_cpu`: number of rows that a core makes at once."""
    count = len(jax.tree.leaves(rows)[0])
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows)
    chunks = Chunks(count, chunk_size(count, spread_over_cores(count, on_cpu), one, shapes))
    found: dict[int, Any] = {}

    def take(numbers: Sequence[int], results: Any) -> None:
        found[numbers[0]] = chunks.cut(numbers, results)

    def work(chunk: Any) -> Any:
        return jax.tree.map(lambda x: np.asarray(x)[None], of_each(jax.tree.map(lambda x: x[0], chunk)))

    ChunkLoop(PortableWork(work), chunks.numbers, lambda numbers: chunks.filled(numbers, rows), take).run()
    return jax.tree.map(lambda *x: np.concatenate(x), *(found[number] for number in chunks.numbers))
