"""The figures that the motion of constrained systems must keep, one JSON line each.

`python tests/benchmarks/motion.py` measures all of them, `python tests/benchmarks/motion.py chain batch` those with one
of the words in their names. On a machine that others use too, only ratios from one run mean anything.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# First _timing: it sets what XLA reads once.
from _timing import best_times, in_fresh_process, report, seconds  # isort: skip
import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from _first_calls import of_reference, of_rods
from _models import DAMPING, STIFFNESS, chain
from _rods import Rods, pendulum, rods

import difmbs as mbs

TIME, WANTED = 1.0, 1e-5
TOLERANCES = 10.0 ** -np.arange(3, 8)
LIMITS = {1: ">= 2", 10: ">= 3", 100: ">= 5", 1000: ">= 5"}
STEP_LIMITS = {1: ">= 0.7", 10: ">= 0.9", 100: ">= 1", 1000: ">= 1"}
STEPS = {1: 20_000, 10: 5_000, 100: 1_000, 1000: 200}


def accurate(row: str, count: int) -> None:
    """Time to the positions after a second with a relative error of 1e-5, each with its best solver and step."""
    system, peer = rods(count), Rods(count)
    exact = _ours(system, dict(solver=diffrax.Dopri8(), rtol=1e-11, atol=1e-12, max_steps=100_000))().reshape(-1, 3)
    error = lambda found: float(np.abs(np.asarray(found).reshape(-1, 3) - exact).max() / np.abs(exact).max())
    candidates: list[dict[str, Any]] = [
        *(dict(solver=s, rtol=r, atol=r) for s in (diffrax.Tsit5(), diffrax.Dopri8()) for r in TOLERANCES),
        *(dict(dt=TIME / 2**k) for k in range(4, 12)),
    ]
    good = [_ours(system, options) for options in candidates]
    good = [run for run in good if error(run()) <= WANTED]
    times = best_times(*good, rounds=5)
    ours = good[int(np.argmin(times))]
    theirs = []
    for linear in peer.solvers:
        for trapezoidal in (False, True):
            for modified in (False, True):
                steps = 2**6
                options = dict(linear=linear, trapezoidal=trapezoidal, modified=modified)
                while error(peer.positions(TIME, steps, **options)) > WANTED and steps < 2**17:
                    steps *= 2
                # The first power of two is up to twice too many.
                for fraction in (0.75, 0.6):
                    if error(peer.positions(TIME, int(fraction * steps), **options)) <= WANTED:
                        steps = int(fraction * steps)
                theirs.append(partial(peer.positions, TIME, steps, **options))
    best = theirs[int(np.argmin([min(seconds(run) for _ in range(2)) for run in theirs]))]
    own, other = best_times(ours, best, rounds=5)
    report(row, 1e3 * own, "ms", LIMITS[count], peer=1e3 * other, ratio=other / own)


def _ours(system: mbs.System, options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: mbs.simulate(system, t1=TIME, saveat=[TIME], throw=False, **options).q[0]


def stepping(row: str, count: int) -> None:
    """Microseconds per step of generalized-alpha with the same steps."""
    system, peer, steps = rods(count), Rods(count), STEPS[count]
    dt = 2e-4
    options = dict(t1=steps * dt, dt=dt, saveat=[steps * dt], solver=mbs.GeneralizedAlpha(0.8))
    ours = lambda: mbs.simulate(system, **options).q[0]
    tasks = [partial(peer.positions, steps * dt, steps, s, modified=m) for s in peer.solvers for m in (False, True)]
    difference = np.abs(np.asarray(ours()).reshape(-1, 3) - tasks[0]()).max()
    report(f"{row} difference", difference, "m", "<= 1e-6")
    own, *others = (1e6 * time / steps for time in best_times(ours, *tasks, rounds=5))
    report(row, own, "us/step", STEP_LIMITS[count], peer=min(others), ratio=min(others) / own)


def batch(row: str) -> None:
    """1024 pendulums of different lengths, a second each, all to a relative error of 1e-5."""
    system, peer = pendulum(), Rods(1, planar=True)
    lengths = jnp.linspace(0.8, 1.25, 1024)

    def one(length: Any, **options: Any) -> Any:
        position = jnp.stack([length, 0 * length])
        params = {"rod": {"distance": length}, "bob": {"position": position}}
        return mbs.simulate(system, t1=TIME, saveat=[TIME], params=params, **options).q[0]

    exact = np.asarray(jax.vmap(partial(one, dt=1e-4))(lengths))
    error = lambda found, wanted: float(np.abs(found - wanted).max() / np.abs(wanted).max())
    chosen = None
    for steps in (20, 30, 40, 60, 80, 100):
        many = jax.jit(jax.vmap(partial(one, dt=TIME / steps)))
        if error(np.asarray(many(lengths)), exact) <= WANTED:
            chosen = many
            break
    assert chosen is not None
    middle = np.asarray(one(jnp.asarray(1.0), dt=1e-4))
    theirs = lambda n: peer.positions(TIME, n, peer.solvers[0])[0]
    needed = next(n for n in range(200, 20_000, 100) if error(theirs(n), middle) <= WANTED)
    own, other = best_times(lambda: chosen(lengths), lambda: theirs(needed), rounds=5)
    own /= len(lengths)
    report(row, 1e6 * own, "us/pendulum", ">= 15", peer=1e6 * other, ratio=other / own)


def gradient(row: str, system: mbs.System, params: Any, steps: int, **options: Any) -> None:
    """Value and gradient, in reverse mode, over the value."""
    run = lambda p: mbs.simulate(system, t1=steps * 1e-4, dt=1e-4, saveat=[steps * 1e-4], params=p, **options)["tip"]
    value, both = jax.jit(lambda p: jnp.sum(run(p) ** 2)), jax.jit(jax.value_and_grad(lambda p: jnp.sum(run(p) ** 2)))
    plain, taken = best_times(lambda: value(params), lambda: both(params), rounds=5)
    report(row, 1e3 * taken, "ms", "<= 5, aim 3", peer=1e3 * plain, ratio=taken / plain)


def jacobian(row: str, system: mbs.System, params: Any, **options: Any) -> None:
    """The full Jacobian of the tip with respect to 20 parameters, in forward mode, over the simulation."""
    run = lambda p: mbs.simulate(system, t1=0.2, dt=1e-3, saveat=[0.2], params=p, **options)["tip"]
    value, full = jax.jit(run), jax.jit(jax.jacfwd(run))
    plain, taken = best_times(lambda: value(params), lambda: full(params), rounds=10)
    report(row, 1e3 * taken, "ms", "<= 12, aim 7", peer=1e3 * plain, ratio=taken / plain)


def compiling(row: str) -> None:
    """First calls, with all tracing and compilation, in processes of their own; and how they grow with the chain."""
    for name, options in SOLVERS.items():
        small, large = (in_fresh_process(of_rods, count, options) for count in (10, 1000))
        for what, limit, first, last in zip(("run", "gradient"), ("<= 4", "<= 8"), small, large, strict=True):
            report(f"{row} {name} {what}", first, "s", limit)
            report(f"{row} {name} {what} growth", last, "s", "<= 1.5", peer=first, ratio=last / first)
    for case in REFERENCES:
        for name, options in SOLVERS.items():
            for what, limit, taken in zip(
                ("run", "gradient"), ("<= 4", "<= 8"), in_fresh_process(of_reference, case, options), strict=True
            ):
                report(f"{row} {case} {name} {what}", taken, "s", limit)


def memory(row: str) -> None:
    """The gradient through a million steps of a pendulum, in a process of its own."""
    used, taken = in_fresh_process(_long_gradient)
    report(row, used, "MB", "<= 1000")
    report(f"{row} time", taken, "s")


def _long_gradient() -> tuple[float, float]:
    jax.config.update("jax_enable_x64", True)
    system = pendulum()

    def loss(g: Any) -> Any:
        field = {"gravity": {"acceleration": jnp.stack([0 * g, -g, 0 * g])}}
        options = dict(dt=1e-5, saveat=[10.0], solver=mbs.GeneralizedAlpha())
        return mbs.simulate(system, t1=10.0, params=field, **options).q[0, 0]

    taken = seconds(lambda: jax.jit(jax.grad(loss))(9.81))
    # Of this process only: getrusage also counts what the one took that started it.
    said = Path("/proc/self/status").read_text()
    return float(said.split("VmHWM:")[1].split()[0]) / 1e3, taken


REFERENCES = (
    "pendulum_iftomm",
    "double_pendulum_distance",
    "coordinate_vector_double_pendulum",
    "chain10_distance",
    "fourbar_consistent",
    "rigid3d_pendulum_spring",
)

SOLVERS: dict[str, dict[str, Any]] = {
    "RungeKutta4": dict(dt=1e-3),
    "Tsit5": dict(),
    "GeneralizedAlpha": dict(dt=1e-3, solver=mbs.GeneralizedAlpha()),
}


def rows() -> dict[str, Callable[[], Any]]:
    ten = rods(10)
    of_rods = {"rod": {"distance": ten.params()["rod"]["distance"]}, "mass": {"mass": ten.params()["mass"]["mass"]}}
    of_springs = lambda n: {"spring": {"stiffness": np.full(n, STIFFNESS), "damping": np.full(n, DAMPING)}}
    table: dict[str, Callable[[], Any]] = {}
    for count in (1, 10, 100, 1000):
        table[f"chain {count} to 1e-5"] = partial(accurate, f"chain {count} to 1e-5", count)
    for count in (1, 10, 100, 1000):
        table[f"generalized-alpha {count}"] = partial(stepping, f"generalized-alpha {count}", count)
    table["batch of pendulums"] = partial(batch, "batch of pendulums")
    implicit = dict(solver=mbs.GeneralizedAlpha())
    for row, system, params, options in (
        ("gradient generalized-alpha 10 rods", ten, of_rods, implicit),
        ("gradient RK4 10 rods", ten, of_rods, {}),
        ("gradient RK4 100 springs", chain(100), of_springs(100), {}),
    ):
        table[row] = partial(gradient, row, system, params, 10_000, **options)
    for row, system, params, options in (
        ("jacobian generalized-alpha 10 rods", ten, of_rods, implicit),
        ("jacobian RK4 10 rods", ten, of_rods, {}),
        ("jacobian RK4 10 springs", chain(10), of_springs(10), {}),
    ):
        table[row] = partial(jacobian, row, system, params, **options)
    table["first call"] = partial(compiling, "first call")
    table["memory"] = partial(memory, "memory of a gradient through 1e6 steps")
    return table


if __name__ == "__main__":
    words = sys.argv[1:]
    for row, task in rows().items():
        if not words or any(word in row for word in words):
            task()
