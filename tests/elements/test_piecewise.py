"""Functions of time through points."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

import difmbs as mbs

TIMES, VALUES = np.array([0.0, 0.2, 0.5, 0.6, 1.0]), np.array([0.0, 3.0, -1.0, -1.5, 2.0])


def test_straight_lines_between_points_and_constant_outside():
    ramp = mbs.Piecewise(TIMES, VALUES)
    t = np.linspace(-0.5, 1.5, 41)
    np.testing.assert_allclose(jax.vmap(ramp)(t), np.interp(t, TIMES, VALUES), atol=1e-15)
    vectors = mbs.Piecewise(TIMES, np.stack([VALUES, -2 * VALUES], axis=1))
    np.testing.assert_allclose(jax.vmap(vectors)(t)[:, 1], -2 * np.interp(t, TIMES, VALUES), atol=1e-15)


def test_smooth_curves_are_monotone_cubics():
    """Inside they are those of scipy; slopes at the ends are zero, so that nothing jumps where the curve goes on."""
    curve = mbs.Piecewise(TIMES, VALUES, smooth=True)
    t = np.linspace(0.21, 0.59, 20)
    np.testing.assert_allclose(jax.vmap(curve)(t), PchipInterpolator(TIMES, VALUES)(t), atol=1e-14)
    slope = jax.vmap(jax.grad(curve))
    np.testing.assert_allclose(slope(jnp.array([-0.1, 0.0, 1.0, 1.1])), 0, atol=1e-14)
    before, after = (slope(jnp.asarray(TIMES + d)) for d in (-1e-9, 1e-9))
    np.testing.assert_allclose(before, after, atol=1e-6)


def pushed():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(2.0))
    model.add("push", mbs.CoordinateLoad(mbs.Piecewise(TIMES, VALUES)), on=mass.coordinate(0))
    return model.assemble()


def test_loads_through_points_and_their_derivatives():
    """m v = integral of F: trapezoids; RK4 is exact where kinks are at the ends of steps."""
    system = pushed()

    def velocity(load, dt=0.1):
        return mbs.simulate(system, t1=1.0, dt=dt, saveat=[1.0], params={"push": {"load": load}}).v[0, 0]

    load = {"times": jnp.asarray(TIMES), "values": jnp.asarray(VALUES)}
    expected = lambda load: jnp.trapezoid(load["values"], load["times"]) / 2.0
    np.testing.assert_allclose(velocity(load), expected(load), rtol=1e-14)
    # Kinks at the ends of steps: each step sees the slope on its own side.
    for derivative in (jax.jacfwd, jax.grad):
        found, wanted = derivative(velocity)(load), jax.grad(expected)(load)
        np.testing.assert_allclose(found["values"], wanted["values"], rtol=1e-9)
        np.testing.assert_allclose(found["times"][1:-1], wanted["times"][1:-1], rtol=1e-9)


@pytest.mark.parametrize("solver", [diffrax.Tsit5(), diffrax.Dopri8()])
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_derivatives_with_respect_to_times_where_adaptive_steps_end(solver, derivative):
    system = pushed()
    load = {"values": VALUES, "times": jnp.asarray(TIMES)}
    velocity = lambda t: mbs.simulate(
        system,
        t1=1.5,
        saveat=[1.5],
        solver=solver,
        rtol=1e-6,
        atol=1e-8,
        params={"push": {"load": load | {"times": t}}},
    ).v[0, 0]
    expected = jax.grad(lambda t: jnp.trapezoid(jnp.asarray(VALUES), t) / 2.0)(jnp.asarray(TIMES))
    # Constant before the first point and after the last one.
    ends = np.array([VALUES[0], 0, 0, 0, -VALUES[-1]]) / 2.0
    np.testing.assert_allclose(derivative(velocity)(load["times"])[1:], (expected + ends)[1:], rtol=1e-6, atol=1e-9)


def test_prescribed_motion_through_points():
    model = mbs.Model()
    slider = model.add("slider", mbs.Mass1D(2.0))
    path = mbs.Piecewise(TIMES, VALUES, smooth=True)
    model.add("drive", mbs.CoordinateConstraint(offset=path), between=(model.ground, slider.coordinate(0)))
    system = model.assemble()
    times = np.linspace(0, 1, 21)
    for solver in (mbs.RungeKutta4(), mbs.GeneralizedAlpha()):
        solution = mbs.simulate(system, t1=1.0, dt=1e-2, saveat=times, solver=solver)
        np.testing.assert_allclose(solution.q[:, 0], jax.vmap(path)(times), atol=1e-12)


def test_a_recorded_motion_is_kept_where_steps_end_at_its_points_but_for_rounding():
    """Velocities jump there: an output a rounding error before a point must not be compared with the slope after it."""
    model = mbs.Model()
    slider = model.add("slider", mbs.Mass1D(2.0))
    times = np.round(2 + np.arange(101) * 0.002, 6)
    path = mbs.Piecewise(times, np.random.default_rng(0).normal(size=101))
    model.add("drive", mbs.CoordinateConstraint(offset=path), between=(model.ground, slider.coordinate(0)))
    solution = mbs.simulate(model.assemble(), t0=2.0, t1=2.2, dt=0.002, saveat=times, throw=False)
    assert solution.status == "ok"


BAD = [
    (([0.0, 1.0], [1.0, 2.0, 3.0]), "values must be a number or a vector for each of the 2 times"),
    (([0.0, 0.0], [1.0, 2.0]), "times must be two or more in ascending order"),
    (([0.0], [1.0]), "times must be two or more"),
    (([0.0, np.nan], [1.0, 2.0]), "times must be finite numbers"),
    (([0.0, 1.0], ["a", "b"]), "values must be finite numbers"),
    (([0.0, 1.0], np.ones((2, 2, 2))), "values must be a number or a vector"),
]


@pytest.mark.parametrize(("arguments", "match"), BAD)
def test_points_that_make_no_function_are_refused(arguments, match):
    with pytest.raises(mbs.ModelError, match=match):
        mbs.Piecewise(*arguments)


def test_the_number_of_components_must_fit():
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint(2.0))
    model.add("push", mbs.Force(mbs.Piecewise(TIMES, VALUES)), on=mass)
    with pytest.raises(mbs.ModelError, match=r"'push': load_vector must return an array of shape \(3,\)"):
        model.assemble()


def test_many_points_are_named_where_steps_run_out():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    times = np.linspace(0, 1, 301)
    model.add("push", mbs.CoordinateLoad(mbs.Piecewise(times, np.sin(50 * times))), on=mass.coordinate(0))
    with pytest.raises(mbs.SimulationError, match=r"each of the 301 points of 'push.load': pass dt"):
        mbs.simulate(model.assemble(), t1=1.0, saveat=[1.0], max_steps=100)
