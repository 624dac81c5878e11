"""Has anything become slower? One JSON line for each row; half a minute, on a machine that does nothing else.

`python tests/benchmarks/gate.py --gate` ends with 1 if a row takes clearly more than `baseline.json` says, and
`--write` takes what is measured for the new baseline. All times are in units of a yardstick that has nothing to do with
difmbs and takes turns with the rows, so that other machines and busy neighbours matter little; for a machine of another
kind, write a baseline of its own first (`--baseline FILE`).
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# First _timing: it sets what XLA reads once.
from _timing import best_times, compile_time, report  # isort: skip
import jax
import jax.numpy as jnp
import numpy as np
from _baseline import limit_of, slower
from _models import chain
from jax import lax

import difmbs as mbs

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.zoo import models

BASELINE = Path(__file__).parent / "baseline.json"
ROUNDS, TRIES = 15, 3

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def yardstick() -> Program:
    """2000 products of a matrix of 30 x 30 with a vector, and sines."""
    matrix = jnp.asarray(np.random.default_rng(0).normal(size=(30, 30)) / 30)
    return lambda a, x: lax.fori_loop(0, 2000, lambda _, x: jnp.sin(a @ x) + 1e-3, x), (matrix, jnp.ones(30))


def moving(system: mbs.System, steps: int, derivative: str = "", **options: Any) -> Program:
    """A run of so many steps; `derivative`: "forwards" along one direction of all parameters, or "backwards"."""
    dt = 1e-4
    run = lambda params: (
        mbs.simulate(system, t1=steps * dt, dt=dt, saveat=[steps * dt], params=params, throw=False, **options).q
    )
    params = system.params()
    if derivative == "forwards":
        return lambda params: jax.jvp(run, (params,), (params,)), (params,)
    if derivative == "backwards":
        return jax.grad(lambda params: jnp.sum(run(params) ** 2)), (params,)
    return run, (params,)


def programs() -> dict[str, Program]:
    newmark = dict(solver=mbs.GeneralizedAlpha())
    rods = models.rods(10)
    return {
        "10 springs, Runge-Kutta": moving(chain(10), 2000),
        "10 springs, Runge-Kutta, backwards": moving(chain(10), 500, "backwards"),
        "10 rods, Runge-Kutta": moving(rods, 500),
        "10 rods, Runge-Kutta, forwards": moving(rods, 200, "forwards"),
        "10 rods, Runge-Kutta, backwards": moving(rods, 200, "backwards"),
        "10 rods, generalized-alpha": moving(rods, 300, **newmark),
        "10 rods, generalized-alpha, backwards": moving(rods, 100, "backwards", **newmark),
        "four-bar, Runge-Kutta": moving(models.four_bar(), 500),
    }


def measured(wanted: Callable[[str], bool]) -> dict[str, float]:
    """Times of rows in units of the yardstick's; of compiling, in units of its compiling."""
    rows = {name: program for name, program in programs().items() if wanted(name)}
    compiled = [jax.jit(f).lower(*x).compile() for f, x in (yardstick(), *rows.values())]
    tasks = [lambda f=f, x=x: f(*x) for f, (_, x) in zip(compiled, (yardstick(), *rows.values()), strict=True)]
    unit, *times = best_times(*tasks, rounds=ROUNDS)
    found = {name: time / unit for name, time in zip(rows, times, strict=True)}
    name = "10 rods, Runge-Kutta, backwards"
    if wanted(f"compiling {name}"):
        made = lambda program: min(compile_time(program[0], *program[1]) for _ in range(3))
        found[f"compiling {name}"] = made(programs()[name]) / made(yardstick())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gate", action="store_true", help="end with 1 if a row is clearly slower than the baseline")
    parser.add_argument("--write", action="store_true", help="take what is measured for the baseline")
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    options = parser.parse_args()
    baseline = json.loads(options.baseline.read_text()) if options.baseline.exists() else {}
    if options.gate and not baseline:
        parser.error(f"there is no baseline in {options.baseline}: write one with --write")
    found = measured(lambda _: True)
    for _ in range(TRIES - 1):
        # A busy neighbour is no slower program.
        if not (late := slower(found, baseline)) or options.write:
            break
        again = measured(lambda name: name in late)
        found |= {name: min(found[name], again[name]) for name in late}
    for name, time in found.items():
        before = baseline.get(name)
        report(
            name,
            time,
            "yardsticks",
            f"<= {limit_of(name)}",
            peer=before,
            ratio=None if before is None else time / before,
        )
    if options.write:
        rounded = {name: float(f"{time:.3g}") for name, time in found.items()}
        options.baseline.write_text(json.dumps(rounded, indent=2) + "\n")
    return int(options.gate and bool(slower(found, baseline)))


if __name__ == "__main__":
    sys.exit(main())
