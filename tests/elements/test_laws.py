"""Closed forms of single laws: planar springs, curves, loads, fields."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..zoo.cases import INERTIA, TABLE


def planar(law, distance=2.0, speed=(0.5, 0.0), angles=(0.0, 0.3), spins=(0.0, 0.7), ends=((0, 0), (0, 0))):
    """Two planar bodies on the x axis: child "a" at the origin, parent "b"."""
    model = mbs.Model()
    a = model.add("a", mbs.RigidBody2D(1.0, 0.2), angle=angles[0], angular_velocity=spins[0])
    b = model.add(
        "b",
        mbs.RigidBody2D(1.0, 0.2),
        position=(distance, 0),
        angle=angles[1],
        velocity=speed,
        angular_velocity=spins[1],
    )
    model.add("link", law, between=(a.at(*ends[0]), b.at(*ends[1])))
    system = model.assemble()
    state = system.initial_state()
    return np.asarray(mbs.connector_force(system, "link")(*state)), mbs.Outputs(system, 0.0, *state)


def test_force_of_a_linear_spring():
    force, found = planar(mbs.LinearSpringDamper(40.0, 3.0, 0.1, 1.5))
    f = 40 * (2.0 - 1.5 + 0.1) + 3 * 0.5
    np.testing.assert_allclose(force, [f, 0, 0, -f, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found["link.force_local"], f)
    np.testing.assert_allclose(found["link.stretch"], 0.6)


def test_free_length_and_angle_are_measured_at_the_start():
    force, _ = planar(mbs.LinearSpringDamper(40.0), ends=((0, 0.3), (0.2, -0.1)))
    np.testing.assert_allclose(force, 0, atol=1e-12)
    force, _ = planar(mbs.RotationalSpringDamper(5.0))
    np.testing.assert_allclose(force, 0, atol=1e-12)
    model = mbs.Model()
    row = model.add("row", mbs.MassPoint(np.ones(3)), position=[(1, 0, 0), (3, 0, 0), (7, 0, 0)])
    model.add("spring", mbs.LinearSpringDamper(1.0), between=([model.ground, row[0], row[1]], row))
    np.testing.assert_allclose(model.assemble().params()["spring"]["reference_length"], [1, 2, 4])


@pytest.mark.parametrize(
    ("kind", "distance", "acts"),
    [("tensile", 2.0, 1), ("tensile", 1.0, 0), ("compressive", 2.0, 0), ("compressive", 1.0, 1)],
)
@pytest.mark.parametrize("gate_damper", [True, False])
def test_one_sided_springs(kind, distance, acts, gate_damper):
    law = mbs.LinearSpringDamper(40.0, 3.0, 0.0, 1.5, type=kind, gate_damper=gate_damper)
    force, _ = planar(law, distance)
    f = acts * 40 * (distance - 1.5) + 3 * 0.5 * (acts if gate_damper else 1)
    np.testing.assert_allclose(force[0], f, atol=1e-12)


def test_what_is_measured_belongs_to_its_own_instance_whatever_its_markers_are_on():
    """Markers on ground and on masses by turns: instances are not stored in the order in which they were given."""
    model = mbs.Model()
    row = model.add("row", mbs.MassPoint(np.ones(4)), position=[(1, 0, 0), (3, 0, 0), (7, 0, 0), (15, 0, 0)])
    ends = [row[0], model.ground, row[1], model.ground]
    model.add("spring", mbs.LinearSpringDamper(1.0), between=(ends, [row[3], row[1], row[2], row[0]]))
    system = model.assemble()
    np.testing.assert_allclose(system.params()["spring"]["reference_length"], [14, 3, 4, 1])
    np.testing.assert_allclose(system.applied_forces(0.0, *system.initial_state()), 0, atol=1e-14)


def test_soft_gate_tends_to_the_sharp_one():
    for kind in ("tensile", "compressive"):
        for distance in (1.2, 1.8):
            sharp, _ = planar(mbs.LinearSpringDamper(40.0, 3.0, 0.0, 1.5, type=kind), distance)
            soft, _ = planar(mbs.LinearSpringDamper(40.0, 3.0, 0.0, 1.5, type=kind, gate_width=0.005), distance)
            np.testing.assert_allclose(soft, sharp, atol=1e-10)
    middle, _ = planar(mbs.LinearSpringDamper(40.0, 0.0, 0.0, 1.5, type="tensile", gate_width=0.2), 1.5)
    np.testing.assert_allclose(middle[0], 40 * 0.2 * np.log(2))


def tabular(stretch, **options):
    law = mbs.LinearSpringDamper(0.0, 0.0, 0.0, 5.0, type="tabular", curve=TABLE, **options)
    return planar(law, 5.0 + stretch)[0][0]


@pytest.mark.parametrize("interpolation", ["linear", "smooth"])
def test_tabular_springs_pass_through_their_points(interpolation):
    for stretch, force in TABLE:
        np.testing.assert_allclose(tabular(stretch, interpolation=interpolation), force, atol=1e-12)


def test_tabular_springs_between_and_outside_their_points():
    np.testing.assert_allclose(tabular(0.35), 1.5, atol=1e-12)
    np.testing.assert_allclose(tabular(4.0), 5.0)
    np.testing.assert_allclose(tabular(-3.0), -9.0)
    np.testing.assert_allclose(tabular(4.0, extrapolate="linear"), 5 + 1.5 * 2 / 1.8, rtol=1e-12)
    from scipy.interpolate import PchipInterpolator

    # Where both tangents are those of inner points, they are those of scipy's monotone cubic.
    between = np.linspace(-0.45, 0.65, 7)
    smooth = np.array([tabular(s, interpolation="smooth") for s in between])
    np.testing.assert_allclose(smooth, PchipInterpolator(*TABLE.T)(between), atol=1e-12)
    inner = np.linspace(-1.9, 2.4, 23)
    values = np.array([tabular(s, interpolation="smooth") for s in inner])
    assert np.all(np.diff(values) > 0)


def test_masks():
    law = lambda **options: mbs.LinearSpringDamper(40.0, 0.0, 0.0, 1.0, dof_constraint=(True, False, True), **options)
    ends = ((0, 0), (0, 1.0))
    force, _ = planar(law(), 1.0, ends=ends, angles=(0, 0))
    f = 40 * (np.sqrt(2) - 1) / np.sqrt(2)
    np.testing.assert_allclose(force, [0, f, 0, 0, -f, 0], atol=1e-12)
    force, _ = planar(law(mask="kinematic"), 1.0, ends=((0, 0), (0, 1.5)), angles=(0, 0))
    np.testing.assert_allclose(force, [0, 20, 0, 0, -20, 0], atol=1e-12)


def test_eccentric_spring_turns_its_body():
    force, found = planar(
        mbs.LinearSpringDamper(40.0, 0.0, 0.0, 1.0), ends=((0, 0), (0, 0.5)), angles=(0, 0), speed=(0, 0), spins=(0, 0)
    )
    L = np.hypot(2, 0.5)
    pull = 40 * (L - 1) * np.array([2, 0.5]) / L
    np.testing.assert_allclose(force, [*pull, 0, *-pull, 0.5 * pull[0]], rtol=1e-12)
    np.testing.assert_allclose(found["link.torque1"], 0.5 * pull[0])


def test_rotational_coupling():
    force, found = planar(mbs.LinearSpringDamper(40.0, 0.0, 0.0, 1.0, 0.05, 0.02))
    torque = 40.0 * (0.05 * 0.3 + 0.02 * 0.7)
    np.testing.assert_allclose(force[[2, 5]], [torque, -torque], rtol=1e-12)
    np.testing.assert_allclose([found["link.torque0"], found["link.torque1"]], [torque, -torque])


OFF_CENTRE = [
    mbs.RigidBody2D(mass=1.5, inertia=0.3, center_of_mass=(0.2, -0.1)),
    mbs.RigidBody(1.5, np.diag([0.2, 0.2, 0.3]), (0.2, -0.1, 0.0)),
]


@pytest.mark.parametrize("second", [0, 1], ids=["ground first", "body first"])
@pytest.mark.parametrize("body", OFF_CENTRE, ids=lambda body: type(body).__name__)
def test_torques_are_about_the_centre_of_mass_and_on_ground_about_the_marker(body, second):
    """Of the body, whose frame is not at its centre of mass, by its equation of motion; of ground wherever it is."""
    for shift in (0.0, 7.0):
        model = mbs.Model()
        name = "angle" if isinstance(body, mbs.RigidBody2D) else "rotation"
        initial = {name: 0.4 if name == "angle" else (0, 0, 0.4)}
        place = (shift, shift) if name == "angle" else (shift, shift, 0)
        bar = model.add("bar", body, position=place, **initial)
        ends = [model.ground.at(shift + 1.0, shift + 0.5), bar.at(0.6, 0.3, 0)]
        law = mbs.LinearSpringDamper(40.0, 0.0, 0.0, 0.3, 0.05)
        model.add("strap", law, between=ends if second == 0 else ends[::-1])
        outputs = mbs.Outputs(system := model.assemble(), 0.0, *system.initial_state())
        on = ("strap.torque0", "strap.torque1") if second == 0 else ("strap.torque1", "strap.torque0")
        coupling = abs(float(outputs["strap.force_local"])) * 0.05 * 0.4
        # The body has the larger angle, so it is turned back and ground along.
        np.testing.assert_allclose(outputs[on[0]], coupling, rtol=1e-12)
        spin = np.asarray(outputs.accelerations()[0])[-1]
        np.testing.assert_allclose(outputs[on[1]], 0.3 * spin, rtol=1e-12)
        assert abs(float(outputs[on[1]]) + coupling) > 1


def test_isotropic_damper_brakes_sideways():
    force, _ = planar(mbs.LinearSpringDamper(0.0, 7.0, 0.0, 1.0, damper="isotropic"), speed=(0, 1))
    np.testing.assert_allclose(force[:2], [0, 7], atol=1e-12)
    force, _ = planar(mbs.LinearSpringDamper(0.0, 7.0, 0.0, 1.0), speed=(0, 1))
    np.testing.assert_allclose(force[:2], 0, atol=1e-12)


def test_rotational_spring_counts_full_turns():
    force, found = planar(mbs.RotationalSpringDamper(5.0, 0.4, 0.1, 0.0), angles=(0.0, 4 * np.pi + 0.3))
    torque = 5 * (4 * np.pi + 0.4) + 0.4 * 0.7
    np.testing.assert_allclose(force[[2, 5]], [torque, -torque], rtol=1e-12)
    np.testing.assert_allclose(found["link.rotation"], 4 * np.pi + 0.3)
    force, found = planar(mbs.RotationalSpringDamper(5.0, 0.4, dof_constraint=(False, False, True)))
    np.testing.assert_allclose(force, 0)


TURN = np.array([0.3, -0.6, 0.9])


@pytest.mark.parametrize("body_fixed", [False, True])
def test_force_and_torque_on_a_spatial_body(body_fixed):
    from scipy.spatial.transform import Rotation

    R = Rotation.from_rotvec(TURN).as_matrix()
    f, m, s = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, -0.7]), np.array([0.2, 0.1, -0.3])
    model = mbs.Model()
    body = model.add("body", mbs.RigidBody(2.0, INERTIA), rotation=TURN)
    model.add("push", mbs.Force(f, body_fixed), on=body.at(*s))
    model.add("twist", mbs.Torque(m, body_fixed), on=body)
    system = model.assemble()
    state = system.initial_state()
    world_f, world_m = (R @ f, R @ m) if body_fixed else (f, m)
    push, twist = (np.asarray(mbs.connector_force(system, n)(*state)) for n in ("push", "twist"))
    np.testing.assert_allclose(push[:3], world_f, atol=1e-13)
    np.testing.assert_allclose(push[3:], np.cross(s, R.T @ world_f), atol=1e-13)
    np.testing.assert_allclose(twist, [0, 0, 0, *(R.T @ world_m)], atol=1e-13)
    found = mbs.Outputs(system, 0.0, *state)
    np.testing.assert_allclose(found["push.force"], world_f, atol=1e-13)
    np.testing.assert_allclose(found["twist.torque"], world_m, atol=1e-13)


def test_loads_of_time():
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(2.0))
    b = model.add("b", mbs.Mass1D(2.0))
    model.add("push", mbs.Force(lambda t: jnp.stack([jnp.cos(t), 0 * t, t])), on=a)
    model.add("pull", mbs.CoordinateLoad(lambda t: 3 * t**2), on=b.coordinate(0))
    solution = mbs.simulate(model.assemble(), t1=1.5, rtol=1e-10, atol=1e-12)
    t = np.asarray(solution.t)
    np.testing.assert_allclose(solution["a.velocity"], np.stack([np.sin(t) / 2, 0 * t, t**2 / 4], axis=1), atol=1e-9)
    np.testing.assert_allclose(solution["b.velocity"][:, 0], t**3 / 2, atol=1e-9)
    np.testing.assert_allclose(solution["pull.load"], 3 * t**2, rtol=1e-12)


@pytest.mark.parametrize("softening", ["document", "plummer"])
@pytest.mark.parametrize("own_mass", [True, False])
def test_all_pairs_equal_single_connectors(softening, own_mass):
    """23 bodies, so that there is more than one tile, on bodies of three kinds."""
    rng = np.random.default_rng(1)
    masses = rng.uniform(0.5, 2.0, 23)
    position = rng.normal(size=(23, 3))
    position[:, 2] = np.where(np.arange(23) < 6, 0, position[:, 2])
    law = dict(gravitational_constant=0.3, min_distance_regularization=0.4, softening=softening)
    together, pairs = mbs.Model(), mbs.Model()
    for model in (together, pairs):
        flat = model.add("flat", mbs.RigidBody2D(masses[:6], 0.1), position=position[:6, :2])
        points = model.add("points", mbs.MassPoint(masses[6:]), position=position[6:])
        bodies = [flat[:3], points[:10], flat[3:], points[10:]]
        order = [*range(3), *range(6, 16), *range(3, 6), *range(16, 23)]
        if model is together:
            explicit = None if own_mass else 2 * masses[order]
            model.add(
                "all",
                mbs.AllPairsGravity(
                    law["gravitational_constant"], explicit, law["min_distance_regularization"], softening, tile=8
                ),
                on=bodies,
            )
        else:
            handles = [h for group in bodies for h in group]
            i, j = np.triu_indices(23, 1)
            factor = 1.0 if own_mass else 2.0
            explicit = dict(mass0=factor * masses[order][i], mass1=factor * masses[order][j])
            model.add(
                "pairs",
                mbs.ConnectorGravity(**law, **explicit),
                between=([handles[k] for k in i], [handles[k] for k in j]),
            )
    systems = together.assemble(), pairs.assemble()
    forces = [np.asarray(s.applied_forces(0.0, *s.initial_state())) for s in systems]
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-11, atol=1e-12 * np.abs(forces[1]).max())
    energies = [float(s.potential_energy(0.0, s.initial_state()[0])) for s in systems]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-11)
    found = mbs.Outputs(systems[0], 0.0, *systems[0].initial_state())["all.force"]
    np.testing.assert_allclose(np.sum(found, axis=0), 0, atol=1e-11)
    slope = jax.jit(jax.grad(lambda q: systems[0].potential_energy(0.0, q)))(systems[0].initial_state()[0])
    np.testing.assert_allclose(-np.asarray(slope), forces[0], atol=1e-10 * np.abs(forces[0]).max())


@pytest.mark.parametrize("softening", ["document", "plummer"])
def test_bodies_do_not_attract_themselves_even_if_their_position_is_rounded_in_two_ways(softening):
    rng = np.random.default_rng(1)
    law, others = mbs.AllPairsGravity(1.0, np.ones(5), softening=softening), ~np.eye(5, dtype=bool)
    positions = rng.normal(size=(5, 3))
    again = positions * (1 + np.finfo(float).eps)
    assert np.all(positions != again)
    attract = jax.jit(lambda tile: law._attract(0.0, others, tile, positions))
    (exact, change), (found, turned) = (jax.jvp(attract, (x,), (np.ones((5, 3)),)) for x in (positions, again))
    np.testing.assert_allclose(found, exact, atol=1e-12 * np.abs(exact).max())
    np.testing.assert_allclose(turned, change, atol=1e-12 * np.abs(change).max())
    energies = [law._potentials(others, x, positions) for x in (positions, again)]
    np.testing.assert_allclose(*energies, rtol=1e-12)


# Where the formulas of ROMtools' page or source are wrong, the right ones hold.


def off_centre(law, **options):
    """A child at rest in the origin, a parent turned and turning with its attachment off its centre."""
    return planar(law, angles=(0.0, 0.6), spins=(0.0, 1.7), ends=((0, 0), (0.3, 0.5)), **options)


def test_the_page_subtracts_the_rest_length_twice():
    force, found = planar(mbs.LinearSpringDamper(40.0), speed=(0, 0), spins=(0, 0), angles=(0, 0))
    relative = np.array([2.0, 0.0]) - np.array([2.0, 0.0])  # r_p - r_c - (l0x, l0y)
    literal = 40 * (np.linalg.norm(relative) - 2.0)
    np.testing.assert_allclose(force, 0, atol=1e-12)
    assert abs(literal - float(found["link.force_local"])) > 1


def test_initial_displacements_are_kept_in_x_and_y():
    """l0x and l0y of the page: measured or given; l0 is their length, and r_rel the displacement less both."""
    ends = dict(ends=((0, 0), (0, 1.5)), angles=(0, 0), spins=(0, 0), speed=(0, 0))
    _, found = planar(mbs.LinearSpringDamper(40.0), **ends)
    params = found.system.params()["link"]
    np.testing.assert_allclose(params["reference_displacement"], [2.0, 1.5], rtol=1e-14)
    np.testing.assert_allclose(params["reference_length"], 2.5, rtol=1e-14)
    moved = mbs.Outputs(found.system, 0.0, found.q.at[3].add(0.25), found.v)
    np.testing.assert_allclose(moved["link.relative_displacement"], [0.25, 0.0], atol=1e-14)
    np.testing.assert_allclose(moved["link.displacement"], [2.25, 1.5], rtol=1e-14)
    _, found = planar(mbs.LinearSpringDamper(40.0, reference_displacement=(0.6, 0.8)), **ends)
    np.testing.assert_allclose(found["link.force_local"], 40 * (2.5 - 1.0), rtol=1e-12)
    np.testing.assert_allclose(found["link.relative_displacement"], [1.4, 0.7], rtol=1e-12)
    _, found = planar(mbs.LinearSpringDamper(40.0, reference_length=2.0), **ends)
    np.testing.assert_allclose(found["link.stretch"], 0.5, rtol=1e-12)
    np.testing.assert_allclose(found["link.relative_displacement"], 0, atol=1e-14)


def test_the_preload_counts_once():
    """The source counts it twice."""
    _, found = planar(mbs.LinearSpringDamper(100.0, preload=0.01), speed=(0, 0), spins=(0, 0))
    np.testing.assert_allclose(found["link.force_local"], 100 * 0.01, rtol=1e-12)


def test_the_velocity_of_an_off_centre_point():
    """The source has another sign before y cos."""
    _, found = off_centre(mbs.LinearSpringDamper(0.0, 3.0, 0.0, 1.0))
    c, s, omega, v = np.cos(0.6), np.sin(0.6), 1.7, np.array([0.5, 0.0])
    x, y = 0.3, 0.5
    right = v + omega * np.array([-x * s - y * c, -y * s + x * c])
    np.testing.assert_allclose(found["link.velocity"], right, atol=1e-13)


def test_dampers_brake_motion_along_the_spring_alone():
    """The page has F_c = c |v|: the same force whichever way the bodies move, and for motion across the spring."""
    across, _ = planar(mbs.LinearSpringDamper(0.0, 7.0, 0.0, 1.0), speed=(0, 1))
    apart, _ = planar(mbs.LinearSpringDamper(0.0, 7.0, 0.0, 1.0), speed=(1, 0))
    together, _ = planar(mbs.LinearSpringDamper(0.0, 7.0, 0.0, 1.0), speed=(-1, 0))
    np.testing.assert_allclose([across[0], apart[0], together[0]], [0, 7, -7], atol=1e-12)


@pytest.mark.parametrize("couplings", [(0.05, 0.0), (0.0, 0.02)], ids=["angle", "rate"])
def test_couplings_of_rotations_pull_back_and_brake(couplings):
    """The page has mu_k |F| (tp - tc) - mu_c |F| (wp - wc) on one body: one term drives what the other brakes."""
    force, found = planar(mbs.LinearSpringDamper(40.0, 0.0, 0.0, 1.0, *couplings))
    f, angle, spin = float(found["link.force_local"]), 0.3, 0.7
    # On the parent the angle's term must pull back and the rate's must brake: both negative.
    on_parent, on_child = force[5], force[2]
    np.testing.assert_allclose(on_parent, -couplings[0] * f * angle - couplings[1] * f * spin, rtol=1e-12)
    np.testing.assert_allclose(on_child, -on_parent, rtol=1e-12)


@pytest.mark.parametrize("rate", [-0.3, -0.01, -1e-4, 2e-4, 0.02, 0.5])
def test_friction_is_its_formula(rate):
    law = mbs.Friction(2.0, 3.5, 0.02, 0.7, 1e-3, axis=(0, 0, 1))
    dry = 2.0 + (3.5 - 2.0) * np.exp(-((rate / 0.02) ** 2))
    found = law.law(jnp.zeros(()), jnp.zeros(()), jnp.asarray(rate))
    np.testing.assert_allclose(found, dry * np.tanh(rate / 1e-3) + 0.7 * rate, rtol=1e-12)


@pytest.mark.parametrize(("x", "rate"), [(0.3, 0.5), (0.3, -0.5), (-0.2, 0.5), (-0.2, -0.5), (0.3, -9.0), (0.05, 2.0)])
def test_stops_are_their_formula(x, rate):
    """Into a stop it damps, out of it it lets go, and it never pulls."""
    law = jax.tree.map(jnp.asarray, mbs.LimitStop(-0.1, 0.1, 800.0, 1.5, 0.4, axis=(0, 0, 1)))
    upper = max(0.0, 800.0 * max(x - 0.1, 0.0) ** 1.5 * (1 + 0.4 * rate))
    lower = max(0.0, 800.0 * max(-0.1 - x, 0.0) ** 1.5 * (1 - 0.4 * rate))
    found = law.law(jnp.zeros(()), jnp.asarray(x), jnp.asarray(rate))
    np.testing.assert_allclose(found, upper - lower, rtol=1e-12)
