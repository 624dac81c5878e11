"""Motion and gradients against closed forms, and against runs of Exudyn 1.13.6 kept in tests/data."""

import json
from pathlib import Path

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

DATA = Path(__file__).parents[1] / "data"
ACCURATE = dict(solver=diffrax.Dopri8(), rtol=1e-13, atol=1e-13, max_steps=4096)


def spring_damper_mini(p):
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint(mass=p["m"]), position=(p["x0"], 0, 0))
    spring = mbs.SpringDamper(reference_length=p["L0"], stiffness=p["k"], damping=p["d"])
    model.add("spring", spring, between=(model.ground, bob))
    read = {
        "position": lambda s: s["bob.position"][:, 0],
        "velocity": lambda s: s["bob.velocity"][:, 0],
        "force": lambda s: s["spring.force_local"],
        "force_vector": lambda s: s["spring.force"],
    }
    return (
        model,
        read,
        lambda p: {
            "bob": {"mass": p["m"], "position": jnp.stack([p["x0"], 0 * p["x0"], 0 * p["x0"]])},
            "spring": {"reference_length": p["L0"], "stiffness": p["k"], "damping": p["d"]},
        },
    )


def gravity_orbit_mini(p):
    model = mbs.Model()
    star = model.add("star", mbs.MassPoint(mass=p["m0"]))
    moon = model.add("moon", mbs.MassPoint(mass=p["m1"]), position=(p["r"], 0, 0), velocity=(0, p["v"], 0))
    model.add("attraction", mbs.ConnectorGravity(gravitational_constant=p["G"]), between=(star, moon))
    read = {
        "position1": lambda s: s["moon.position"],
        "velocity1": lambda s: s["moon.velocity"],
        "force": lambda s: s["attraction.force"],
        "distance": lambda s: s["attraction.distance"],
    }
    return (
        model,
        read,
        lambda p: {
            "star": {"mass": p["m0"]},
            "moon": {"mass": p["m1"], "position": p["r"] * unit(0), "velocity": p["v"] * unit(1)},
            "attraction": {"gravitational_constant": p["G"]},
        },
    )


def cubic_spring_user_function(p):
    import equinox as eqx

    class Law(eqx.Module):
        k3: jax.Array

        def __call__(self, t, u, v, k, d, f):
            return k * u + self.k3 * u**3 + d * v + f

    model = mbs.Model(gravity=(0, 0, -p["g"]))
    mass = model.add("mass", mbs.MassPoint(mass=p["m"]), position=(p["x0"], 0, 0), velocity=(0, p["vy"], p["vz"]))
    spring = mbs.SpringDamper(p["L0"], p["k"], p["d"], p["f"], spring_force_user_function=Law(jnp.asarray(p["k3"])))
    model.add("spring", spring, between=(model.ground, mass))
    read = {
        "position": lambda s: s["mass.position"],
        "velocity": lambda s: s["mass.velocity"],
        "force": lambda s: s["spring.force_local"],
    }
    return model, read, lambda p: {
        "mass": {"mass": p["m"], "velocity": p["vy"] * unit(1) + p["vz"] * unit(2)},
        "spring": {
            "stiffness": p["k"], "damping": p["d"], "force": p["f"], "reference_length": p["L0"],
            "spring_force_user_function": {"k3": p["k3"]},
        },
        "gravity": {"acceleration": -p["g"] * unit(2)},
    }  # fmt: skip


def gravity_two_body_eccentric(p):
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(mass=p["m0"]), velocity=(0, p["u"], 0))
    b = model.add("b", mbs.MassPoint(mass=p["m1"]), position=(1, 0, 0), velocity=(0, p["v"], p["w"]))
    model.add("attraction", mbs.ConnectorGravity(p["G"]), between=(a, b))
    read = {
        "position0": lambda s: s["a.position"],
        "position1": lambda s: s["b.position"],
        "velocity1": lambda s: s["b.velocity"],
        "force": lambda s: s["attraction.force"],
    }
    return (
        model,
        read,
        lambda p: {
            "a": {"mass": p["m0"], "velocity": p["u"] * unit(1)},
            "b": {"mass": p["m1"], "velocity": p["v"] * unit(1) + p["w"] * unit(2)},
            "attraction": {"gravitational_constant": p["G"]},
        },
    )


def gravity_figure_eight(p):
    x1, v3 = np.array([0.97000436, -0.24308753, 0]), np.array([-0.93240737, -0.86473146, 0])
    model = mbs.Model()
    stars = model.add(
        "star",
        mbs.MassPoint(mass=np.array([p["m1"], p["m2"], p["m3"]])),
        position=np.stack([x1, -x1, 0 * x1]),
        velocity=np.stack([-v3 / 2, -v3 / 2, v3]),
    )
    model.add("attraction", mbs.AllPairsGravity(p["G"]), on=stars)
    read = {f"position{i + 1}": lambda s, i=i: s["star.position"][:, i, :2] for i in range(3)}
    read["velocity3"] = lambda s: s["star.velocity"][:, 2, :2]
    return (
        model,
        read,
        lambda p: {
            "star": {"mass": jnp.stack([p["m1"], p["m2"], p["m3"]])},
            "attraction": {"gravitational_constant": p["G"]},
        },
    )


def rigid2d_two_springs(p):
    model = mbs.Model(gravity=(0, -p["g"], 0))
    body = model.add(
        "body", mbs.RigidBody2D(mass=p["m"], inertia=p["J"]), velocity=(p["vx"], 0), angular_velocity=p["om"]
    )
    for name, a, c in (("spring1", (-1.0, 1.2), (-0.5, 0.1)), ("spring2", (1.1, 1.0), (0.5, 0.15))):
        law = mbs.SpringDamper(reference_length=p["L0"], stiffness=p["k"], damping=p["d"])
        model.add(name, law, between=(model.ground.at(*a), body.at(*c)))
    read = {
        "position": lambda s: s["body.position"][:, :2],
        "angle": lambda s: s["body.rotation"],
        "velocity": lambda s: s["body.velocity"][:, :2],
        "angular_velocity": lambda s: s["body.angular_velocity"][:, 2],
        "force1": lambda s: s["spring1.force_local"],
        "force2": lambda s: s["spring2.force_local"],
    }
    spring = lambda p: {"reference_length": p["L0"], "stiffness": p["k"], "damping": p["d"]}
    return (
        model,
        read,
        lambda p: {
            "body": {"mass": p["m"], "inertia": p["J"], "velocity": p["vx"] * unit(0)[:2], "angular_velocity": p["om"]},
            "spring1": spring(p),
            "spring2": spring(p),
            "gravity": {"acceleration": -p["g"] * unit(1)},
        },
    )


def unit(i):
    return jnp.eye(3)[i]


CASES = {
    f.__name__: f
    for f in (
        spring_damper_mini,
        gravity_orbit_mini,
        cubic_spring_user_function,
        gravity_two_body_eccentric,
        gravity_figure_eight,
        rigid2d_two_springs,
    )
}


@pytest.mark.parametrize("name", CASES)
def test_motion_and_gradients_equal_exudyns(name):
    reference = json.loads((DATA / f"{name}.json").read_text())
    p = {key: float(value) for key, value in reference["parameters"].items() if np.ndim(value) == 0}
    model, read, params = CASES[name](p)
    system = model.assemble()
    times = reference["t"]
    solution = mbs.simulate(system, t1=times[-1], saveat=times, **ACCURATE)
    for key, values in reference["values"].items():
        values = np.asarray(values)
        error = np.abs(np.asarray(read[key](solution)) - values).max()
        assert error <= max(1e-9 * np.abs(values).max(), reference["error"][key]), key

    wanted = {key: p[key] for key in reference["gradients"]}

    def final(wanted):
        everything = {k: jnp.asarray(v) for k, v in p.items()} | wanted
        solution = mbs.simulate(system, t1=times[-1], saveat=times[-1:], params=params(everything), **ACCURATE)
        return {key: r(solution)[0] for key, r in read.items()}

    gradients = jax.jacfwd(final)({k: jnp.asarray(v) for k, v in wanted.items()})
    for parameter, entry in reference["gradients"].items():
        for key, expected in entry["d_final"].items():
            found = np.asarray(gradients[key][parameter])
            # The spread of two difference quotients; where it is rounding, what their step can resolve.
            bound = max(entry["spread"][key], 1e-6 * np.abs(expected).max())
            assert np.abs(found - expected).max() <= bound, (parameter, key)


@pytest.mark.parametrize("d", [1.0, 20.0, 30.0], ids=["under", "critical", "over"])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_damped_oscillator(d, rtol):
    m, k, x0 = 1.0, 100.0, 0.05
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint(mass=m), position=(1 + x0, 0, 0))
    model.add("spring", mbs.SpringDamper(1.0, k, d), between=(model.ground, bob))
    solution = mbs.simulate(model.assemble(), t1=1.0, rtol=rtol, atol=rtol * x0)
    decay, root = d / (2 * m), np.sqrt(complex(k / m - (d / (2 * m)) ** 2))
    t = np.asarray(solution.t)
    wave = np.sin(root * t) / root if root != 0 else t
    expected = 1 + (x0 * np.exp(-decay * t) * (np.cos(root * t) + decay * wave)).real
    assert np.abs(np.asarray(solution["bob.position"])[:, 0] - expected).max() <= 10 * rtol


def test_gravity_mini_example_reaches_the_quarter_of_its_orbit():
    mass, r, G = 1e25, 1e5, 6.6743e-11
    speed = np.sqrt(G * mass / r)
    model = mbs.Model()
    star = model.add("star", mbs.MassPoint(mass=mass))
    moon = model.add("moon", mbs.MassPoint(mass=1e3), position=(r, 0, 0), velocity=(0, speed, 0))
    model.add("attraction", mbs.ConnectorGravity(mass0=mass, mass1=1e3), between=(star, moon))
    solution = mbs.simulate(model.assemble(), t1=r * np.pi / 2 / speed, solver=diffrax.Dopri8(), rtol=1e-12, atol=1e-6)
    assert abs(float(solution["moon.position"][-1, 1]) / r - 1) <= 1e-9


def test_free_rigid_body_keeps_energy_and_angular_momentum():
    model = mbs.Model()
    inertia = np.array([[0.5, 0.02, -0.03], [0.02, 0.4, 0.01], [-0.03, 0.01, 0.3]])
    body = mbs.RigidBody(mass=2.0, inertia=inertia, center_of_mass=(0.1, 0.2, -0.1))
    model.add("top", body, rotation=(0.3, -0.2, 0.9), velocity=(1, 2, 3), angular_velocity=(1.0, 3.0, -2.0))
    system = model.assemble()
    solution = mbs.simulate(system, t1=5.0, rtol=1e-11, atol=1e-12)
    R, w = np.asarray(solution["top.rotation"]), np.asarray(solution["top.angular_velocity"])
    momentum = np.einsum("nij,jk,nlk,nl->ni", R, inertia, R, w)
    energy = jax.vmap(system.kinetic_energy)(solution.q, solution.v)
    assert np.abs(momentum - momentum[0]).max() <= 1e-8
    assert np.abs(energy - energy[0]).max() <= 1e-8
    # The centre of mass goes straight.
    com = np.asarray(solution.q)[:, :3]
    line = com[0] + np.asarray(solution.t)[:, None] * np.asarray(solution.v)[0, :3]
    assert np.abs(com - line).max() <= 1e-9


def test_symmetric_top_precesses_as_in_closed_form():
    """Free body with J1 = J2: the body-fixed angular velocity turns at (J3 - J1) / J1 w3."""
    J1, J3, w = 0.4, 0.25, np.array([0.3, -0.2, 2.0])
    model = mbs.Model()
    model.add("top", mbs.RigidBody(mass=1.0, inertia=np.diag([J1, J1, J3])), angular_velocity=w)
    solution = mbs.simulate(model.assemble(), t1=4.0, rtol=1e-11, atol=1e-12)
    turn = np.asarray(solution.t) * (J3 - J1) / J1 * w[2]
    expected = np.stack([w[0] * np.cos(turn) - w[1] * np.sin(turn), w[0] * np.sin(turn) + w[1] * np.cos(turn)], axis=1)
    assert np.abs(np.asarray(solution.v)[:, 3:5] - expected).max() <= 1e-8


def test_chain_vibrates_in_its_modes():
    """n masses between two walls: omega_j = 2 sqrt(k/m) sin(j pi / (2 (n + 1)))."""
    n, k, m, j = 5, 30.0, 0.7, 2
    shape = np.sin(j * np.pi * np.arange(1, n + 1) / (n + 1))
    model = mbs.Model()
    masses = model.add("mass", mbs.Mass1D(mass=np.full(n, m)), position=1e-2 * shape)
    # Coordinates count from rest positions one apart, so that the springs never turn round.
    ends = [model.ground.at(-100.0), *(masses[i].at(100.0 * i) for i in range(n)), model.ground.at(100.0 * n)]
    for i in range(n + 1):
        law = mbs.SpringDamper(reference_length=100.0, stiffness=k)
        model.add(f"spring{i}", law, between=(ends[i], ends[i + 1]))
    solution = mbs.simulate(model.assemble(), t1=3.0, rtol=1e-10, atol=1e-13)
    omega = 2 * np.sqrt(k / m) * np.sin(j * np.pi / (2 * (n + 1)))
    expected = 1e-2 * shape * np.cos(omega * np.asarray(solution.t))[:, None]
    assert np.abs(np.asarray(solution.q) - expected).max() <= 1e-9


def test_oscillator_with_known_derivatives():
    """Mass, spring, damper with constant force: figures published for Exudyn's optimization example (problem P2)."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(mass=1.6), position=-0.08, velocity=1.0)
    spring = mbs.SpringDamper(reference_length=10.0, stiffness=4000.0, damping=8.0)
    model.add("spring", spring, between=(model.ground.at(-10.0), mass))
    model.add("push", mbs.CoordinateLoad(80.0), on=mass.coordinates)
    system = model.assemble()
    theta = {"mass": {"mass": 1.6}, "spring": {"stiffness": 4000.0, "damping": 8.0}, "push": {"load": 80.0}}

    def end(theta):
        solution = mbs.simulate(system, t1=1.0, saveat=[1.0], params=theta, **ACCURATE)
        return jnp.stack([solution.q[0, 0], solution.v[0, 0]])

    np.testing.assert_allclose(end(theta), [0.01183199, -0.05336023], atol=5e-9)
    slope = jax.grad(lambda theta: end(theta)[0])(theta)
    np.testing.assert_allclose(slope["mass"]["mass"], 0.01002947, rtol=1e-6)
    np.testing.assert_allclose(slope["spring"]["stiffness"], -1.38139527e-5, rtol=1e-8)
    np.testing.assert_allclose(slope["spring"]["damping"], 2.59204e-3, rtol=2e-6)
    np.testing.assert_allclose(slope["push"]["load"], 2.3090e-4, rtol=2.5e-5)  # five digits are published


def test_outer_solar_system_keeps_energy():
    """Problem P5: five planets and the Sun over 12998 days."""
    masses = np.array(
        [1.00000597682, 0.000954786104043, 0.000285583733151, 4.37273164546e-05, 5.17759138449e-05, 1 / 1.3e8]
    )
    position = np.array([
        [0, 0, 0], [-3.5023653, -3.8169847, -1.5507963], [9.0755314, -3.0458353, -1.6483708],
        [8.3101420, -16.2901086, -7.2521278], [11.4707666, -25.7294829, -10.8169456],
        [-15.5387357, -25.2225594, -3.1902382],
    ])  # fmt: skip
    velocity = np.array([
        [0, 0, 0], [0.00565429, -0.00412490, -0.00190589], [0.00168318, 0.00483525, 0.00192462],
        [0.00354178, 0.00137102, 0.00055029], [0.00288930, 0.00114527, 0.00039677],
        [0.00276725, -0.00170702, -0.00136504],
    ])  # fmt: skip
    model = mbs.Model()
    planets = model.add("body", mbs.MassPoint(mass=masses), position=position, velocity=velocity)
    model.add("attraction", mbs.AllPairsGravity(2.95912208286e-4), on=planets)
    system = model.assemble()
    solution = mbs.simulate(system, t1=12998.0, solver=diffrax.Dopri8(), rtol=1e-12, atol=1e-14)
    energy = jax.vmap(lambda q, v: system.kinetic_energy(q, v) + system.potential_energy(0.0, q))(
        solution.q, solution.v
    )
    assert np.abs(energy / energy[0] - 1).max() <= 1e-9
