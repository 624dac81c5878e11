"""Exudyn's mesh of 288 planar bodies, 336 hinges and 48 slides: conversion, first call, 50 implicit steps; JSON lines.

`python tests/benchmarks/exudyn_conversion.py`. The peer is Exudyn with its sparse solver, one thread, same steps.
"""

import sys
import time
from pathlib import Path

# First _timing: it sets what XLA reads once.
from _timing import report, seconds  # isort: skip
import numpy as np

import difmbs as mbs
from difmbs.interop.exudyn_comparison import recorded

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.zoo.exudyn_mesh import mesh

STEPS, END = 50, 0.05


def main() -> None:
    _container, system = mesh()
    start = time.perf_counter()
    model = mbs.from_exudyn(system)
    report("mesh of 288 bodies: conversion", time.perf_counter() - start, "s", "<= 3")
    start = time.perf_counter()
    assembled = model.assemble(redundant="min_norm")
    report("mesh: assembling", time.perf_counter() - start, "s")
    solver, times = mbs.TrapezoidalIndex2(as_exudyn=True), np.linspace(0, END, STEPS + 1)
    run = lambda: mbs.simulate(assembled, t1=END, dt=END / STEPS, solver=solver, saveat=times)
    first = seconds(lambda: run().q)
    report("mesh: first call", first, "s", "<= 10")
    start = time.perf_counter()
    record = recorded(system, END, STEPS, solver)
    peer = time.perf_counter() - start
    ours = min(seconds(lambda: run().q) for _ in range(3))
    report("mesh: 50 implicit steps", ours, "s", peer=peer, ratio=peer / ours)
    solution = run()
    off = max(np.abs(np.asarray(solution[k]) - x[:, 1:]).max() / np.abs(x[:, 1:]).max() for k, x in record.items())
    report("mesh: largest difference of a sensor", off, "1", "<= 1e-6")


if __name__ == "__main__":
    main()
