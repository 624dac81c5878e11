"""Mechanisms with published or converged motions, made of joints and laws."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import difmbs as mbs

from ..oracles.closed_loop import Link, Screw, motion

GRAVITY = np.array([0, -9.81, 0])
X, Y, Z = np.eye(3)


def car_axis():
    """The car axis of the test set for initial value problems (Mazzia, Magherini 2008): two masses on springs over a
    rod of which one end follows a bumpy road."""
    eps, size, rest, bump, speed = 1e-2, 1.0, 0.5, 0.1, 10.0
    mass = eps**2 * 10.0 / 2

    def road(t):
        y = bump * jnp.sin(speed * t)
        return jnp.sqrt(size**2 - y**2), y

    def on_right(t, q, q_t):
        x, y = road(t)
        apart = q - jnp.stack([x, y])
        length = jnp.sqrt(jnp.sum(apart**2))
        return (rest - length) / length * apart

    def upright(t, q, q_t, velocity_level):
        x, y = road(t)
        return jnp.stack([q[0] * x + q[1] * y])

    model = mbs.Model(gravity=(0, -1.0, 0))
    left = model.add("left", mbs.MassPoint2D(mass), position=(0, 0.5), velocity=(-0.5, 0))
    right = model.add("right", mbs.MassPoint2D(mass), position=(1.0, 0.5), velocity=(-0.5, 0))
    model.add("left spring", mbs.SpringDamper(rest, 1.0), between=(model.ground, left))
    model.add("right spring", mbs.CoordinateVectorForce(on_right), on=right.coordinates)
    ends = (model.ground.coordinates, left.coordinates)
    model.add("upright", mbs.CoordinateVectorConstraint(constraint_user_function=upright), between=ends)
    model.add("rod", mbs.DistanceConstraint(size), between=(left, right))
    return model.assemble()


def test_car_axis_ends_at_the_published_digits():
    run = mbs.simulate(car_axis(), t1=3.0, saveat=[0.0, 3.0], rtol=1e-11, atol=1e-13)
    expected = [0.4934557842755629e-1, 0.4969894602303324, 1.041742524885400, 0.3739110272652214]
    speeds = [-0.7705836840321485e-1, 0.7446866596327776e-2, 0.1755681574942899e-1, 0.7703410437794031]
    np.testing.assert_allclose(run.q[-1], expected, atol=1e-8)
    np.testing.assert_allclose(run.v[-1], speeds, atol=1e-7)


def free_body():
    model = mbs.Model()
    inertia = np.array([[0.5, 0.02, -0.03], [0.02, 0.4, 0.01], [-0.03, 0.01, 0.3]])
    model.add("body", mbs.RigidBody(2.0, inertia), velocity=(0.1, 0, 0), angular_velocity=(0.3, 1.0, -0.5))
    return model.assemble(), inertia


def bar(start, end, mass=1.0, width=0.1):
    """Centre and inertia of a bar along an axis of the world."""
    along = np.abs(end - start)
    size = along.max()
    inertia = np.diag(np.where(along > 0, mass * width**2 / 6, mass * (size**2 + width**2) / 12))
    return (start + end) / 2, inertia


@pytest.mark.slow
def test_bricards_mechanism_moves_as_in_minimal_coordinates():
    """Six hinges in a loop that has no degree of freedom by counting, but moves."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
    axes = [Y, Z, X, Y, Z, X]
    bars = [bar(a, b) for a, b in itertools.pairwise(corners)]
    model = mbs.Model(gravity=GRAVITY)
    bodies = [model.add(f"bar{i}", mbs.RigidBody(1.0, J), position=center) for i, (center, J) in enumerate(bars)]
    chain = [model.ground, *bodies, model.ground]
    for i, (corner, axis) in enumerate(zip(corners, axes, strict=True)):
        centers = [bars[k][0] if 0 <= k < 5 else np.zeros(3) for k in (i - 1, i)]
        ends = [body.at(*(corner - center)) for body, center in zip(chain[i : i + 2], centers, strict=True)]
        model.add(f"hinge{i}", mbs.RevoluteJoint(axis), between=tuple(ends))
    times = np.linspace(0, 1, 6)
    links = [Link(i, 1.0, center, J) for i, (center, J) in enumerate(bars)]
    screws = [Screw(axis, corner) for axis, corner in zip(axes, corners, strict=True)]
    expected = motion(screws, links, GRAVITY, 0.0, times)
    run = mbs.simulate(model.assemble(redundant="min_norm"), t1=1.0, dt=2e-3, saveat=times)
    for i in range(5):
        np.testing.assert_allclose(run[f"bar{i}.position"], expected[:, i], atol=1e-7)


@pytest.mark.slow
def test_spatial_slider_crank_moves_as_in_minimal_coordinates():
    """A crank about x, a rod on a ball and a universal joint, and a slider parallel to x."""
    radius, beside = 0.3, 0.2
    pin, end = np.array([0, 0, radius]), np.array([np.sqrt(1 - radius**2 - beside**2), beside, 0])
    across = np.cross(end - pin, Y)
    across = across / np.linalg.norm(across)
    crank, rod = np.diag([0.02, 0.01, 0.015]), np.diag([0.01, 0.1, 0.1])
    masses = 0.5, 0.8, 2.0
    centers = pin / 2, (pin + end) / 2, end
    inertias = crank, rod, np.eye(3) * 0.02
    model = mbs.Model(gravity=GRAVITY)
    speed = 6.0
    # The velocities that the crank's speed gives.
    of_pin = speed * np.cross(X, pin)
    of_end = (pin - end) @ of_pin / (pin - end)[0] * X
    turning = np.cross(pin - end, of_pin - of_end)
    # A universal joint does not let the rod turn about itself against the slider, but about these two axes.
    turning = turning - (pin - end) * (turning @ np.cross(Y, across)) / ((pin - end) @ np.cross(Y, across))
    speeds = [(speed * np.cross(X, centers[0]), speed * X), ((of_pin + of_end) / 2, turning), (of_end, 0 * X)]
    handles = [
        model.add(name, mbs.RigidBody(m, J), position=p, velocity=v, angular_velocity=w)
        for name, m, J, p, (v, w) in zip(("crank", "rod", "slider"), masses, inertias, centers, speeds, strict=True)
    ]
    crank, rod, slider = handles
    model.add("bearing", mbs.RevoluteJoint(X), between=(model.ground, crank.at(*-centers[0])))
    model.add("ball", mbs.SphericalJoint(), between=(crank.at(*(pin - centers[0])), rod.at(*(pin - centers[1]))))
    model.add("fork", mbs.UniversalJoint(across, Y), between=(rod.at(*(end - centers[1])), slider))
    model.add("guide", mbs.PrismaticJoint(X), between=(model.ground.at(*end), slider))
    screws = [
        Screw(X, np.zeros(3)), *(Screw(axis, pin) for axis in (X, Y, Z)), Screw(across, end), Screw(Y, end),
        Screw(X, end, slides=True),
    ]  # fmt: skip
    links = [Link(after, *of) for after, of in zip((0, 3, 5), zip(masses, centers, inertias, strict=True), strict=True)]
    times = np.linspace(0, 1, 6)
    expected = motion(screws, links, GRAVITY, speed, times)
    run = mbs.simulate(model.assemble(), t1=1.0, dt=1e-3, saveat=times)
    assert np.ptp(expected[:, 2, 0]) > 0.05
    for i, name in enumerate(("crank", "rod", "slider")):
        np.testing.assert_allclose(run[f"{name}.position"], expected[:, i], atol=1e-7)


def test_heavy_top_is_that_of_eulers_equations():
    mass, arm, inertia, spin = 15.0, Y, np.diag([0.234375, 0.46875, 0.234375]), np.array([0, 150.0, -4.61538])
    about_tip = inertia + mass * (np.eye(3) - np.outer(arm, arm))

    def rates(t, y):
        R, w = y[:9].reshape(3, 3), y[9:]
        moment = np.cross(arm, R.T @ (mass * np.array([0, 0, -9.81])))
        a, b, c = w
        turning = R @ np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
        return np.append(turning, np.linalg.solve(about_tip, moment - np.cross(w, about_tip @ w)))

    times = np.linspace(0, 0.2, 5)
    start = np.append(np.eye(3), spin)
    reference = solve_ivp(rates, (0, 0.2), start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times).y
    model = mbs.Model(gravity=(0, 0, -9.81))
    speeds = dict(velocity=np.cross(spin, arm), angular_velocity=spin)
    top = model.add("top", mbs.RigidBody(mass, inertia), position=arm, **speeds)
    model.add("tip", mbs.SphericalJoint(), between=(model.ground, top.at(*-arm)))
    run = mbs.simulate(model.assemble(), t1=0.2, dt=1e-4, saveat=times)
    np.testing.assert_allclose(run["top.position"], reference[:9].reshape(3, 3, -1)[:, 1].T, atol=1e-7)


@pytest.mark.slow
def test_a_free_body_keeps_energy_and_angular_momentum_over_many_steps():
    system, inertia = free_body()
    run = mbs.simulate(system, t1=1000.0, dt=1e-2, solver=mbs.RungeKutta4(), saveat=np.linspace(0, 1000.0, 11))
    energy = jax.vmap(system.kinetic_energy)(run.q, run.v)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    momentum = np.einsum("tij,jk,tk->ti", run["body.rotation"], inertia, run.v[:, 3:])
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)


def belt(law):
    """A box on a belt, held by a spring."""
    model = mbs.Model()
    box = model.add("box", mbs.Mass1D(1.0), velocity=0.1)
    moving = model.add("belt", mbs.Mass1D(1.0), velocity=0.1)
    model.add("spring", mbs.CoordinateSpringDamper(2.0), between=(model.ground, box.coordinate(0)))
    model.add("drive", mbs.Motor(speed=0.1, motion="coordinate"), between=(model.ground, moving.coordinate(0)))
    model.add("friction", law, between=(moving.coordinate(0), box.coordinate(0)))
    return model.assemble()


def test_stick_slip_is_that_of_the_equations():
    """The box and its bristles by SciPy, with LSODA at a tight tolerance."""
    stiffness, coulomb, static, stribeck, damping, viscous = 1e4, 1.0, 1.5, 1e-3, 20.0, 0.4

    def rates(t, y):
        x, v, z = y
        slip = v - 0.1
        most = coulomb + (static - coulomb) * np.exp(-((slip / stribeck) ** 2))
        dz = slip - stiffness * abs(slip) / most * z
        return [v, -2 * x - (stiffness * z + damping * dz + viscous * slip), dz]

    law = mbs.LuGreFriction(stiffness, coulomb, static, stribeck, damping, viscous, motion="coordinate")
    system = belt(law)
    times = np.linspace(0, 12, 25)
    reference = solve_ivp(rates, (0, 12), [0, 0.1, 0], t_eval=times, method="LSODA", rtol=1e-10, atol=1e-13).y
    run = mbs.simulate(system, t1=12.0, saveat=times, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run["box.position"][:, 0], reference[0], atol=1e-6)
    np.testing.assert_allclose(run["friction.bristle"], reference[2], atol=1e-8)
    # It does both.
    assert np.abs(reference[1] - 0.1).min() < 1e-3
    assert reference[1].min() < -0.1


@pytest.mark.slow
def test_stick_slip_has_derivatives():
    """At a time at which the box slips for the first time, away from the switching."""
    law = mbs.LuGreFriction(1e4, 1.0, 1.5, 1e-3, 20.0, 0.4, motion="coordinate")
    system = belt(law)
    run = lambda coulomb: mbs.simulate(system, t1=8.0, dt=2e-4, params={"friction": {"coulomb": coulomb}})
    end = lambda coulomb: run(coulomb)["box.position"][-1, 0]
    at = jnp.asarray(1.0)
    forwards, backwards = jax.jvp(end, (at,), (jnp.ones(()),))[1], jax.grad(end)(at)
    quotient = (end(at + 1e-5) - end(at - 1e-5)) / 2e-5
    assert abs(forwards) > 1e-3
    np.testing.assert_allclose(backwards, forwards, rtol=1e-9)
    np.testing.assert_allclose(forwards, quotient, rtol=1e-6)


def test_a_ball_on_a_plane_is_that_of_the_equations_and_has_derivatives():
    mass, radius, k, damping, mu, creep = 0.4, 0.1, 1e5, 0.3, 0.3, 1e-2

    def rates(t, y):
        _x, z, spin, vx, vz = y
        depth = max(radius - z, 0.0)
        pressure = k * depth**1.5 * max(1 - damping * vz, 0)
        slip = vx - spin * radius
        drag = -mu * pressure * slip / np.hypot(slip, creep)
        return [vx, vz, -drag * radius / (0.4 * mass * radius**2), drag / mass, pressure / mass - 9.81]

    model = mbs.Model(gravity=(0, 0, -9.81))
    ball = model.add("ball", mbs.Sphere(mass, radius), position=(0, 0, 0.15), velocity=(1.0, 0, 0))
    law = mbs.SpherePlaneContact(k, radius, damping=damping, friction=mu, transition_velocity=creep)
    model.add("floor", law, between=(model.ground, ball))
    system = model.assemble()
    times = np.linspace(0, 0.3, 7)
    start = [0, 0.15, 0, 1.0, 0]
    reference = solve_ivp(rates, (0, 0.3), start, t_eval=times, rtol=1e-11, atol=1e-13, max_step=1e-3).y
    run = mbs.simulate(system, t1=0.3, saveat=times, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run["ball.position"][:, 0], reference[0], atol=1e-7)
    np.testing.assert_allclose(run["ball.position"][:, 2], reference[1], atol=1e-7)
    np.testing.assert_allclose(run["ball.angular_velocity"][:, 1], reference[2], atol=1e-5)
    # After one bounce, away from the next, and with so little friction that it still slides.
    mu = 0.05
    end = lambda mu: mbs.simulate(system, t1=0.2, dt=5e-5, params={"floor": {"friction": mu}})["ball.velocity"][-1, 0]
    slope = jax.grad(end)(jnp.asarray(mu))
    assert slope < -0.1
    np.testing.assert_allclose(slope, jax.jvp(end, (jnp.asarray(mu),), (jnp.asarray(1.0),))[1], rtol=1e-10)
    np.testing.assert_allclose(slope, (end(mu + 1e-5) - end(mu - 1e-5)) / 2e-5, rtol=1e-6)
