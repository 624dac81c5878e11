"""Events: found exactly, acted upon, and accounted for in derivatives."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

# What a run with steps of this size reaches: RK4 on smooth motion between the events.
RUNS = {
    "fixed": dict(dt=5e-3),
    "adaptive": dict(rtol=1e-10, atol=1e-12),
    "generalized-alpha": dict(dt=5e-3, solver=mbs.GeneralizedAlpha()),
}


class Reaches(eqx.Module):
    """A body's first coordinate reaches a position."""

    position: jax.Array
    body: str = eqx.field(static=True)

    def __call__(self, t, outputs):
        return outputs[f"{self.body}.position"][0] - self.position


def balls():
    model = mbs.Model()
    for name, position, velocity in (("a", 0.0, 2.0), ("b", 1.0, 0.5)):
        model.add(name, mbs.Mass1D(1.0), position=position, velocity=velocity)
    meet = lambda t, outputs: (outputs["b.position"] - outputs["a.position"])[0]
    model.add("hit", mbs.Event(meet, direction=-1, jump=lambda t, q, v: (q, v[::-1])))
    return model.assemble()


BALLS = balls()


@pytest.mark.parametrize("run", RUNS)
def test_two_elastic_balls_exchange_their_lines(run):
    def end(x):
        x1, x2, v0, u0 = x
        params = {"a": {"position": x1, "velocity": v0}, "b": {"position": x2, "velocity": u0}}
        return mbs.simulate(BALLS, t1=1.0, saveat=[0.5, 1.0], params=params, **RUNS[run])

    x = jnp.array([0.0, 1.0, 2.0, 0.5])
    solution = end(x)
    np.testing.assert_allclose(solution.events["hit"], 2 / 3, rtol=1e-12)
    np.testing.assert_allclose(solution.q[-1], [1.5, 2.0], rtol=1e-12)
    forwards = jax.jit(jax.jacfwd(lambda x: (end(x).q[-1], end(x).events["hit"])))(x)
    backwards = jax.jit(jax.jacrev(lambda x: (end(x).q[-1], end(x).events["hit"])))(x)
    for gradients in (forwards, backwards):
        np.testing.assert_allclose(gradients[0], [[0, 1, 0, 1], [1, 0, 1, 0]], atol=1e-10)
        # t = (x2 - x1) / (v0 - u0)
        np.testing.assert_allclose(gradients[1], np.array([-1, 1, -2 / 3, 2 / 3]) / 1.5, rtol=1e-10)


def oscillator():
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint(mass=1.0), position=(2.0, 0, 0))
    model.add("soft", mbs.SpringDamper(1.0, 4.0), between=(model.ground, mass))
    model.add("hard", mbs.SpringDamper(1.0, 5.0), between=(model.ground, mass), active=False)
    switch = {"soft": False, "hard": True}
    model.add("click", mbs.Event(Reaches(jnp.asarray(1.4), "mass"), direction=-1, switch=switch))
    return model.assemble()


OSCILLATOR = oscillator()


def exact(x0, k, switch_at, hard, t):
    """Position and velocity of the oscillator about 1 whose stiffness changes from k to hard at a position."""
    w, u = np.sqrt(k), switch_at - 1
    moment = np.arccos(u / (x0 - 1)) / w
    speed = -(x0 - 1) * w * np.sin(w * moment)
    v = np.sqrt(hard)
    s = t - moment
    return 1 + u * np.cos(v * s) + speed / v * np.sin(v * s), -u * v * np.sin(v * s) + speed * np.cos(v * s)


@pytest.mark.parametrize("run", ["fixed", "adaptive"])
def test_a_switch_that_a_mass_on_a_spring_hits(run):
    x = np.array([2.0, 4.0, 1.4, 5.0])

    def end(x):
        params = {
            "mass": {"position": jnp.stack([x[0], 0 * x[0], 0 * x[0]])},
            "soft": {"stiffness": x[1]},
            "hard": {"stiffness": x[3]},
            "click": {"when": {"position": x[2]}},
        }
        return mbs.simulate(OSCILLATOR, t1=1.2, saveat=[0.3, 1.2], params=params, **RUNS[run])

    solution = end(x)
    np.testing.assert_allclose(solution.q[-1, 0], exact(*x, 1.2)[0], rtol=1e-9)
    assert solution["soft.force_local"][1] == 0 != solution["hard.force_local"][1]
    assert solution["hard.force_local"][0] == 0 != solution["soft.force_local"][0]
    h = 1e-6
    wanted = [(exact(*(x + h * e), 1.2)[0] - exact(*(x - h * e), 1.2)[0]) / (2 * h) for e in np.eye(4)]
    backwards = jax.jit(jax.grad(lambda x: end(x).q[-1, 0]))(x)
    forwards = jax.jit(jax.jacfwd(lambda x: end(x).q[-1, 0]))(x)
    # The quotients of the closed form are good to 1e-9.
    np.testing.assert_allclose(backwards, wanted, rtol=1e-8)
    np.testing.assert_allclose(forwards, backwards, rtol=1e-11)


def released(solver=None, **run):
    """A pendulum whose rod is cut at a time: from there on a throw."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(mass=2.0), position=(1.0, 0, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("cut", mbs.Event(0.4, switch={"rod": False}))
    system = model.assemble()
    return lambda when: mbs.simulate(
        system, t1=0.7, saveat=[0.4, 0.7], params={"cut": {"when": when}}, solver=solver, **run
    )


@pytest.mark.parametrize("run", RUNS)
def test_a_pendulum_that_is_cut_loose(run):
    fly = released(**RUNS[run])
    solution = fly(0.4)
    q, v = solution.q[0], solution.v[0]
    flight = 0.3
    np.testing.assert_allclose(solution.q[1], q + v * flight - 0.5 * np.array([0, 9.81, 0]) * flight**2, rtol=1e-10)
    assert solution["rod.force"][0] > 0 == solution["rod.force"][1]
    # Cut later by dt, the bob has been accelerated by the rod for so much longer.
    rod = -solution["rod.force"][0] * q / 2.0
    gradient = jax.jit(jax.jacfwd(lambda when: fly(when).q[1]))(0.4)
    np.testing.assert_allclose(gradient, rod * flight, rtol=1e-4 if run == "generalized-alpha" else 1e-8)
    if run == "fixed":
        backwards = jax.jit(jax.grad(lambda when: jnp.sum(fly(when).q[1])))(0.4)
        np.testing.assert_allclose(backwards, np.sum(gradient), rtol=1e-12)


def test_a_rope_that_gets_taut_takes_the_speed_along_it():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(mass=1.0), position=(0.6, 0, 0))
    model.add("rope", mbs.DistanceConstraint(1.0), between=(model.ground, bob), active=False)
    model.sense("length", mbs.Output("rope", "distance"))
    model.add("taut", mbs.Event(lambda t, outputs: outputs["length"] - 1.0, direction=1, switch={"rope": True}))
    system = model.assemble()
    solution = mbs.simulate(system, t1=1.0, saveat=[0.2, 1.0])
    moment = np.sqrt(2 * 0.8 / 9.81)
    np.testing.assert_allclose(solution.events["taut"], moment, rtol=1e-12)
    np.testing.assert_allclose(solution["length"][-1], 1.0, rtol=1e-12)
    # At (0.6, -0.8) it falls with g t; 0.6 of that is across the rope and stays.
    energy = 0.5 * (0.6 * 9.81 * moment) ** 2 - 9.81 * 0.8
    found = 0.5 * np.sum(solution.v[-1] ** 2) + 9.81 * solution.q[-1, 1]
    np.testing.assert_allclose(found, energy, rtol=1e-8)


def test_an_event_ends_the_simulation():
    model = mbs.Model(gravity=(0, -9.81, 0))
    ball = model.add("ball", mbs.MassPoint(mass=1.0), position=(0, 2.0, 0))
    model.add("ground contact", mbs.Event(lambda t, o: o["ball.position"][1], direction=-1, stop=True))
    model.sense("height", mbs.Position(ball))
    system = model.assemble()
    fall = lambda h, **run: mbs.simulate(
        system, t1=5.0, params={"ball": {"position": jnp.stack([0 * h, h, 0 * h])}}, saveat=[0.1, 5.0], **run
    )
    solution = fall(2.0)
    assert solution.status == "event"
    np.testing.assert_allclose(solution.stats["time"], np.sqrt(4 / 9.81), rtol=1e-12)
    assert np.all(np.isfinite(solution.q[0]))
    assert np.all(np.isnan(solution.q[1]))


def falling(**event):
    model = mbs.Model(gravity=(0, -9.81, 0))
    model.add("ball", mbs.MassPoint2D(mass=1.0), position=(0.0, 1.0))
    model.add("low", mbs.Event(lambda t, o: o["ball.position"][1], direction=-1, **event))
    return model.assemble()


@pytest.mark.parametrize("run", [*RUNS.values(), dict(dt=5e-3, solver=diffrax.Euler())])
def test_the_moment_that_ends_a_run_moves_with_the_parameters(run):
    system = falling(stop=True)

    @jax.jit
    def end(h):
        solution = mbs.simulate(system, t1=1.0, params={"ball": {"position": jnp.stack([0 * h, h])}}, **run)
        return solution.events["low"], solution.stats["time"]

    tolerance = 1e-9 if "solver" not in run else 1e-2
    np.testing.assert_allclose(end(1.0), np.sqrt(2 / 9.81), rtol=tolerance)
    forwards, backwards = jax.jacfwd(end)(1.0), jax.jacrev(end)(1.0)
    np.testing.assert_allclose(forwards, 1 / np.sqrt(2 * 9.81), rtol=tolerance)
    np.testing.assert_allclose(backwards, forwards, rtol=1e-12)


def test_a_moment_that_did_not_come_has_no_derivative():
    system = falling()
    moment = lambda h: mbs.simulate(system, t1=0.1, params={"ball": {"position": jnp.stack([0 * h, h])}}).events["low"]
    assert all(np.isnan(x) for x in (moment(1.0), jax.jacfwd(moment)(1.0), jax.jacrev(moment)(1.0)))


def along_a_line(**events):
    """A body that moves with 1 m/s from 0, and events of its position and of the time."""
    model = mbs.Model()
    model.add("body", mbs.Mass1D(mass=1.0), velocity=1.0)
    for name, event in events.items():
        model.add(name, event)
    return model.assemble()


@pytest.mark.parametrize("run", [dict(dt=0.05), dict(dt=0.07), dict()])
def test_what_an_event_changes_has_not_crossed_zero(run):
    place = lambda o: o["body.position"][0]
    back = mbs.Event(lambda t, o: place(o) - 0.5, jump=lambda t, q, v: (q - 1.0, v))
    there_and_back = mbs.simulate(along_a_line(back=back), t1=0.7, saveat=[0.7], **run)
    np.testing.assert_allclose([there_and_back.q[0, 0], there_and_back.events["back"]], [-0.3, 0.5], atol=1e-12)
    ahead = mbs.Event(0.33, jump=lambda t, q, v: (q + 1.0, v))
    other = mbs.Event(lambda t, o: place(o) - 0.8, jump=lambda t, q, v: (q, -v))
    jumped = mbs.simulate(along_a_line(ahead=ahead, other=other), t1=0.7, saveat=[0.7], **run)
    np.testing.assert_allclose(jumped.q[0, 0], 1.7, atol=1e-12)
    assert np.isnan(jumped.events["other"])


@pytest.mark.parametrize("order", ["as they are", "reversed"])
@pytest.mark.parametrize("run", [dict(dt=0.07), dict()], ids=["fixed", "adaptive"])
def test_events_at_the_same_moment_all_happen(order, run):
    """Also if one turns the body around, away from where the other one is."""
    place = lambda t, o: o["body.position"][0] - 0.3
    turned = mbs.Event(place, direction=1, jump=lambda t, q, v: (q, -v))
    faster = mbs.Event(place, direction=1, jump=lambda t, q, v: (q, 2 * v))
    end = mbs.Event(0.3, stop=True)
    of = lambda **events: along_a_line(**(events if order == "as they are" else dict(reversed(events.items()))))
    solution = mbs.simulate(of(turned=turned, faster=faster), t1=0.5, saveat=[0.5], **run)
    np.testing.assert_allclose([*solution.events.values()], 0.3, atol=1e-9)
    np.testing.assert_allclose(solution.q[0, 0], 0.3 - 0.2 * 2, atol=1e-9)
    ended = mbs.simulate(of(turned=turned, end=end), t1=0.5, saveat=[0.5], **run)
    assert ended.status == "event"
    np.testing.assert_allclose([*ended.events.values()], 0.3, atol=1e-9)


def test_the_moments_of_events_at_the_same_moment_have_the_same_derivative():
    turned = mbs.Event(Reaches(jnp.asarray(0.3), "body"), direction=1, jump=lambda t, q, v: (q, -0.5 * v))
    contact = mbs.Event(Reaches(jnp.asarray(0.3), "body"), direction=1, jump=lambda t, q, v: (q, v))
    system = along_a_line(turned=turned, contact=contact)
    moments = lambda v: mbs.simulate(system, t1=0.5, dt=0.07, params={"body": {"velocity": v}}).events
    for derivative in (jax.jacfwd(moments)(1.0), jax.jacrev(moments)(1.0)):
        np.testing.assert_allclose([*derivative.values()], -0.3, rtol=1e-9)


def test_a_step_that_ends_at_one_event_shows_where_the_others_are():
    hump = mbs.Event(lambda t, o: -(o["body.position"][0] - 0.04) * (o["body.position"][0] - 0.08), direction=-1)
    solution = mbs.simulate(along_a_line(first=mbs.Event(0.05), hump=hump), t1=0.1, saveat=[0.1], dt=0.1)
    np.testing.assert_allclose([solution.events[name] for name in ("first", "hump")], [0.05, 0.08], atol=1e-9)


def test_a_time_at_the_start_is_due_at_once():
    push = mbs.Event(0.0, jump=lambda t, q, v: (q, v + 1.0))
    for run in (dict(dt=0.05), dict()):
        solution = mbs.simulate(along_a_line(push=push), t1=0.5, saveat=[0.0, 0.5], **run)
        np.testing.assert_allclose(solution.q[1, 0], 1.0, rtol=1e-12)
        np.testing.assert_allclose(solution.events["push"], 0.0, atol=1e-15)


class Carries(eqx.Module):
    """A rod's force reaches a limit."""

    limit: jax.Array

    def __call__(self, t, outputs):
        return outputs["rod.force"] - self.limit


@pytest.mark.parametrize("run", ["fixed", "adaptive"])
def test_a_rod_that_breaks(run):
    """From the horizontal, where the rod carries 3 m g times the sine of the angle."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(mass=1.0), position=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("break", mbs.Event(Carries(jnp.asarray(15.0)), direction=1, switch={"rod": False}))
    system = model.assemble()

    @jax.jit
    def end(limit):
        solution = mbs.simulate(system, t1=0.6, saveat=[0.6], params={"break": {"when": {"limit": limit}}}, **RUNS[run])
        return jnp.append(solution.q[0], solution.events["break"])

    x, y, moment = end(15.0)
    sine = 15 / (3 * 9.81)
    cosine, speed, rest = np.sqrt(1 - sine**2), np.sqrt(2 * 9.81 * sine), 0.6 - moment
    wanted = [cosine - speed * sine * rest, -sine - speed * cosine * rest - 0.5 * 9.81 * rest**2]
    np.testing.assert_allclose([x, y], wanted, rtol=1e-8)
    forwards, backwards = jax.jacfwd(end)(15.0), jax.jacrev(end)(15.0)
    difference = (end(15.001) - end(14.999)) / 2e-3
    np.testing.assert_allclose(forwards, difference, rtol=1e-6)
    np.testing.assert_allclose(backwards, forwards, rtol=1e-11)


@pytest.mark.parametrize("run", [dict(), dict(dt=0.01), dict(dt=0.01, solver=mbs.GeneralizedAlpha())])
def test_a_joint_that_is_switched_on_far_from_where_it_is_met(run):
    model = mbs.Model()
    body = model.add("body", mbs.RigidBody2D(mass=1.0, inertia=0.1), angular_velocity=1.0)
    joint = mbs.RevoluteJoint2D()
    model.add("joint", joint, between=(model.ground.at(0.5, 0.5, 0), body.at(0.6, 0, 0)), active=False)
    model.add("catch", mbs.Event(0.1, switch={"joint": True}))
    solution = mbs.simulate(model.assemble(), t1=0.5, saveat=[0.1001, 0.12, 0.2, 0.5], **run)
    np.testing.assert_allclose(solution["joint.displacement"][:, :2], 0, atol=1e-9)


@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_of_an_event_that_happens_again_and_again_the_last_moment_counts(derivative):
    """A ball falls from a height h and bounces without loss at t = sqrt(2 h / g), three times that, five times that."""
    model = mbs.Model(gravity=(-2.0, 0, 0))
    model.add("ball", mbs.Mass1D(1.0), position=1.0)
    bounce = mbs.Event(lambda t, o: o["ball.position"][0], direction=-1, jump=lambda t, q, v: (q, -v))
    model.add("bounce", bounce)
    system = model.assemble()

    def last(height):
        run = mbs.simulate(system, t1=6.0, saveat=[6.0], params={"ball": {"position": height}}, **RUNS["fixed"])
        return run.events["bounce"]

    np.testing.assert_allclose(last(1.0), 5.0, rtol=1e-12)
    np.testing.assert_allclose(derivative(last)(1.0), 2.5, rtol=1e-11)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("law", [mbs.SpringDamper(0.3, 50.0), mbs.AllPairsGravity(2.0)], ids=["force", "field"])
def test_forces_and_energy_are_switched_together(law, on):
    """What is left of the force is minus the slope of what is left of the energy, and there are weights beside."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    a = model.add("a", mbs.MassPoint(1.0), position=(0.1, 0.2, 0.3))
    b = model.add("b", mbs.MassPoint(2.0), position=(1.0, -0.5, 0.7))
    where = dict(on=[a, b]) if isinstance(law, mbs.AllPairsGravity) else dict(between=(a, b))
    model.add("law", law, **where)
    model.add("switch", mbs.Event(1.0, switch={"law": False}))
    system = model.assemble().switched(jnp.asarray([on]))
    q, v = system.initial_state()
    energy, slope = jax.value_and_grad(lambda q: system.potential_energy(0.0, q))(q)
    np.testing.assert_allclose(system.applied_forces(0.0, q, v), -slope, rtol=1e-13)
    weights = 9.81 * (1.0 * 0.2 - 2.0 * 0.5)
    assert (abs(energy - weights) < 1e-12) != on


def test_derivatives_of_what_an_event_left_and_of_what_it_did_not():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(mass=1.0), position=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(distance=1.0), between=(model.ground, bob))
    model.add("low", mbs.Event(lambda t, o: o["bob.position"][1] + 0.5, stop=True))
    system = model.assemble()

    @jax.jit
    def forces(length):
        params = {"rod": {"distance": length}}
        return mbs.simulate(system, t1=1.0, dt=1e-2, saveat=[0.1, 0.2, 0.9], params=params)["rod.force"]

    backwards, forwards = jax.jacrev(forces)(1.0), jax.jacfwd(forces)(1.0)
    difference = (forces(1 + 1e-6) - forces(1 - 1e-6)) / 2e-6
    np.testing.assert_allclose(backwards, forwards, rtol=1e-12)
    np.testing.assert_allclose(backwards[:2], difference[:2], rtol=1e-7)
    # What was not reached has no derivative; zero would look like one.
    assert np.isnan(backwards[2])


def test_a_bouncing_ball_and_a_batch_of_them():
    model = mbs.Model(gravity=(0, -9.81, 0))
    model.add("ball", mbs.MassPoint(mass=1.0), position=(0, 1.0, 0))
    bounce = mbs.Event(lambda t, o: o["ball.position"][1], direction=-1, jump=lambda t, q, v: (q, -0.8 * v))
    model.add("bounce", bounce)
    system = model.assemble()

    def height(h):
        params = {"ball": {"position": jnp.stack([0 * h, h, 0 * h])}}
        return mbs.simulate(system, t1=1.6, saveat=[1.6], params=params, dt=0.02).q[0, 1]

    def exact(h):
        first = np.sqrt(2 * h / 9.81)
        speed, t = 9.81 * first, 1.6 - first
        while True:
            speed *= 0.8
            if t < 2 * speed / 9.81:
                return speed * t - 0.5 * 9.81 * t**2
            t -= 2 * speed / 9.81

    heights = jnp.array([0.5, 1.0, 2.0])
    batch = jax.jit(jax.vmap(jax.value_and_grad(height)))(heights)
    np.testing.assert_allclose(batch[0], [exact(h) for h in heights], rtol=1e-9)
    e = 1e-6
    np.testing.assert_allclose(batch[1], [(exact(h + e) - exact(h - e)) / (2 * e) for h in heights], rtol=1e-6)


@pytest.mark.parametrize(
    ("event", "match"),
    [
        (dict(when=1.0, switch={"sprung": True}), "'e': there is no connector 'sprung'. Did you mean 'spring'"),
        (dict(when=1.0, switch={"spring": 1}), "'e': switch must be a dict of connectors and True or False"),
        (dict(when=1.0, switch="spring"), "'e': switch must be a dict"),
        (dict(when=1.0, direction=2), "'e': direction must be -1, 0 or 1, got 2"),
        (dict(when=1.0, stop="yes"), "'e': stop must be True or False"),
        (dict(when=1.0, jump=3), "'e': jump must be a function"),
        (dict(when="soon"), "'e': when must be"),
        (dict(when=[0.1, 0.2]), "'e': when must be one time.*Add an event for each"),
        (dict(when=np.nan), "'e': when.*finite"),
    ],
)
def test_bad_events_are_refused_by_name(event, match):
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint(mass=1.0), position=(1, 0, 0))
    model.add("spring", mbs.SpringDamper(1.0, 4.0), between=(model.ground, mass))
    with pytest.raises((mbs.ModelError, mbs.ParameterError), match=match):
        model.add("e", mbs.Event(**event))


@pytest.mark.parametrize(
    ("event", "match"),
    [
        (
            dict(when=lambda t, o: o["mas.position"][0]),
            "'e': when fails: ParameterError: there is no sensor or element",
        ),
        (dict(when=lambda t, o: o["mass.position"]), r"'e': when must return a number, got shape \(3,\)"),
        (dict(when=lambda t, o: 1.0 if t > 1 else -1.0), "'e': when cannot be traced by JAX"),
        (dict(when=1.0, jump=lambda t, q, v: v), "'e': jump must return new q and v, 3 and 3 numbers"),
        (dict(when=1.0, jump=lambda t, q, v: (q, v[:2])), "'e': jump must return new q and v, 3 and 3 numbers"),
        (dict(when=1.0, jump=lambda t, q: (q, q)), "'e': jump fails: TypeError"),
    ],
)
def test_functions_of_events_are_tried_out_when_the_model_is_assembled(event, match):
    model = mbs.Model()
    model.add("mass", mbs.MassPoint(mass=1.0))
    model.add("e", mbs.Event(**event))
    with pytest.raises(mbs.ModelError, match=match):
        model.assemble()


@pytest.mark.parametrize(
    "when",
    [
        lambda t, o: jnp.where(t > 0.5, 1, -1),
        lambda t, o: jnp.sign(t - 0.5),
        lambda t, o: jnp.where(t > 0.5, jnp.nan, -1.0),
        lambda t, o: jnp.nan * t,
    ],
    ids=["steps", "sign", "NaN later", "NaN"],
)
@pytest.mark.parametrize("run", [dict(dt=0.07), dict()], ids=["fixed", "adaptive"])
def test_functions_that_do_not_cross_zero_but_jump_are_named(when, run):
    system = along_a_line(odd=mbs.Event(when, stop=True))
    with pytest.raises(mbs.SimulationError, match=r"the function of an event does not cross zero.*'odd'") as error:
        mbs.simulate(system, t1=1.0, **run)
    assert error.value.status == "event_undefined"


def test_a_traced_time_that_is_not_a_number_has_no_derivative():
    system = along_a_line(push=mbs.Event(0.5, jump=lambda t, q, v: (q, v + 1.0)))
    end = lambda when: mbs.simulate(system, t1=1.0, dt=0.1, params={"push": {"when": when}}, throw=False).q[-1, 0]
    assert np.isnan(jax.grad(end)(np.nan))
    np.testing.assert_allclose(jax.grad(end)(0.5), -1.0, rtol=1e-12)


@pytest.mark.parametrize("run", [dict(), dict(dt=0.05)])
@pytest.mark.parametrize("rest", [1.0, 0.8])
def test_a_ball_never_falls_through_the_floor(run, rest):
    """Also where it goes up and down again within a step."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    model.add("ball", mbs.MassPoint2D(mass=1.0), position=(0.0, 1.0))
    bounce = lambda t, q, v: (q, v * jnp.array([1.0, -rest]))
    model.add("bounce", mbs.Event(lambda t, o: o["ball.position"][1], direction=-1, jump=bounce))
    solution = mbs.simulate(model.assemble(), t1=3.0, saveat=np.linspace(0, 3.0, 301), **run)
    assert solution.q[:, 1].min() > -1e-9
    energy = 9.81 * solution.q[-1, 1] + 0.5 * solution.v[-1, 1] ** 2
    bounces = np.log(energy / 9.81) / np.log(rest) / 2 if rest < 1 else 0
    np.testing.assert_allclose(bounces, np.round(bounces), atol=1e-6)
    np.testing.assert_allclose(energy, 9.81 * rest ** (2 * np.round(bounces)), rtol=1e-8)


@pytest.mark.parametrize("run", [dict(), dict(dt=0.01), dict(dt=0.05, solver=mbs.GeneralizedAlpha())])
def test_infinitely_many_bounces_end_a_run(run):
    model = mbs.Model(gravity=(0, -9.81, 0))
    model.add("ball", mbs.MassPoint2D(mass=1.0), position=(0.0, 1.0))
    jump = lambda t, q, v: (q, -0.5 * v)
    model.add("bounce", mbs.Event(lambda t, o: o["ball.position"][1], direction=-1, jump=jump))
    solution = mbs.simulate(model.assemble(), t1=3.0, saveat=np.linspace(0, 3, 301), throw=False, **run)
    assert solution.status in ("event_undefined", "dt_min", "max_steps")
    np.testing.assert_allclose(solution.stats["time"], 3 * np.sqrt(2 / 9.81), rtol=1e-3)
    assert np.nanmin(solution.q[:, 1]) > -1e-6


def test_a_ball_that_comes_to_rest_does_not_fall_through_the_floor_either():
    model = mbs.Model(gravity=(0, -9.81, 0))
    model.add("ball", mbs.MassPoint2D(mass=1.0), position=(0.0, 1.0))
    stop = mbs.Event(lambda t, o: o["ball.position"][1], direction=-1, jump=lambda t, q, v: (q, 0 * v))
    model.add("stop", stop)
    solution = mbs.simulate(model.assemble(), t1=3.0, dt=0.05, saveat=[0.4, 3.0], throw=False)
    assert solution.status == "event_undefined"
    assert np.all(np.isnan(solution.q[1]))


def test_the_name_of_an_event_says_where_its_time_is():
    solution = mbs.simulate(BALLS, t1=0.1, dt=0.05)
    with pytest.raises(
        mbs.ParameterError, match=r"'hit' is an event: when it happened last is solution.events\['hit'\]"
    ):
        solution["hit"]


def test_derivatives_of_outputs_before_a_run_ended():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(mass=1.0), position=(1.05, 1.0, 0.0))
    model.add("spring", mbs.SpringDamper(0.5, 10.0), between=(model.ground, bob))
    model.add("floor", mbs.Event(lambda t, o: o["bob.position"][1] - 0.5, stop=True))
    system = model.assemble()

    @jax.jit
    def force(k):
        return mbs.simulate(system, t1=1.0, dt=1e-2, saveat=[0.1, 0.2, 0.9], params={"spring": {"stiffness": k}})[
            "spring.force_local"
        ]

    backwards, forwards = jax.jacrev(force)(10.0), jax.jacfwd(force)(10.0)
    difference = (force(10.01) - force(9.99)) / 0.02
    assert np.isnan(force(10.0)[2])
    np.testing.assert_allclose(backwards[:2], difference[:2], rtol=1e-7)
    np.testing.assert_allclose(backwards, forwards, rtol=1e-12)
    assert np.isnan(backwards[2])


def test_outputs_that_depend_on_parameters_alone_have_no_derivative_where_nothing_was_reached():
    model = mbs.Model()
    body = model.add("body", mbs.Mass1D(mass=1.0), velocity=1.0)
    model.add("push", mbs.CoordinateLoad(load=2.0), on=body.coordinate(0))
    model.add("end", mbs.Event(0.5, stop=True))
    system = model.assemble()
    run = lambda x: mbs.simulate(system, t1=1.0, dt=0.1, saveat=[0.2, 0.9], params={"push": {"load": x}})
    loads = lambda x: run(x)["push.load"]
    for derivative in (jax.jacfwd(loads)(2.0), jax.jacrev(loads)(2.0)):
        np.testing.assert_array_equal(np.ravel(derivative), [1.0, np.nan])
