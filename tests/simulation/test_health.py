"""Checks of motions and gradients, on healthy and on sick ones."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import difmbs as mbs


def pendulum(damping=0.0):
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(mass=2.0), position=(1.0, 0, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("spring", mbs.SpringDamper(1.0, 30.0, damping), between=(model.ground.at(0.0, 1.0, 0), bob))
    model.sense("tip", mbs.Position(bob))
    return model.assemble()


SYSTEM, DAMPED = pendulum(), pendulum(2.0)
TIMES = np.linspace(0, 1, 201)


def test_a_sound_motion_is_found_sound():
    health = mbs.check(mbs.simulate(SYSTEM, t1=1.0, saveat=TIMES, rtol=1e-10, atol=1e-12))
    assert health.position < 1e-12
    assert health.velocity < 1e-11
    assert health.acceleration < 1e-10
    assert np.abs(health.work).max() < 1e-10
    assert health.balance < 1e-7
    assert health.worst["position"] == "rod"
    said = str(health)
    # That of the spring, from a length of sqrt(2) to 1.
    start = 30 / 2 * (np.sqrt(2) - 1) ** 2
    assert f"energy: {start:.6g} J at the start, {start:.6g} J at the end (kinetic and potential)\n" in said
    assert "change of energy less this work, which should be 0: at most " in said
    assert "J from these outputs)" in said
    few = mbs.check(mbs.simulate(DAMPED, t1=1.0, saveat=[0.0, 1.0]))
    assert "not known from 2 outputs, between which their power changes too fast" in str(few)


def test_dampers_do_work_that_is_accounted_for():
    health = mbs.check(mbs.simulate(DAMPED, t1=1.0, saveat=TIMES, rtol=1e-10, atol=1e-12))
    assert health.work[-1] < -0.5
    # Simpson's rule on 200 intervals.
    assert health.balance < 1e-5 < health.quadrature


def test_a_prescribed_motion_through_points_strikes_and_works():
    """At each point its rate jumps, and with it velocities: an energy that no power at the outputs shows."""
    times = np.linspace(0, 1, 101)
    heights = 0.02 * np.sin(12 * times) + 0.01 * np.sin(31 * times)
    model = mbs.Model()
    road = model.add("road", mbs.Mass1D(1.0))
    body = model.add("body", mbs.Mass1D(2.0), position=0.5)
    moved = mbs.CoordinateConstraint(offset=mbs.Piecewise(times, heights))
    model.add("profile", moved, between=(model.ground, road.coordinate(0)))
    model.add("spring", mbs.SpringDamper(0.5, 3e3, 5.0), between=(road, body))
    system = model.assemble()
    found = [mbs.check(mbs.simulate(system, t1=1.0, dt=2e-3, saveat=np.linspace(0, 1, n))) for n in (101, 201, 401)]
    for health in found:
        assert health.balance < health.quadrature < 0.1 * health.kinetic.max()
    # An error of second order, while the strikes' energy is exact.
    balances = [health.balance for health in found]
    assert balances[0] > 3 * balances[1] > 9 * balances[2]


def test_constraints_that_move_do_work_that_is_accounted_for():
    """A crank that shakes a mass on a spring puts energy into it, through the constraint alone."""
    model = mbs.Model()
    crank = model.add("crank", mbs.Mass1D(0.5))
    mass = model.add("mass", mbs.Mass1D(2.0), position=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 50.0), between=(crank, mass))
    shaken = mbs.CoordinateConstraint(offset=lambda t: 0.1 * jnp.sin(4 * t))
    model.add("shaken", shaken, between=(model.ground, crank.coordinate(0)))
    health = mbs.check(mbs.simulate(model.assemble(), t1=1.0, saveat=TIMES, rtol=1e-10, atol=1e-12))
    assert np.abs(health.work).max() > 0.1
    assert health.balance < 1e-6


def test_sick_motions_are_found_sick():
    # The energy of large steps, and velocities that index 3 leaves off the constraints.
    coarse = mbs.check(mbs.simulate(SYSTEM, t1=1.0, dt=0.02, saveat=TIMES[::4], solver=mbs.GeneralizedAlpha(0.2)))
    assert coarse.balance > 1e-3
    assert coarse.velocity > 1e-5 > 1e-8 > coarse.position


def test_certificates_tell_right_gradients_from_wrong_ones():
    def right(params):
        return mbs.simulate(DAMPED, t1=0.3, dt=1e-2, saveat=[0.1, 0.3], params=params)["tip"]

    @jax.custom_jvp
    def halved(x):
        return x

    halved.defjvp(lambda primals, tangents: (primals[0], 0.5 * tangents[0]))
    params = {"spring": {"stiffness": 30.0, "damping": 2.0}, "rod": {"distance": 1.0}}
    certificate = mbs.certify(right, params)
    assert certificate.adjoint < 1e-12
    assert certificate.difference < 1e-7
    wrong = mbs.certify(lambda p: halved(right(p)), params)
    assert wrong.difference > 0.1
    assert "reverse" in str(wrong)


@pytest.mark.parametrize("what", [3, None, "solution"])
def test_only_solutions_are_checked(what):
    # The type checker of the tests is quicker.
    with pytest.raises((mbs.SimulationError, jaxtyping.TypeCheckError), match="Solution"):
        mbs.check(what)


def test_batches_are_not_checked():
    run = lambda k: mbs.simulate(SYSTEM, t1=0.1, dt=1e-2, saveat=[0.1], params={"spring": {"stiffness": k}})
    with pytest.raises(mbs.SimulationError, match="one finished simulation"):
        mbs.check(jax.vmap(run)(jnp.array([1.0, 2.0])))
