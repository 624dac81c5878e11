"""First calls of simulate and of its gradient, in a process that has compiled nothing yet."""

import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from _rods import rods

import difmbs as mbs


def of_rods(count: int, options: dict[str, Any]) -> tuple[float, float]:
    """Seconds of the first simulation of a chain of rods, and of the first gradient."""
    jax.config.update("jax_enable_x64", True)
    system = rods(count)
    params = {"rod": {"distance": system.params()["rod"]["distance"]}}
    run = lambda p: mbs.simulate(system, t1=0.1, saveat=[0.05, 0.1], params=p, **options)
    return _seconds(lambda: run({}).q), _seconds(lambda: jax.jit(jax.grad(lambda p: jnp.sum(run(p).q)))(params))


def of_reference(name: str, options: dict[str, Any]) -> tuple[float, float]:
    """The same of a case that the tests compare with Exudyn, with respect to its parameters."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    jax.config.update("jax_enable_x64", True)
    from tests.oracles.exudyn_motions import Compared

    case = Compared(name)
    run = lambda wanted: case.outputs(wanted, options)
    value = lambda wanted: sum(jnp.sum(x**2) for x in run(wanted).values())
    return _seconds(lambda: jax.jit(run)({})), _seconds(lambda: jax.jit(jax.grad(value))(case.wanted))


def _seconds(task: Any) -> float:
    start = time.perf_counter()
    jax.block_until_ready(task())
    return time.perf_counter() - start
