"""Mechanisms that several tests of motion share."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import difmbs as mbs


def rods(n=2, gravity=(0.0, -9.81, 0.0)):
    """n unequal point masses in a row from the ground, on rods; let go stretched out, a little turned and moving."""
    model = mbs.Model(gravity=gravity)
    count = np.arange(n)
    length, mass = 0.5 + 0.1 * np.cos(count), 1.0 + 0.3 * np.sin(count)
    angle = 0.2 - 0.1 * count
    position = np.cumsum(length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), axis=0)
    masses = model.add("mass", mbs.MassPoint2D(mass), position=position)
    model.add("rod", mbs.DistanceConstraint(length), between=([model.ground, masses[:-1]], masses))
    return model.assemble()


def four_bar():
    """Crank, coupler and rocker, planar bodies of mass on four hinges; the crank is started, the others follow."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    a, b, d = np.array([0.0, 0.0]), np.array([0.1, 0.25]), np.array([0.7, 0.1])
    # Where the circles about B and D with the lengths of coupler and rocker meet.
    c = circles_meet(b, 0.6, d, 0.4)

    def bar(name, start, end, mass, spin=0.0):
        """With its frame at the start and its centre of mass in the middle; and the point at its end."""
        length, angle = np.linalg.norm(end - start), np.arctan2(*(end - start)[::-1])
        body = mbs.RigidBody2D(mass, mass * length**2 / 12, (length / 2, 0.0))
        body = model.add(name, body, position=start, angle=angle, angular_velocity=spin)
        return body, body.at(length)

    crank, end_of_crank = bar("crank", a, b, 0.8, spin=15.0)
    coupler, end_of_coupler = bar("coupler", b, c, 1.5)
    rocker, end_of_rocker = bar("rocker", d, c, 1.1)
    hinge = mbs.RevoluteJoint2D
    model.add("A", hinge(), between=(model.ground, crank))
    model.add("B", hinge(), between=(end_of_crank, coupler))
    model.add("C", hinge(), between=(end_of_coupler, end_of_rocker))
    model.add("D", hinge(), between=(model.ground.at(*d), rocker))
    return model.assemble()


def circles_meet(a, r, b, s):
    """The meeting point of two circles that lies to the left of the way from a to b."""
    along = b - a
    d2 = along @ along
    x = 0.5 + (r**2 - s**2) / (2 * d2)
    y = np.sqrt(r**2 / d2 - x**2)
    return a + x * along + y * np.array([-along[1], along[0]])


def top():
    """A body that spins on a ball joint, with a spring."""
    model = mbs.Model(gravity=(0.0, 0.0, -9.81))
    spin, arm = np.array([0.5, 1.0, 6.0]), np.array([0.0, 0.0, 0.3])
    inertia = np.array([[0.06, 0.004, 0.0], [0.004, 0.05, -0.002], [0.0, -0.002, 0.03]])
    # The body's frame is at the joint.
    body = mbs.RigidBody(1.2, inertia, arm)
    body = model.add("top", body, rotation=(0.7, 0.2, 0.0), angular_velocity=spin)
    model.add("joint", mbs.SphericalJoint(), between=(model.ground, body))
    spring = mbs.SpringDamper(0.4, 30.0, 0.2)
    model.add("spring", spring, between=(model.ground.at(0.4, 0.3, 0.5), body.at(0.1, 0.0, 0.5)))
    return model.assemble()


class Swaying(eqx.Module):
    """A length that changes with time, with parameters of its own."""

    length: jax.Array
    amplitude: jax.Array
    frequency: jax.Array

    def __call__(self, t):
        return self.length + self.amplitude * jnp.sin(self.frequency * t)


def winch():
    """A point mass on a rod whose length is prescribed, and another one below it, on a rod and a spring."""
    model = mbs.Model(gravity=(0.2, -9.81, 0.0))
    first = model.add("first", mbs.MassPoint2D(1.3), position=(0.5, 0.1), velocity=(0.1, -0.7))
    second = model.add("second", mbs.MassPoint2D(0.8), position=(0.7, -0.3), velocity=(0.3, -0.6))
    length = Swaying(*map(jnp.asarray, (np.hypot(0.5, 0.1), 0.05, 3.0)))
    model.add("rod", mbs.DistanceConstraint(length), between=(model.ground, first))
    model.add("link", mbs.DistanceConstraint(np.hypot(0.2, 0.4)), between=(first, second))
    model.add("spring", mbs.SpringDamper(0.5, 40.0, 0.4, 0.3), between=(model.ground.at(1.0, 0.2), second))
    return model.assemble()


def gears():
    """A motor on two gears that are held together by their velocities, against a spring."""
    model = mbs.Model()
    a = model.add("a", mbs.RotationalMass1D(0.5), angle=0.3, angular_velocity=2.0)
    b = model.add("b", mbs.RotationalMass1D(0.2), angle=-0.1, angular_velocity=0.8)
    c = model.add("c", mbs.RotationalMass1D(0.3), angle=0.2, angular_velocity=-0.4)
    mesh = mbs.CoordinateConstraint(2.5, velocity_level=True)
    model.add("mesh", mesh, between=(a.coordinate(0), b.coordinate(0)))
    slip = Swaying(*map(jnp.asarray, (0.0, 0.1, 2.0)))
    belt = mbs.CoordinateConstraint(-2.0, slip, velocity_level=True)
    model.add("belt", belt, between=(b.coordinate(0), c.coordinate(0)))
    model.add("motor", mbs.CoordinateLoad(3.0), on=a.coordinate(0))
    model.add("spring", mbs.RotationalSpringDamper(5.0, 0.3), between=(b, c))
    return model.assemble()


ANDREWS = {
    "mass": (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498),
    "inertia": (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5),
    "center": (
        (0.00092, 0.0), (-0.0115, 0.0), (0.01874, 0.01043), (0.0, -0.00579),
        (0.02308, 0.00916), (0.00579, 0.0), (0.01228, -0.00449),
    ),
    "start": (
        -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885884, 0.487364979543842551,
        -0.222668390165885884, 1.23054744454982119,
    ),
    "end": (
        15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
        0.5347301163226948, 1.048080741042263,
    ),
}  # fmt: skip
"""Masses, inertias, centres of mass relative to each body's own hinge, and the angles at 0 s and 0.03 s, as published:
beta, Theta, gamma, Phi, delta, Omega, epsilon."""


def andrews():
    """Andrews' squeezing mechanism (IFToMM A03), seven bodies of one name on ten hinges; angles in `absolute`."""
    model = mbs.Model()
    beta, theta, gamma, phi, delta, omega, epsilon = ANDREWS["start"]
    angle = np.array([beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon])
    turned = lambda i, x, y: np.array(
        [np.cos(angle[i]) * x - np.sin(angle[i]) * y, np.sin(angle[i]) * x + np.cos(angle[i]) * y]
    )
    o, a, b = np.zeros(2), np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273])
    e, h = a + turned(4, 0.04, 0), a + turned(6, 0, -0.04)
    origin = np.stack([o, turned(0, 0.007, 0), b, e, a, h, a])
    bars = mbs.RigidBody2D(np.array(ANDREWS["mass"]), np.array(ANDREWS["inertia"]), np.array(ANDREWS["center"]))
    bars = model.add("bars", bars, position=origin, angle=angle)
    fixed = model.ground.at
    one, two, three, four, five, six, seven = (bars[i] for i in range(7))
    hinges = {
        "O": (fixed(*o), one), "B": (fixed(*b), three), "A5": (fixed(*a), five), "A7": (fixed(*a), seven),
        "P1": (one.at(0.007, 0), two), "E": (five.at(0.04, 0), four), "H": (seven.at(0, -0.04), six),
        "P3": (two.at(-0.028, 0), three.at(0, -0.035)), "P4": (two.at(-0.028, 0), four.at(0, -0.02)),
        "P6": (two.at(-0.028, 0), six.at(0.02, 0)),
    }  # fmt: skip
    for name, ends in hinges.items():
        model.add(name, mbs.RevoluteJoint2D(), between=ends)
    model.add("spring", mbs.SpringDamper(0.07785, 4530.0), between=(fixed(0.014, 0.072), three.at(0.02, -0.018)))
    model.add("drive", mbs.Torque((0.0, 0.0, 0.033)), on=one)
    return model.assemble()


def andrews_angles(outputs):
    """beta, Theta, gamma, Phi, delta, Omega, epsilon."""
    one, two, three, four, five, six, seven = jnp.moveaxis(outputs["bars.rotation"], -1, 0)
    return jnp.stack([one, two - one, three, four - five, five, six - seven, seven], axis=-1)


def oscillator():
    """A mass on a spring and a damper."""
    model = mbs.Model(gravity=(0.0, 0.0, -9.81))
    mass = model.add("mass", mbs.MassPoint(1.2), position=(0.1, 0.0, -1.1), velocity=(0.3, 0.2, 0.0))
    model.add("spring", mbs.SpringDamper(1.0, 80.0, 2.0), between=(model.ground, mass))
    return model.assemble()


def stars():
    """Three bodies that attract each other."""
    model, random = mbs.Model(), np.random.default_rng(3)
    state = dict(position=random.normal(size=(3, 3)), velocity=0.1 * random.normal(size=(3, 3)))
    stars = model.add("star", mbs.MassPoint(np.array([1.0, 2.0, 0.5])), **state)
    model.add("attraction", mbs.AllPairsGravity(1.0), on=stars)
    return model.assemble()


def stone():
    """A body that tumbles freely."""
    model = mbs.Model(gravity=(0.0, 0.0, -9.81))
    stone = mbs.RigidBody(1.3, np.diag([0.3, 0.4, 0.2]), (0.1, 0.0, -0.1))
    model.add("stone", stone, rotation=(0.4, -0.2, 0.9), angular_velocity=(3.0, 2.0, -4.0), velocity=(1.0, 0.0, 2.0))
    return model.assemble()


def side_by_side():
    """A bob on two equal rods, of which one is redundant."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    bob = model.add("bob", mbs.MassPoint2D(1.3), position=(0.8, -0.6), velocity=(0.3, 0.4))
    for name in ("rod", "again"):
        model.add(name, mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    return model.assemble(redundant="min_norm")


def elastic_balls():
    """Two balls on a line, which meet soon and exchange their velocities."""
    model = mbs.Model()
    for name, position, velocity in (("a", 0.0, 2.0), ("b", 0.03, 0.5)):
        model.add(name, mbs.Mass1D(1.0), position=position, velocity=velocity)
    meet = lambda t, outputs: (outputs["b.position"] - outputs["a.position"])[0]
    model.add("hit", mbs.Event(meet, direction=-1, jump=lambda t, q, v: (q, v[::-1])))
    return model.assemble()


def cut_loose():
    """A pendulum whose rod is cut soon: from there on a throw."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    bob = model.add("bob", mbs.MassPoint(mass=2.0), position=(1.0, 0.0, 0.0), velocity=(0.0, 0.3, 0.1))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("cut", mbs.Event(0.0213, switch={"rod": False}))
    return model.assemble()


def taut_rope():
    """A bob that falls until its rope gets taut."""
    model = mbs.Model(gravity=(0.0, -9.81, 0.0))
    bob = model.add("bob", mbs.MassPoint(mass=1.0), position=(0.6, -0.797, 0.0), velocity=(0.2, -0.1, 0.05))
    model.add("rope", mbs.DistanceConstraint(1.0), between=(model.ground, bob), active=False)
    length = lambda t, outputs: outputs["rope.distance"] - 1.0
    model.add("taut", mbs.Event(length, direction=1, switch={"rope": True}))
    return model.assemble()


def mixture(apart=False):
    """A mixture: single and many instances, shared and own numbers, several groups."""
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint(2.0))
    row = model.add("row", mbs.MassPoint(np.array([1.0, 2.0, 3.0])), position=np.arange(9.0).reshape(3, 3))
    plate = model.add("plate", mbs.RigidBody2D(1.0, 0.1), position=(5, 5))
    ends = [model.ground, row[0], bob, plate.at(0.1, 0.2)], [row[1], row[2], row[0], row[2]]
    model.add("net", mbs.SpringDamper(0.5, np.array([10.0, 20.0, 30.0, 40.0]), 0.3), between=ends)
    model.add("one", mbs.SpringDamper(0.5, 7.0), between=(bob, row[2]))
    return model.assemble()
