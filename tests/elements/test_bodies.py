"""Every body: its kinematics and its inertia agree with each other, and with mechanics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..zoo.cases import INERTIA

BODIES = {
    "MassPoint": lambda: mbs.MassPoint(1.3),
    "MassPoint2D": lambda: mbs.MassPoint2D(1.3),
    "RigidBody2D": lambda: mbs.RigidBody2D(1.3, 0.4, (0.1, -0.2)),
    "RigidBody": lambda: mbs.RigidBody(1.3, INERTIA, (0.1, -0.2, 0.3)),
    "Mass1D": lambda: mbs.Mass1D(1.3, (1.0, 2.0, -0.5), (0.3, 0.2, 0.1)),
    "RotationalMass1D": lambda: mbs.RotationalMass1D(0.7, (0.3, 0.2, 0.1)),
}
GRAVITY = jnp.array([0.5, -9.0, 2.0])


def state(name, seed=0):
    body = jax.tree.map(lambda x: jnp.asarray(x), BODIES[name]())
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=body.coordinates), rng.normal(size=body.velocities)
    return body, jnp.asarray(q), jnp.asarray(v)


def velocity_of(body, q, v, point):
    return jax.jvp(lambda q: body.point(q, point), (q,), (body.rate(q, v),))[1]


@pytest.mark.parametrize("name", BODIES)
def test_retract_goes_where_rate_points(name):
    body, q, v = state(name)
    if name == "RigidBody":
        q = q.at[3:].divide(jnp.linalg.norm(q[3:]))
    along = jax.jvp(lambda h: body.retract(q, h * v), (jnp.zeros(()),), (jnp.ones(()),))[1]
    np.testing.assert_allclose(along, body.rate(q, v), atol=1e-13)


@pytest.mark.parametrize("name", [n for n in BODIES if n not in ("MassPoint", "MassPoint2D")])
def test_points_of_a_body_move_as_a_rigid_body(name):
    body, q, v = state(name)
    a, b = jnp.array([0.2, -0.1, 0.4]), jnp.array([-0.3, 0.5, 0.1])
    omega = np.asarray(body.angular_velocity(q, v))
    between = np.asarray(body.point(q, a) - body.point(q, b))
    relative = np.asarray(velocity_of(body, q, v, a) - velocity_of(body, q, v, b))
    np.testing.assert_allclose(relative, np.cross(omega, between), atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(between), np.linalg.norm(a - b), rtol=1e-13)
    rotation = np.asarray(body.pose(q).rotation.matrix())
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(between, rotation @ np.asarray(a - b), atol=1e-13)


@pytest.mark.parametrize("name", BODIES)
def test_inverse_mass_inverts_the_mass_matrix(name):
    body, q, v = state(name)
    mass = np.asarray(body.mass_matrix(q))
    np.testing.assert_allclose(mass, mass.T, atol=1e-15)
    np.testing.assert_allclose(body.inverse_mass(q, jnp.asarray(mass @ v)), v, rtol=1e-12)
    np.testing.assert_allclose(body.kinetic_energy(q, v), 0.5 * v @ mass @ v, rtol=1e-13)


@pytest.mark.parametrize("name", BODIES)
def test_bias_is_the_power_of_the_weight(name):
    """Gyroscopic forces do no work; the weight's power is minus the rate of its energy."""
    body, q, v = state(name)
    rate = jax.jvp(lambda q: body.weight_energy(q, GRAVITY), (q,), (body.rate(q, v),))[1]
    np.testing.assert_allclose(jnp.sum(body.bias(q, v, GRAVITY) * v), -rate, atol=1e-12)


@pytest.mark.parametrize("name", ["RigidBody", "RigidBody2D"])
def test_kinetic_energy_of_a_body_is_that_of_its_particles(name):
    """Sampled mass distribution: mass, centre and inertia computed by hand, energy from the points' velocities."""
    rng = np.random.default_rng(4)
    points, masses = rng.normal(size=(12, 3)), rng.uniform(0.1, 1.0, 12)
    if name == "RigidBody2D":
        points[:, 2] = 0
    centre = masses @ points / masses.sum()
    arm = points - centre
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arm, strict=True))
    if name == "RigidBody":
        body = mbs.RigidBody(masses.sum(), inertia, centre)
    else:
        body = mbs.RigidBody2D(masses.sum(), inertia[2, 2], centre[:2])
    body = jax.tree.map(jnp.asarray, body)
    _, q, v = state(name, seed=2)
    speeds = jnp.stack([velocity_of(body, q, v, jnp.asarray(p)) for p in points])
    energy = 0.5 * np.sum(masses * np.sum(np.asarray(speeds) ** 2, axis=1))
    np.testing.assert_allclose(body.kinetic_energy(q, v), energy, rtol=1e-12)


def test_the_coordinate_of_a_slider_is_the_distance_moved_however_long_its_axis_is():
    body, q, v = state("Mass1D")
    assert abs(np.linalg.norm(body.axis) - 1) > 1
    point = jnp.array([0.2, -0.1, 0.4])
    moved, velocity = body.point(q, point) - body.point(0 * q, point), velocity_of(body, q, v, point)
    np.testing.assert_allclose(jnp.linalg.norm(moved), abs(q[0]), rtol=1e-14)
    np.testing.assert_allclose(body.kinetic_energy(q, v), 0.5 * body.mass * jnp.sum(velocity**2), rtol=1e-14)


def rotation_forms():
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_rotvec([0.4, -0.7, 0.2])
    return turn, [turn.as_rotvec(), turn.as_quat(scalar_first=True), turn.as_matrix()]


@pytest.mark.parametrize("form", [0, 1, 2], ids=["vector", "quaternion", "matrix"])
def test_rotation_is_taken_in_three_forms(form):
    turn, forms = rotation_forms()
    model = mbs.Model()
    model.add("body", mbs.RigidBody(1.0, np.eye(3)), rotation=forms[form])
    solution = mbs.Outputs(system := model.assemble(), 0.0, *system.initial_state())
    np.testing.assert_allclose(solution["body.rotation"], turn.as_matrix(), atol=1e-14)


@pytest.mark.parametrize("form", [0, 1, 2], ids=["vector", "quaternion", "matrix"])
def test_rotation_is_the_same_in_files(file, form):
    turn, forms = rotation_forms()
    text = "schema = 1\n[[rigid_body]]\nname = 'body'\nmass = 1\ninertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n"
    model = mbs.load(file(f"{text}rotation = {forms[form].tolist()}\n", "model.toml"))
    np.testing.assert_allclose(model.assemble().params()["body"]["rotation"], turn.as_rotvec(), atol=1e-14)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("form", [0, 1, 2], ids=["vector", "quaternion", "matrix"])
def test_rotations_of_many_bodies(form, count):
    """Also where their number makes one form look like another."""
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_rotvec(np.random.default_rng(count).normal(size=(count, 3)))
    forms = turns.as_rotvec(), turns.as_quat(scalar_first=True), turns.as_matrix()
    model = mbs.Model()
    model.add("body", mbs.RigidBody(np.ones(count), np.eye(3)), rotation=forms[form])
    found = mbs.Outputs(system := model.assemble(), 0.0, *system.initial_state())["body.rotation"]
    np.testing.assert_allclose(found, turns.as_matrix(), atol=1e-14)


@pytest.mark.parametrize("form", [1, 2], ids=["quaternion", "matrix"])
def test_four_digits_are_taken_for_the_nearest_rotation(form):
    turn, forms = rotation_forms()
    model = mbs.Model()
    model.add("body", mbs.RigidBody(1.0, np.eye(3)), rotation=np.round(forms[form], 4))
    found = np.asarray(mbs.Outputs(system := model.assemble(), 0.0, *system.initial_state())["body.rotation"])
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(found, turn.as_matrix(), atol=1e-4)


@pytest.mark.parametrize("form", [0, 1, 2], ids=["vector", "quaternion", "matrix"])
@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.8, np.pi])
def test_derivatives_with_respect_to_the_rotation(form, angle):
    """That of a matrix R(phi): turning the body about its own axis e by a little changes R by R [e]x."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_rotvec(angle * np.array([2.0, -1.0, 2.0]) / 3)
    forms = turn.as_rotvec(), turn.as_quat(scalar_first=True), turn.as_matrix()
    model = mbs.Model()
    model.add("body", mbs.RigidBody(1.0, np.eye(3)), rotation=forms[form])
    system = model.assemble()

    def matrix(phi):
        turned = system.with_params({"body": {"rotation": phi}})
        return mbs.Outputs(turned, 0.0, *turned.initial_state())["body.rotation"]

    phi = system.params()["body"]["rotation"]
    derivative = np.asarray(jax.jacfwd(matrix)(phi))
    np.testing.assert_allclose(jax.jacrev(matrix)(phi), derivative, atol=1e-12)
    step = 1e-5
    for k in range(3):
        e = step * np.eye(3)[k]
        ahead, behind = (Rotation.from_rotvec(np.asarray(phi) + x).as_matrix() for x in (e, -e))
        np.testing.assert_allclose(derivative[..., k], (ahead - behind) / (2 * step), atol=1e-9)


def test_what_rotation_and_angular_velocity_are_of_each_body():
    """The table of the page."""
    model = mbs.Model()
    model.add("top", mbs.RigidBody(1.0, np.eye(3)), rotation=(0, 0, 0.5), angular_velocity=(1, 2, 3))
    model.add("bar", mbs.RigidBody2D(1.0, 1.0), angle=7.0, angular_velocity=2.0)
    model.add("rotor", mbs.RotationalMass1D(1.0), angle=7.0, angular_velocity=2.0)
    for name, body in (("a", mbs.MassPoint(1.0)), ("b", mbs.MassPoint2D(1.0)), ("c", mbs.Mass1D(1.0))):
        model.add(name, body)
    found = mbs.Outputs(system := model.assemble(), 0.0, *system.initial_state())
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(found["top.rotation"], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(found["top.angular_velocity"], [1, 2, 3], atol=1e-15)
    for name in ("bar", "rotor"):
        assert found[f"{name}.rotation"] == 7.0
        np.testing.assert_array_equal(found[f"{name}.angular_velocity"], [0, 0, 2])
    for name in ("a", "b", "c"):
        np.testing.assert_array_equal(found[f"{name}.rotation"], np.eye(3))
        np.testing.assert_array_equal(found[f"{name}.angular_velocity"], np.zeros(3))


def test_initial_values_are_those_of_the_frames_origin():
    """`position` and `velocity` belong to the origin, coordinates to the centre of mass; angular velocity is global."""
    turn, forms = rotation_forms()
    com, omega = np.array([0.2, -0.1, 0.3]), np.array([1.0, 2.0, -0.5])
    model = mbs.Model()
    model.add(
        "body", mbs.RigidBody(1.0, np.eye(3), com), position=(1, 2, 3), rotation=forms[0], velocity=(4, 5, 6),
        angular_velocity=omega,
    )  # fmt: skip
    flat = mbs.RigidBody2D(1.0, 1.0, (0.3, 0.1))
    model.add("flat", flat, position=(1, 2), angle=0.5, velocity=(3, 4), angular_velocity=2.0)
    system = model.assemble()
    q, v = (np.asarray(x) for x in system.initial_state())
    found = mbs.Outputs(system, 0.0, jnp.asarray(q), jnp.asarray(v))
    np.testing.assert_allclose(found["body.position"], [1, 2, 3], atol=1e-14)
    np.testing.assert_allclose(found["body.velocity"], [4, 5, 6], atol=1e-14)
    np.testing.assert_allclose(found["body.angular_velocity"], omega, atol=1e-14)
    np.testing.assert_allclose(q[system.coordinates("body")[:3]], np.array([1, 2, 3]) + turn.apply(com), atol=1e-14)
    np.testing.assert_allclose(
        v[system.velocities("body")[:3]], np.array([4, 5, 6]) + np.cross(omega, turn.apply(com)), atol=1e-14
    )
    np.testing.assert_allclose(found["flat.position"], [1, 2, 0], atol=1e-14)
    np.testing.assert_allclose(found["flat.velocity"], [3, 4, 0], atol=1e-14)
    np.testing.assert_allclose(found["flat.rotation"], 0.5)


def test_acceleration_sensor_on_a_turning_wheel():
    model = mbs.Model()
    wheel = model.add("wheel", mbs.RotationalMass1D(0.5), angular_velocity=3.0)
    model.add("drive", mbs.Torque((0, 0, 1.5)), on=wheel)
    model.sense("rim", mbs.Acceleration(wheel.at(0.2)))
    system = model.assemble()
    found = mbs.Outputs(system, 0.0, *system.initial_state())["rim"]
    np.testing.assert_allclose(found, [-0.2 * 9.0, 0.2 * 3.0, 0.0], atol=1e-13)
