"""Constraints that repeat what others fix: the motion is right, multipliers are the smallest, both have derivatives."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from .differences import quotients

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


def bricard(redundant=True):
    """Bricard's mechanism: six links and hinges in a ring, which only move because the hinges' axes meet so well.

    A link is a tetrahedron of rods between the points of two axes; each point is a mass. There are as many rods as
    coordinates, and nevertheless it moves.
    """
    model = mbs.Model(gravity=-9.81 * UPWARDS)
    points = POINTS.reshape(-1, 3)
    masses = model.add("mass", mbs.MassPoint(np.linspace(0.8, 1.2, 8)), position=points[4:])
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
        bodies = {"mass": mass * np.linspace(0.8, 1.2, 8), "position": size * points[4:]}
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
RUN = dict(t1=0.6, dt=5e-3, saveat=[0.3, 0.6])
AT = np.array([1.0, 1.0, 9.81])
"""All lengths together, so that constraints go on agreeing with each other; all masses together; gravity."""


def simulated(mechanism, method, redundant=True):
    system = MECHANISMS[mechanism](redundant)[0].assemble(redundant="min_norm" if redundant else "error")
    return mbs.simulate(system, solver=METHODS[method], **RUN)


def multipliers(solution):
    """At the last output, and the forces on the coordinates, G^T lambda, with G^T."""
    system, *state = solution.system, solution.t[-1], solution.q[-1], solution.v[-1]
    transposed = np.concatenate([np.asarray(x.jacobian) for x in system.constraint_levels(*state).values()]).T
    found = np.concatenate([np.atleast_1d(x[-1]) for x in solution.multipliers.values()])
    return found, transposed @ found, transposed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_motion_is_that_without_and_multipliers_are_the_smallest(mechanism, method):
    found, expected = (simulated(mechanism, method, redundant) for redundant in (True, False))
    # Rounding, and what is left of the regularization after its refinement.
    assert np.abs(found.q - expected.q).max() <= 1e-11
    assert np.abs(found.v - expected.v).max() <= 1e-11 * np.abs(expected.v).max()
    some, _, transposed = multipliers(found)
    least = np.linalg.pinv(transposed, rcond=1e-9) @ multipliers(expected)[1]
    assert np.abs(some - least).max() <= 1e-10 * np.abs(least).max()


QUICK = [("parallelogram", "generalized-alpha"), ("Bricard", "index 1")]
LONG = [(mechanism, method) for mechanism in MECHANISMS for method in METHODS if (mechanism, method) not in QUICK]


@pytest.mark.parametrize(("mechanism", "method"), [*QUICK, *(pytest.param(*x, marks=pytest.mark.slow) for x in LONG)])
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
    "Bricard": "'rods[23]' repeats what 'rods[4]', ",
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_redundant_constraints_are_named(mechanism):
    model, _ = MECHANISMS[mechanism]()
    sentence = re.escape(REPEATED[mechanism])
    with pytest.warns(UserWarning, match=sentence):
        model.assemble()
    with pytest.raises(mbs.ModelError, match=f"{sentence}.* Remove one of them"):
        model.assemble(redundant="error")


@pytest.mark.parametrize(("mechanism", "name"), [("pendulum", "again"), ("parallelogram", "third"), ("Bricard", "rods")])
def test_those_that_contradict_each_other_are_named(mechanism, name):
    model, _ = MECHANISMS[mechanism]()
    system = model.assemble(redundant="min_norm")
    length = np.array(system.params()[name]["distance"])
    length.flat[-1] *= 1.1
    with pytest.raises(mbs.SimulationError, match=r"no start near .* Farthest off: '(rod|again|left|right|third)'|rods\[") as caught:
        mbs.simulate(system, params={name: {"distance": length}}, **RUN)
    print(caught.value)
    assert caught.value.status == "inconsistent_start"


def test_bricards_links_as_rigid_bodies_on_two_ball_joints_for_each_hinge():
    """Seven of 36 equations are redundant. Each mass of the mechanism of rods is shared by two links, in halves."""
    points, mass = POINTS.reshape(-1, 3), np.linspace(0.8, 1.2, 8)
    halves = np.concatenate([np.ones(4), mass / 2])
    model = mbs.Model(gravity=-9.81 * UPWARDS)
    corners = (2 * np.arange(1, 6)[:, None] + np.arange(4)) % 12
    m, p = halves[corners], points[corners]
    center = np.sum(m[..., None] * p, axis=1) / m.sum(axis=1)[:, None]
    r = p - center[:, None]
    inertia = np.einsum("lk,lkij->lij", m, np.sum(r**2, axis=-1)[..., None, None] * np.eye(3) - r[..., :, None] * r[..., None, :])
    links = model.add("link", mbs.RigidBody(m.sum(axis=1), inertia), position=center)
    # Of link i the points 0 and 1 are on the axis that it shares with the one before, 2 and 3 with the one behind.
    first = [[model.ground.at(*x) for x in points[2:4]], *([links[i].at(*x) for x in r[i, 2:]] for i in range(5))]
    second = [*([links[i].at(*x) for x in r[i, :2]] for i in range(5)), [model.ground.at(*x) for x in points[:2]]]
    model.add("hinge", mbs.SphericalJoint(), between=(sum(first, []), sum(second, [])))
    for i in range(4):
        model.sense(f"mass{2 * i}", mbs.Position(links[i].at(*r[i, 2])))
        model.sense(f"mass{2 * i + 1}", mbs.Position(links[i].at(*r[i, 3])))
    system = model.assemble(redundant="min_norm")
    found = mbs.simulate(system, **RUN)
    expected = simulated("Bricard", "index 1")["mass.position"]
    for i in range(8):
        np.testing.assert_allclose(found[f"mass{i}"], expected[:, i], atol=1e-8)
        print(np.abs(found[f"mass{i}"]-expected[:, i]).max())
