"""Constraints that repeat what others fix: the motion is right, multipliers are the smallest, both have derivatives."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..oracles.differences import quotients

UPWARDS = np.array([0.0, 1.0, 0.0])


def pendulum(redundant=True):
    """A bob on a rod, which another name repeats."""
    model = mbs.Model(gravity=-9.81 * UPWARDS)
    bob = model.add("bob", mbs.MassPoint2D(1.3), position=(0.8, -0.6), velocity=(0.3, 0.4))
    for name in ("rod", "again")[: 1 + redundant]:
        model.add(name, mbs.DistanceConstraint(1.0), between=(model.ground, bob))

    def params(size, mass, gravity):
        rod = {"distance": size}
        bob = {"mass": 1.3 * mass, "position": size * jnp.array([0.8, -0.6])}
        return {"bob": bob, "rod": rod, "gravity": weight(gravity)} | ({"again": rod} if redundant else {})

    return model, params


def parallelogram(redundant=True):
    """A beam, heavier on one side, on two parallel rods, and on a third one."""
    model = mbs.Model(gravity=-9.81 * UPWARDS)
    beam = mbs.RigidBody2D(mass=2.0, inertia=1.0, center_of_mass=(0.3, 0.1))
    beam = model.add("beam", beam, position=(0.6, -0.8), velocity=(0.8, 0.6))
    for name, x in (("left", -1.0), ("right", 1.0), ("third", 0.3))[: 2 + redundant]:
        model.add(name, mbs.DistanceConstraint(1.0), between=(model.ground.at(x, 0, 0), beam.at(x, 0, 0)))

    def params(size, mass, gravity):
        rods = {name: {"distance": size} for name in ("left", "right", "third")[: 2 + redundant]}
        return {"beam": {"mass": 2.0 * mass}, "gravity": weight(gravity), **rods}

    return model, params


CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]], float)
"""Of a cube, on the way along edges in x, y, z and back."""
AXES = np.cross(CORNERS - np.roll(CORNERS, 1, axis=0), np.roll(CORNERS, -1, axis=0) - CORNERS)
POINTS = np.stack([CORNERS, CORNERS + 0.5 * AXES], axis=1)
"""Two on the axis of each of Bricard's six hinges; the link between the first two is the ground."""
MASSES = np.linspace(0.8, 1.2, 8)
"""At the other eight points."""


def bricard(redundant=True):
    """Bricard's mechanism: six links and hinges in a ring, which only move because the hinges' axes meet so well.

    A link is a tetrahedron of rods between the points of two axes; each point is a mass. There are as many rods as
    coordinates, and nevertheless it moves.
    """
    model = mbs.Model(gravity=-9.81 * UPWARDS)
    points = POINTS.reshape(-1, 3)
    masses = model.add("mass", mbs.MassPoint(MASSES), position=points[4:])
    both = [(2 * i, 2 * i + 1) for i in range(2, 6)]
    both += [(2 * i + a, 2 * ((i + 1) % 6) + b) for i in range(1, 6) for a in (0, 1) for b in (0, 1)]
    # The last one, which is left out, is among those that depend on each other; those along axes are not.
    pairs = np.array([sorted(pair) for pair in both])
    lengths = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
    marker = lambda k: model.ground.at(*points[k]) if k < 4 else masses[k - 4]
    count = len(pairs) - (not redundant)
    ends = [[marker(k) for k in side] for side in pairs[:count].T.tolist()]
    model.add("rods", mbs.DistanceConstraint(lengths[:count]), between=ends)

    def params(size, mass, gravity):
        held = np.flatnonzero(pairs[:count, 0] < 4)
        rods = {"distance": size * lengths[:count], "marker0": size * points[pairs[held, 0]]}
        bodies = {"mass": mass * MASSES, "position": size * points[4:]}
        return {"mass": bodies, "rods": rods, "gravity": weight(gravity)}

    return model, params


def weight(gravity):
    return {"acceleration": -gravity * jnp.asarray(UPWARDS)}


MECHANISMS = {"pendulum": pendulum, "parallelogram": parallelogram, "Bricard": bricard}
METHODS = {
    "index 1": mbs.RungeKutta4(),
    "generalized-alpha": mbs.GeneralizedAlpha(),
    "trapezoidal": mbs.TrapezoidalIndex2(),
}
RUN = dict(t1=0.6, dt=2e-3, saveat=[0.3, 0.6])
AT = np.array([1.0, 1.0, 9.81])
"""All lengths together, so that constraints go on agreeing with each other; all masses together; gravity."""


def simulated(mechanism, method, redundant=True):
    system = MECHANISMS[mechanism](redundant)[0].assemble(redundant="min_norm" if redundant else "error")
    return mbs.simulate(system, solver=METHODS[method], **RUN)


def multipliers(solution):
    """At the last output, with G^T; G from the lengths that the rods have according to the coordinates."""
    system, t, q, v = solution.system, solution.t[-1], solution.q[-1], solution.v[-1]
    names = list(solution.multipliers)
    joined = lambda values: jnp.concatenate([jnp.ravel(values[name]) for name in names])
    lengths = lambda q: joined({name: mbs.Outputs(system, t, q, v)[f"{name}.distance"] for name in names})
    forces = joined({name: force[-1] for name, force in solution.multipliers.items()})
    return np.asarray(forces), np.asarray(jax.jacfwd(lengths)(q)).T


def table(*quick, but=()):
    """All mechanisms with all methods, these by default."""
    every = [(mechanism, method) for mechanism in MECHANISMS for method in METHODS]
    return [pytest.param(*x, marks=[] if x in quick else pytest.mark.slow) for x in every if x not in but]


@pytest.mark.parametrize(
    ("mechanism", "method"),
    table(("parallelogram", "generalized-alpha"), ("Bricard", "index 1")),
)
def test_motion_is_that_without_and_multipliers_are_the_smallest(mechanism, method):
    found, expected = (simulated(mechanism, method, redundant) for redundant in (True, False))
    # Not to rounding: projections of redundant constraints differ in what is of second order.
    assert np.abs(found.q - expected.q).max() <= 1e-9 * np.abs(expected.q).max()
    assert np.abs(found.v - expected.v).max() <= 1e-9 * np.abs(expected.v).max()
    force, transposed = multipliers(found)
    enough, columns = multipliers(expected)
    smallest = np.linalg.pinv(transposed, rcond=1e-7)
    assert np.abs(force - smallest @ (transposed @ force)).max() <= 1e-10 * np.abs(force).max()
    # Implicit methods violate one level by the order of h^2: there constraints do not quite agree with each other.
    bound = 1e-8 if method == "index 1" else 1e-5
    assert np.abs(force - smallest @ (columns @ enough)).max() <= bound * np.abs(force).max()


@pytest.mark.parametrize(
    ("mechanism", "method"),
    # Of the one left out forwards and backwards differ by rounding of up to 1.2e-12, differences of values by 1e-8.
    table(("pendulum", "trapezoidal"), ("Bricard", "index 1"), but=[("Bricard", "generalized-alpha")]),
)
def test_gradients_forwards_backwards_and_by_differences(mechanism, method):
    model, params = MECHANISMS[mechanism]()
    system = model.assemble(redundant="min_norm")

    def loss(x):
        solution = mbs.simulate(system, solver=METHODS[method], params=params(*x), **RUN)
        state = jnp.concatenate([jnp.ravel(solution.q), jnp.ravel(solution.v)])
        squares = [jnp.sum(force**2) for force in solution.multipliers.values()]
        return jnp.sum(jnp.cos(jnp.arange(state.size)) * state) + 1e-2 * sum(squares)

    backwards = np.asarray(jax.jit(jax.grad(loss))(AT))
    forwards = jax.jit(jax.vmap(lambda e: jax.jvp(loss, (AT,), (e,))[1]))(jnp.eye(AT.size))
    assert np.abs(forwards - backwards).max() <= 1e-12 * np.abs(backwards).max()
    assert np.all(np.abs(quotients(loss, AT, 1e-4 * AT) - backwards) <= 1e-7 * np.abs(backwards).max())


REPEATED = {
    "pendulum": "'again' repeats what 'rod' fix",
    "parallelogram": "'third' repeats what 'left', 'right' fix",
    "Bricard": "'rods[23]' repeats what 'rods[8]', ",
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_redundant_constraints_are_named(mechanism):
    model, _ = MECHANISMS[mechanism]()
    sentence = re.escape(REPEATED[mechanism])
    with pytest.warns(UserWarning, match=sentence):
        model.assemble()
    with pytest.raises(mbs.ModelError, match=f"{sentence}.* Remove one of them"):
        model.assemble(redundant="error")


@pytest.mark.parametrize(
    ("mechanism", "element", "name"),
    [
        ("parallelogram", "third", "third"),
        pytest.param("pendulum", "again", "rod|again", marks=pytest.mark.slow),
        pytest.param("Bricard", "rods", r"rods\[23\]", marks=pytest.mark.slow),
    ],
)
def test_constraints_that_contradict_others_are_refused_by_name(mechanism, element, name):
    model, _ = MECHANISMS[mechanism]()
    system = model.assemble(redundant="min_norm")
    lengths = np.array(system.params()[element]["distance"])
    lengths.flat[-1] *= 1.1
    with pytest.raises(mbs.SimulationError, match=f"no start near the one given .* Farthest off: '({name})'") as caught:
        mbs.simulate(system, params={element: {"distance": lengths}}, **RUN)
    assert caught.value.status == "inconsistent_start"


@pytest.mark.slow
def test_bricards_links_as_rigid_bodies_on_two_ball_joints_for_each_hinge():
    """Seven of 36 equations are redundant. Each mass of the mechanism of rods is shared by two links, in halves."""
    points = POINTS.reshape(-1, 3)
    # Link i has points on the axis that it shares with the link before, 0 and 1, and with the one behind, 2 and 3.
    corners = (2 * np.arange(1, 6)[:, None] + np.arange(4)) % 12
    m, p = np.concatenate([np.ones(4), MASSES / 2])[corners], points[corners]
    center = np.einsum("lk,lki->li", m, p) / m.sum(axis=1)[:, None]
    r = p - center[:, None]
    inertia = np.einsum("lk,lkj,lkj->l", m, r, r)[:, None, None] * np.eye(3) - np.einsum("lk,lki,lkj->lij", m, r, r)

    model = mbs.Model(gravity=-9.81 * UPWARDS)
    links = model.add("link", mbs.RigidBody(m.sum(axis=1), inertia), position=center)
    at = lambda i, k: links[i].at(*r[i, k])
    fixed = [model.ground.at(*x) for x in points[:4]]
    before = [*fixed[2:], *(at(i, k) for i in range(5) for k in (2, 3))]
    behind = [*(at(i, k) for i in range(5) for k in (0, 1)), *fixed[:2]]
    model.add("hinge", mbs.SphericalJoint(), between=(before, behind))
    for k in range(8):
        model.sense(f"mass{k}", mbs.Position(before[k + 2]))

    found = mbs.simulate(model.assemble(redundant="min_norm"), **RUN)
    expected = simulated("Bricard", "index 1")["mass.position"]
    for k in range(8):
        # What the steps of one and of the other are off.
        assert np.abs(found[f"mass{k}"] - expected[:, k]).max() <= 1e-9


def rods_side_by_side(model):
    a = model.add("a", mbs.MassPoint2D(1.0), position=(0.1, 0.0))
    b = model.add("b", mbs.MassPoint2D(2.0), position=(1.1, 0.3), velocity=(0.0, 1.0))
    model.add("hold", mbs.SpringDamper(stiffness=50.0), between=(model.ground, a))
    return mbs.DistanceConstraint(np.hypot(1.0, 0.3)), (a, b)


def meshes_of_gears(model):
    a = model.add("a", mbs.RotationalMass1D(0.9), angular_velocity=2.0)
    b = model.add("b", mbs.RotationalMass1D(0.1), angular_velocity=-6.0)
    model.add("motor", mbs.CoordinateLoad(load=3.6), on=a.coordinate(0))
    return mbs.CoordinateConstraint(factor=-1 / 3), (a.coordinate(0), b.coordinate(0))


def pins_in_one_hole(model):
    a = model.add("a", mbs.RigidBody2D(1.0, 0.1))
    b = model.add("b", mbs.RigidBody2D(1.0, 0.1), position=(1.0, 0.0), angular_velocity=1.0)
    model.add("hold", mbs.SpringDamper(stiffness=50.0), between=(model.ground, a))
    return mbs.RevoluteJoint2D(), (a.at(0.5, 0), b.at(-0.5, 0))


@pytest.mark.parametrize("parts", [rods_side_by_side, meshes_of_gears, pins_in_one_hole])
def test_two_of_a_kind_between_the_same_bodies_share_the_load(parts):
    def assembled(count, redundant):
        model = mbs.Model(gravity=-9.81 * UPWARDS)
        law, between = parts(model)
        for k in range(count):
            model.add(f"joint{k}", law, between=between)
        return model.assemble(redundant=redundant)

    with pytest.raises(mbs.ModelError, match="'joint1' repeats what 'joint0' fixes at the start"):
        assembled(2, "error")
    one, two = assembled(1, "error"), assembled(2, "min_norm")

    def force(system):
        def at(gravity):
            heavier = system.with_params({"gravity": {"acceleration": gravity}})
            return mbs.Outputs(heavier, 0.0, *system.initial_state())["joint0.force"]

        return jax.jit(lambda x: (at(x), jax.jacfwd(at)(x), jax.jacrev(at)(x)))(-9.81 * UPWARDS)

    for whole, half in zip(force(one), force(two), strict=True):
        np.testing.assert_allclose(half, whole / 2, rtol=1e-11, atol=1e-12)
