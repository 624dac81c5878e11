"""The elimination of the equations of motion against dense solutions: at dead centres, in any order of adding."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.dynamics.accelerations import accelerations
from difmbs.dynamics.elimination_plan import PlannedConstraint, plan_elimination

from ..zoo.models import circles_meet

NEAR = (0.0, 1e-9, -1e-5, 1e-2, 0.8)
"""How far from a dead centre the crank is [rad]."""


def guided(away):
    """A slider-crank of a rotor and a mass point that two equations guide."""
    radius, length = 0.2, 0.55
    pin = radius * np.array([np.cos(away), np.sin(away)])
    model = mbs.Model(gravity=(0, -9.81, 0))
    crank = model.add("crank", mbs.RotationalMass1D(0.01), angle=away, angular_velocity=10.0)
    slider = model.add("slider", mbs.MassPoint(1.1), position=(pin[0] + np.sqrt(length**2 - pin[1] ** 2), 0, 0))
    return model, {
        "rod": (mbs.DistanceConstraint(length), crank.at(radius, 0, 0), slider),
        "y": (mbs.CoordinateConstraint(), model.ground, slider.coordinate(1)),
        "z": (mbs.CoordinateConstraint(), model.ground, slider.coordinate(2)),
    }


def four_bar(away):
    """A four-bar linkage whose crank and coupler are in line at the dead centre, where they cannot push each other."""
    ground = np.array([0.6, -0.3])
    end = circles_meet(np.zeros(2), 0.7, ground, 0.45)
    angle = np.arctan2(end[1], end[0]) + away
    pin = 0.2 * np.array([np.cos(angle), np.sin(angle)])
    top = circles_meet(pin, 0.5, ground, 0.45)
    model = mbs.Model(gravity=(0, -9.81, 0))
    bars = {}
    for name, start, stop, mass in (
        ("crank", 0 * pin, pin, 0.8),
        ("coupler", pin, top, 1.5),
        ("rocker", ground, top, 1),
    ):
        length, turned = np.linalg.norm(stop - start), np.arctan2(*(stop - start)[::-1])
        body = mbs.RigidBody2D(mass, mass * length**2 / 12, (length / 2, 0.0))
        body = model.add(name, body, position=start, angle=turned)
        bars[name] = body, body.at(length, 0)
    (crank, pin), (coupler, top), (rocker, other) = bars.values()
    hinge = mbs.RevoluteJoint2D()
    return model, {
        "A": (hinge, model.ground, crank),
        "B": (hinge, pin, coupler),
        "C": (hinge, top, other),
        "D": (hinge, model.ground.at(*ground, 0), rocker),
    }


def spatial(away):
    """The slider-crank of IFToMM's library in kind: rigid bodies, two ball joints, single coordinates as guides."""
    radius, length, centre = 0.08, 0.3, np.array([0.0, 0.1, 0.12])
    angle = np.arctan2(centre[2], centre[1]) + away
    pin = centre + radius * np.array([0, np.cos(angle), np.sin(angle)])
    end = np.array([np.sqrt(length**2 - pin[1] ** 2 - pin[2] ** 2), 0, 0])
    x = (pin - end) / length
    z = np.cross(x, [0, 1, 0]) / np.linalg.norm(np.cross(x, [0, 1, 0]))
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = mbs.RigidBody(0.12, np.diag([1e-4, 1e-5, 1e-4]))
    crank = model.add("crank", body, position=centre, rotation=(angle, 0, 0), angular_velocity=(6.0, 0, 0))
    body = mbs.RigidBody(0.5, np.diag([4e-5, 4e-4, 4e-4]))
    rod = model.add("rod", body, position=(pin + end) / 2, rotation=np.stack([x, np.cross(z, x), z], axis=1))
    slider = model.add("slider", mbs.RigidBody(2.0, np.diag([1e-4] * 3)), position=end)
    single = lambda body, i, value: (mbs.CoordinateConstraint(offset=-value), body.coordinate(i), model.ground)
    place = [*centre, 0.0, 0.0, 0.0, 0.0]
    return model, {
        "hinge": [single(crank, i, place[i]) for i in (0, 1, 2, 5, 6)],
        "knuckle": (mbs.SphericalJoint(), rod.at(length / 2, 0, 0), crank.at(0, radius, 0)),
        "ball": (mbs.SphericalJoint(), rod.at(-length / 2, 0, 0), slider),
        "guide": [single(slider, i, 0.0) for i in (1, 2, 4, 5, 6)],
    }


def assembled(mechanism, order, away=0.8):
    """With its joints added in this order."""
    model, joints = mechanism(away)
    for name in order:
        several = joints[name] if isinstance(joints[name], list) else [joints[name]]
        for i, (joint, *between) in enumerate(several):
            model.add(f"{name}{i}", joint, between=tuple(between))
    return model.assemble()


@functools.cache
def states(mechanism):
    """Coordinates near a dead centre."""
    return [assembled(mechanism, mechanism(0.0)[1], away).initial_state()[0] for away in NEAR]


def by_dense_algebra(system, q, v):
    """Accelerations and multipliers, with the derivatives that JAX gives a dense solution."""
    levels = system.constraint_levels(0.0, q, v).values()
    jacobian = jnp.concatenate([level.jacobian for level in levels])
    rows = len(jacobian)
    mass = jax.vmap(lambda x: system.momentum(q, x))(jnp.eye(v.size))
    matrix = jnp.concatenate(
        [jnp.concatenate([mass, jacobian.T], axis=1), jnp.concatenate([jacobian, jnp.zeros((rows, rows))], axis=1)]
    )
    right = [system.applied_forces(0.0, q, v), *(level.acceleration for level in levels)]
    return jnp.linalg.solve(matrix, jnp.concatenate(right))


def by_elimination(system, q, v):
    change, multipliers = accelerations(system, 0.0, q, v)
    return jnp.concatenate([change, *(x.reshape(-1) for x in multipliers.values())])


@functools.cache
def both_ways():
    """Results of both, and their derivatives with respect to all parameters."""

    def with_derivative(function):
        def at(params, system, q, v):
            return function(system.with_params(params), q, v)

        return jax.jit(lambda system, q, v: (function(system, q, v), jax.jacfwd(at)(system.params(), system, q, v)))

    return with_derivative(by_elimination), with_derivative(by_dense_algebra)


ORDERS = {
    guided: [("rod", "y", "z"), ("y", "z", "rod"), ("y", "rod", "z")],
    four_bar: ["ABCD", "CBDA"],
    spatial: [("guide", "hinge", "ball", "knuckle")],
}
"""The rest takes minutes."""
CASES = [
    pytest.param(mechanism, order, id=f"{mechanism.__name__}-{' '.join(order)}", marks=marks)
    for mechanism, quick in ORDERS.items()
    for order in itertools.permutations(quick[0])
    for marks in ([] if order in map(tuple, quick) else [pytest.mark.slow],)
]


@pytest.mark.parametrize(("mechanism", "order"), CASES)
def test_dead_centres_are_like_any_other_place(mechanism, order):
    """Assembled elsewhere."""
    rng, system = np.random.default_rng(0), assembled(mechanism, order)
    for q in states(mechanism):
        v = jnp.asarray(rng.standard_normal(system.structure.velocity_count))
        (found, slopes), (expected, dense) = (way(system, q, v) for way in both_ways())
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        for name in ("crank", "slider", "rocker", *(f"{x}0" for x in order)):
            for field, slope in slopes.get(name, {}).items():
                wanted = dense[name][field]
                np.testing.assert_allclose(slope, wanted, rtol=0, atol=1e-9 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("mass", [1.0, 1e-6, 1e-9])
def test_light_rods_cost_no_accuracy(mass):
    """What a rod transmits does not come out of its own motion."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    pin, end = np.array([0.15, 0.13]), np.array([0.15 + np.sqrt(0.55**2 - 0.13**2), 0.0])
    angle = np.arctan2(*(pin - end)[::-1])
    crank = model.add("crank", mbs.RigidBody2D(1.0, 0.05), angle=np.arctan2(*pin[::-1]), angular_velocity=9.0)
    rod = model.add("rod", mbs.RigidBody2D(mass, mass * 0.55**2 / 12), position=(pin + end) / 2, angle=angle)
    slider = model.add("slider", mbs.Mass1D(1.1), position=end[0])
    model.add("A", mbs.RevoluteJoint2D(), between=(model.ground, crank))
    model.add("B", mbs.RevoluteJoint2D(), between=(crank.at(np.hypot(*pin), 0, 0), rod.at(0.275, 0, 0)))
    model.add("C", mbs.RevoluteJoint2D(), between=(rod.at(-0.275, 0, 0), slider))
    system = model.assemble(redundant="error")
    found, expected = (way(system, *system.initial_state())[0] for way in both_ways())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_trees_are_carried_from_their_tips_and_loops_wait():
    """A chain of three bodies on a fourth that two constraints hold, and a body that cannot carry its constraint."""
    chain = [
        PlannedConstraint((0, 1), (0, 1), 2),
        PlannedConstraint((1, 2), (1, 2), 2),
        PlannedConstraint((2, 3), (2, 3), 2),
    ]
    loop = [PlannedConstraint((3,), (3,), 2), PlannedConstraint((3,), (3,), 1)]
    found = plan_elimination([3, 3, 3, 3], [*chain, *loop])
    assert found.nodes.tolist() == [0, 1, 2, 3, 4]
    assert found.waits.tolist() == [False, False, False, True, True]
    found = plan_elimination([1, 2], [PlannedConstraint((0, 1), (), 1), PlannedConstraint((1,), (1,), 1)])
    assert np.all(found.waits)
    assert plan_elimination([6], [PlannedConstraint((0,), (0,), 1)] * 5).nodes.tolist() == [0, 1, 1, 1, 1]


def test_a_crank_does_not_carry_its_rod_wherever_it_starts():
    """At a dead centre it could not hold it. That lies between the configurations that are looked at, and these differ
    with the start."""
    for angle in np.linspace(0.2, 3.0, 40):
        model = mbs.Model()
        slider = model.add("slider", mbs.Mass1D(1.0), position=0.3 * np.cos(angle) + 0.9)
        crank = model.add("crank", mbs.RotationalMass1D(1.0), angle=angle)
        model.add("rod", mbs.DistanceConstraint(1.0), between=(crank.at(0.3, 0, 0), slider))
        (coupling,) = model.assemble().structure.couplings
        # The nodes of bodies are numbered as they were added; what waits for both of them may be anywhere.
        assert coupling.nodes.rows[0] == 0 or coupling.waits.rows[0]
