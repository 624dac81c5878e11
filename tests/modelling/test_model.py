"""From builder to system: names, groups, parameters, ties, and elements that users make themselves."""

import copy
import itertools
import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..zoo.cases import INERTIA
from ..zoo.models import mixture


def test_the_parameter_tree_holds_every_number_by_name():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(mass=1.5), position=(1.05, 0, 0))
    model.add("spring", mbs.SpringDamper(1.0, 100.0, 1.0), between=(model.ground.at(0, 0.5), bob))
    model.sense("tip", mbs.Position(bob))
    params = model.assemble().params()
    assert set(params) == {"bob", "spring", "gravity"}
    assert set(params["bob"]) == {"mass", "position", "velocity"}
    law = {"reference_length", "stiffness", "damping", "force", "velocity_offset"}
    assert set(params["spring"]) == law | {"marker0"}
    np.testing.assert_array_equal(params["spring"]["marker0"], [0, 0.5, 0])
    np.testing.assert_array_equal(params["gravity"]["acceleration"], [0, -9.81, 0])


def test_parameters_come_back_as_they_were_given():
    system = mixture()
    params = system.params()
    np.testing.assert_array_equal(params["net"]["stiffness"], [10, 20, 30, 40])
    assert params["net"]["damping"].shape == ()
    assert params["net"]["marker0"].shape == (2, 3)  # ground and plate have points, point masses have none
    np.testing.assert_allclose(params["net"]["marker0"][1], [0.1, 0.2, 0])
    again = system.with_params(params)
    for a, b in zip(jax.tree.leaves(system), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_parameter_can_be_replaced_alone():
    system = mixture()
    params = system.params()
    changed = jax.tree.map(lambda x: x + 1.25, params)
    for name, fields in changed.items():
        for field, value in fields.items():
            one = system.with_params({name: {field: value}}).params()
            np.testing.assert_array_equal(one[name][field], value)
            others = jax.tree.map(np.array_equal, one, params)
            others[name].pop(field)
            assert all(jax.tree.leaves(others)), (name, field)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, system.with_params(changed).params(), changed)))


@pytest.mark.parametrize("order", [*itertools.permutations("abc")], ids="".join)
def test_each_name_keeps_its_parameters_whichever_was_added_first(order):
    model = mbs.Model()
    for name in order:
        model.add(name, mbs.MassPoint(1.0))
    masses = {"a": 2.0, "b": 3.0, "c": 5.0}
    changed = model.assemble().with_params({name: {"mass": mass} for name, mass in masses.items()})
    assert {name: float(changed.params()[name]["mass"]) for name in masses} == masses


def test_coordinates_by_name_are_those_of_the_body():
    """Of classes with more coordinates than velocity coordinates, too, whichever comes first."""
    model = mbs.Model()
    for i in range(2):
        model.add(f"turning{i}", mbs.RigidBody(1.0, np.eye(3)), position=(i, 2, 3), velocity=(i, -2, -3))
    model.add("masses", mbs.MassPoint([1.0, 2.0]), position=[(4, 5, 6), (7, 8, 9)], velocity=[(4, 0, 6), (7, 0, 9)])
    model.add("flat", mbs.RigidBody2D(1.0, 1.0), position=(10, 11), angle=0.5, velocity=(12, 13), angular_velocity=0.7)
    system = model.assemble()
    q, v = (np.asarray(x) for x in system.initial_state())
    np.testing.assert_array_equal(q[system.coordinates("turning1")], [1, 2, 3, 1, 0, 0, 0])
    np.testing.assert_array_equal(v[system.velocities("turning1")], [1, -2, -3, 0, 0, 0])
    np.testing.assert_array_equal(q[system.coordinates("masses")], [(4, 5, 6), (7, 8, 9)])
    np.testing.assert_array_equal(v[system.velocities("masses")], [(4, 0, 6), (7, 0, 9)])
    np.testing.assert_array_equal(q[system.coordinates("flat")], [10, 11, 0.5])
    np.testing.assert_array_equal(v[system.velocities("flat")], [12, 13, 0.7])


def test_a_shared_number_counts_for_all_its_instances():
    system = mixture()
    q, v = system.initial_state()
    energy = lambda d: jnp.sum(system.with_params({"net": {"damping": d}}).applied_forces(0.0, q, v + 1.0) ** 2)
    d = jnp.asarray(0.3)
    slope = jax.grad(energy)(d)
    np.testing.assert_allclose(slope, (energy(d + 1e-6) - energy(d - 1e-6)) / 2e-6, rtol=1e-6)


def test_gravity_reads_the_bodies_masses():
    """Free fall: y does not depend on the mass; in a mutual orbit the tied mass enters twice."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    a = model.add("a", mbs.MassPoint(3.0))
    b = model.add("b", mbs.RigidBody(5.0, INERTIA), position=(1, 0, 0))
    model.add("attraction", mbs.ConnectorGravity(2.0), between=(a, b))
    system = model.assemble()
    assert "mass0" not in system.params()["attraction"]
    alone = system.with_params({"attraction": {"gravitational_constant": 0.0}})
    falling = lambda m: mbs.simulate(alone, t1=1.0, dt=0.1, params={"a": {"mass": m}})["a.position"][-1, 1]
    np.testing.assert_allclose(jax.value_and_grad(falling)(jnp.asarray(3.0)), (-4.905, 0.0), atol=1e-12)
    force = mbs.connector_force(system, "attraction")
    pulled = lambda m: force(*system.initial_state(), {"b": {"mass": m}})[0]
    np.testing.assert_allclose(jax.value_and_grad(pulled)(jnp.asarray(5.0)), (2 * 3 * 5, 2 * 3), rtol=1e-12)


def test_groups_are_few_whatever_the_number_of_names():
    model = mbs.Model()
    before = model.ground
    for i in range(30):
        body = model.add(f"m{i}", mbs.MassPoint(1.0), position=(i, 0, 0))
        model.add(f"s{i}", mbs.SpringDamper(0.5, 10.0), between=(before, body))
        before = body
    structure = model.assemble().structure
    assert len(structure.bodies) == 2  # ground and the points
    assert len(structure.forces) == 2  # ground-point and point-point


def test_equal_models_share_their_structure():
    assert mixture().structure == mixture().structure
    assert hash(mixture().structure) == hash(mixture().structure)


class Magnet(mbs.AbstractForce):
    """A made-up law: repulsion that fades exponentially."""

    strength: jax.Array = mbs.parameter(unit="N")
    reach: jax.Array = mbs.parameter(1.0, unit="m", range="positive")

    @property
    def ports(self):
        return (mbs.Point(), mbs.Point())

    def effort(self, t, config, flow):
        force = self.outputs(t, config, flow)["force"]
        return force, -force

    def outputs(self, t, config, flow):
        displacement = config[1] - config[0]
        square = jnp.sum(displacement * displacement)
        return dict(force=-self.strength * jnp.exp(-square / self.reach**2) * displacement)

    def energy(self, t, config):
        displacement = config[1] - config[0]
        return 0.5 * self.strength * self.reach**2 * jnp.exp(-jnp.sum(displacement**2) / self.reach**2)


ENDS = {
    "MassPoint": lambda m, n, x: m.add(n, mbs.MassPoint(1.0), position=(x, 0.1, 0.2)),
    "MassPoint2D": lambda m, n, x: m.add(n, mbs.MassPoint2D(1.0), position=(x, 0.1)),
    "RigidBody2D": lambda m, n, x: m.add(n, mbs.RigidBody2D(1.0, 0.2), position=(x, 0.3), angle=0.4).at(0.2, 0.1),
    "RigidBody": lambda m, n, x: m.add(n, mbs.RigidBody(1.0, INERTIA), position=(x, 0, 0), rotation=(1, 0.5, 0)).at(
        0.1
    ),
    "Mass1D": lambda m, n, x: m.add(n, mbs.Mass1D(1.0, axis=(1.0, 1.0, 0.0)), position=x).at(0.1, 0.2),
    "RotationalMass1D": lambda m, n, x: m.add(n, mbs.RotationalMass1D(1.0), angle=x).at(0.5),
    "ground": lambda m, n, x: m.ground.at(x, 0.4),
}


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", [e for e in ENDS if e != "ground"])
def test_a_law_of_ones_own_works_between_all_bodies(first, second):
    model = mbs.Model()
    model.add("magnet", Magnet(2.0, 0.8), between=(ENDS[first](model, "a", 0.1), ENDS[second](model, "b", 0.6)))
    system = model.assemble()
    q, v = system.initial_state()
    slope = jax.grad(lambda dq: system.potential_energy(0.0, system.retract(q, dq)))(jnp.zeros_like(v))
    np.testing.assert_allclose(mbs.connector_force(system, "magnet")(q, v), -slope, atol=1e-13)
    assert np.abs(slope).max() > 1e-3
    assert set(system.params()["magnet"]) >= {"strength", "reach"}


def test_a_neural_spring_has_its_weights_in_the_tree():
    network = eqx.nn.MLP(2, "scalar", 4, 1, key=jax.random.key(0))

    class Law(eqx.Module):
        network: eqx.nn.MLP

        def __call__(self, t, stretch, rate, stiffness, damping, force):
            return stiffness * stretch + self.network(jnp.stack([stretch, rate]))

    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(1.0), position=(1.2, 0, 0))
    model.add("spring", mbs.SpringDamper(1.0, 5.0, spring_force_user_function=Law(network)), between=(model.ground, a))
    system = model.assemble()
    weights = system.params()["spring"]["spring_force_user_function"]["network"]["layers"]
    assert weights["0"]["weight"].shape == (4, 2)
    theta = {"spring": {"spring_force_user_function": {"network": {"layers": weights}}}}
    gradient = jax.grad(lambda theta: mbs.simulate(system, t1=0.5, dt=0.05, params=theta).q[-1, 0])(theta)
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(gradient))
    assert any(np.any(x != 0) for x in jax.tree.leaves(gradient))


@pytest.mark.parametrize("many", [False, True])
def test_a_connector_switched_off_does_nothing(many):
    def explosive(t, *_):
        raise AssertionError("evaluated although switched off")

    model = mbs.Model()
    a = model.add(
        "a", mbs.MassPoint(np.ones(2) if many else 1.0), position=((1, 0, 0), (2, 0, 0)) if many else (1, 0, 0)
    )
    model.add(
        "spring",
        mbs.SpringDamper(0.5, 10.0, spring_force_user_function=explosive),
        between=(model.ground, a),
        active=False,
    )
    system = model.assemble()
    q, v = system.initial_state()
    assert not np.any(system.applied_forces(0.0, q, v))
    assert not np.any(mbs.connector_force(system, "spring")(q, v))
    model.switch("spring", active=True)
    with pytest.raises(mbs.ModelError, match="spring"):
        model.assemble()


def test_outputs_of_a_connector_switched_off():
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(1.0), position=(1, 0, 0))
    b = model.add("b", mbs.RigidBody2D(1.0, 1.0), position=(2, 0), angular_velocity=1.0)
    model.add("spring", mbs.SpringDamper(0.5, 10.0), between=(model.ground, a), active=False)
    model.add("rod", mbs.DistanceConstraint(0.7), between=(model.ground, a), active=False)
    model.add("turn", mbs.RotationalSpringDamper(1.0, 1.0), between=(model.ground, b), active=False)
    system = model.assemble()
    found = mbs.Outputs(system, 0.0, *system.initial_state())
    np.testing.assert_allclose(found["spring.distance"], 1)
    assert not np.any(found["spring.force"])
    assert found["spring.force_local"] == found["rod.force"] == found["turn.torque"] == 0
    assert not np.any(found["a.acceleration"])


def test_sensors_and_functions_of_outputs():
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(1.0), position=(1, 0, 0), velocity=(2, 0, 0))
    model.add("spring", mbs.SpringDamper(0.5, 10.0), between=(model.ground, a))
    model.sense("pull", mbs.Output("spring", "force_local"))
    model.sense("power", lambda t, outputs: -outputs["pull"] * outputs["a.velocity"][0])
    model.sense("clock", lambda t, outputs: t)
    solution = mbs.simulate(model.assemble(), t1=1.0, dt=0.1, saveat=[0.0, 1.0])
    np.testing.assert_allclose(solution["power"][0], -10 * 0.5 * 2)
    np.testing.assert_allclose(solution["clock"], [0, 1])
    np.testing.assert_allclose(solution["pull"], solution["spring.force_local"])


def test_sensors_at_points_have_them_as_parameters():
    model = mbs.Model()
    body = model.add("body", mbs.RigidBody2D(1.0, 1.0), angle=0.3)
    model.sense("tip", mbs.Position(body.at(0.5, 0.2)))
    system = model.assemble()
    read = lambda point: mbs.Outputs(system.with_params({"tip": {"marker0": point}}), 0.0, *system.initial_state())[
        "tip"
    ]
    jacobian = jax.jacfwd(read)(system.params()["tip"]["marker0"])
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(jacobian, [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-14)


def test_numbers_may_be_traced_while_the_model_is_built():
    def end(k):
        model = mbs.Model()
        a = model.add("a", mbs.MassPoint(1.0), position=(1.2, 0, 0))
        model.add("spring", mbs.SpringDamper(1.0, k), between=(model.ground, a))
        return mbs.simulate(model.assemble(), t1=1.0, dt=0.05).q[-1, 0]

    k = jnp.asarray(10.0)
    np.testing.assert_allclose(jax.grad(end)(k), (end(k + 1e-4) - end(k - 1e-4)) / 2e-4, rtol=1e-6)


def test_connectors_given_one_by_one_are_stored_together():
    """A list of single bodies makes the same program as a slice of all of them."""
    model = mbs.Model()
    masses = model.add("mass", mbs.MassPoint(np.ones(4)), position=np.eye(4, 3))
    ends = [masses[i] for i in (0, 2, 1)], [masses[i] for i in (3, 1, 0)]
    model.add("spring", mbs.SpringDamper(0.5, np.array([1.0, 2.0, 3.0]), 0.1), between=ends)
    system = model.assemble()
    homes = system.structure.homes
    assert [len(homes["spring", field].parts) for field in ("stiffness", "damping")] == [1, 1]
    changed = {"spring": {"stiffness": np.array([4.0, 5.0, 6.0]), "damping": np.asarray(0.2)}}
    parameters = system.with_params(changed).params()["spring"]
    np.testing.assert_array_equal(parameters["stiffness"], changed["spring"]["stiffness"])
    np.testing.assert_array_equal(parameters["damping"], 0.2)


def test_models_can_be_built_inside_jit():
    built = []

    def length(x):
        model = mbs.Model()
        mass = model.add("mass", mbs.MassPoint(1.0), position=(1.0, 0, 0))
        model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, mass))
        built.append(model.assemble())
        return x * built[0].params()["rod"]["distance"]

    assert jax.jit(length)(2.0) == 2.0
    np.testing.assert_array_equal(built[0].params()["mass"]["mass"], 1.0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda system: pickle.loads(pickle.dumps(system))])
def test_copies_of_systems_are_systems(copied):
    """For other processes, which get them as copies."""
    system = mixture()
    run = lambda system: mbs.simulate(system, t1=0.1, dt=0.05)
    again = run(copied(system))
    np.testing.assert_array_equal(again.q, run(system).q)
    name = next(name for name, element in system.structure.elements.items() if element.kind == "forces")
    np.testing.assert_array_equal(again[f"{name}.force"], run(system)[f"{name}.force"])


def test_systems_and_solutions_are_shown_in_a_line():
    system = mixture()
    assert repr(system) == "System(bodies bob, row, plate; forces net, one; 15 velocity coordinates)"
    shown = repr(mbs.simulate(system, t1=0.1, dt=0.05, saveat=[0.05, 0.1]))
    assert shown.startswith("Solution(status=ok, 2 times from 0.05 to 0.1 s, of System(bodies bob")
    model = mbs.Model()
    for i in range(12):
        model.add(f"m{i}", mbs.MassPoint(1.0))
    assert "m7 and 4 more" in repr(model.assemble())
