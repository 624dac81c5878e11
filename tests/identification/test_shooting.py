"""Fits in segments: found where one motion from start to end is not, and the same result where it is."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.identification.identify import checked_setup
from difmbs.identification.segments import SegmentState, run_piece

from ..helpers.interrupts import interrupted_at

TIMES = np.arange(401) * 0.05
DT = 0.01
NOISE = 5e-3
TRUTH = {"spring.stiffness": 40.0, "spring.reference_length": 0.75}


def recorded(system, times, outputs, noise, **options):
    """An experiment with what the system does, and noise."""
    solution = mbs.simulate(system, t1=float(times[-1]), saveat=times, **options)
    rng = np.random.default_rng(0)
    data = {name: np.asarray(solution[name]) + noise * rng.normal(size=solution[name].shape) for name in outputs}
    return mbs.Experiment(times, data, {name: mbs.Channel(noise=noise) for name in outputs})


def assert_within(fit, truth, deviations=3.0):
    assert fit.status == "converged"
    for name, value in truth.items():
        assert abs(fit.values[name] - value) <= deviations * fit.standard_errors[name]


def assert_same(one, other):
    """The same optimum with the same statistics: only the search was another."""
    assert one.names == other.names
    assert one.degrees_of_freedom == other.degrees_of_freedom
    # Each search ends a ten-thousandth of a standard error from the optimum.
    errors = np.array(list(one.standard_errors.values()))
    np.testing.assert_array_less(np.abs(one.numbers - other.numbers), 1e-6 * np.abs(one.numbers) + 1e-3 * errors)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-3, atol=1e-6 * np.abs(one.covariance).max())
    assert one.chi2 == pytest.approx(other.chi2, rel=1e-7)
    for mine, others in zip(one.predicted, other.predicted, strict=True):
        for name in mine:
            np.testing.assert_allclose(mine[name], others[name], atol=1e-5 * np.abs(mine[name]).max())


# A mass that swings on a spring: irregular


@functools.cache
def swinging():
    model = mbs.Model(gravity=(0, -9.81, 0))
    mass = model.add("mass", mbs.MassPoint2D(mass=1.0), position=(0.9, 0.1))
    model.add("spring", mbs.SpringDamper(0.75, 40.0), between=(model.ground, mass))
    model.sense("xy", lambda t, outputs: outputs["mass.position"][:2])
    return model.assemble()


@functools.cache
def irregular(noise):
    record = recorded(swinging(), TIMES, ["xy"], NOISE, dt=DT)
    return mbs.Experiment(TIMES, record.data, {"xy": mbs.Channel(noise=noise)})


def identify_swinging(noise=NOISE, **options):
    unknowns = {"spring.stiffness": mbs.Positive(50.0), "spring.reference_length": mbs.Positive(0.5625)}
    return mbs.identify(swinging(), irregular(noise), unknowns, **{"dt": DT, "progress": False, **options})


def test_segments_find_what_one_motion_misses_and_go_on_after_a_stop(tmp_path):
    alone = identify_swinging()
    assert alone.chi2 > 100 * alone.degrees_of_freedom
    fit = identify_swinging(segments=20, folder=tmp_path / "whole")
    assert_within(fit, TRUTH)
    assert 0.8 < fit.chi2 / fit.degrees_of_freedom < 1.2
    # The gaps are closed: what is predicted is one motion.
    motion = mbs.simulate(fit.system, t1=20.0, saveat=TIMES, dt=DT)["xy"]
    np.testing.assert_allclose(fit.predicted[0]["xy"], motion, atol=1e-6)
    # Where the noise is not known, too.
    unknown = dict(zip(TRUTH, fit.numbers, strict=True))
    estimated = identify_swinging(segments=20, noise=None)
    assert_within(estimated, unknown, 0.1)
    assert estimated.noise["xy"] == pytest.approx(NOISE, rel=0.1)
    # Stopped in pieces, and when joined.
    for most in (2, fit.evaluations - 1):
        part = tmp_path / f"after {most}"
        stopped = identify_swinging(segments=20, folder=part, max_iterations=most)
        assert stopped.status == "max_iterations"
        again = identify_swinging(segments=20, folder=part, resume=True)
        assert np.array_equal(fit.numbers, again.numbers)
        assert np.array_equal(fit.covariance, again.covariance)
        assert [line.value for line in fit.history] == [line.value for line in again.history]
    with pytest.raises(mbs.FileError, match="belongs to another fit"):
        identify_swinging(segments=10, folder=tmp_path / "whole", resume=True)


def test_ctrl_c_leaves_the_best_so_far():
    fit = identify_swinging(segments=20, progress=interrupted_at(1))
    assert fit.status == "interrupted"
    assert fit.names == tuple(TRUTH)
    assert np.isfinite(fit.chi2)


# Everything else that a fit may have


@functools.cache
def oscillator():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6))
    model.add("spring", mbs.SpringDamper(1.0, 400.0, 4.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("load", mbs.CoordinateLoad(mbs.Piecewise((0, 1), (0, 0))), on=mass.coordinate(0))
    model.sense("u", lambda t, outputs: outputs["mass.position"][0])
    return model.assemble()


def runs():
    """Two motions at irregular times under loads of their own, with missing samples, and a static test."""
    rng = np.random.default_rng(4)
    times = np.sort(rng.uniform(0.5, 3.0, 160))
    points = np.linspace(0, 3, 31)
    loads = [30 * rng.normal(size=31) for _ in range(2)]
    experiments = []
    for i, values in enumerate(loads):
        # With room for as many points, which is part of the model.
        load = {"load": {"load": {"times": points, "values": values}}}
        system = with_points(points, values)
        u = mbs.simulate(system, t0=0.5 - 0.1, t1=3.0, saveat=times, params={"mass": {"velocity": 0.5}, **load})["u"]
        u = np.asarray(u) + 1e-3 * rng.normal(size=times.size)
        u[10 * i + np.arange(5)] = np.nan
        channels = {"u": mbs.Channel(noise=1e-3, missing=True)}
        inputs = {"load.load": (points, values)}
        experiments.append(mbs.Experiment(times, {"u": u}, channels, name=f"run {i}", inputs=inputs, t0=0.4))
    static = mbs.StaticTest({"u": 0.0123}, {"u": mbs.Channel(noise=1e-3)}, params={"load.load.values": 5.0})
    return [*experiments, static]


def with_points(points, values):
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6))
    model.add("spring", mbs.SpringDamper(1.0, 400.0, 4.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("load", mbs.CoordinateLoad(mbs.Piecewise(points, values)), on=mass.coordinate(0))
    model.sense("u", lambda t, outputs: outputs["mass.position"][0])
    return model.assemble()


def test_the_result_is_that_without_segments():
    wanted = {
        "mass.mass": mbs.Positive(1.7, prior=(1.6, 0.1)),
        "spring.stiffness": mbs.Interval(380.0, 300.0, 500.0),
        "spring.damping": mbs.Positive(3.0),
        "mass.velocity": mbs.Free(0.1),
        "u.bias": mbs.Free(0.01),
    }
    alone, pieces = (mbs.identify(oscillator(), runs(), wanted, segments=n, progress=False, dt=0.01) for n in (1, 5))
    assert_same(alone, pieces)
    assert_within(pieces, {"spring.stiffness": 400.0, "mass.velocity": 0.5, "spring.damping": 4.0})


# States on constraints, and rotations


def pendulum():
    """In coordinates x and y, which a rod makes one."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    mass = model.add("mass", mbs.MassPoint2D(mass=1.0), position=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, mass))
    model.add("spring", mbs.SpringDamper(0.5, 20.0, 0.1), between=(model.ground.at(0, -1.5, 0), mass))
    wanted = {"rod.distance": mbs.Positive(0.95), "spring.stiffness": mbs.Positive(24.0)}
    return model.assemble(), wanted, {"rod.distance": 1.0, "spring.stiffness": 20.0}


def tumbling():
    """A body that flips again and again about its axis in the middle."""
    model = mbs.Model()
    body = model.add(
        "body", mbs.RigidBody(mass=1.0, inertia=np.diag([1.0, 2.0, 3.0])), angular_velocity=(0.05, 4.0, 0.05)
    )
    model.sense("tip", mbs.Position(body.at(1.0, 0.5, 0.0)))
    wanted = {"body.inertia[0,0]": mbs.Positive(1.2), "body.angular_velocity[1]": mbs.Positive(3.8)}
    return model.assemble(), wanted, {"body.inertia[0,0]": 1.0, "body.angular_velocity[1]": 4.0}


@pytest.mark.parametrize("make", [pendulum, tumbling])
def test_states_stay_on_constraints_and_rotations_turn(make):
    system, wanted, truth = make()
    times = np.linspace(0, 6, 121)
    output = "mass.position" if make is pendulum else "tip"
    experiment = recorded(system, times, [output], 2e-3, dt=0.02)
    fit = mbs.identify(system, experiment, wanted, dt=0.02, segments=6, progress=False)
    assert_within(fit, truth)
    assert fit.chi2 / fit.degrees_of_freedom < 1.3
    motion = mbs.simulate(fit.system, t1=6.0, saveat=times, dt=0.02)[output]
    np.testing.assert_allclose(fit.predicted[0][output], motion, atol=1e-6)


# What is refused


def bouncing():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), velocity=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 400.0, 4.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("end", mbs.Event(10.0, stop=True))
    model.sense("u", lambda t, outputs: outputs["mass.position"][0])
    return model.assemble()


def second_piece(system, start):
    """How a system goes on from a state at 1 s to 2 s, by adaptive steps in the second of two segments."""
    record = mbs.Experiment(np.linspace(0, 2, 5), {"mass.position.x": np.zeros(5)})
    setup = checked_setup(system, record, {"mass.mass": mbs.Positive(1.0)}, None, None, 1e-6, 1e-8, 4096, segments=2)
    program, cuts = setup.groups[0].program, setup.cuts[0]
    return run_piece(program, cuts, system, cuts.begins[1], SegmentState(*start))[1:]


def test_a_short_pulse_after_rest_is_not_missed_in_a_later_segment():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    model.add("push", mbs.CoordinateLoad(mbs.Piecewise((1.5, 1.501, 1.502), (0, 50.0, 0))), on=mass.coordinate(0))
    end, _ = second_piece(model.assemble(), (jnp.zeros(1), jnp.zeros(1)))
    np.testing.assert_allclose(end.v[-1], [0.05], rtol=1e-5)


def test_outputs_know_what_time_it_is_in_a_later_segment():
    """The second one of 2 s begins at 1 s."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    model.add("push", mbs.CoordinateLoad(lambda t: 3 * t), on=mass.coordinate(0))
    model.sense("drifting", lambda t, outputs: outputs["mass.position"][0] + t)
    states, read = second_piece(model.assemble(), (jnp.zeros(1), jnp.zeros(1)))
    np.testing.assert_allclose(read("push.load")[-1], 6.0, rtol=1e-12)
    np.testing.assert_allclose(read("drifting")[-1], states.q[-1, 0] + 2.0, rtol=1e-12)


def test_a_disturbance_of_what_rests_vibrates_in_a_later_segment():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    model.add("spring", mbs.SpringDamper(1.0, 400.0), between=(model.ground.at(-1, 0, 0), mass))
    system = model.assemble()
    moved = jax.jacfwd(lambda v: second_piece(system, (jnp.zeros(1), v))[0].q[-1])(jnp.zeros(1))
    np.testing.assert_allclose(moved, [[np.sin(20.0) / 20.0]], atol=0.02 / 20.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"segments": 0}, "segments must be a whole number from 1 on, got 0"),
        ({"segments": 201}, "401 samples are too few for 201 segments. Take 200 at most"),
        ({"segments": 4, "starts": 3}, "segments and several starts cannot be combined"),
    ],
)
def test_wrong_segments_are_refused(options, message):
    with pytest.raises((mbs.ParameterError, mbs.SimulationError), match=message):
        identify_swinging(**options)


def test_events_and_delays_are_refused():
    record = mbs.Experiment(TIMES, {"u": 0 * TIMES}, {"u": mbs.Channel(noise=1e-3)})
    wanted = {"spring.stiffness": mbs.Positive(300.0)}
    with pytest.raises(mbs.ParameterError, match="the model has events, with which there can be no segments"):
        mbs.identify(bouncing(), record, wanted, segments=4)
    late = {"u.delay": mbs.Interval(0.0, -0.1, 0.1)}
    with pytest.raises(mbs.ParameterError, match="channel 'u' has a delay, with which there can be no segments"):
        mbs.identify(oscillator(), record, wanted | late, segments=4)
