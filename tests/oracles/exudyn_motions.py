"""Mechanisms of which tests/data has motions by Exudyn 1.13.6, and how to compare with them."""

import json
from pathlib import Path

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import difmbs as mbs

DATA = Path(__file__).parents[1] / "data"


def pendulum(p):
    """Let go where the rod is horizontal: at (L, 0), in the benchmark of IFToMM at (-L, 0)."""
    side = -1 if p["name"] == "pendulum_iftomm" else 1
    model = mbs.Model(gravity=(0, -p["g"], 0))
    bob = model.add("bob", mbs.MassPoint2D(p["m"]), position=(side * p["L"], 0))
    model.add("rod", mbs.DistanceConstraint(p["L"]), between=(model.ground, bob))
    read = {
        "position": lambda s: s["bob.position"][:, :2],
        "velocity": lambda s: s["bob.velocity"][:, :2],
        "lambda": lambda s: s["rod.force"],
        "distance": lambda s: s["rod.distance"],
    }
    return (
        model,
        read,
        lambda p: {
            "bob": {"mass": p["m"], "position": jnp.stack([side * p["L"], 0 * p["L"]])},
            "rod": {"distance": p["L"]},
            "gravity": weight(p),
        },
    )


def double_pendulum(p):
    model = mbs.Model(gravity=(0, -p["g"], 0))
    start = swung(p)
    first = model.add("first", mbs.MassPoint2D(p["m1"]), **start["first"])
    second = model.add("second", mbs.MassPoint2D(p["m2"]), **start["second"])
    model.add("rod1", mbs.DistanceConstraint(p["L1"]), between=(model.ground, first))
    model.add("rod2", mbs.DistanceConstraint(p["L2"]), between=(first, second))
    return (
        model,
        two_points("first", "second") | {f"lambda{i}": lambda s, i=i: s[f"rod{i}.force"] for i in (1, 2)},
        lambda p: {
            "first": {"mass": p["m1"], **swung(p)["first"]},
            "second": {"mass": p["m2"], **swung(p)["second"]},
            "rod1": {"distance": p["L1"]},
            "rod2": {"distance": p["L2"]},
            "gravity": weight(p),
        },
    )


def swung(p):
    at = lambda angle: jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
    first = p["L1"] * at(p["phi1"])
    velocity = p["w1"] * p["L1"] * jnp.stack([jnp.cos(p["phi1"]), jnp.sin(p["phi1"])])
    return {
        "first": {"position": first, "velocity": velocity},
        "second": {"position": first + p["L2"] * at(p["phi2"]), "velocity": velocity},
    }


class Rods(eqx.Module):
    """|p1| - L1 = 0 in terms of the coordinates of one particle, |p2 - p1| - L2 = 0 of two."""

    length: jax.Array

    def __call__(self, t, q, q_t, velocity_level):
        between = q[2:] - q[:2] if q.size == 4 else q
        return (jnp.sqrt(jnp.sum(between**2)) - self.length)[None]


def user_functions(p):
    model = mbs.Model(gravity=(0, -p["g"], 0))
    first = model.add("first", mbs.MassPoint2D(p["m1"]), position=(p["L1"], 0))
    second = model.add("second", mbs.MassPoint2D(p["m2"]), position=(p["L1"] + p["L2"], 0))
    law = lambda length: mbs.CoordinateVectorConstraint(constraint_user_function=Rods(jnp.asarray(length)))
    model.add("rod1", law(p["L1"]), between=(model.ground, first.coordinates))
    model.add("rod2", law(p["L2"]), between=(first.coordinates, second.coordinates))
    read = two_points("first", "second") | {f"lambda{i}": lambda s, i=i: s[f"rod{i}.force"][:, 0] for i in (1, 2)}
    return (
        model,
        read,
        lambda p: {"first": {"mass": p["m1"]}, "second": {"mass": p["m2"]}, "gravity": weight(p)},
    )


def two_points(first, second):
    return {
        "position1": lambda s: s[f"{first}.position"][:, :2],
        "position2": lambda s: s[f"{second}.position"][:, :2],
        "velocity1": lambda s: s[f"{first}.velocity"][:, :2],
        "velocity2": lambda s: s[f"{second}.velocity"][:, :2],
    }


def chain(p, n=10):
    model = mbs.Model(gravity=(0, -p["g"], 0))
    at = lambda length: length * np.arange(1, n + 1)[:, None] * np.array([1.0, 0.0])
    masses = model.add("mass", mbs.MassPoint2D(np.full(n, p["m"])), position=at(p["L"]))
    model.add("rod", mbs.DistanceConstraint(np.full(n, p["L"])), between=([model.ground, masses[:-1]], masses))
    read = {
        "position_tip": lambda s: s["mass.position"][:, 9, :2],
        "position_mid": lambda s: s["mass.position"][:, 4, :2],
        "velocity_tip": lambda s: s["mass.velocity"][:, 9, :2],
        "lambda1": lambda s: s["rod.force"][:, 0],
        "lambda5": lambda s: s["rod.force"][:, 4],
        "lambda10": lambda s: s["rod.force"][:, 9],
    }
    return (
        model,
        read,
        lambda p: {
            "mass": {"mass": jnp.full(n, p["m"]), "position": p["L"] * jnp.asarray(at(1.0))},
            "rod": {"distance": jnp.full(n, p["L"])},
            "gravity": weight(p),
        },
    )


def fourbar(p):
    """Of three particles, the third held by two coordinate constraints."""
    model = mbs.Model(gravity=(0, -p["g"], 0))
    speed = [(p["v1"], 0), (p["v2"], 0)] if "v1" in p else [(4.0, 0), (0, 0)]
    a = model.add("a", mbs.MassPoint2D(p["m"]), position=(0, 2), velocity=speed[0])
    b = model.add("b", mbs.MassPoint2D(p["m"]), position=(4, 5), velocity=speed[1])
    c = model.add("c", mbs.MassPoint2D(p["m"]), position=(4, 0))
    # The third particle is not loaded; its weight would only add to the force of its own constraint.
    model.add("lift", mbs.Force((0, p["m"] * p["g"], 0)), on=c)
    model.add("rod1", mbs.DistanceConstraint(2.0), between=(model.ground, a))
    model.add("rod2", mbs.DistanceConstraint(5.0), between=(a, b))
    model.add("rod3", mbs.DistanceConstraint(5.0), between=(b, c))
    model.add("x3", mbs.CoordinateConstraint(offset=4.0), between=(model.ground, c.coordinate(0)))
    model.add("y3", mbs.CoordinateConstraint(offset=0.0), between=(model.ground, c.coordinate(1)))
    read = two_points("a", "b")
    read |= {f"lambda_{name}": lambda s, name=name: s[f"{name}.force"] for name in ("rod1", "rod2", "rod3", "x3", "y3")}
    return (
        model,
        read,
        lambda p: {
            **{name: {"mass": p["m"]} for name in "abc"},
            "lift": {"load_vector": p["m"] * p["g"] * jnp.eye(3)[1]},
            "gravity": weight(p),
        },
    )


def top(p):
    """A body on a spherical joint, with a spring."""
    model = mbs.Model(gravity=(0, 0, -p["g"]))
    start = spun(p)
    inertia = np.diag([p["J1"], p["J2"], p["J3"]])
    body = model.add("body", mbs.RigidBody(p["m"], inertia), rotation=(p["tilt"], 0, 0), **start)
    model.add("joint", mbs.SphericalJoint(), between=(model.ground, body.at(0, 0, p["h"])))
    spring = mbs.SpringDamper(p["L0"], p["k"], p["d"])
    model.add("spring", spring, between=(model.ground.at(0.8, 0.3, -0.5), body.at(0.15, 0.1, -0.2)))
    read = {
        "com": lambda s: s["body.position"],
        "velocity": lambda s: s["body.velocity"],
        "angular_velocity": lambda s: s["body.angular_velocity"],
        "angular_velocity_local": lambda s: s.v[:, 3:],
        "rotation_matrix": lambda s: s["body.rotation"].reshape(-1, 9),
        "spring_force": lambda s: s["spring.force_local"],
        "joint_force": lambda s: s["joint.force"],
    }
    return (
        model,
        read,
        lambda p: {
            "body": {"mass": p["m"], "inertia": jnp.diag(jnp.stack([p["J1"], p["J2"], p["J3"]])), **spun(p)},
            "spring": {"reference_length": p["L0"], "stiffness": p["k"], "damping": p["d"]},
            "gravity": {"acceleration": -p["g"] * jnp.eye(3)[2]},
        },
    )


def spun(p):
    axis = jnp.stack([0 * p["tilt"], -jnp.sin(p["tilt"]), jnp.cos(p["tilt"])])
    position, spin = -p["h"] * axis, p["spin"] * axis + p["omy"] * jnp.eye(3)[1]
    return {"position": position, "velocity": jnp.cross(spin, position), "angular_velocity": spin}


def weight(p):
    return {"acceleration": -p["g"] * jnp.eye(3)[1]}


CASES = {
    "distance_pendulum_mini": pendulum,
    "pendulum_iftomm": pendulum,
    "double_pendulum_distance": double_pendulum,
    "coordinate_vector_double_pendulum": user_functions,
    "chain10_distance": chain,
    "fourbar_consistent": fourbar,
    "fourbar_testmodel_inconsistent": fourbar,
    "rigid3d_pendulum_spring": top,
}


FIXED = 4000


STEPS = {"pendulum_iftomm": 32000, "double_pendulum_distance": 6000, "rigid3d_pendulum_spring": 5000}


def methods(name, solver):
    """Runs whose results, added up with these weights, have converged."""
    if solver is None:
        return {1.0: dict(solver=diffrax.Dopri8(), rtol=1e-13, atol=1e-13)}
    count, end = STEPS.get(name, FIXED), reference(name)["t"][-1]
    return {-1 / 3: dict(solver=solver, dt=end / count), 4 / 3: dict(solver=solver, dt=end / (2 * count))}


def reference(name):
    return json.loads((DATA / f"{name}.json").read_text())


class Compared:
    """A case as difmbs and as Exudyn computed it."""

    def __init__(self, name):
        self.reference = reference(name)
        self.p = {key: float(value) for key, value in self.reference["parameters"].items()}
        model, read, self.params = CASES[name](self.p | {"name": name})
        self.system = model.assemble()
        self.read = {key: read[key] for key in self.reference["values"]}
        self.wanted = {key: jnp.asarray(self.p[key]) for key in self.reference["gradients"]}

    def outputs(self, wanted, run):
        times = self.reference["t"]
        everything = {key: jnp.asarray(value) for key, value in self.p.items()} | wanted
        params = self.params(everything | {"name": self.reference["name"]})
        solution = mbs.simulate(self.system, t1=times[-1], saveat=times, params=params, **run)
        return {key: read(solution) for key, read in self.read.items()}

    def check_motion(self, found):
        for key, values in self.reference["values"].items():
            values, error = np.asarray(values), np.abs(np.asarray(found[key]) - values)
            is_state = key not in self.reference["multipliers"]
            if self.reference["name"] == "fourbar_testmodel_inconsistent":
                # Of an inconsistent start Exudyn writes down the velocities as given, not the ones it goes on with.
                error = error[1:]
            relative = 1e-9 if is_state else 1e-6
            assert error.max() <= max(relative * np.abs(values).max(), self.reference["error"][key]), key

    def check_gradients(self, found):
        for parameter, entry in self.reference["gradients"].items():
            for key, expected in entry["d_final"].items():
                # Of states the stated spread, or what differences of numbers good to 1e-10 resolve with relative steps
                # of 1e-3; those of multipliers carry the reference's rounding, which grows with 1 / h^2.
                resolved = 1e-7 * np.abs(self.reference["values"][key]).max() / abs(self.p[parameter])
                if key in self.reference["multipliers"]:
                    resolved = 1e-2 * np.abs(expected).max()
                bound = max(entry["spread"][key], resolved)
                assert np.abs(np.asarray(found[key][parameter])[-1] - expected).max() <= bound, (parameter, key)
