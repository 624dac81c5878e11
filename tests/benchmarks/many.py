"""The figures that many runs at once must keep, one JSON line each.

`python tests/benchmarks/many.py` measures all of them, `python tests/benchmarks/many.py gradient rk4` those with one of
the words in their names. On a machine that others use too, only ratios from one run mean anything.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

# First _timing: it sets what XLA reads once.
from _timing import best_times, report  # isort: skip
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


IMPLICIT = mbs.GeneralizedAlpha(0.8)
STIFFNESS = ("spring", "stiffness")
LIMIT = "<= 4, aim 3"
CASES: dict[str, Callable[[str], None]] = {
    "batch oscillator rk4": partial(derivatives, build=oscillator, unknown=STIFFNESS, limit=LIMIT, t1=1.0, dt=1e-3),
    "batch chain 5 rk4": partial(derivatives, build=partial(chain, 5), unknown=STIFFNESS, limit=LIMIT, t1=0.5, dt=1e-3),
    "batch oscillator Tsit5": partial(derivatives, build=oscillator, unknown=STIFFNESS, limit=LIMIT, t1=1.0),
    "batch four-bar generalized-alpha": partial(
        derivatives, build=four_bar, unknown=("first", "mass"), limit=LIMIT, t1=0.5, dt=5e-3, solver=IMPLICIT
    ),
}


def main(words: list[str]) -> None:
    for row, case in CASES.items():
        if not words or any(word in row for word in words):
            case(row)


if __name__ == "__main__":
    main(sys.argv[1:])
