"""Single precision against double: speed of batches and of their gradients, and what rounding costs, as JSON lines.

`python tests/benchmarks/single_precision.py` measures all models, with words behind it those with one of the words in
their names. Ratios are those of the speeds; errors those against double precision with the same settings, in units of
the largest number.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

# First _timing: it sets what XLA reads once.
from _timing import best_times, report  # isort: skip
import jax
import jax.numpy as jnp
import numpy as np
from many import COUNT, SIDE_BY_SIDE, four_bar, oscillator

import difmbs as mbs


def pendulum() -> mbs.System:
    """A mass on a rod, let go horizontally."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    bob = model.add("bob", mbs.MassPoint2D(mass=1.0), position=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("wind", mbs.Force((0.5, 0.0, 0.0)), on=bob)
    return model.assemble()


RUNGE_KUTTA = dict(solver=mbs.RungeKutta4(), dt=1e-3)
ADAPTIVE = dict(rtol=1e-5, atol=1e-6, max_steps=1000)
IMPLICIT = dict(solver=mbs.GeneralizedAlpha(0.8), dt=5e-3)
CASES: dict[str, tuple[Callable[[], mbs.System], tuple[str, str], dict[str, Any]]] = {
    "oscillator, Runge-Kutta": (oscillator, ("spring", "stiffness"), RUNGE_KUTTA),
    "oscillator, Tsit5": (oscillator, ("spring", "stiffness"), ADAPTIVE),
    "pendulum, generalized-alpha": (pendulum, ("bob", "mass"), IMPLICIT),
    "four-bar, generalized-alpha": (four_bar, ("first", "mass"), IMPLICIT),
    "four-bar, Runge-Kutta": (four_bar, ("first", "mass"), RUNGE_KUTTA),
}


class Programs(NamedTuple):
    """Final states of all samples, and gradients, computed in one precision."""

    states: Callable[[], Any]
    gradients: Callable[[], Any]


def programs(case: str, double: bool) -> Programs:
    build, (element, field), options = CASES[case]
    with jax.enable_x64(double):
        system = build()
        nominal = float(np.asarray(system.params()[element][field]))
        samples = jnp.asarray(nominal * (1 + 0.05 * np.linspace(-1, 1, COUNT)))

    def state(x: Any) -> Any:
        params = {element: {field: x}}
        return mbs.simulate(system, t1=0.5, saveat=[0.5], params=params, throw=False, **options).q[-1]

    def computed(program: Callable[[Any], Any]) -> Any:
        with jax.enable_x64(double):
            return program(samples)

    in_batches = lambda f: jax.jit(lambda samples: jax.lax.map(f, samples, batch_size=SIDE_BY_SIDE))
    gradient = jax.grad(lambda x: state(x)[0])
    return Programs(*(partial(computed, in_batches(f)) for f in (state, gradient)))


def measure(case: str) -> None:
    single, double = programs(case, double=False), programs(case, double=True)
    for kind, ours, reference in zip(Programs._fields, single, double, strict=True):
        taken, longer = best_times(ours, reference, rounds=5)
        report(f"{case}, {kind}", COUNT / taken, "1/s", peer=COUNT / longer, ratio=longer / taken)
        found, exact = np.asarray(ours(), float), np.asarray(reference())
        error = np.max(np.abs(found - exact)) / np.max(np.abs(exact))
        report(f"{case}, {kind}, error", float(error), "of the largest")


def main(words: list[str]) -> None:
    for case in CASES:
        if not words or any(word in case for word in words):
            measure(case)


if __name__ == "__main__":
    main(sys.argv[1:])
