"""Settings that all benchmarks share, best-of-n timing, and the lines in which results are printed.

Import this before anything computes: XLA reads its settings once. One thread, but for what runs in a fresh process.
"""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "NPROC": "1"}
_FRESH = "DIFMBS_FRESH_PROCESS"
"""Set in processes that take as many threads as users' do."""
if _FRESH not in os.environ:
    os.environ.update(ONE_THREAD | {key: os.environ[key] for key in ONE_THREAD if key in os.environ})

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)

R = TypeVar("R")
Task = Callable[[], Any]


def seconds(task: Task) -> float:
    """Wall time of one call, until its results are there."""
    start = time.perf_counter()
    jax.block_until_ready(task())
    return time.perf_counter() - start


def best_times(*tasks: Task, rounds: int) -> list[float]:
    """The shortest time of each task. Tasks take turns, so that a noisy neighbour hits all of them alike."""
    for task in tasks:
        jax.block_until_ready(task())
    taken = [[seconds(task) for task in tasks] for _ in range(rounds)]
    return [min(times) for times in zip(*taken, strict=True)]


def compile_time(function: Callable[..., Any], *arguments: Any) -> float:
    """Seconds to trace, lower and compile a function of which nothing is left in JAX's caches."""
    jax.clear_caches()
    start = time.perf_counter()
    jax.jit(function).lower(*arguments).compile()
    return time.perf_counter() - start


def in_fresh_process(function: Callable[..., R], *arguments: Any) -> R:
    """function(*arguments) in a new interpreter, as a user's would be; function and arguments must be picklable."""
    hidden = {key: os.environ.pop(key) for key in ONE_THREAD}
    os.environ[_FRESH] = "1"
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(function, *arguments).result()
    finally:
        del os.environ[_FRESH]
        os.environ.update(hidden)


def report(
    name: str,
    ours: float,
    unit: str,
    limit: str | None = None,
    *,
    peer: float | None = None,
    ratio: float | None = None,
) -> None:
    """Prints one result. The limit is one on the ratio if there is a ratio."""
    numbers = {"ours": ours, "peer": peer, "ratio": ratio}
    rounded = {key: None if x is None else float(f"{x:.4g}") for key, x in numbers.items()}
    print(json.dumps({"name": name, **rounded, "unit": unit, "limit": limit}), flush=True)
