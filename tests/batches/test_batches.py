"""Chunks: what is in them, how large they are, and who makes them."""

import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difmbs.batches.chunk_loop import ChunkLoop
from difmbs.batches.chunk_size import memory_of_each, most_in, spread_over_cores
from difmbs.batches.chunks import Chunks
from difmbs.batches.in_chunks import in_chunks
from difmbs.batches.portable_work import PortableWork
from difmbs.batches.workers import at_once, local_workers


@pytest.mark.parametrize(("count", "size", "parts"), [(23, 5, 1), (23, 5, 3), (20, 5, 2), (3, 5, 1), (1, 1, 1)])
def test_chunks_hold_everything_once(count, size, parts):
    rows = np.arange(count) ** 2
    found = {}
    for i in range(parts):
        chunks = Chunks(count, size, (i, parts))
        if not len(chunks.numbers):
            continue
        filled = chunks.filled(chunks.numbers, rows)
        assert filled.shape == (len(chunks.numbers), size)
        places = chunks.rows(chunks.numbers)
        np.testing.assert_array_equal(chunks.cut(chunks.numbers, filled), rows[places])
        found |= dict.fromkeys(places.tolist())
    assert sorted(found) == list(range(count))


def test_sizes_follow_from_memory_and_cores():
    each = memory_of_each(lambda x: jnp.cumsum(jnp.outer(x, x)), jax.ShapeDtypeStruct((50,), float))
    # 2500 numbers out, and as many on the way.
    assert 8 * 2500 <= each <= 8 * 4 * 2500
    assert most_in(1e9, 2e4) == 32768
    assert most_in(1.0, 2e4) == 1
    cores = local_workers()
    assert spread_over_cores(1, 50) == 1
    assert spread_over_cores(1000 * cores, 50) == 50
    assert spread_over_cores(5 * cores, 50) == 8


def test_a_function_of_rows_in_chunks():
    rows = {"x": np.arange(12.0), "y": np.arange(24.0).reshape(12, 2)}
    one = lambda row: row["x"] * row["y"]
    of_each = jax.jit(jax.vmap(one))
    np.testing.assert_array_equal(in_chunks(of_each, rows, one=one, on_cpu=3), of_each(rows))
    assert at_once(lambda x: x + 1, [1, 2, 3]) == [2, 3, 4]


def test_work_is_begun_once_and_then_by_all():
    """What one thread compiles, the others find."""
    running, most, first = [], [], threading.Event()

    def program(rows):
        running.append(rows)
        most.append((len(running), first.is_set()))
        time.sleep(0.05)
        running.pop()
        first.set()
        return rows

    taken = []
    loop = ChunkLoop(
        PortableWork(program),
        range(9),
        np.asarray,
        lambda numbers, x: taken.append(x),
        executor=lambda: ThreadPoolExecutor(3),
    )
    assert loop.run()
    assert sorted(np.concatenate(taken)) == list(range(9))
    assert all(alone == 1 for alone, after in most if not after)
    assert max(count for count, _ in most) > 1


def test_several_chunks_at_once_are_in_order_also_after_losses():
    """The last one, which is filled up, is the last of those that are handed out together."""
    chunks, rows, lost = Chunks(203, 5), np.arange(203.0), []
    found, together = np.full(203, np.nan), []

    def program(filled):
        if len(lost) < 3:
            lost.append(filled)
            raise CancelledError
        return filled**2

    def take(numbers, results):
        together.append(len(numbers))
        found[chunks.rows(numbers)] = chunks.cut(numbers, results)

    rows_of = lambda numbers: chunks.filled(numbers, rows)
    with ThreadPoolExecutor(1) as pool:
        # The last one among others, as where it comes back from a worker that was lost.
        numbers = [*range(20), 40, *range(20, 40)]
        assert ChunkLoop(PortableWork(program), numbers, rows_of, take, most=8, executor=pool).run()
    assert max(together) == 8
    np.testing.assert_array_equal(found, rows**2)


def test_a_loop_stops_when_it_is_asked_to():
    taken = []
    loop = ChunkLoop(
        PortableWork(lambda rows: rows),
        range(100),
        np.asarray,
        lambda n, x: taken.append(n),
        executor=lambda: ThreadPoolExecutor(1),
    )
    assert not loop.run(lambda: len(taken) >= 3)
    assert 3 <= len(taken) < 100
