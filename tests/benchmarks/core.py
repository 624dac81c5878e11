"""The figures that the core must keep, one JSON line each.

`python tests/benchmarks/core.py` measures all of them, `python tests/benchmarks/core.py rk4 compile` those with one of
the words in their names. On a machine that others use too, only ratios from one run mean anything.
"""

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _models import DAMPING, STIFFNESS, chain, chain_model, random_mesh, star_cluster
from _timing import best_times, compile_time, in_fresh_process, report, seconds

import difmbs as mbs

Function = Callable[..., Any]
DT = 1e-4
RK4_STEPS = {1: 400_000, 10: 100_000, 100: 10_000, 1000: 1_000}
RK4_LIMITS = {1: ">= 3", 10: ">= 6", 100: ">= 7", 1000: ">= 12"}


def compiling(row: str, problem: Callable[[mbs.System, str], tuple[Function, Any]], limited: bool) -> None:
    """Seconds to compile the gradient of a problem, for models that differ in the number of springs and of names.

    All numbers of the model are arguments of the compiled function: of a small model XLA would fold constants away,
    and compile less than of a large one.
    """
    best = {}
    for count, names in ((10, True), (300, True), (10_000, False)):
        times = []
        for _ in range(3):
            # Built anew, so that nothing is left of the round before.
            system = chain(count, names=names)
            function, argument = problem(system, f"spring{count // 2}" if names else "spring")
            times.append(compile_time(jax.grad(function), argument, system, *system.initial_state()))
        best[count] = min(times)
        report(f"{row} {count}", best[count], "s", "<= 1" if limited else None)
    growth = best[10_000] / best[10]
    report(f"{row} growth", best[10_000], "s", "<= 1.5" if limited else None, peer=best[10], ratio=growth)


def by_positions(system: mbs.System, spring: str) -> tuple[Function, Any]:
    return lambda q, system, _, v: jnp.sum(system.applied_forces(0.0, q, v) ** 2), system.initial_state()[0]


def by_stiffness(system: mbs.System, spring: str) -> tuple[Function, Any]:
    return _squared_force, {spring: {"stiffness": system.params()[spring]["stiffness"]}}


def by_everything(system: mbs.System, spring: str) -> tuple[Function, Any]:
    return _squared_force, system.params()


def _squared_force(params: Any, system: mbs.System, q: Any, v: Any) -> Any:
    return jnp.sum(system.with_params(params).applied_forces(0.0, q, v) ** 2)


def assembling(row: str) -> None:
    """500 masses and 500 springs, each with its own name."""
    model = chain_model(500, names=True)
    report(row, min(seconds(model.assemble) for _ in range(3)), "s", "<= 2")


def force(row: str, build: Callable[[int], mbs.System], count: int, limit: str | None) -> None:
    """One evaluation of all forces, and the memory it needs on top of arguments and result."""
    system = build(count)
    q, v = system.initial_state()
    compiled = jax.jit(lambda system, q, v: system.applied_forces(0.0, q, v)).lower(system, q, v).compile()
    (time,) = best_times(lambda: compiled(system, q, v), rounds=50)
    report(row, 1e3 * time, "ms", limit)
    report(f"{row} memory", compiled.memory_analysis().temp_size_in_bytes / 1e6, "MB", "<= 100")


def stepping(row: str, count: int) -> None:
    """Microseconds per step of the classic Runge-Kutta method, against Exudyn.

    The positions of all masses are compared after a short run; a long one would be chaotic.
    """
    from _exudyn import Chain

    system, peer, steps = chain(count), Chain(count), RK4_STEPS[count]

    def ours(steps: int) -> Any:
        return mbs.simulate(system, t1=steps * DT, dt=DT, saveat=[steps * DT])

    peer.run(1_000, DT)
    displacements = ours(1_000).q[0] - system.initial_state()[0]
    difference = np.abs(displacements - peer.displacements()).max()
    report(f"{row} difference", difference, "m", "<= 1e-9")
    tasks = (lambda: ours(steps).q, lambda: peer.run(steps, DT), lambda: peer.run(steps, DT, lean=True))
    times = best_times(*tasks, rounds=5)
    own, plain, lean = (1e6 * time / steps for time in times)
    report(row, own, "us/step", RK4_LIMITS[count], peer=plain, ratio=plain / own)
    report(f"{row} lean peer", own, "us/step", peer=lean, ratio=lean / own)


class Identification:
    """A chain's motion in one second as a function of all stiffnesses and dampings, which is to be identified."""

    def __init__(self, count: int):
        self.system = chain(count)
        self.params = {"spring": {"stiffness": np.full(count, STIFFNESS), "damping": np.full(count, DAMPING)}}

    def motion(self, params: Any) -> Any:
        return mbs.simulate(self.system, t1=1.0, params=params)["tip"]

    def loss(self, params: Any) -> Any:
        return jnp.sum(self.motion(params) ** 2)


def differentiating(row: str, count: int) -> None:
    """An adaptive run against its value and gradient, and against the forward Jacobian of its motion."""
    problem = Identification(count)
    value, gradient, jacobian = map(
        jax.jit, (problem.loss, jax.value_and_grad(problem.loss), jax.jacfwd(problem.motion))
    )
    tasks = (lambda: value(problem.params), lambda: gradient(problem.params))
    alone, with_gradient = best_times(*tasks, rounds=20)
    report(f"{row} gradient", 1e3 * with_gradient, "ms", "<= 5", peer=1e3 * alone, ratio=with_gradient / alone)
    (forward,) = best_times(lambda: jacobian(problem.params), rounds=3)
    report(f"{row} jacobian", 1e3 * forward, "ms", peer=1e3 * alone, ratio=forward / alone)


def transforming(row: str) -> None:
    """One simulate call under grad, jacfwd, jvp, vmap and jit: the largest relative difference between gradients."""
    problem = Identification(10)
    loss, params = problem.loss, problem.params
    gradient = jax.grad(loss)(params)
    batch = jax.tree.map(lambda x: np.stack([x, 1.1 * x]), params)
    others = {
        "jacfwd": jax.jacfwd(loss)(params),
        "jit": jax.jit(jax.grad(loss))(params),
        "vmap": jax.tree.map(lambda x: x[0], jax.vmap(jax.grad(loss))(batch)),
    }
    for name, other in others.items():
        report(f"{row} {name}", _difference(gradient, other), "1", "<= 1e-9")
    direction = jax.tree.map(np.ones_like, params)
    slope, along = jax.jvp(loss, (params,), (direction,))[1], sum(map(jnp.sum, jax.tree.leaves(gradient)))
    report(f"{row} jvp", _difference(along, slope), "1", "<= 1e-9")


def _difference(a: Any, b: Any) -> float:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return max(float(jnp.max(jnp.abs(x - y)) / jnp.max(jnp.abs(x))) for x, y in pairs)


def first_calls(row: str, count: int) -> None:
    """First calls in a new process, its start and the building of the model not counted."""
    for what, limit in (("run", "<= 1.5"), ("gradient", "<= 3"), ("gradient unjitted", None)):
        report(f"{row} {what}", min(in_fresh_process(first_call, count, what) for _ in range(2)), "s", limit)


def first_call(count: int, what: str) -> float:
    problem = Identification(count)
    gradient = jax.value_and_grad(problem.loss)
    calls = {
        "run": lambda _: mbs.simulate(problem.system, t1=1.0).q,
        "gradient": jax.jit(gradient),
        "gradient unjitted": gradient,
    }
    return seconds(lambda: calls[what](problem.params))


CASES: dict[str, Callable[[str], None]] = {
    "compile gradient by positions": partial(compiling, problem=by_positions, limited=True),
    "compile gradient by stiffness": partial(compiling, problem=by_stiffness, limited=True),
    "compile gradient by everything": partial(compiling, problem=by_everything, limited=False),
    "assemble 1000 names": assembling,
    "force chain 10000": partial(force, build=chain, count=10_000, limit="<= 1"),
    "force mesh 10000": partial(force, build=random_mesh, count=10_000, limit=None),
    "force gravity 2000": partial(force, build=star_cluster, count=2_000, limit="<= 15"),
    **{f"rk4 {n}": partial(stepping, count=n) for n in RK4_STEPS},
    **{f"adaptive {n}": partial(differentiating, count=n) for n in (10, 100)},
    "transformations": transforming,
    **{f"first call {n}": partial(first_calls, count=n) for n in (10, 100)},
}


def main(words: list[str]) -> None:
    chosen = {row: case for row, case in CASES.items() if not words or any(word in row for word in words)}
    if importlib.util.find_spec("exudyn") is None:
        print("exudyn is not installed: the comparisons with it are left out.", file=sys.stderr)
        chosen = {row: case for row, case in chosen.items() if not row.startswith("rk4")}
    for row, case in chosen.items():
        case(row)


if __name__ == "__main__":
    main(sys.argv[1:])
