"""Andrews' squeezing mechanism (IFToMM A03): seven bars on ten hinges, a spring, a drive; 0.03 s."""

import jax.numpy as jnp
import numpy as np

import difmbs as mbs

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
CENTERS = (
    (0.00092, 0.0), (-0.0115, 0.0), (0.01874, 0.01043), (0.0, -0.00579), (0.02308, 0.00916), (0.00579, 0.0),
    (0.01228, -0.00449),
)  # fmt: skip
START = (-0.0617138900142765, 0.0, 0.455279819163070, 0.222668390165886, 0.487364979543843, -0.222668390165886,
         1.230547444549821)  # fmt: skip
ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")


def squeezer() -> mbs.System:
    beta, theta, gamma, phi, delta, omega, epsilon = START
    turns = np.array([beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon])

    def turned(bar, x, y):
        c, s = np.cos(turns[bar]), np.sin(turns[bar])
        return np.array([c * x - s * y, s * x + c * y])

    a, b = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273])
    e, h = a + turned(4, 0.04, 0), a + turned(6, 0, -0.04)
    hinges = np.stack([np.zeros(2), turned(0, 0.007, 0), b, e, a, h, a])
    model = mbs.Model()
    bars = model.add("bars", mbs.RigidBody2D(MASSES, INERTIAS, CENTERS), position=hinges, angle=turns)
    one, two, three, four, five, six, seven = bars
    fixed, joint = model.ground.at, two.at(-0.028, 0)
    ends = {
        "O": (fixed(), one), "B": (fixed(*b), three), "A5": (fixed(*a), five), "A7": (fixed(*a), seven),
        "P1": (one.at(0.007), two), "E": (five.at(0.04), four), "H": (seven.at(0, -0.04), six),
        "P3": (joint, three.at(0, -0.035)), "P4": (joint, four.at(0, -0.02)), "P6": (joint, six.at(0.02)),
    }  # fmt: skip
    for name, markers in ends.items():
        model.add(name, mbs.RevoluteJoint2D(), between=markers)
    spring = mbs.SpringDamper(reference_length=0.07785, stiffness=4530.0)
    model.add("spring", spring, between=(fixed(0.014, 0.072), three.at(0.02, -0.018)))
    model.add("drive", mbs.Torque((0.0, 0.0, 0.033)), on=one)
    model.sense("angles", angles)
    return model.assemble()


def angles(t, outputs):
    """Beta, Theta, gamma, Phi, delta, Omega, epsilon."""
    one, two, three, four, five, six, seven = outputs["bars.rotation"]
    return jnp.stack([one, two - one, three, four - five, five, six - seven, seven])
