"""First calls of simulate and of its gradient, in a process that has compiled nothing yet."""

import time
from typing import Any

import jax
import jax.numpy as jnp
from _rods import rods

import difmbs as mbs


def measure(count: int, options: dict[str, Any]) -> tuple[float, float]:
    """Seconds of the first simulation of a chain of rods, and of the first gradient."""
    jax.config.update("jax_enable_x64", True)
    system = rods(count)
    params = {"rod": {"distance": system.params()["rod"]["distance"]}}
    run = lambda p: mbs.simulate(system, t1=0.1, saveat=[0.05, 0.1], params=p, **options)
    return _seconds(lambda: run({}).q), _seconds(lambda: jax.jit(jax.grad(lambda p: jnp.sum(run(p).q)))(params))


def _seconds(task: Any) -> float:
    start = time.perf_counter()
    jax.block_until_ready(task())
    return time.perf_counter() - start
