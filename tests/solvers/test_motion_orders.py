"""How fast the methods for constrained systems converge: positions, velocities and multipliers, each on its own."""

import functools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import difmbs as mbs
from difmbs.dynamics.accelerations import accelerations, split
from difmbs.solvers.solver_steps import step_of

from ..zoo import models

MODELS = {"rods": models.rods, "top": models.top}
METHODS = {
    "generalized-alpha": mbs.GeneralizedAlpha(),
    "generalized-alpha, 0.5": mbs.GeneralizedAlpha(0.5),
    "generalized-alpha, 1": mbs.GeneralizedAlpha(1.0),
    "trapezoidal": mbs.TrapezoidalIndex2(),
}
END = 1.0
COUNTS = np.array([400, 800, 1600])


@functools.cache
def marched(name, solver, sway=0.0):
    """A function of the number of steps, compiled once for all numbers; `sway` makes them alternately long and short.

    `simulate` is compiled for each step size, which is what tests of the order would spend their time on.
    """
    system = MODELS[name]()
    step = step_of(solver, system, 1e-8, None, varying=sway != 0)

    @jax.jit
    def march(count):
        h = END / jnp.asarray(count, float)

        def one(k, state):
            t, y = state
            size = h * jnp.where(k % 2 == 0, 1 + sway, 1 - sway)
            return t + size, step.step(system, t, size, y, step.begin(system, t, size, y)).end

        y = step.start(system, 0.0, *step.plan().follow(system, 0.0, *system.initial_state()))
        t, y = lax.fori_loop(0, count, one, (jnp.zeros(()), y))
        q, v = split(system, y)
        of_constraints = accelerations(system, t, q, v)[1]
        return dict(q=q, v=v, multipliers=jnp.concatenate([jnp.ravel(x) for x in of_constraints.values()]))

    return march


@functools.cache
def exact(name):
    """By a method of order 8: its error is at rounding."""
    return marched(name, diffrax.Dopri8())(2000)


def slopes(name, method, sway=0.0):
    march, expected = marched(name, METHODS[method], sway), exact(name)
    errors = [jax.tree.map(lambda a, b: float(np.abs(a - b).max()), march(n), expected) for n in COUNTS]
    return {key: np.polyfit(np.log(END / COUNTS), np.log([e[key] for e in errors]), 1)[0] for key in expected}


@pytest.mark.parametrize(("name", "methods"), [("rods", tuple(METHODS)), ("top", ("generalized-alpha", "trapezoidal"))])
def test_order_two(name, methods):
    for method in methods:
        for quantity, slope in slopes(name, method).items():
            assert abs(slope - 2) <= 0.1, (method, quantity)


@pytest.mark.parametrize("method", ["generalized-alpha", "trapezoidal"])
def test_order_two_with_steps_of_varying_size(method):
    """Steps in the proportion 21 to 19: the method's own acceleration belongs to a time that the step size shifts."""
    for quantity, slope in slopes("rods", method, 0.05).items():
        assert slope >= 1.9, quantity


@pytest.mark.parametrize("method", ["generalized-alpha", "trapezoidal"])
def test_adaptive_steps_converge_with_the_tolerance(method):
    system, expected, errors = models.rods(), exact("rods"), []
    for rtol in (1e-5, 1e-8):
        run = mbs.simulate(system, t1=END, solver=METHODS[method], rtol=rtol, atol=rtol, saveat=[END])
        errors.append(float(np.abs(run.q[0] - expected["q"]).max()))
    # A local error of order 3 held at the tolerance: global errors go with its power 2/3, here 100.
    assert 30 <= errors[0] / errors[1] <= 300
    assert errors[1] <= 3e-5


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8])
def test_the_first_step_knows_how_the_acceleration_changes(radius):
    """One step of generalized-alpha is of third order also in velocities; with the wrong jerk it is of second order."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    bob = model.add("bob", mbs.MassPoint2D(1.3), position=(0.8, 0.1), velocity=(0.4, -0.7))
    model.add("spring", mbs.SpringDamper(0.7, 30.0, 0.5), between=(model.ground, bob))
    system = model.assemble()

    def off(h):
        ends = [dict(dt=h, solver=mbs.GeneralizedAlpha(radius)), dict(dt=h / 100)]
        coarse, fine = (mbs.simulate(system, t1=h, saveat=[h], **options).v[0] for options in ends)
        return np.abs(coarse - fine).max()

    assert off(4e-3) / off(2e-3) == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha, 0.5", "trapezoidal"])
def test_the_error_of_a_step_is_how_far_it_is_off(method):
    """Its leading term, in positions; the root mean square over the whole state is as large as that over positions."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    bob = model.add("bob", mbs.MassPoint2D(1.3), position=(0.8, 0.1), velocity=(0.4, -0.7))
    model.add("spring", mbs.SpringDamper(0.7, 30.0, 0.5), between=(model.ground, bob))
    system, h = model.assemble(), 1e-3
    step = step_of(METHODS[method], system, 1e-8, h, False)
    y = step.start(system, 0.0, *step.plan().follow(system, 0.0, *system.initial_state()))
    found = step.step(system, 0.0, h, y, step.begin(system, 0.0, h, y))
    exact = mbs.simulate(system, t1=h, dt=h / 100, saveat=[h]).q[0]
    estimate, off = found.error[:2] / np.sqrt(y.size / 2), found.end[:2] - exact
    assert not np.any(found.error[2:])
    # The next term is smaller by h times a rate of some 10 / s.
    np.testing.assert_allclose(np.abs(estimate), np.abs(off), rtol=0.05)
