"""Hinges, ball joints and ties between coordinates against equations of motion written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import difmbs as mbs

from ..oracles import analytic
from ..zoo import cases

JOINTS = {"RevoluteJoint2D": 2, "SphericalJoint": 3}
TIES = ("CoordinateConstraint", "CoordinateConstraint of time", "CoordinateConstraint velocity")


def of(table, names):
    return [(name, pairing) for name in names for pairing in table[name].pairings]


@pytest.mark.parametrize(("joint", "pairing"), of(cases.CONSTRAINTS, JOINTS))
def test_joint_equals_the_formulas(joint, pairing):
    """c = p1 - p0, G = [-J0, J1], gamma = -(H1 v1 - H0 v0), in as many components as there are equations."""
    system, n = cases.constrained(joint, pairing), JOINTS[joint]
    equations = jax.jit(mbs.constraint_equations(system, "link"))
    for q, v in zip(*cases.states(system, 10), strict=True):
        m0, m1 = analytic.markers(system, pairing, np.asarray(q), np.asarray(v))
        v0, v1 = np.split(np.asarray(v), [m0.J.shape[1]])
        levels = equations(q, v)
        np.testing.assert_allclose(levels.position, (m1.p - m0.p)[:n], atol=1e-13)
        np.testing.assert_allclose(levels.velocity, (m1.v - m0.v)[:n], atol=1e-12)
        np.testing.assert_allclose(levels.jacobian, np.hstack([-m0.J, m1.J])[:n], atol=1e-13)
        np.testing.assert_allclose(levels.acceleration, -(m1.H @ v1 - m0.H @ v0)[:n], atol=1e-12)


def test_outputs_of_a_hinge_in_the_plane_point_from_marker_0_to_marker_1():
    rng = np.random.default_rng(4)
    places, velocities = rng.normal(size=(2, 2, 2))
    angles, spins, multiplier = rng.normal(size=(3, 2))
    config = tuple(mbs.PlanarPose(*map(jnp.asarray, (p, a, 0 * p))) for p, a in zip(places, angles, strict=True))
    flow = tuple(mbs.PlanarTwist(*map(jnp.asarray, x)) for x in zip(velocities, spins, strict=True))
    found = mbs.RevoluteJoint2D().outputs(jnp.zeros(()), config, flow, jnp.asarray(multiplier))
    np.testing.assert_array_equal(found["displacement"], places[1] - places[0])
    np.testing.assert_array_equal(found["velocity"], velocities[1] - velocities[0])
    np.testing.assert_allclose(found["angle"], angles[1] - angles[0], rtol=1e-15)
    np.testing.assert_allclose(found["angular_velocity"], spins[1] - spins[0], rtol=1e-15)
    np.testing.assert_array_equal(found["force"], multiplier)
    c, s = np.cos(angles[0]), np.sin(angles[0])
    np.testing.assert_allclose(found["force_local"], [[c, s], [-s, c]] @ multiplier, rtol=1e-14)


def test_outputs_of_a_ball_joint_point_from_marker_0_to_marker_1():
    rng = np.random.default_rng(4)
    places, velocities, spins, turns = rng.normal(size=(4, 2, 3))
    multiplier = rng.normal(size=3)
    R = [Rotation.from_rotvec(turn).as_matrix() for turn in turns]
    config = tuple(mbs.Pose(*map(jnp.asarray, x)) for x in zip(places, R, strict=True))
    flow = tuple(mbs.Twist(*map(jnp.asarray, x)) for x in zip(velocities, spins, strict=True))
    found = mbs.SphericalJoint().outputs(jnp.zeros(()), config, flow, jnp.asarray(multiplier))
    np.testing.assert_array_equal(found["displacement"], places[1] - places[0])
    np.testing.assert_array_equal(found["velocity"], velocities[1] - velocities[0])
    np.testing.assert_allclose(found["rotation"], Rotation.from_matrix(R[0].T @ R[1]).as_rotvec(), rtol=1e-13)
    np.testing.assert_allclose(found["angular_velocity"], R[0].T @ (spins[1] - spins[0]), rtol=1e-13)
    np.testing.assert_array_equal(found["force"], multiplier)
    np.testing.assert_allclose(found["force_local"], R[0].T @ multiplier, rtol=1e-13)


@pytest.mark.parametrize(("tie", "pairing"), of(cases.CONSTRAINTS, TIES))
def test_coordinate_constraint_equals_the_formulas(tie, pairing):
    """c = r q1 - q0 - o: its rows hold the markers' coordinates only, the rate of the quaternion's z among them."""
    system, t, r = cases.constrained(tie, pairing), 0.6, 0.7
    q, v = (np.asarray(x[0]) for x in cases.states(system, 1))
    rows, values, curvatures = [], [], []
    for kind, name in zip(pairing.split("-"), "ab", strict=True):
        if kind == "ground":
            rows.append(np.zeros(0))
            values.append(0.0)
            curvatures.append(0.0)
            continue
        at, along = q[system.coordinates(name)], v[system.velocities(name)]
        values.append(at[-1])
        if kind == "spatial":
            w, x, y, z = at[3:]
            rows.append(0.5 * np.array([0, 0, 0, -y, x, w]))
            # A quaternion that turns with a constant body-fixed angular velocity: Q'' = -|w|^2 / 4 Q.
            curvatures.append(-0.25 * z * np.sum(along[3:] ** 2))
        else:
            rows.append(np.eye(3)[2])
            curvatures.append(0.0)
    o = [0.4, 0.0, 0.0]
    if tie != "CoordinateConstraint":
        o = [1.2 + 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)]
    on_velocity = tie.endswith("velocity")
    G = np.concatenate([-rows[0], r * rows[1]])
    levels = mbs.constraint_equations(system, "link")(jnp.asarray(q), jnp.asarray(v), {}, t)
    if on_velocity:
        assert levels.position is None
    else:
        np.testing.assert_allclose(levels.position, [r * values[1] - values[0] - o[0]], atol=1e-13)
    np.testing.assert_allclose(levels.jacobian, [G], atol=1e-13)
    np.testing.assert_allclose(levels.velocity, [G @ v - o[0 if on_velocity else 1]], atol=1e-12)
    gamma = curvatures[0] - r * curvatures[1] + o[1 if on_velocity else 2]
    np.testing.assert_allclose(levels.acceleration, [gamma], atol=1e-12)


@pytest.mark.parametrize("first_is_ground", [True, False])
def test_compound_pendulum(first_is_ground):
    """About the hinge: (I + m s^2) angle'' = -m g s sin(angle); the hinge carries weight and inertia of the mass."""
    m, inertia, s, angle, spin, g = 1.7, 0.4, 0.6, 0.5, 2.0, 9.81
    model = mbs.Model(gravity=(0, -g, 0))
    down, across = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    hinge = np.array([0.3, 0.8])
    body = mbs.RigidBody2D(m, inertia)
    bar = model.add(
        "bar", body, position=hinge + s * down, angle=angle, velocity=s * spin * across, angular_velocity=spin
    )
    ends = (model.ground.at(*hinge, 0.7), bar.at(0, s))
    model.add("hinge", mbs.RevoluteJoint2D(), between=ends if first_is_ground else ends[::-1])
    system = model.assemble()
    levels = mbs.constraint_equations(system, "hinge")(*system.initial_state())
    np.testing.assert_allclose([*levels.position, *levels.velocity], 0, atol=1e-15)
    acceleration = -m * g * s * np.sin(angle) / (inertia + m * s**2) * s * across - spin**2 * s * down
    on_the_bar = m * (acceleration + np.array([0, g]))
    found = mbs.Outputs(system, 0.0, *system.initial_state())
    sign = 1 if first_is_ground else -1
    np.testing.assert_allclose(found["bar.acceleration"][:2], acceleration, rtol=1e-12)
    np.testing.assert_allclose(found["hinge.force"], -sign * on_the_bar, rtol=1e-12)
    # A hinge in the plane sees nothing of z.
    np.testing.assert_allclose(found["hinge.displacement"], [0, 0], atol=1e-15)
    np.testing.assert_allclose(found["hinge.angle"], sign * angle, rtol=1e-14)
    np.testing.assert_allclose(found["hinge.angular_velocity"], sign * spin, rtol=1e-14)
    np.testing.assert_allclose(found["hinge.velocity"], 0, atol=1e-15)


def test_chain_of_one_name_carries_what_hangs_below():
    """Hinges of one name between ground, bodies and a particle: each pulls its marker 0 down by the weight below it."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    rod = mbs.RigidBody2D(mass=np.array([1.0, 2.0, 3.0]), inertia=0.1)
    rods = model.add("rods", rod, position=[(0, -0.5), (0, -1.5), (0, -2.5)])
    bob = model.add("bob", mbs.MassPoint(4.0), position=(0, -3, 0.2))
    tops, bottoms = rods.at(0, 0.5), rods.at(0, -0.5)
    model.add("hinges", mbs.RevoluteJoint2D(), between=([model.ground, bottoms], [tops, bob]))
    system = model.assemble()
    levels = mbs.constraint_equations(system, "hinges")(*system.initial_state())
    np.testing.assert_allclose(levels.position, np.zeros(8), atol=1e-15)
    found = mbs.Outputs(system, 0.0, *system.initial_state())["hinges.force"]
    below = 9.81 * np.array([10.0, 9.0, 7.0, 4.0])
    np.testing.assert_allclose(found, np.stack([0 * below, -below], axis=1), atol=1e-12)


def top(first_is_ground=True):
    """A heavy body that turns about a fixed point of it."""
    model = mbs.Model(gravity=(0.4, -0.3, -9.81))
    body = mbs.RigidBody(2.1, cases.INERTIA, center_of_mass=cases.OFFSET)
    place, spin = np.array([0.2, -0.1, 0.5]), np.array([1.0, -2.0, 3.0])
    body = model.add("top", body, position=place, rotation=(0.3, -0.8, 0.5), angular_velocity=spin)
    ends = (model.ground.at(*place), body)
    model.add("joint", mbs.SphericalJoint(), between=ends if first_is_ground else ends[::-1])
    model.sense("acceleration", mbs.Acceleration(body.at(*cases.OFFSET)))
    return model.assemble(), spin


@pytest.mark.parametrize("first_is_ground", [True, False])
def test_heavy_top(first_is_ground):
    """About the fixed point: (I + m (r^2 - r r^T)) w' = r x m g - w x I w - m r x (w x (w x r)), all in the world."""
    system, w = top(first_is_ground)
    q, v = system.initial_state()
    m, g = 2.1, np.array([0.4, -0.3, -9.81])
    R = analytic.rotation(np.asarray(q)[3:])
    r, inertia = R @ cases.OFFSET, R @ cases.INERTIA @ R.T
    centripetal = np.cross(w, np.cross(w, r))
    moment = np.cross(r, m * (g - centripetal)) - np.cross(w, inertia @ w)
    turning = np.linalg.solve(inertia + m * (r @ r * np.eye(3) - np.outer(r, r)), moment)
    acceleration = np.cross(turning, r) + centripetal
    on_the_top = m * (acceleration - g)
    found = mbs.Outputs(system, 0.0, q, v)
    np.testing.assert_allclose(found["acceleration"], acceleration, rtol=1e-11)
    np.testing.assert_allclose(found["joint.force"], -on_the_top if first_is_ground else on_the_top, rtol=1e-11)
    np.testing.assert_allclose(found["joint.displacement"], 0, atol=1e-15)
    np.testing.assert_allclose(found["joint.velocity"], 0, atol=1e-15)


def gears(ratio, first=0.5, second=0.2, torque=3.0):
    """Two rotors with angles q0 = ratio q1 + constant, and a torque on the first."""
    model = mbs.Model()
    a = model.add("a", mbs.RotationalMass1D(first), angle=0.3, angular_velocity=2.0)
    b = model.add("b", mbs.RotationalMass1D(second), angle=-0.1, angular_velocity=2.0 / ratio)
    mesh = mbs.CoordinateConstraint(ratio, -0.1 * ratio - 0.3)
    # A body of one coordinate may be given by all of them.
    model.add("mesh", mesh, between=(a.coordinate(0), b.coordinates))
    model.add("drive", mbs.CoordinateLoad(torque), on=a.coordinate(0))
    return model.assemble()


@pytest.mark.parametrize("ratio", [4.0, -2.5])
def test_gears(ratio):
    """I0 q0'' = T + lambda, I1 q1'' = -r lambda, q0'' = r q1''."""
    system = gears(ratio)
    q, v = system.initial_state()
    levels = mbs.constraint_equations(system, "mesh")(q, v)
    np.testing.assert_allclose([*levels.position, *levels.velocity], 0, atol=1e-15)
    found = mbs.Outputs(system, 0.0, q, v)
    np.testing.assert_allclose(found["mesh.force"], -0.2 * 3.0 / (0.5 * ratio**2 + 0.2), rtol=1e-13)
    np.testing.assert_allclose(found["mesh.displacement"], -0.4, rtol=1e-13)
    np.testing.assert_allclose(found["mesh.velocity"], 2.0 / ratio - 2.0, rtol=1e-13)
    np.testing.assert_allclose(found["mesh.constraint_equation"], 0, atol=1e-15)
    slope = jax.grad(
        lambda r: mbs.Outputs(system.with_params({"mesh": {"factor": r}}), 0.0, q, v)["mesh.force"]
    )(jnp.asarray(ratio))  # fmt: skip
    np.testing.assert_allclose(slope, 0.2 * 3.0 * ratio / (0.5 * ratio**2 + 0.2) ** 2, rtol=1e-12)


def guided(offset, first_is_ground=True, velocity_level=False, active=True):
    """A particle of 2 kg that is led along y, at x = 1, y = 2; outputs at t = 0.5."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    a = model.add("a", mbs.MassPoint2D(2.0), position=(1, 2), velocity=(3, 4))
    ends = (model.ground, a.coordinate(1))
    law = mbs.CoordinateConstraint(offset=offset, velocity_level=velocity_level)
    model.add("guide", law, between=ends if first_is_ground else ends[::-1], active=active)
    system = model.assemble()
    return mbs.Outputs(system, 0.5, *system.initial_state())


def test_prescribed_motion():
    """y = o(t) by ground as marker 0, y = -o(t) as marker 1: m y'' = -m g - lambda, or + lambda."""
    found = guided(lambda t: t**3)
    np.testing.assert_allclose(found["guide.force"], -2.0 * (9.81 + 6 * 0.5), rtol=1e-13)
    np.testing.assert_allclose(found["a.acceleration"], [0, 3.0, 0], atol=1e-13)
    np.testing.assert_allclose(found["guide.constraint_equation"], 2.0 - 0.5**3, rtol=1e-13)
    np.testing.assert_allclose([found["guide.displacement"], found["guide.velocity"]], [2.0, 4.0])
    found = guided(lambda t: t**3, first_is_ground=False)
    np.testing.assert_allclose(found["guide.force"], 2.0 * (9.81 - 6 * 0.5), rtol=1e-13)
    np.testing.assert_allclose(found["guide.constraint_equation"], -2.0 - 0.5**3, rtol=1e-13)
    np.testing.assert_allclose([found["guide.displacement"], found["guide.velocity"]], [-2.0, -4.0])


def test_velocity_level_has_the_multiplier_of_the_motion_it_prescribes():
    found = guided(lambda t: 3 * t**2, velocity_level=True)
    np.testing.assert_allclose(found["guide.force"], -2.0 * (9.81 + 6 * 0.5), rtol=1e-13)
    np.testing.assert_allclose(found["guide.constraint_equation"], 4.0 - 3 * 0.5**2, rtol=1e-13)


def test_switched_off_only_the_kinematic_outputs_go_on():
    found = guided(5.0, active=False)
    assert found["guide.force"] == found["guide.constraint_equation"] == 0
    np.testing.assert_allclose([found["guide.displacement"], found["guide.velocity"]], [2.0, 4.0])
    np.testing.assert_allclose(found["a.acceleration"], [0, -9.81, 0])
