"""Constrained motion, multipliers and gradients against runs of Exudyn 1.13.6 kept in tests/data."""

import jax
import jax.numpy as jnp
import pytest
from jax.flatten_util import ravel_pytree

import difmbs as mbs

from ..oracles.exudyn_motions import CASES, Compared, methods

"""Extrapolated from so many steps and twice as many, an error of second order is below 1e-9."""


def weighed(runs, of):
    """The sum of what `of` gives for the runs, weighted."""
    results = [jax.tree.map(lambda x, w=weight: w * x, of(run)) for weight, run in runs.items()]
    return jax.tree.map(lambda *x: sum(x), *results)


SOLVERS = {"index 1": None, "generalized-alpha": mbs.GeneralizedAlpha(), "trapezoidal": mbs.TrapezoidalIndex2()}
IMPLICIT = [(solver, name) for solver in SOLVERS if solver != "index 1" for name in CASES]
QUICK = [("generalized-alpha", "fourbar_testmodel_inconsistent"), ("trapezoidal", "pendulum_iftomm")]


@pytest.mark.parametrize(("solver", "name"), QUICK)
def test_motion_equals_exudyns(solver, name):
    case = Compared(name)
    case.check_motion(weighed(methods(name, SOLVERS[solver]), lambda run: case.outputs({}, run)))


@pytest.mark.parametrize(
    ("solver", "name"),
    [("index 1", name) for name in CASES] + [pytest.param(*x, marks=pytest.mark.slow) for x in IMPLICIT],
)
def test_motion_and_gradients_equal_exudyns(solver, name):
    case = Compared(name)

    def of(run):
        def along(direction):
            return jax.jvp(lambda wanted: case.outputs(wanted, run), (case.wanted,), (direction,))

        # One program for the motion and its derivatives.
        basis, unravel = jnp.eye(len(case.wanted)), ravel_pytree(case.wanted)[1]
        return jax.jit(jax.vmap(lambda e: along(unravel(e)), out_axes=(None, 0)))(basis)

    motion, gradients = weighed(methods(name, SOLVERS[solver]), of)
    case.check_motion(motion)
    case.check_gradients({key: dict(zip(sorted(case.wanted), x, strict=True)) for key, x in gradients.items()})
