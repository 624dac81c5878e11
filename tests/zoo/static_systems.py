"""Systems at rest, and directions in which their parameters change."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import difmbs as mbs

G = 9.81


WAYS = {
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "forward over reverse": lambda f: jax.jacfwd(jax.jacrev(f)),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f)),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f)),
}


@functools.cache
def net_data():
    return json.loads((Path(__file__).parents[1] / "data" / "net_5x5.json").read_text())


@functools.cache
def net():
    """The net of tests/data/net_5x5.json."""
    p = net_data()["parameters"]
    grid = list(np.ndindex(5, 5))
    free = [node for node in grid if not set(node) <= {0, 4}]
    model = mbs.Model(gravity=(0, 0, -p["g"]))
    masses = model.add("mass", mbs.MassPoint(np.full(21, p["m"])), position=[(*node, 0.0) for node in free])
    ends = {n: masses[free.index(n)] if n in free else model.ground.at(*map(float, n)) for n in grid}
    pairs = [(n, m) for n in grid for m in ((n[0] + 1, n[1]), (n[0], n[1] + 1)) if m in ends]
    springs = mbs.SpringDamper(np.full(40, p["L0"]), np.full(40, p["k"]))
    model.add("spring", springs, between=([ends[n] for n, _ in pairs], [ends[m] for _, m in pairs]))
    model.add("load", mbs.Force((0.3, 0.1, -2.0)), on=masses[free.index((2, 1))])
    return model.assemble()


@functools.cache
def pendulum():
    model = mbs.Model(gravity=(0, -G, 0))
    bob = model.add("bob", mbs.MassPoint2D(2.0), position=(0.5, 0.1))
    model.add("rod", mbs.DistanceConstraint(0.5), between=(model.ground, bob))
    return model.assemble()


@functools.cache
def linkage():
    """A hinged arm on a spring that carries a mass on a rod: every kind of parameter counts."""
    model = mbs.Model(gravity=(0.4, -G, 0))
    arm = model.add("arm", mbs.RigidBody2D(1.2, 0.1, center_of_mass=(0.02, -0.01)), position=(0.5, 0.1), angle=0.2)
    bob = model.add("bob", mbs.MassPoint2D(0.7), position=(1.1, -0.4))
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground.at(0.02, 0.01), arm.at(-0.5, 0.01, 0)))
    model.add("rod", mbs.DistanceConstraint(0.5), between=(arm.at(0.5, 0.02, 0), bob))
    model.add(
        "spring", mbs.SpringDamper(0.6, 90.0, 1.0, 0.3), between=(model.ground.at(0.3, 0.9), arm.at(0.3, 0.05, 0))
    )
    model.add("push", mbs.Force((1.0, 0.3, 0.0)), on=bob)
    return model.assemble()


def in_direction(params, seed=0):
    """A random change of all parameters, in proportion to their size."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape) * (0.1 + np.abs(x))), params)


def shifted(params, direction, h):
    return jax.tree.map(lambda x, d: x + h * d, params, direction)
