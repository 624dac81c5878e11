"""The tables that the contract tests run over: every connector, on every pairing of bodies, in random states.

A new force is one line in `CONNECTORS`, a new constraint one line in `CONSTRAINTS`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import difmbs as mbs

INERTIA = np.array([[0.5, 0.02, -0.03], [0.02, 0.4, 0.01], [-0.03, 0.01, 0.3]])
OFFSET = (0.12, -0.05, 0.08)


def point(model, name, rng):
    body = mbs.MassPoint(mass=1.3)
    return model.add(name, body, position=rng.normal(size=3), velocity=rng.normal(size=3)), (0.0, 0.0, 0.0)


def planar(model, name, rng):
    body = mbs.RigidBody2D(mass=1.7, inertia=0.4, center_of_mass=(0.05, -0.02))
    handle = model.add(
        name, body, position=rng.normal(size=2), angle=rng.normal(), velocity=rng.normal(size=2), angular_velocity=2.0
    )
    return handle, (0.3, -0.2, 0.0)


def spatial(model, name, rng):
    body = mbs.RigidBody(mass=2.1, inertia=INERTIA, center_of_mass=OFFSET)
    handle = model.add(
        name,
        body,
        position=rng.normal(size=3),
        rotation=0.8 * rng.normal(size=3),
        velocity=rng.normal(size=3),
        angular_velocity=rng.normal(size=3),
    )
    return handle, (0.25, 0.1, -0.3)


def ground(model, name, rng):
    return model.ground, tuple(rng.normal(size=3))


PAIRINGS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "ground-point": (ground, point),
    "point-point": (point, point),
    "point-planar": (point, planar),
    "planar-planar": (planar, planar),
    "point-spatial": (point, spatial),
    "spatial-spatial": (spatial, spatial),
}
"""Functions that add a body and return its handle and a point on it."""


def at_point(body, point):
    return body.at(*point)


def all_coordinates(body, point):
    return body.coordinates


def last_coordinate(body, point):
    """z, an angle or a component of a quaternion; ground has none."""
    count = body.kind.coordinates
    return body.coordinate(count - 1) if count else body


@dataclasses.dataclass(frozen=True)
class Case:
    """A law and what holds for it.

    `conservative`: without damping the effort is minus the derivative of the energy. `planar`: it acts in the x-y plane
    and sees nothing else. Both are said of forces only. `pairings`: the bodies it can join. `marker`: what of a body,
    and a point on it, it joins.
    """

    law: Callable[[], Any]
    conservative: bool = True
    planar: bool = False
    pairings: tuple[str, ...] = tuple(PAIRINGS)
    marker: Callable[..., Any] = at_point


def cubic(t, stretch, rate, stiffness, damping, force):
    return stiffness * stretch + 30.0 * stretch**3 + damping * rate + force


TABLE = np.array([[-2.0, -9.0], [-0.5, -1.0], [0.0, 0.0], [0.7, 3.0], [2.5, 5.0]])
TURNING = ("planar-planar", "spatial-spatial")

CONNECTORS: dict[str, Case] = {
    "SpringDamper": Case(lambda: mbs.SpringDamper(0.6, 40.0, 3.0, 0.7, 0.2)),
    "SpringDamper user": Case(
        lambda: mbs.SpringDamper(0.6, 40.0, 3.0, 0.7, 0.2, spring_force_user_function=cubic), conservative=False
    ),
    "ConnectorGravity": Case(lambda: mbs.ConnectorGravity(2.0, 1.5, 0.8)),
    "ConnectorGravity softened": Case(lambda: mbs.ConnectorGravity(2.0, 1.5, 0.8, 4.0)),
    "ConnectorGravity plummer": Case(lambda: mbs.ConnectorGravity(2.0, 1.5, 0.8, 0.5, "plummer")),
    "LinearSpringDamper": Case(lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.1, 0.6), planar=True),
    "LinearSpringDamper tensile": Case(
        lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.1, 0.6, type="tensile"), conservative=False, planar=True
    ),
    "LinearSpringDamper soft gate": Case(
        lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.1, 1.0, type="compressive", gate_width=0.3),
        conservative=False,
        planar=True,
    ),
    "LinearSpringDamper tabular": Case(
        lambda: mbs.LinearSpringDamper(0.0, 3.0, 0.1, 0.6, type="tabular", curve=TABLE, extrapolate="linear"),
        conservative=False,
        planar=True,
    ),
    "LinearSpringDamper coupled": Case(
        lambda: mbs.LinearSpringDamper(40.0, 3.0, 0.1, 0.6, 0.04, 0.02),
        conservative=False,
        planar=True,
        pairings=TURNING,
    ),
    "RotationalSpringDamper": Case(
        lambda: mbs.RotationalSpringDamper(5.0, 0.4, 0.1, 0.3), planar=True, pairings=TURNING
    ),
}

FORCE_CASES = [(c, p) for c, case in CONNECTORS.items() for p in case.pairings]


def swinging(t):
    return 1.2 + 0.3 * jnp.sin(2 * t)


def two_equations(t, q, q_t, velocity_level):
    return jnp.stack([q[0] * q[3] - q[1], jnp.sin(q[4]) + q[2] * t])


X0, X1 = np.array([[1.0, 2.0, -1.0]]), np.array([[0.5, -1.0, 0.3]])
Y0, Y1 = np.array([[0.2, -0.1, 0.4]]), np.array([[-0.3, 0.6, 0.1]])
QUADRATIC = (X0, X1, Y0, Y1)
SOME = ("point-planar", "spatial-spatial")
VECTORS: dict[str, Any] = dict(pairings=("point-point",), marker=all_coordinates)

CONSTRAINTS: dict[str, Case] = {
    "DistanceConstraint": Case(lambda: mbs.DistanceConstraint(1.3)),
    "DistanceConstraint of time": Case(lambda: mbs.DistanceConstraint(swinging), pairings=SOME),
    "RevoluteJoint2D": Case(mbs.RevoluteJoint2D),
    "SphericalJoint": Case(mbs.SphericalJoint, pairings=tuple(p for p in PAIRINGS if p != "planar-planar")),
    "CoordinateConstraint": Case(lambda: mbs.CoordinateConstraint(0.7, 0.4), marker=last_coordinate),
    "CoordinateConstraint of time": Case(
        lambda: mbs.CoordinateConstraint(0.7, swinging), pairings=SOME, marker=last_coordinate
    ),
    "CoordinateConstraint velocity": Case(
        lambda: mbs.CoordinateConstraint(0.7, swinging, velocity_level=True),
        pairings=SOME,
        marker=last_coordinate,
    ),
    "CoordinateVectorConstraint": Case(lambda: mbs.CoordinateVectorConstraint(*QUADRATIC, [0.7]), **VECTORS),
    "CoordinateVectorConstraint linear": Case(lambda: mbs.CoordinateVectorConstraint(X0, X1), **VECTORS),
    "CoordinateVectorConstraint of time": Case(
        lambda: mbs.CoordinateVectorConstraint(*QUADRATIC, lambda t: jnp.stack([t**3])), **VECTORS
    ),
    "CoordinateVectorConstraint velocity": Case(
        lambda: mbs.CoordinateVectorConstraint(*QUADRATIC, [0.7], velocity_level=True), **VECTORS
    ),
    "CoordinateVectorConstraint user": Case(
        lambda: mbs.CoordinateVectorConstraint(constraint_user_function=two_equations), **VECTORS
    ),
}

CONSTRAINT_CASES = [(c, p) for c, case in CONSTRAINTS.items() for p in case.pairings]


def system_of(law: Any, pairing: str, seed: int = 0, marker: Callable[..., Any] = at_point) -> mbs.System:
    """A model with one connector, "link", between two bodies of the pairing, "a" and "b"."""
    rng = np.random.default_rng(seed)
    model = mbs.Model(gravity=(0.3, -9.81, 0.5))
    first, second = PAIRINGS[pairing]
    ends = first(model, "a", rng), second(model, "b", rng)
    model.add("link", law, between=tuple(marker(*end) for end in ends))
    return model.assemble()


def states(system: mbs.System, count: int, seed: int = 1) -> tuple[Any, Any]:
    """Random coordinates and velocities; quaternions near unit length but not exactly, as a solver leaves them."""
    rng = np.random.default_rng(seed)
    q0, v0 = (np.asarray(x) for x in system.initial_state())
    q = q0 + 0.4 * rng.normal(size=(count, q0.size))
    v = v0 + rng.normal(size=(count, v0.size))
    return jnp.asarray(q), jnp.asarray(v)


def constrained(constraint, pairing):
    case = CONSTRAINTS[constraint]
    return system_of(case.law(), pairing, marker=case.marker)
