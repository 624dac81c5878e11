"""Statics: against closed forms and Exudyn, from any start, with derivatives; refusals by name."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.analysis.statics import _raise_if_failed, _searched
from difmbs.simulation.arguments import warn_of_single_precision

from ..zoo.static_systems import WAYS, G, in_direction, linkage, net, net_data, pendulum, shifted


@functools.cache
def rods(n=5):
    """Point masses in a row of rods, laid out straight and level, with a load on the last one."""
    model = mbs.Model(gravity=(0, -G, 0))
    position = np.zeros((n, 3))
    position[:, 0] = 0.2 * np.arange(1, n + 1)
    masses = model.add("mass", mbs.MassPoint(np.linspace(0.1, 0.3, n)), position=position)
    model.add("rod", mbs.DistanceConstraint(np.full(n, 0.2)), between=([model.ground, masses[:-1]], masses))
    model.add("load", mbs.Force((1.5, 0.5, -0.7)), on=masses[n - 1])
    model.sense("tip", mbs.Position(masses[n - 1]))
    return model.assemble()


def all_outputs(system, params, **options):
    """Numbers that depend on all parameters of `linkage`: coordinates, multipliers, a force."""
    rest = mbs.static_equilibrium(system, params=params, **options)
    return jnp.concatenate([rest.q, rest["hinge.force"], rest["rod.force"][None], rest["spring.force_local"][None]])


def test_net_equals_exudyn():
    rest = mbs.static_equilibrium(net())
    assert rest.status == "ok"
    # Both solve to rounding, cond(K) = 1e3; Exudyn's residual is 2e-13 N.
    np.testing.assert_allclose(rest["mass.position"], net_data()["values"]["position"], atol=1e-12)


@pytest.mark.parametrize("load_steps", [1, 3])
def test_chain_of_rods_hangs_along_the_forces(load_steps):
    """Rod i points along all that hangs on it, and bears its size."""
    system = rods()
    rest = mbs.static_equilibrium(system, load_steps=load_steps)
    weights = np.outer(np.linspace(0.1, 0.3, 5), [0, -G, 0])
    tension = np.cumsum(weights[::-1], axis=0)[::-1] + np.array([1.5, 0.5, -0.7])
    size = np.linalg.norm(tension, axis=1, keepdims=True)
    # To rounding, in a system whose stiffness comes from tension alone.
    np.testing.assert_allclose(rest["mass.position"], np.cumsum(0.2 * tension / size, axis=0), atol=1e-12)
    np.testing.assert_allclose(rest["rod.force"], size[:, 0], rtol=1e-12)
    np.testing.assert_allclose(rest.multipliers["rod"], size[:, 0], rtol=1e-12)
    np.testing.assert_array_equal(rest["tip"], rest["mass.position"][-1])


def test_outputs_are_those_of_a_state_at_rest():
    system = rods()
    rest = mbs.static_equilibrium(system)
    moving = mbs.Outputs(system, 0.0, rest.q, jnp.zeros(15))
    np.testing.assert_allclose(rest["rod.force"], moving["rod.force"], rtol=1e-12)
    for quantity in ("velocity", "acceleration"):
        np.testing.assert_array_equal(rest[f"mass.{quantity}"], np.zeros((5, 3)))
    with pytest.raises(mbs.ParameterError, match=r"there is no sensor or element 'tp'. Did you mean 'tip'"):
        rest["tp"]


def test_functions_of_time_are_frozen():
    """A rod whose length accelerates: the forces are those of rest, not of the motion."""
    model = mbs.Model(gravity=(0, -G, 0))
    bob = model.add("bob", mbs.MassPoint2D(2.0), position=(0.0, -1.0))
    model.add("rod", mbs.DistanceConstraint(lambda t: 1 + t**2), between=(model.ground, bob))
    rest = mbs.static_equilibrium(model.assemble(), t=2.0)
    np.testing.assert_allclose(rest["bob.position"], [0, -5.0, 0], atol=1e-12)
    np.testing.assert_allclose(rest["rod.force"], 2 * G, rtol=1e-12)


def test_from_any_start_but_the_top_a_pendulum_comes_to_hang():
    angle = jnp.linspace(0.01, 3.13, 24)
    start = 0.5 * jnp.stack([jnp.sin(angle), -jnp.cos(angle)], axis=-1)
    batch = jax.vmap(lambda p: mbs.static_equilibrium(pendulum(), params={"bob": {"position": p}}))(start)
    assert set(batch.status) == {"ok"}
    np.testing.assert_allclose(batch.q, np.tile([0.0, -0.5], (24, 1)), atol=1e-12)
    np.testing.assert_allclose(batch["rod.force"], np.full(24, 2 * G), rtol=1e-12)
    assert np.all(batch.stable)
    top = mbs.static_equilibrium(pendulum(), params={"bob": {"position": [0.0, 0.5]}})
    np.testing.assert_allclose(top.q, [0, 0.5], atol=1e-12)
    np.testing.assert_allclose(top["rod.force"], -2 * G, rtol=1e-12)
    assert not top.stable


@functools.cache
def rope(n=100):
    """Rods of 1/n in a row, each with a mass of 0.1 kg at its end, laid out straight and level."""
    model = mbs.Model(gravity=(0, -G, 0))
    masses = model.add("mass", mbs.MassPoint2D(np.full(n, 0.1)), position=level(n))
    model.add("rod", mbs.DistanceConstraint(np.full(n, 1 / n)), between=([model.ground, masses[:-1]], masses))
    return model.assemble()


def level(n):
    return np.stack([np.arange(1, n + 1) / n, np.zeros(n)], axis=-1)


def bad_starts(n=100):
    """Crumpled, scattered, almost upright, folded, and with rods of three times and a third of their lengths."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(-np.pi, np.pi, (8, n))
    crumpled = np.cumsum(np.stack([np.cos(angles), np.sin(angles)], axis=-1) / n, axis=1)
    upright = level(n)[:, ::-1] + 1e-3 * level(n)
    folded = np.stack([(np.arange(1, n + 1) % 2) / n + 1e-6 * np.arange(n), np.zeros(n)], axis=-1)
    return np.stack([*crumpled, rng.normal(size=(n, 2)), upright, folded, 3 * level(n), 0.3 * level(n)])


def test_a_rope_hangs_down_from_bad_starts():
    starts = bad_starts()
    batch = jax.vmap(lambda p: mbs.static_equilibrium(rope(), params={"mass": {"position": p}}))(starts)
    assert set(batch.status) == {"ok"}
    assert np.all(batch.stable)
    # It passes many unstable equilibria, in which some rods point upwards.
    assert batch.iterations.max() < 1000
    hanging = -level(100)[:, ::-1]
    np.testing.assert_allclose(batch["mass.position"][..., :2], np.tile(hanging, (len(starts), 1, 1)), atol=1e-12)
    weight = 0.1 * G * np.arange(100, 0, -1)
    np.testing.assert_allclose(batch["rod.force"], np.tile(weight, (len(starts), 1)), rtol=1e-9)


def test_a_rope_between_two_points_hangs_in_tension():
    """Each mass is in balance, in the shape of the catenary's discrete counterpart: its left and right halves alike."""
    model = mbs.Model(gravity=(0, -G, 0))
    start = np.stack([np.linspace(0, 0.6, 22)[1:-1], 0.3 * np.sin(np.linspace(0, np.pi, 22)[1:-1])], axis=-1)
    masses = model.add("mass", mbs.MassPoint2D(np.full(20, 0.1)), position=start)
    ends = [model.ground, masses], [masses, model.ground.at(0.6, 0, 0)]
    model.add("rod", mbs.DistanceConstraint(np.full(21, 0.05)), between=ends)
    rest = mbs.static_equilibrium(model.assemble())
    # The start, an arch, is near an unstable equilibrium.
    assert np.all(np.asarray(rest["rod.force"]) > 0)
    points = np.concatenate([np.zeros((1, 2)), rest["mass.position"][:, :2], [[0.6, 0]]])
    np.testing.assert_allclose(points[::-1] * [-1, 1] + [0.6, 0], points, atol=1e-11)
    pulls = np.asarray(rest["rod.force"])[:, None] * np.diff(points, axis=0) / 0.05
    np.testing.assert_allclose(np.diff(pulls, axis=0), np.tile([0, 0.1 * G], (20, 1)), atol=1e-10)


def test_snap_through():
    """Two springs that meet in a low peak: beyond the largest load that they bear it snaps down."""
    k, height = 1000.0, 0.2
    length = np.hypot(1.0, height)
    model = mbs.Model()
    peak = model.add("peak", mbs.MassPoint2D(1.0), position=(0, height))
    springs = mbs.SpringDamper(np.full(2, length), np.full(2, k))
    model.add("spring", springs, between=([model.ground.at(-1.0), model.ground.at(1.0)], peak))
    model.add("load", mbs.Force((0, -1.0, 0)), on=peak)
    system = model.assemble()
    borne = lambda y: 2 * k * y * (length / np.hypot(1.0, y) - 1)
    largest = borne(np.linspace(0, height, 100001)).max()
    # On both sides of it, at a distance of down to 1e-4.
    share = 1 + np.concatenate([-np.geomspace(1e-4, 1, 20)[::-1], np.geomspace(1e-4, 1000, 30)])
    load = lambda size: {"load": {"load_vector": jnp.array([0, -1.0, 0]) * size}}
    batch = jax.vmap(lambda size: mbs.static_equilibrium(system, params=load(size)))(largest * share)
    assert set(batch.status) == {"ok"}
    assert np.all(batch.stable)
    x, y = np.asarray(batch.q).T
    np.testing.assert_allclose(x, np.zeros(50), atol=1e-12)
    np.testing.assert_allclose(borne(y), largest * share, atol=1e-9, rtol=1e-12)
    np.testing.assert_array_equal(y > 0, share < 1)


def test_a_stiff_spring_beside_a_soft_one():
    """Stiffnesses of 1e9 and 10 N/m, and a start from which they have to swing down."""
    model = mbs.Model(gravity=(0, -G, 0))
    a = model.add("a", mbs.MassPoint2D(1.0), position=(1.0, 0))
    b = model.add("b", mbs.MassPoint2D(1e-3), position=(2.0, 0))
    model.add("stiff", mbs.SpringDamper(1.0, 1e9), between=(model.ground, a))
    model.add("soft", mbs.SpringDamper(1.0, 10.0), between=(a, b))
    rest = mbs.static_equilibrium(model.assemble())
    bottom = -1 - 1.001 * G / 1e9
    np.testing.assert_allclose(rest.q, [0, bottom, 0, bottom - 1 - 1e-3 * G / 10], atol=1e-12)


def test_without_freedom_the_forces_are_found():
    """Two rods of 1 m to a point between supports 1 m apart."""
    model = mbs.Model(gravity=(0, -G, 0))
    joint = model.add("joint", mbs.MassPoint2D(1.0), position=(0.5, 0.9))
    model.add("rod", mbs.DistanceConstraint(np.ones(2)), between=([model.ground, model.ground.at(1.0)], joint))
    system = model.assemble()
    rest = mbs.static_equilibrium(system)
    assert rest.stable
    np.testing.assert_allclose(rest.q, [0.5, np.sqrt(0.75)], rtol=1e-12)
    np.testing.assert_allclose(rest["rod.force"], np.full(2, -0.5 * G / np.sqrt(0.75)), rtol=1e-12)
    slope = jax.jacfwd(lambda x: mbs.static_equilibrium(system, params={"rod": {"distance": x}}).q)(jnp.ones(2))
    np.testing.assert_allclose(slope, [[1, -1], np.full(2, np.tan(np.pi / 6))], rtol=1e-12)


def test_stability():
    """An upright arm on a torsional spring, too soft for its weight: m g a > k."""
    model = mbs.Model(gravity=(0, -G, 0))
    arm = model.add("arm", mbs.RigidBody2D(2.0, 0.1), position=(0, 0.5))
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground, arm.at(0, -0.5, 0)))
    model.add("spring", mbs.RotationalSpringDamper(5.0), between=(model.ground, arm))
    system = model.assemble()
    at = lambda angle: mbs.static_equilibrium(system, params={"arm": {"angle": angle}})
    upright = at(0.0)
    assert upright.status == "ok"
    assert not upright.stable
    np.testing.assert_allclose(upright.q, [0, 0.5, 0], atol=1e-12)
    tilted = at(1e-6)
    assert tilted.stable
    angle = tilted.q[2]
    assert angle > 1
    np.testing.assert_allclose(5.0 * angle, 2.0 * G * 0.5 * np.sin(angle), rtol=1e-12)
    np.testing.assert_allclose(at(-1e-6).q[2], -angle, rtol=1e-12)
    assert repr(upright).startswith("Equilibrium(status=ok, stable=False, ")
    assert mbs.static_equilibrium(system, params={"spring": {"stiffness": 10.0}}).stable


def test_hinged_arm_under_torque():
    """m g a cos(angle) = torque, and the hinge bears the weight."""
    model = mbs.Model(gravity=(0, -G, 0))
    arm = model.add("arm", mbs.RigidBody2D(2.0, 0.3), position=(0.4, 0))
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground, arm.at(-0.4, 0, 0)))
    model.add("torque", mbs.Torque((0, 0, 3.0)), on=arm)
    system = model.assemble()
    rest = mbs.static_equilibrium(system)
    angle = -np.arccos(3.0 / (2.0 * G * 0.4))
    np.testing.assert_allclose(rest["arm.rotation"], angle, rtol=1e-12)
    np.testing.assert_allclose(rest["arm.position"], [0.4 * np.cos(angle), 0.4 * np.sin(angle), 0], atol=1e-12)
    np.testing.assert_allclose(rest["hinge.force"], [0, -2.0 * G], atol=1e-11)
    slope = jax.grad(lambda x: mbs.static_equilibrium(system, params={"torque": {"load_vector": x}}).q[2])(
        jnp.array([0, 0, 3.0])
    )
    np.testing.assert_allclose(slope, [0, 0, -1 / (2.0 * G * 0.4 * np.sin(angle))], rtol=1e-12)
    with pytest.raises(mbs.SimulationError, match=r"no equilibrium was found: .*'arm'") as caught:
        mbs.static_equilibrium(system, params={"torque": {"load_vector": [0, 0, 30.0]}})
    assert caught.value.status == "newton_failed"


def test_spatial_body_hangs_below_its_suspension():
    model = mbs.Model(gravity=(0, 0, -G))
    body = mbs.RigidBody(2.0, np.diag([0.1, 0.2, 0.25]), center_of_mass=(0.05, 0, 0))
    plate = model.add("plate", body, position=(0.1, 0.2, -0.8), rotation=(0.3, 1.0, -0.2))
    model.add("wire", mbs.SpringDamper(0.5, 800.0), between=(model.ground.at(0, 0, 0.1), plate.at(0.3, 0.1, 0.2)))
    # Without it the body would be free to turn about the wire.
    model.add("guide", mbs.SpringDamper(0.0, 5.0), between=(model.ground.at(3.0, 0, -0.6), plate.at(-0.2, 0.3, 0.1)))
    rest = mbs.static_equilibrium(model.assemble())
    pulls = [rest[f"{name}.force"] for name in ("wire", "guide")]
    np.testing.assert_allclose(pulls[0] + pulls[1], [0, 0, -2.0 * G], atol=1e-11)
    centre = rest.q[:3]
    arms = [
        rest["plate.position"] + rest["plate.rotation"] @ np.array(p) - centre
        for p in ((0.3, 0.1, 0.2), (-0.2, 0.3, 0.1))
    ]
    np.testing.assert_allclose(np.cross(arms[0], pulls[0]) + np.cross(arms[1], pulls[1]), 0, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(rest.q[3:]), 1, rtol=1e-12)


def test_gradients_forwards_backwards_and_by_differences():
    """With respect to all parameters at once."""
    system = linkage()
    params = system.params()
    of = functools.partial(all_outputs, system)
    forwards, backwards = jax.jacfwd(of)(params), jax.jacrev(of)(params)
    for a, b in zip(jax.tree.leaves(forwards), jax.tree.leaves(backwards), strict=True):
        # Both are solutions with the same factors.
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    direction = in_direction(params)
    tangent = jax.jvp(of, (params,), (direction,))[1]
    h = 1e-5
    quotient = (of(shifted(params, direction, h)) - of(shifted(params, direction, -h))) / (2 * h)
    # Differences: h^2 times third derivatives, of the order 100, and rounding over h.
    np.testing.assert_allclose(tangent, quotient, rtol=1e-7, atol=1e-7 * np.abs(quotient).max())
    counts = {name for name, leaves in backwards.items() for x in leaves.values() if np.abs(x).max() > 0}
    assert counts == set(params)
    np.testing.assert_array_equal(backwards["bob"]["position"], np.zeros((9, 2)))


def pulled_aside(force):
    """The pendulum under a horizontal force."""
    params = {"gravity": {"acceleration": jnp.array([0.5, 0.0, 0.0]) * force + jnp.array([0.0, -G, 0.0])}}
    return mbs.static_equilibrium(pendulum(), params=params, throw=False)


def test_transformations_apply_to_the_same_call():
    of = lambda force: pulled_aside(force).q
    forces = jnp.array([1.0, 2.0, 30.0])
    exact = lambda x: 0.5 * np.stack([x, -2 * G + 0 * x], axis=-1) / np.sqrt(x**2 + 4 * G**2)[..., None]
    # The start is far away from the last one.
    np.testing.assert_allclose(jax.vmap(of)(forces), exact(np.asarray(forces)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(jax.jit(of)(2.0), exact(np.asarray(2.0)), rtol=1e-12)
    slopes = jax.vmap(jax.jacfwd(of))(forces)
    np.testing.assert_allclose(slopes[:, 1], 1 * G * forces / (forces**2 + 4 * G**2) ** 1.5, rtol=1e-11)


@pytest.mark.parametrize("inside_jit", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("system", [pendulum, net], ids=["constrained", "free"])
def test_second_derivatives_are_refused(system, way, inside_jit):
    of = lambda g: jnp.sum(mbs.static_equilibrium(system(), params={"gravity": {"acceleration": g}}).q ** 2)
    of = jax.jit(of) if inside_jit else of
    with pytest.raises(TypeError, match="first derivatives only"):
        WAYS[way](of)(jnp.array([0.0, -G, 0.0]))


def two_bodies(joined):
    """A held bob, and a disc that is not, joined to it or falling by itself."""
    model = mbs.Model(gravity=(0, 0 if joined else -G, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1.0, 0.2))
    disc = model.add("disc", mbs.RigidBody2D(np.ones(2), np.ones(2)), position=[(0.0, 0.0), (2.0, 0.0)])
    for i, x in enumerate((0.0, 2.0)):
        model.add(f"spring {i}", mbs.SpringDamper(0.5, 40.0), between=(model.ground.at(x, 1.0), bob))
    model.add("hold", mbs.LinearSpringDamper(30.0), between=(model.ground.at(0, 2.0), disc[0]))
    model.add("turn", mbs.RotationalSpringDamper(5.0), between=(model.ground, disc[0]))
    if joined:
        model.add("link", mbs.SpringDamper(1.0, 30.0), between=(bob, disc[1]))
    return model.assemble()


@pytest.mark.parametrize(
    ("joined", "status", "match"),
    [
        (False, "no_equilibrium", r"there is no equilibrium: 'disc\[1\]' moves away without end"),
        (True, "singular", r"the equilibrium is not unique: nothing holds 'disc\[1\]' in place"),
    ],
)
def test_a_free_body_is_named(joined, status, match):
    with pytest.raises(mbs.SimulationError, match=match) as caught:
        mbs.static_equilibrium(two_bodies(joined))
    assert caught.value.status == status
    assert caught.value.solution.status == status


def test_what_was_not_found_is_not_a_number_and_neither_is_its_derivative():
    batch = jax.vmap(pulled_aside)(jnp.array([1.0, jnp.nan, 2.0]))
    assert list(batch.status) == ["ok", "non_finite", "ok"]
    np.testing.assert_array_equal(np.isnan(batch.q[:, 0]), [False, True, False])
    np.testing.assert_array_equal(np.isnan(batch["rod.force"]), [False, True, False])
    slopes = jax.vmap(jax.jacfwd(lambda force: pulled_aside(force).q))(jnp.array([1.0, jnp.nan, 2.0]))
    np.testing.assert_array_equal(np.isnan(slopes[:, 0]), [False, True, False])
    with pytest.raises(mbs.SimulationError, match=r"not finite.*\(system 1 of the batch\)"):
        _raise_if_failed(batch)


def test_rods_that_cannot_meet_have_no_equilibrium():
    model = mbs.Model(gravity=(0, -G, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(0.5, -0.1))
    for name, x in (("left", 0.0), ("right", 1.0)):
        model.add(name, mbs.DistanceConstraint(0.4), between=(model.ground.at(x), bob))
    with pytest.raises(mbs.SimulationError, match=r"'bob' most.*check that the constraints can be met"):
        mbs.static_equilibrium(model.assemble())


def test_redundant_constraints_share_the_load():
    """Three equal rods side by side: the smallest multipliers are equal ones."""
    model = mbs.Model(gravity=(0, -G, 0))
    beam = model.add("beam", mbs.RigidBody2D(3.0, 0.2), position=(0.3, -0.9))
    for i, x in enumerate((-0.5, 0.0, 0.5)):
        model.add(f"rod {i}", mbs.DistanceConstraint(1.0), between=(model.ground.at(x), beam.at(x, 0, 0)))
    system = model.assemble(redundant="min_norm")
    of = lambda m: jnp.stack(list(mbs.static_equilibrium(system, params={"beam": {"mass": m}}).multipliers.values()))
    # The rods are regularized by 1e-8 and refined three times.
    np.testing.assert_allclose(of(3.0), np.full(3, G), rtol=1e-10)
    np.testing.assert_allclose(jax.jacrev(of)(3.0), np.full(3, G / 3), rtol=1e-10)


def test_single_precision():
    single = jax.tree.map(lambda x: x.astype(jnp.float32), net())
    warn_of_single_precision.cache_clear()
    with pytest.warns(UserWarning, match="single precision"):
        rest = mbs.static_equilibrium(single)
    assert rest.q.dtype == jnp.float32
    # eps k L = 2e-5 N, against a stiffness of about 0.1 N/m across the net.
    np.testing.assert_allclose(rest["mass.position"], net_data()["values"]["position"], atol=1e-3)


def test_new_numbers_do_not_compile_again():
    run = lambda k: mbs.static_equilibrium(net(), params={"spring": {"stiffness": np.full(40, k)}})
    run(150.0)
    before = _searched._cached._cache_size()
    run(250.0)
    mbs.static_equilibrium(net(), load_steps=2, t=1.0)
    assert _searched._cached._cache_size() == before


def contradicting():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bar = model.add("bar", mbs.RigidBody2D(2.0, 0.1), position=(0.5, 0.0))
    model.add("left", mbs.RevoluteJoint2D(), between=(model.ground, bar.at(-0.5, 0, 0)))
    model.add("right", mbs.RevoluteJoint2D(), between=(model.ground.at(1.2, 0, 0), bar.at(0.5, 0, 0)))
    return model.assemble(redundant="min_norm")


def two_lengths():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(0.0, -1.0))
    for name, length in (("short", 1.0), ("right", 1.01)):
        model.add(name, mbs.DistanceConstraint(length), between=(model.ground, bob))
    return model.assemble(redundant="min_norm")


@pytest.mark.parametrize("build", [contradicting, two_lengths])
def test_constraints_that_contradict_each_other_have_no_equilibrium(build):
    with pytest.raises(
        mbs.SimulationError, match=r"contradict each other\. At the start farthest off is: 'right', by 0\."
    ) as e:
        mbs.static_equilibrium(build())
    assert e.value.status == "contradictory"
    assert np.all(np.isnan(e.value.solution.q))


@pytest.mark.parametrize(("apart", "status"), [(1e-8, "ok"), (1e-4, "contradictory")])
def test_of_an_equilibrium_constraints_are_met_to_six_digits(apart, status):
    """Two rods between the same points: in the middle each is off by half of what their lengths differ by."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(0.0, -1.0))
    model.add("rods", mbs.DistanceConstraint([1.0, 1.0 + apart]), between=(model.ground, bob))
    found = mbs.static_equilibrium(model.assemble(redundant="min_norm"), throw=False)
    assert found.status == status


def test_constraints_that_are_switched_off_hold_nothing():
    """A mass on a spring, beside a rod that an event would switch on later."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(2.0), position=(0.3, -0.8))
    model.add("spring", mbs.SpringDamper(1.0, 40.0), between=(model.ground, bob))
    model.add("rod", mbs.DistanceConstraint(0.9), between=(model.ground, bob), active=False)
    model.add("catch", mbs.Event(1.0, switch={"rod": True}))
    found = mbs.static_equilibrium(model.assemble())
    np.testing.assert_allclose(found.q, [0, -1 - 2 * 9.81 / 40], atol=1e-9)
    assert found.stable
    assert found["rod.force"] == 0
