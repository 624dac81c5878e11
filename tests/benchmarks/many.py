"""The figures that many runs and many fits at once must keep, one JSON line each.

`python tests/benchmarks/many.py` measures all of them, `python tests/benchmarks/many.py batch rk4` those with one of
the words in their names. Batches take one core; sweeps and fits take all, in a process of their own. On a machine that
others use too, only ratios from one run mean anything.
"""

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

# First _timing: it sets what XLA reads once.
from _timing import best_times, in_fresh_process, report  # isort: skip
import jax
import jax.numpy as jnp
import numpy as np
from _models import chain

import difmbs as mbs

COUNT = 2_000
SIDE_BY_SIDE = 100
"""What one core makes at once: more does not fit into its cache."""


def oscillator() -> mbs.System:
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint(mass=1.0), position=(0.12, 0.0, 0.0))
    model.add("spring", mbs.SpringDamper(0.1, stiffness=400.0, damping=0.5), between=(model.ground, mass))
    model.sense("tip", mbs.Position(mass))
    return model.assemble()


def four_bar() -> mbs.System:
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    first = model.add("first", mbs.MassPoint2D(mass=1.0), position=(0.0, 1.0))
    second = model.add("second", mbs.MassPoint2D(mass=2.0), position=(2.0, 1.5))
    rods = {
        "crank": (1.0, model.ground, first),
        "coupler": (np.hypot(2.0, 0.5), first, second),
        "rocker": (np.hypot(1.0, 1.5), model.ground.at(3.0, 0.0, 0.0), second),
    }
    for name, (length, *ends) in rods.items():
        model.add(name, mbs.DistanceConstraint(distance=length), between=tuple(ends))
    model.sense("tip", mbs.Position(second))
    return model.assemble()


def derivatives(
    row: str, build: Callable[[], mbs.System], unknown: tuple[str, str], limit: str, **options: Any
) -> None:
    """Gradient of one number, and the Jacobian of all outputs, over the value in the same batches."""
    system, (element, field) = build(), unknown
    nominal = jnp.asarray(system.params()[element][field])
    options["saveat"] = np.linspace(0.0, options["t1"], 51)
    outputs = lambda x: mbs.simulate(system, params={element: {field: x}}, throw=False, **options)["tip"]
    loss = lambda x: jnp.sum(outputs(x) ** 2)
    samples = nominal * (1 + 0.01 * jnp.linspace(-1, 1, COUNT).reshape(COUNT, *[1] * nominal.ndim))
    programs = [_in_batches(f) for f in (loss, jax.grad(loss), jax.jacfwd(outputs))]
    value, gradient, jacobian = best_times(*(partial(f, samples) for f in programs), rounds=5)
    report(f"{row} runs", COUNT / value, "1/s")
    report(f"{row} gradient", 1e6 * gradient / COUNT, "us", limit, peer=1e6 * value / COUNT, ratio=gradient / value)
    each = f"{row} jacobian of {nominal.size}"
    report(each, 1e6 * jacobian / COUNT, "us", peer=1e6 * value / COUNT, ratio=jacobian / value)


def _in_batches(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return jax.jit(lambda samples: jax.lax.map(function, samples, batch_size=SIDE_BY_SIDE))


# Sweeps, in processes of their own

PEAK = {"peak": mbs.Maximum("mass.velocity.x")}
METHODS: dict[str, dict[str, Any]] = {"rk4": dict(dt=1e-3), "Tsit5": dict(rtol=1e-6, atol=1e-8)}
ONE_CORE = partial(ThreadPoolExecutor, 1)
OUTPUTS = 51


def swept(stiffnesses: np.ndarray, method: str, executor: Any = None, **options: Any) -> mbs.SweepResult:
    arguments = dict(t1=1.0, saveat=np.linspace(0.0, 1.0, OUTPUTS), progress=False, executor=executor)
    samples = {"spring.stiffness": stiffnesses}
    return mbs.sweep(oscillator(), samples, PEAK, **arguments, **METHODS[method], **options)


def stiffnesses(count: int) -> np.ndarray:
    return 400.0 * (1 + 0.01 * np.linspace(-1, 1, count))


def sweep_times(method: str, count: int) -> tuple[float, float, float]:
    """Seconds of a sweep on one core and on all, and of one of Exudyn's runs on one core."""
    from _exudyn_sweep import largest_velocities

    few = stiffnesses(count // 500)
    apart = np.max(np.abs(largest_velocities(method, few, 1.0, 1e-3, OUTPUTS) - swept(few, method)["peak"]))
    # With adaptive steps Exudyn's outputs are not at the times that were asked for.
    assert apart < (1e-12 if method == "rk4" else 5e-3)
    one, all_cores, peer = best_times(
        lambda: swept(stiffnesses(count), method, ONE_CORE)["peak"],
        lambda: swept(stiffnesses(count), method)["peak"],
        lambda: largest_velocities(method, few, 1.0, 1e-3, OUTPUTS),
        rounds=3,
    )
    return one, all_cores, peer / len(few)


def sweeps(row: str, method: str, limit: str, count: int = 100_000) -> None:
    one, all_cores, peer = in_fresh_process(sweep_times, method, count)
    report(f"{row} on all cores", count / all_cores, "1/s", ">= 1.7", peer=count / one, ratio=one / all_cores)
    report(f"{row} on one core", count / one, "1/s", limit, peer=1 / peer, ratio=count * peer / one)


def bad_runs(method: str, count: int) -> tuple[float, float]:
    """Seconds of a sweep, and with ten bad runs in it."""
    good = stiffnesses(count)
    bad, places = good.copy(), np.arange(10) * (count // 10) + 7
    # Not a number, so stiff that it takes too many steps, growing beyond all bounds.
    bad[places] = [np.nan, 4e5, -1e6, np.nan, 4e5, -1e6, np.nan, 4e5, -1e6, np.nan]
    options = dict(max_steps=1000)
    whole, some = swept(good, method, **options), swept(bad, method, **options)
    assert some.failed.tolist() == places.tolist()
    others = np.setdiff1d(np.arange(count), places)
    np.testing.assert_array_equal(some["peak"][others], whole["peak"][others])
    first, second = best_times(
        lambda: swept(good, method, **options)["peak"], lambda: swept(bad, method, **options)["peak"], rounds=3
    )
    return first, second


def with_bad_runs(row: str, count: int = 100_000) -> None:
    without, with_them = in_fresh_process(bad_runs, "Tsit5", count)
    report(row, with_them, "s", "<= 1.3", peer=without, ratio=with_them / without)


def long_sweep(count: int) -> tuple[float, float, list[float]]:
    """Peak memory after a tenth and after all of it [MB], and the time of each tenth."""
    swept(stiffnesses(2000), "rk4")
    peaks, seconds = [], []
    for part in range(10):
        begun = time.perf_counter()
        swept(stiffnesses(count), "rk4", part=(part, 10))
        seconds.append(time.perf_counter() - begun)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    return peaks[0], peaks[-1], seconds


def million(row: str, count: int = 1_000_000) -> None:
    first, last, seconds = in_fresh_process(long_sweep, count)
    report(f"{row}, memory", last, "MB", "<= 1.1", peer=first, ratio=last / first)
    early, late = sum(seconds[:5]), sum(seconds[5:])
    report(f"{row}, rate", count / sum(seconds), "1/s", "<= 1.1", peer=count / 2 / early, ratio=late / early)


# Fits


def many_fits(count: int) -> tuple[float, float, float]:
    """Seconds of so many fits of mass, stiffness and force of an oscillator in one call, peak memory [MB], and seconds
    of one of them by itself."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6), position=-0.08, velocity=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 4000.0, 8.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("load", mbs.CoordinateLoad(80.0), on=mass.coordinate(0))
    model.sense("u", lambda t, outputs: outputs["mass.position"][0])
    system = model.assemble()
    times, rng = np.linspace(0, 1, 501), np.random.default_rng(0)
    clean = np.asarray(mbs.simulate(system, t1=1.0, dt=2e-3, saveat=times)["u"])
    channels = {"u": mbs.Channel(noise=1e-4)}
    runs = [
        mbs.Experiment(times, {"u": clean + 1e-4 * rng.normal(size=501)}, channels, name=str(i)) for i in range(count)
    ]
    unknowns = {"mass.mass": mbs.Positive(3.0), "spring.stiffness": mbs.Positive(2e3), "load.load": mbs.Positive(40.0)}
    together = lambda: mbs.identify_each(system, runs, unknowns, dt=2e-3, progress=False).numbers
    in_turn = lambda: [mbs.identify(system, x, unknowns, dt=2e-3, progress=False).numbers for x in runs[:20]]
    np.testing.assert_allclose(together()[:20], in_turn(), rtol=1e-6)
    all_at_once, one_by_one = best_times(together, in_turn, rounds=2)
    return all_at_once, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, one_by_one / 20


def fits(row: str, count: int) -> None:
    seconds, memory, alone = in_fresh_process(many_fits, count)
    report(row, seconds, "s", ">= 10, aim 50", peer=count * alone, ratio=count * alone / seconds)
    report(f"{row}, memory", memory, "MB", "<= 2000")


IMPLICIT = mbs.GeneralizedAlpha(0.8)
STIFFNESS = ("spring", "stiffness")
LIMIT = "<= 4, aim 3"
CASES: dict[str, Callable[[str], None]] = {
    "batch oscillator rk4": partial(derivatives, build=oscillator, unknown=STIFFNESS, limit=LIMIT, t1=1.0, dt=1e-3),
    "batch chain 5 rk4": partial(derivatives, build=partial(chain, 5), unknown=STIFFNESS, limit=LIMIT, t1=0.5, dt=1e-3),
    "batch oscillator Tsit5": partial(derivatives, build=oscillator, unknown=STIFFNESS, limit=LIMIT, t1=1.0),
    "batch oscillator Tsit5, at most 4000 steps": partial(
        derivatives, build=oscillator, unknown=STIFFNESS, limit=LIMIT, t1=1.0, max_steps=4000
    ),
    "batch four-bar generalized-alpha": partial(
        derivatives, build=four_bar, unknown=("first", "mass"), limit=LIMIT, t1=0.5, dt=5e-3, solver=IMPLICIT
    ),
    "sweep rk4": partial(sweeps, method="rk4", limit=">= 60"),
    "sweep Tsit5": partial(sweeps, method="Tsit5", limit=">= 25"),
    "sweep with ten bad runs": with_bad_runs,
    "sweep of a million": million,
    "fits 400": partial(fits, count=400),
    "fits 10000": partial(fits, count=10_000),
}


def main(words: list[str]) -> None:
    for row, case in CASES.items():
        if not words or any(word in row for word in words):
            case(row)


if __name__ == "__main__":
    main(sys.argv[1:])
