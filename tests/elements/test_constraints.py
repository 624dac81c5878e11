"""Constraint equations on all levels, their Jacobians, multipliers and outputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import difmbs as mbs
from difmbs.dynamics.outputs import multiplier_outputs

from ..oracles import analytic
from ..zoo import cases

X0, X1, Y0, Y1 = cases.QUADRATIC


@pytest.mark.parametrize(("constraint", "pairing"), cases.CONSTRAINT_CASES)
def test_levels_are_the_time_derivatives_of_each_other(constraint, pairing):
    """Along any motion q(t) with accelerations v': d/dt of the position level, and G v' - gamma = c''."""
    system = cases.constrained(constraint, pairing)
    equations = mbs.constraint_equations(system, "link")
    q, v = (x[0] for x in cases.states(system, 1))
    t, acceleration = jnp.asarray(0.4), jnp.asarray(np.random.default_rng(5).normal(size=v.size))

    @jax.jit
    def levels_and_rates(t, q, v):
        along = (jnp.ones(()), system.rate(q, v), acceleration)
        return jax.jvp(lambda t, q, v: equations(q, v, {}, t), (t, q, v), along)

    levels, rates = levels_and_rates(t, q, v)
    if levels.position is not None:
        np.testing.assert_allclose(levels.velocity, rates.position, atol=1e-12)
    np.testing.assert_allclose(rates.velocity, levels.jacobian @ acceleration - levels.acceleration, atol=1e-11)


def multipliers(system, q, v):
    output = multiplier_outputs(system)["link"]
    return jnp.ravel(mbs.Outputs(system, jnp.asarray(0.3, q.dtype), q, v)[output])


# A particle and a body that turns, where they can be joined: between spatial bodies compiling takes half a minute.
# Of joints in space, which take long to compile, some.
SLOW = (
    "Prismatic",
    "Cylindrical",
    "Fixed",
    "Universal",
    "GenericJoint in part",
    "Motor of",
    "Motor planar",
    "in a plane",
)
SMALL_CASES = [
    pytest.param(
        constraint,
        next((p for p in ("point-planar", "point-point") if p in case.pairings), case.pairings[0]),
        marks=pytest.mark.slow if any(word in constraint for word in SLOW) else [],
    )
    for constraint, case in cases.CONSTRAINTS.items()
]


@pytest.mark.parametrize(("constraint", "pairing"), SMALL_CASES)
def test_multipliers_have_the_same_gradient_forwards_backwards_and_by_differences(constraint, pairing):
    """Along one random direction of all parameters, coordinates and velocities."""
    system = cases.constrained(constraint, pairing)
    params, unravel = ravel_pytree(system.params())
    at, split = ravel_pytree((params, *(x[0] for x in cases.states(system, 1))))

    @jax.jit
    def of(x):
        params, q, v = split(x)
        return multipliers(system.with_params(unravel(params)), q, v)

    rng = np.random.default_rng(2)
    direction = jnp.asarray(rng.normal(size=at.shape))
    forwards = jax.jit(lambda x, dx: jax.jvp(of, (x,), (dx,))[1])(at, direction)
    scale = np.abs(forwards).max()
    assert np.all(np.isfinite(forwards))
    weights = jnp.asarray(rng.normal(size=forwards.shape))
    (backwards,) = jax.jit(lambda x, w: jax.vjp(of, x)[1](w))(at, weights)
    assert np.all(np.isfinite(backwards))
    assert abs(weights @ forwards - backwards @ direction) <= 1e-12 * max(scale, np.abs(backwards).max())
    # Richardson's extrapolation of central differences: truncation h^4, rounding eps / h.
    quotients = [(of(at + h * direction) - of(at - h * direction)) / (2 * h) for h in (1e-4, 2e-4)]
    assert np.abs(forwards - (4 * quotients[0] - quotients[1]) / 3).max() <= 1e-7 * scale


@pytest.mark.parametrize(("constraint", "pairing"), SMALL_CASES)
def test_single_precision_stays_single_and_agrees(constraint, pairing):
    system = cases.constrained(constraint, pairing)
    q, v = (x[0] for x in cases.states(system, 1))
    single = jax.tree.map(lambda x: x.astype(jnp.float32), system)
    evaluate = jax.jit(multipliers)
    found = evaluate(single, q.astype(jnp.float32), v.astype(jnp.float32))
    assert found.dtype == jnp.float32
    expected = np.asarray(evaluate(system, q, v))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("pairing", cases.EVERY)
def test_distance_equals_the_formulas(pairing):
    """C_q = [-u J0, u J1], c' = u dv, gamma = -[(|dv|^2 - (u dv)^2) / L + u (J1' v1 - J0' v0)]."""
    system = cases.constrained("DistanceConstraint", pairing)
    equations = jax.jit(mbs.constraint_equations(system, "link"))
    for q, v in zip(*cases.states(system, 10), strict=True):
        m0, m1 = analytic.markers(system, pairing, np.asarray(q), np.asarray(v))
        dp, dv = m1.p - m0.p, m1.v - m0.v
        L = np.linalg.norm(dp)
        u = dp / L
        levels = equations(q, v)
        blocks = [-u @ m0.J, u @ m1.J]
        np.testing.assert_allclose(levels.jacobian[0], np.concatenate(blocks), atol=1e-12)
        np.testing.assert_allclose(levels.position, [L - 1.3], atol=1e-12)
        np.testing.assert_allclose(levels.velocity, [u @ dv], atol=1e-12)
        velocities = np.split(np.asarray(v), [m0.J.shape[1]])
        bend = sum(
            s * u @ (m.H @ velocity_change(m, w)) for s, m, w in ((-1, m0, velocities[0]), (1, m1, velocities[1]))
        )
        gamma = -((dv @ dv - (u @ dv) ** 2) / L + bend)
        np.testing.assert_allclose(levels.acceleration, [gamma], atol=1e-10)


def velocity_change(marker, v):
    """H v is d(J v)/dt without accelerations."""
    return v


def test_coordinate_vector_equals_the_formulas():
    system = cases.constrained("CoordinateVectorConstraint", "point-point")
    q, v = (np.asarray(x[0]) for x in cases.states(system, 1))
    levels = mbs.constraint_equations(system, "link")(jnp.asarray(q), jnp.asarray(v))
    q0, q1, v0, v1 = q[:3], q[3:], v[:3], v[3:]
    np.testing.assert_allclose(levels.position, X1 @ q1 + Y1 @ q1**2 - X0 @ q0 - Y0 @ q0**2 - 0.7, atol=1e-13)
    rate = X1 @ v1 + 2 * Y1 @ (q1 * v1) - X0 @ v0 - 2 * Y0 @ (q0 * v0)
    np.testing.assert_allclose(levels.velocity, rate, atol=1e-13)
    np.testing.assert_allclose(levels.jacobian, np.hstack([-(X0 + 2 * Y0 * q0), X1 + 2 * Y1 * q1]), atol=1e-13)
    np.testing.assert_allclose(levels.acceleration, -2 * (Y1 @ v1**2 - Y0 @ v0**2), atol=1e-13)
    # The document squares the velocities instead, which is not the derivative of its position equation.
    literal = X1 @ v1 + Y1 @ v1**2 - X0 @ v0 - Y0 @ v0**2
    assert np.abs(literal - rate).max() > 1e-3


def test_velocity_level_pushes_along_the_gradient():
    system = cases.constrained("CoordinateVectorConstraint velocity", "point-point")
    q, v = (np.asarray(x[0]) for x in cases.states(system, 1))
    levels = mbs.constraint_equations(system, "link")(jnp.asarray(q), jnp.asarray(v))
    q0, q1 = q[:3], q[3:]
    assert levels.position is None
    np.testing.assert_allclose(levels.jacobian, np.hstack([-(X0 + 2 * Y0 * q0), X1 + 2 * Y1 * q1]), atol=1e-13)
    np.testing.assert_allclose(levels.velocity, levels.jacobian @ v - 0.7, atol=1e-13)


def hanging(law, first_is_ground, coordinates=False):
    """A mass of 2 kg below a fixed point, at rest."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    mass = model.add("mass", mbs.MassPoint(2.0), position=(0, 0, -1.0))
    ends = (model.ground, mass.coordinates if coordinates else mass)
    model.add("link", law, between=ends if first_is_ground else ends[::-1])
    system = model.assemble()
    return mbs.Outputs(system, 0.0, *system.initial_state())


@pytest.mark.parametrize("first_is_ground", [True, False])
def test_multipliers_have_the_documented_signs(first_is_ground):
    rod = hanging(mbs.DistanceConstraint(1.0), first_is_ground)
    np.testing.assert_allclose(rod["link.force"], 19.62)
    np.testing.assert_allclose(rod["link.distance"], 1.0)
    np.testing.assert_allclose(rod["mass.acceleration"], 0, atol=1e-12)
    row = np.array([[0, 0, 1.0]])
    law = mbs.CoordinateVectorConstraint(
        **{f"scaling_marker{int(first_is_ground)}": row}, offset=[-1.0 if first_is_ground else 1.0]
    )
    held = hanging(law, first_is_ground, coordinates=True)
    np.testing.assert_allclose(held["link.force"], [-19.62 if first_is_ground else 19.62])
    np.testing.assert_allclose(held["link.constraint_equation"], [0.0], atol=1e-12)
    np.testing.assert_allclose(held["link.displacement"], np.array([0, 0, -1.0]) * (1 if first_is_ground else -1))


def test_pendulum_force_in_motion():
    """A turning mass on a rod of length L: tension m v^2 / L + m g cos(angle)."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    angle, L, m, v = 0.4, 0.8, 1.7, 2.3
    place, along = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    mass = model.add("mass", mbs.MassPoint2D(m), position=L * place, velocity=v * along)
    model.add("rod", mbs.DistanceConstraint(L), between=(model.ground, mass))
    system = model.assemble()
    found = mbs.Outputs(system, 0.0, *system.initial_state())
    np.testing.assert_allclose(found["rod.force"], m * v**2 / L + m * 9.81 * np.cos(angle), rtol=1e-12)
    swing = -9.81 * np.sin(angle) * along - v**2 / L * place
    np.testing.assert_allclose(found["mass.acceleration"][:2], swing, rtol=1e-12)


def test_gradient_of_a_multiplier():
    model = mbs.Model(gravity=(0, -9.81, 0))
    mass = model.add("mass", mbs.MassPoint2D(1.5), position=(0.6, -0.8), velocity=(0.8, 0.6))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, mass))
    system = model.assemble()

    def force(m):
        return mbs.Outputs(system.with_params({"mass": {"mass": m}}), 0.0, *system.initial_state())["rod.force"]

    np.testing.assert_allclose(jax.grad(force)(jnp.asarray(1.5)), 1.0 + 9.81 * 0.8, rtol=1e-12)


def test_user_functions_in_exudyns_form():
    def law(mbs_, t, item, stretch, rate, stiffness, damping, force):
        assert mbs_ is None
        return stiffness * stretch + damping * rate + force

    forces = []
    for function in (None, mbs.exudyn_function(law)):
        model = mbs.Model()
        a = model.add("a", mbs.MassPoint(1.0), position=(1.4, 0, 0), velocity=(0.3, 0, 0))
        spring = mbs.SpringDamper(1.0, 20.0, 3.0, 0.5, spring_force_user_function=function)
        model.add("spring", spring, between=(model.ground, a))
        system = model.assemble()
        forces.append(mbs.connector_force(system, "spring")(*system.initial_state()))
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-13)


def test_offsets_written_for_exudyn():
    def offset(mbs_, t, item, constant):
        return constant + 0.1 * t

    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=0.3)
    adapted = mbs.CoordinateConstraint(offset=mbs.exudyn_function(offset, 0.3))
    model.add("drive", adapted, between=(model.ground, mass.coordinate(0)))
    solution = mbs.simulate(model.assemble(), t1=1.0, dt=0.1)
    np.testing.assert_allclose(solution.q[:, 0], 0.3 + 0.1 * solution.t, rtol=1e-12)


def test_user_jacobian_is_checked_and_not_used():
    circle = lambda t, q, q_t, level: jnp.sum(q * q)[None] - 1
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint2D(1.0), position=(0.6, 0.8))
    right = mbs.CoordinateVectorConstraint(
        constraint_user_function=circle, jacobian_user_function=lambda t, q, q_t, level: (2 * q)[None]
    )
    model.add("circle", right, between=(model.ground, mass.coordinates))
    system = model.assemble()
    levels = mbs.constraint_equations(system, "circle")(*system.initial_state())
    np.testing.assert_allclose(levels.jacobian, [[1.2, 1.6]], rtol=1e-13)


@pytest.mark.parametrize("order", [("crank", "slider"), ("slider", "crank")])
@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-3])
def test_a_crank_at_dead_centre_whichever_body_comes_first(order, angle):
    model = mbs.Model()
    add = {
        "crank": lambda: model.add("crank", mbs.RotationalMass1D(inertia=1.0), angle=1.0, angular_velocity=10.0),
        "slider": lambda: model.add("slider", mbs.Mass1D(mass=1.0), position=0.3 * np.cos(1) + 0.97),
    }
    body = {name: add[name]() for name in order}
    model.add("rod", mbs.DistanceConstraint(1.0), between=(body["crank"].at(0.3, 0, 0), body["slider"]))
    position = 0.3 * np.cos(angle) + np.sqrt(1 - (0.3 * np.sin(angle)) ** 2)
    params = {"crank": {"angle": angle}, "slider": {"position": position}}
    solution = mbs.simulate(model.assemble(), t1=1e-3, dt=1e-3, saveat=[0.0], params=params)
    # x'' at dead centre is -(r + r^2 / l) w^2.
    np.testing.assert_allclose(solution["rod.force"], 39.0, rtol=1e-5)


@pytest.mark.parametrize("place", [(0.0, 0.0), (1e-10, 0.0)])
def test_bodies_at_the_origin_meet_rods_to_far_away(place):
    for anchor in np.random.default_rng(0).normal(size=(8, 2)):
        model = mbs.Model()
        bob = model.add("bob", mbs.MassPoint2D(mass=1.0), position=place)
        rod = mbs.DistanceConstraint(float(np.hypot(*(anchor - np.asarray(place)))))
        model.add("rod", rod, between=(bob, model.ground.at(*anchor, 0)))
        mbs.linearize(model.assemble())
