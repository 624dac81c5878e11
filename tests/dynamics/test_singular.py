"""Gradients in reverse mode at the points where a law is singular: finite, and the limit where there is one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

DISTANCES = [0.0, 1e-300, 1e-200, 1e-12]


def pair(law, distance, speed=0.0, planar=False):
    """Two bodies on the x axis, a distance apart, at rest or with some relative speed across."""
    model = mbs.Model()
    if planar:
        body = mbs.RigidBody2D(mass=1.0, inertia=0.2)
        a = model.add("a", body)
        b = model.add("b", body, position=(distance, 0), velocity=(0, speed))
    else:
        a = model.add("a", mbs.MassPoint(mass=1.0))
        b = model.add("b", mbs.MassPoint(mass=1.0), position=(distance, 0, 0), velocity=(0, speed, 0))
    model.add("link", law, between=(a, b))
    return model.assemble()


LAWS = {
    "spring": lambda: mbs.SpringDamper(0.0, 40.0, 3.0),
    "spring with length": lambda: mbs.SpringDamper(0.5, 40.0, 3.0, 0.7, 0.2),
    "user spring": lambda: mbs.SpringDamper(0.5, 40.0, spring_force_user_function=lambda t, u, v, k, d, f: k * u**3),
    "gravity": lambda: mbs.ConnectorGravity(1.0),
    "gravity regularized": lambda: mbs.ConnectorGravity(1.0, min_distance_regularization=0.3),
    "gravity plummer": lambda: mbs.ConnectorGravity(1.0, min_distance_regularization=0.3, softening="plummer"),
    "planar": lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.0, 0.0),
    "planar tensile": lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.1, 0.1, type="tensile"),
    "planar isotropic": lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.0, 0.2, damper="isotropic"),
    "planar coupled": lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.0, 0.0, 0.1, 0.1),
    "rotational": lambda: mbs.RotationalSpringDamper(4.0, 0.3, reference_angle=0.0),
}
PLANAR = ("planar coupled", "rotational")


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("law", LAWS)
def test_reverse_gradients_are_finite_where_markers_coincide(law, speed):
    system = pair(LAWS[law](), 1.0, planar=law in PLANAR)
    force = mbs.connector_force(system, "link")

    def squared(distance, speed, params):
        q, v = system.initial_state()
        at = system.coordinates("b"), system.velocities("b")
        return jnp.sum(force(q.at[at[0][0]].set(distance), v.at[at[1][1]].set(speed), params) ** 2)

    gradients = jax.jit(jax.vmap(jax.value_and_grad(squared, (0, 1, 2)), (0, None, None)))(
        jnp.array(DISTANCES), speed, {"link": system.params()["link"], "a": {"mass": jnp.asarray(1.0)}}
    )
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(gradients))


@pytest.mark.parametrize(("law", "stiffness"), [("spring", 40.0), ("planar", 40.0), ("gravity plummer", 1 / 0.3**3)])
def test_stiffness_at_zero_length_is_the_limit(law, stiffness):
    """Without preload the force of these is stiffness times displacement, in every direction."""
    system = pair(LAWS[law](), 0.0)
    jacobian = mbs.connector_jacobian(system, "link")(*system.initial_state())
    expected = -stiffness * (np.diag([1.0, 1.0, 0.0]) if law == "planar" else np.eye(3))
    np.testing.assert_allclose(jacobian.position[1][1], expected, rtol=1e-12, atol=1e-12)
    near = pair(LAWS[law](), 1e-9)
    jacobian = mbs.connector_jacobian(near, "link")(*near.initial_state())
    np.testing.assert_allclose(jacobian.position[1][1], expected, rtol=1e-6, atol=1e-6)


def slope_along_x(law, distance):
    system = pair(law, distance)
    return float(mbs.connector_jacobian(system, "link")(*system.initial_state()).position[1][1][0, 0])


def test_slope_at_the_regularization_radius_is_that_of_both_sides():
    law = lambda: mbs.ConnectorGravity(1.0, min_distance_regularization=0.5)
    at, below, above = (slope_along_x(law(), 0.5 * x) for x in (1.0, 1 - 1e-9, 1 + 1e-9))
    np.testing.assert_allclose([below, above], at, rtol=1e-7)
    np.testing.assert_allclose(at, 2 / 0.5**3, rtol=1e-12)


def test_slope_at_the_gate_is_one_sided():
    law = lambda: mbs.LinearSpringDamper(40.0, 0.0, 0.0, 1.0, type="tensile")
    at, below, above = (slope_along_x(law(), x) for x in (1.0, 1 - 1e-9, 1 + 1e-9))
    assert below == 0
    np.testing.assert_allclose(at, above, rtol=1e-7)


def test_gravity_is_largest_at_half_the_radius_and_zero_at_the_centre():
    force = lambda x: abs(
        float(
            mbs.connector_force(s := pair(mbs.ConnectorGravity(1.0, min_distance_regularization=0.5), x), "link")(
                *s.initial_state()
            )[0]
        )
    )
    np.testing.assert_allclose(force(0.5), 1 / 0.25, rtol=1e-12)
    np.testing.assert_allclose(force(0.25), 2 / 0.25, rtol=1e-12)
    assert force(0.0) == 0


def test_simulation_through_coincidence_has_finite_gradients():
    """Two masses on a spring of no length swing through each other; at the start they coincide, at rest."""
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(mass=1.0))
    b = model.add("b", mbs.MassPoint(mass=1.0))
    model.add("spring", mbs.SpringDamper(0.0, 40.0, 1.0), between=(a, b))
    model.add("push", mbs.Force((1.0, 0.0, 0.0)), on=a)
    system = model.assemble()

    def end(theta):
        return jnp.sum(mbs.simulate(system, t1=1.0, dt=1e-2, params=theta).q[-1] ** 2)

    theta = {"spring": {"stiffness": jnp.asarray(40.0), "reference_length": jnp.asarray(0.0)}}
    gradient = jax.grad(end)(theta)
    assert all(np.isfinite(x) for x in jax.tree.leaves(gradient))
    step = 1e-4
    up, down = (end({"spring": {"stiffness": jnp.asarray(40.0 + s * step)}}) for s in (1, -1))
    np.testing.assert_allclose(gradient["spring"]["stiffness"], (up - down) / (2 * step), rtol=1e-6)
