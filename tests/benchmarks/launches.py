"""What steps of batches launch on an H100, one JSON line each, from programs compiled for it without having one.

It needs a folder with three packages, which must not be among the others: with them each start of JAX looks for a GPU.

    pip install --no-deps --target FOLDER jax-cuda12-plugin==VERSION jax-cuda12-pjrt==VERSION nvidia-cuda-nvcc-cu12

with the version of JAX that is used. `PYTHONPATH=FOLDER python tests/benchmarks/launches.py` then counts in all
programs, with words behind it in those with one of the words in their names.
"""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
# What kernels are fastest is found by running them.
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from _launches import GpuProgram, Launches  # noqa: E402
from _models import chain  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from many import four_bar, oscillator  # noqa: E402

import difmbs as mbs  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.zoo.models import rods  # noqa: E402

COUNT = 10_000
"""Members of a batch."""


class Case(NamedTuple):
    """A simulation, the parameter that differs in a batch, and the sum of launches and waits that a step may have: of
    the run itself, and of its derivative backwards."""

    build: Callable[[], mbs.System]
    parameter: tuple[str, str]
    most: tuple[int, int]
    options: dict[str, Any]


FIXED = dict(solver=mbs.RungeKutta4(), dt=1e-3)
IMPLICIT = dict(solver=mbs.GeneralizedAlpha(), dt=1e-3)
CASES = {
    "oscillator, Runge-Kutta": Case(oscillator, ("spring", "stiffness"), (12, 20), FIXED),
    "oscillator, Tsit5": Case(oscillator, ("spring", "stiffness"), (27, 75), {}),
    "chain of 5, Runge-Kutta": Case(partial(chain, 5), ("spring", "stiffness"), (20, 48), FIXED),
    "four-bar, generalized-alpha": Case(four_bar, ("first", "mass"), (68, 42), IMPLICIT),
    "four-bar, Runge-Kutta": Case(four_bar, ("first", "mass"), (97, 200), FIXED),
    "10 rods, generalized-alpha": Case(partial(rods, 10), ("mass", "mass"), (122, 94), IMPLICIT),
    "10 rods, Runge-Kutta": Case(partial(rods, 10), ("mass", "mass"), (380, 570), FIXED),
    "20 rods, generalized-alpha": Case(partial(rods, 20), ("mass", "mass"), (475, 445), IMPLICIT),
}


def counted(case: Case, device: Any) -> tuple[Launches, Launches, float]:
    """Of a step, of a step backwards, and the memory that gradients of the batch take [MB]."""
    system, (element, name) = case.build(), case.parameter
    nominal = np.asarray(system.params()[element][name])
    times = np.linspace(0, 0.5, 51)

    def loss(x: Any) -> Any:
        run = mbs.simulate(system, t1=0.5, saveat=times, params={element: {name: x}}, throw=False, **case.options)
        return jnp.sum(run.q**2)

    batch = jax.ShapeDtypeStruct((COUNT, *nominal.shape), nominal.dtype, sharding=device)
    compiled = jax.jit(jax.vmap(jax.value_and_grad(loss))).lower(batch).compile()
    loops = GpuProgram(compiled.as_text()).loops
    backwards = [loop.each for loop in loops if "transpose(" in loop.place]
    forwards = [loop.each for loop in loops if "transpose(" not in loop.place]
    return max(forwards), max(backwards), compiled.memory_analysis().temp_size_in_bytes / 1e6


def main(words: list[str]) -> None:
    target = Path(__file__).with_name("h100.txtpb").read_text()
    topology = topologies.get_topology_desc(platform="cuda", target_config=target, topology="1x1x1")
    device = jax.sharding.SingleDeviceSharding(topology.devices[0])
    for name, case in CASES.items():
        if not words or any(word in name for word in words):
            *found, memory = counted(case, device)
            for kind, one, most in zip(("", ", backwards"), found, case.most, strict=True):
                line = {"name": name + kind, **one._asdict(), "sum": sum(one), "most": most, "MB": round(memory)}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
