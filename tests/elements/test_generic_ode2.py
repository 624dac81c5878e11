"""Second-order equations of one's own: closed forms, forces on their coordinates, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

M, K = np.diag([1.0, 2.0]), np.array([[3.0, -1.0], [-1.0, 2.0]])


@pytest.mark.parametrize("solver", [mbs.RungeKutta4(), mbs.GeneralizedAlpha(1.0)], ids=["RK4", "generalized-alpha"])
def test_free_vibrations_are_those_of_the_modes(solver):
    model = mbs.Model(gravity=(0, 0, -9.81))
    model.add("beam", mbs.GenericODE2(M, K), coordinates=[0.1, -0.2], velocities=[0.3, 0.0])
    run = mbs.simulate(model.assemble(), t1=1.0, dt=1e-3, solver=solver)
    squares, shapes = np.linalg.eig(np.linalg.solve(M, K))
    omega = np.sqrt(squares)
    position, speed = (np.linalg.solve(shapes, x) for x in ([0.1, -0.2], [0.3, 0.0]))
    expected = (position * np.cos(omega * 1.0) + speed / omega * np.sin(omega * 1.0)) @ shapes.T
    np.testing.assert_allclose(run["beam.coordinates"][-1], expected, atol=1e-6)
    np.testing.assert_allclose(run["beam.coordinates_tt"][-1], -np.linalg.solve(M, K @ expected), atol=1e-5)


def test_a_mass_that_depends_on_the_coordinates_keeps_its_energy():
    """A bead on a parabola y = q^2 / 2: M = m (1 + q^2), and the terms of the velocities from a force."""
    bead = mbs.GenericODE2(np.eye(1), mass_user_function=lambda q: q[:, None] * q[None, :])
    model = mbs.Model()
    handle = model.add("bead", bead, coordinates=[0.5])
    force = lambda t, q, q_t: -9.81 * q - q * q_t**2
    model.add("force", mbs.CoordinateVectorForce(force), on=handle.coordinates)
    run = mbs.simulate(model.assemble(), t1=2.0)
    q, v = run["bead.coordinates"][:, 0], run["bead.coordinates_t"][:, 0]
    energy = 0.5 * (1 + q**2) * v**2 + 9.81 * q**2 / 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_forces_on_several_bodies_have_derivatives():
    model = mbs.Model()
    a, b = (model.add(n, mbs.Mass1D(1.0), position=x) for n, x in (("a", 0.0), ("b", 1.0)))
    law = mbs.CoordinateVectorForce(mbs.Expression(["k*(q[1]-q[0])", "k*(q[0]-q[1])"], k=4.0), markers=2)
    model.add("pull", law, between=(a.coordinate(0), b.coordinate(0)))
    system = model.assemble()
    end = lambda k: mbs.simulate(system, t1=1.0, dt=1e-2, params={"pull": {"user_function": {"k": k}}}).q[-1]
    k = jnp.asarray(4.0)
    forwards = jax.jacfwd(end)(k)
    np.testing.assert_allclose(jax.jacrev(end)(k), forwards, rtol=1e-10)
    np.testing.assert_allclose(forwards, (end(k + 1e-5) - end(k - 1e-5)) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize(
    ("body", "initial", "said"),
    [
        (mbs.GenericODE2(np.ones((2, 3))), {}, "mass .* must be square"),
        (mbs.GenericODE2([[1.0, 0.2], [0.0, 1.0]]), {}, "mass .* must be symmetric"),
        (mbs.GenericODE2(-M), {}, "mass .* must not have negative eigenvalues"),
        (mbs.GenericODE2(np.diag([1.0, 0.0])), {}, "mass must be positive definite"),
        (mbs.GenericODE2(M, np.eye(3)), {}, r"stiffness must have shape \(2, 2\)"),
        (mbs.GenericODE2(M, force=[1.0, 2.0, 3.0]), {}, r"force must have shape \(2,\)"),
        (mbs.GenericODE2(M), dict(coordinates=[1.0, 2.0, 3.0]), r"coordinates must have shape \(2,\)"),
    ],
)
def test_mistakes_are_named(body, initial, said):
    with pytest.raises((mbs.ModelError, mbs.ParameterError), match=f"'beam': {said}"):
        mbs.Model().add("beam", body, **initial)
