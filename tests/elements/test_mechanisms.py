"""Mechanisms with published or converged motions, made of joints and laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import difmbs as mbs


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
