"""Controllers: parameters that functions of the outputs set, all the time or before each time step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

SOLVERS = [None, mbs.GeneralizedAlpha(0.9), pytest.param(mbs.TrapezoidalIndex2(), marks=pytest.mark.slow)]
DT = 5e-3


def arm(target=0.5, sampled=True):
    """A bar on a hinge, held up by a motor with a proportional and a derivative gain."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bar = model.add("bar", mbs.RigidBody2D(2.0, 0.1), position=(0.5, 0))
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground, bar.at(-0.5, 0)))
    model.add("motor", mbs.Actuator(0.0, axis=(0, 0, 1)), between=(model.ground, bar))
    model.parameter("controller.gain", 40.0, unit="N m/rad")
    model.parameter("controller.damping", 6.0, unit="N m s/rad")
    model.control(
        "motor.force",
        lambda t, outputs, p: (
            p["controller.gain"] * (target - outputs["hinge.angle"])
            - p["controller.damping"] * outputs["bar.angular_velocity.z"]
        ),
        sampled=sampled,
    )
    return model


def sampled_by_hand(steps, inner=20, target=0.5):
    """The same arm with a torque that is held during each step, integrated finely by a loop of its own."""
    inertia, state, h = 0.1 + 2 * 0.25, np.zeros(2), DT / inner
    for _ in range(steps):
        torque = 40 * (target - state[0]) - 6 * state[1]
        rate = lambda y, torque=torque: np.array([y[1], (torque - 9.81 * np.cos(y[0])) / inertia])
        for _ in range(inner):
            a = rate(state)
            b = rate(state + h / 2 * a)
            c = rate(state + h / 2 * b)
            d = rate(state + h * c)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return state[0]


def test_a_controller_holds_its_output_during_each_step():
    run = mbs.simulate(arm().assemble(), t1=1.0, dt=DT)
    assert abs(run["bar.rotation"][-1] - sampled_by_hand(200)) < 1e-8
    # What is shown at an output is what the controller sets there.
    torque = 40 * (0.5 - run["bar.rotation"]) - 6 * run["bar.angular_velocity"][:, 2]
    np.testing.assert_allclose(run["motor.torque"], torque, rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_gains_have_exact_derivatives(solver):
    system = arm().assemble()
    end = lambda gain: mbs.simulate(system, t1=0.2, dt=DT, solver=solver, params={"controller": {"gain": gain}})[
        "bar.rotation"
    ][-1]
    forwards, backwards = jax.jacfwd(end)(40.0), jax.grad(end)(40.0)
    quotient = (end(40 + 1e-3) - end(40 - 1e-3)) / 2e-3
    np.testing.assert_allclose(backwards, forwards, rtol=1e-11)
    np.testing.assert_allclose(forwards, quotient, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_controller_lets_go(solver):
    """A pendulum falls freely from the moment when its joint is switched off, and its multipliers are zero."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bar = model.add("bar", mbs.RigidBody2D(2.0, 0.1), position=(0.5, 0), velocity=(0, 0.5), angular_velocity=1.0)
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground, bar.at(-0.5, 0)))
    model.control("hinge.active", lambda t, outputs, p: t < 0.1 - 1e-9, sampled=True)
    run = mbs.simulate(model.assemble(), t1=0.4, dt=1e-3, solver=solver, saveat=np.linspace(0, 0.4, 41))
    held, free = run.t < 0.1 - 1e-9, run.t >= 0.1 - 1e-9
    radius = np.hypot(*run["bar.position"].T[:2])
    assert np.ptp(radius[run.t <= 0.1]) < 1e-5
    assert radius[-1] > 0.51
    assert np.all(run["hinge.force"][free] == 0)
    assert np.all(np.linalg.norm(run["hinge.force"][held], axis=1) > 1)
    # Free of moments about its centre, the bar keeps its speed of rotation. Newmark's methods carry on what accelerated
    # it before, for one step.
    speed = run["bar.angular_velocity"][free, 2]
    np.testing.assert_allclose(speed[1:], speed[-1], atol=1e-5)
    assert abs(speed[0] - speed[-1]) < (1e-9 if solver is None else 1e-2)


@pytest.mark.parametrize("options", [pytest.param({}, marks=pytest.mark.slow), {"dt": 5e-3}])
def test_a_controller_without_sampling_is_a_spring_and_a_damper(options):
    model = arm(sampled=False)
    twin = arm(sampled=False)
    twin.remove("motor")
    twin._controls.clear()
    spring = mbs.TorsionalSpringDamper((0, 0, 1), 40.0, 6.0, offset=0.5)
    twin.add("spring", spring, between=(twin.ground, "bar"))
    ours, theirs = model.assemble(), twin.assemble()
    end = lambda system, params: mbs.simulate(system, t1=0.5, params=params, **options)["bar.rotation"][-1]
    by_gain = lambda gain: end(ours, {"controller": {"gain": gain}})
    by_stiffness = lambda gain: end(theirs, {"spring": {"stiffness": gain}})
    for of in (lambda f: f(40.0), lambda f: jax.jacfwd(f)(40.0), lambda f: jax.grad(f)(40.0)):
        np.testing.assert_allclose(of(by_gain), of(by_stiffness), rtol=1e-9)
    assert isinstance(ours, mbs.System)
    for one, other in zip(mbs.linearize(ours), mbs.linearize(theirs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(mbs.modes(ours).eigenvalues, mbs.modes(theirs).eigenvalues, rtol=1e-9)


def test_a_field_that_is_switched_off_shows_no_force():
    model = mbs.Model()
    bodies = [model.add(f"body{i}", mbs.MassPoint(1e10), position=(i, 0, 0)) for i in range(2)]
    model.add("attraction", mbs.AllPairsGravity(), on=bodies)
    model.control("attraction.active", lambda t, outputs, p: t < 0.05, sampled=True)
    force = mbs.simulate(model.assemble(), t1=0.1, dt=0.01, saveat=[0.0, 0.1])["attraction.force"]
    assert np.abs(force[0]).max() > 0.1
    assert np.all(force[1] == 0)


def test_gains_are_identified_from_motion():
    system = arm().assemble()
    times = np.linspace(0, 0.5, 26)
    seen = mbs.simulate(system, t1=0.5, dt=DT, saveat=times)["bar.rotation"]
    fit = mbs.identify(
        system,
        mbs.Experiment(times, {"bar.rotation": seen}, {"bar.rotation": mbs.Channel(noise=1e-3)}),
        {"controller.gain": mbs.Positive(30.0), "controller.damping": mbs.Positive(4.0)},
        dt=DT,
    )
    np.testing.assert_allclose([fit.values["controller.gain"], fit.values["controller.damping"]], [40, 6], rtol=1e-5)


def with_control(name, rule):
    model = arm()
    model.control(name, rule, sampled=True)
    return model


@pytest.mark.parametrize(
    ("name", "rule", "sentence"),
    [
        ("motor.force", 3.0, "must be a function of"),
        ("motor", lambda t, o, p: t, "is not the name of a parameter"),
        ("bar.mass", lambda t, o, p: t, r"'bar\.mass' cannot be controlled.*force laws and loads"),
        ("hinge.marker1", lambda t, o, p: t, "cannot be controlled"),
        ("motor.force", lambda t, o, p: jnp.zeros(2), r"'motor\.force' must have shape \(\), its controller gives"),
        (
            "motor.force",
            lambda t, o, p: o["hinge.force.x"],
            r"the controller of 'motor\.force' reads.*force of a const",
        ),
        ("motor.force", lambda t, o, p: o["bar.acceleration.x"], "reads an acceleration"),
        ("motor.force", lambda t, o, p: o["motor.torque"], r"reads 'motor\.torque', which depends on it"),
        ("motor.force", lambda t, o, p: p["controller.gian"], "Did you mean 'controller.gain'"),
        ("motor.force", lambda t, o: t, "a controller, of motor.force, fails"),
    ],
)
def test_what_cannot_be_controlled_is_refused(name, rule, sentence):
    with pytest.raises(mbs.ModelError, match=sentence):
        with_control(name, rule).assemble()


def test_sampled_controllers_need_steps():
    system = arm().assemble()
    with pytest.raises(mbs.SimulationError, match=r"'motor\.force' has a sampled controller: pass dt"):
        mbs.simulate(system, t1=1.0)
    for analysis in (mbs.static_equilibrium, mbs.modes, mbs.linearize):
        with pytest.raises(mbs.SimulationError, match=r"leaves out controllers: .* without that of 'motor\.force'"):
            analysis(system)


def test_newmark_cannot_control_all_the_time():
    with pytest.raises(mbs.SimulationError, match=r"'motor\.force' is controlled all the time.*sampled=True"):
        mbs.simulate(arm(sampled=False).assemble(), t1=1.0, dt=1e-2, solver=mbs.GeneralizedAlpha(0.9))


def test_changed_models_keep_their_controllers():
    changed = arm().with_params({"controller": {"gain": 60.0}})
    run = mbs.simulate(changed.assemble(), t1=0.5, dt=DT)
    other = mbs.simulate(arm().assemble(), t1=0.5, dt=DT, params={"controller": {"gain": 60.0}})
    np.testing.assert_array_equal(run["bar.rotation"], other["bar.rotation"])
