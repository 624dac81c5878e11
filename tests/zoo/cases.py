"""The tables that the contract tests run over: every connector, on every pairing of bodies, in random states.

A new force is one line in `CONNECTORS`, a new constraint one line in `CONSTRAINTS`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

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


def plane(model, name, rng):
    return model.ground, (0.4, -0.3, 0.0)


def wheel(model, name, rng):
    """A disc of radius 0.4 about y that touches the x-y plane."""
    turn = np.array([0.4, 0.2, 0.7])
    lean = Rotation.from_rotvec(turn).as_matrix()[2, 1]
    body = mbs.RigidBody(mass=2.1, inertia=INERTIA)
    place = (0.1, 0.2, 0.4 * np.sqrt(1 - lean**2))
    return model.add(name, body, position=place, rotation=turn, angular_velocity=rng.normal(size=3)), (0.0, 0.0, 0.0)


PAIRINGS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "ground-point": (ground, point),
    "point-point": (point, point),
    "point-planar": (point, planar),
    "planar-planar": (planar, planar),
    "point-spatial": (point, spatial),
    "spatial-spatial": (spatial, spatial),
}
"""Functions that add a body and return its handle and a point on it."""
EVERY = tuple(PAIRINGS)
PAIRINGS["plane-wheel"] = (plane, wheel)


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
    and sees nothing else. `balanced`: it has no net moment, and a rigid motion of both bodies only turns it. These are
    said of forces only. `pairings`: the bodies it can join. `marker`: what of a body, and a point on it, it joins.
    """

    law: Callable[[], Any]
    conservative: bool = True
    planar: bool = False
    balanced: bool = True
    pairings: tuple[str, ...] = EVERY
    marker: Callable[..., Any] = at_point


def cubic(t, stretch, rate, stiffness, damping, force):
    return stiffness * stretch + 30.0 * stretch**3 + damping * rate + force


TABLE = np.array([[-2.0, -9.0], [-0.5, -1.0], [0.0, 0.0], [0.7, 3.0], [2.5, 5.0]])
TURNING = ("planar-planar", "spatial-spatial")
SOME = ("point-planar", "spatial-spatial")
FEW = ("ground-point", "spatial-spatial")
AXIAL = ("ground-point", "planar-planar", "spatial-spatial")
"""A point as first body could not take up the moments."""
AXIS = np.array([0.3, -0.5, 1.1])
ABOUT_Z = np.array([0.0, 0.0, 2.0])
SIX = np.array([30.0, 40.0, 50.0, 3.0, 4.0, 5.0])
FULL = np.array([[2.0 * np.sin(3 * i + j) for j in range(6)] for i in range(6)])
CYLINDER: dict[str, Any] = dict(
    areas=(1.0, 0.7), hose_volumes=(0.5, 0.6), nominal_flow=0.3, system_pressure=5.0, oil_bulk_modulus=30.0,
    valve_openings=(0.6, -0.4), tank_pressure=-1.0, damping=0.3, smoothing=0.5,
)  # fmt: skip
VOLUMES: dict[str, Any] = dict(
    cylinder_bulk_modulus=50.0, hose_bulk_modulus=20.0, offset_length=0.1, stroke_length=9.0, volume_changes=True
)
PUSHED = np.array([[-1.0, -30.0], [0.0, 0.0], [1.0, 70.0]])


def six_forces(t, x, rate, stiffness, damping, offset):
    return stiffness @ jnp.sin(x - offset) + damping @ rate


def three_forces(t, displacement, velocity, stiffness, damping, offset):
    return stiffness * (displacement - offset) ** 3 + damping * velocity


def one_force(t, x, rate, stiffness, damping, offset):
    return stiffness * (x - offset) ** 3 + damping * rate


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
    "AxialSpringDamper": Case(lambda: mbs.AxialSpringDamper(AXIS, 40.0, 3.0, 0.3, 0.2, 0.7), pairings=AXIAL),
    "AxialSpringDamper user": Case(
        lambda: mbs.AxialSpringDamper(AXIS, 40.0, 3.0, 0.3, user_function=one_force), conservative=False, pairings=AXIAL
    ),
    "TorsionalSpringDamper": Case(
        lambda: mbs.TorsionalSpringDamper(AXIS, 5.0, 0.4, 0.3, 0.2, 0.1), pairings=("spatial-spatial",)
    ),
    "TorsionalSpringDamper planar": Case(
        lambda: mbs.TorsionalSpringDamper(ABOUT_Z, 5.0, 0.4, 0.3, 0.2, 0.1), pairings=("planar-planar",)
    ),
    "CoordinateSpringDamper": Case(
        lambda: mbs.CoordinateSpringDamper(40.0, 3.0, 0.3, 0.2, 0.7),
        balanced=False,
        pairings=FEW,
        marker=last_coordinate,
    ),
    "CartesianSpringDamper": Case(
        lambda: mbs.CartesianSpringDamper(SIX[:3], SIX[3:], AXIS), balanced=False, pairings=FEW
    ),
    "CartesianSpringDamper user": Case(
        lambda: mbs.CartesianSpringDamper(SIX[:3], SIX[3:], AXIS, user_function=three_forces),
        conservative=False,
        balanced=False,
        pairings=FEW,
    ),
    "Bushing": Case(
        lambda: mbs.Bushing(SIX, 0.1 * SIX, 0.02 * SIX, 0.2 * AXIS, -0.1 * AXIS), pairings=("spatial-spatial",)
    ),
    "Bushing full": Case(
        lambda: mbs.Bushing(SIX, SIX, 0.02 * SIX, AXIS, -AXIS, stiffness_matrix=FULL, damping_matrix=FULL),
        conservative=False,
        pairings=TURNING,
    ),
    "Bushing as Exudyn's": Case(
        lambda: mbs.Bushing(SIX, SIX, 0.02 * SIX, AXIS, -AXIS, as_exudyn=True),
        conservative=False,
        balanced=False,
        pairings=("spatial-spatial",),
    ),
    "Bushing user": Case(
        lambda: mbs.Bushing(SIX, SIX, 0.02 * SIX, user_function=six_forces), conservative=False, pairings=TURNING
    ),
    "ForceLaw": Case(
        lambda: mbs.ForceLaw(force=mbs.Expression("k*x^3 + c*v*abs(v) + t", k=20.0, c=2.0)),
        conservative=False,
        pairings=SOME,
    ),
    "ForceLaw user": Case(
        lambda: mbs.ForceLaw(force=lambda t, x, v: 20.0 * x**3 + t, axis=AXIS, motion="axis"),
        conservative=False,
        pairings=AXIAL,
    ),
    "LuGreFriction": Case(
        lambda: mbs.LuGreFriction(40.0, 2.0, 3.0, 0.7, 0.5, 0.4, axis=AXIS),
        conservative=False,
        pairings=("spatial-spatial",),
    ),
    "LuGreFriction of points": Case(
        lambda: mbs.LuGreFriction(40.0, 2.0, 3.0, 0.7, 0.5, 0.4, motion="distance"),
        conservative=False,
        pairings=("point-planar",),
    ),
    "HydraulicActuator": Case(lambda: mbs.HydraulicActuator(**CYLINDER), conservative=False, pairings=FEW),
    "HydraulicActuator volumes": Case(
        lambda: mbs.HydraulicActuator(**CYLINDER, **VOLUMES), conservative=False, pairings=("spatial-spatial",)
    ),
    "Friction": Case(
        lambda: mbs.Friction(2.0, 3.0, 0.7, 0.4, 0.5, axis=AXIS), conservative=False, pairings=("spatial-spatial",)
    ),
    "Friction along an axis": Case(
        lambda: mbs.Friction(2.0, 3.0, 0.7, 0.4, 0.5, axis=AXIS, motion="axis"), conservative=False, pairings=AXIAL
    ),
    "LimitStop": Case(lambda: mbs.LimitStop(0.2, 0.5, 40.0, 1.5, 0.02, motion="distance"), pairings=FEW),
    "LimitStop angle": Case(
        lambda: mbs.LimitStop(upper=-2.0, stiffness=40.0, damping=0.02, axis=AXIS), pairings=("spatial-spatial",)
    ),
    "TabularForce": Case(lambda: mbs.TabularForce(TABLE, PUSHED), conservative=False, pairings=FEW),
    "TabularForce smooth": Case(
        lambda: mbs.TabularForce(TABLE, axis=AXIS, motion="axis", interpolation="smooth", extrapolate="clamp"),
        conservative=False,
        pairings=AXIAL,
    ),
    "Actuator of time": Case(
        lambda: mbs.Actuator(lambda t: 2.0 + t, axis=AXIS), conservative=False, pairings=("spatial-spatial",)
    ),
    "SpherePlaneContact": Case(
        lambda: mbs.SpherePlaneContact(40.0, 2.0, AXIS, 1.5, 0.02, 0.3, 0.1),
        conservative=False,
        pairings=("ground-point", "spatial-spatial"),
    ),
    "SpherePlaneContact smooth": Case(
        lambda: mbs.SpherePlaneContact(40.0, 3.0, AXIS, damping=0.02), pairings=("spatial-spatial",)
    ),
}

FORCE_CASES = [(c, p) for c, case in CONNECTORS.items() for p in case.pairings]


def swinging(t):
    return 1.2 + 0.3 * jnp.sin(2 * t)


def rising(t):
    return jnp.stack([0.3 * t, 0 * t, t**2, jnp.sin(t), 0.2 + t, -0.1 * t])


IN_SPACE = ("spatial-spatial",)


def two_equations(t, q, q_t, velocity_level):
    return jnp.stack([q[0] * q[3] - q[1], jnp.sin(q[4]) + q[2] * t])


X0, X1 = np.array([[1.0, 2.0, -1.0]]), np.array([[0.5, -1.0, 0.3]])
Y0, Y1 = np.array([[0.2, -0.1, 0.4]]), np.array([[-0.3, 0.6, 0.1]])
QUADRATIC = (X0, X1, Y0, Y1)
VECTORS: dict[str, Any] = dict(pairings=("point-point",), marker=all_coordinates)

CONSTRAINTS: dict[str, Case] = {
    "DistanceConstraint": Case(lambda: mbs.DistanceConstraint(1.3)),
    "DistanceConstraint of time": Case(lambda: mbs.DistanceConstraint(swinging), pairings=SOME),
    "RevoluteJoint2D": Case(mbs.RevoluteJoint2D),
    "SphericalJoint": Case(mbs.SphericalJoint, pairings=tuple(p for p in EVERY if p != "planar-planar")),
    "SphericalJoint in a plane": Case(lambda: mbs.SphericalJoint((True, False, True)), pairings=("spatial-spatial",)),
    "RevoluteJoint": Case(lambda: mbs.RevoluteJoint(AXIS), pairings=IN_SPACE),
    "PrismaticJoint": Case(lambda: mbs.PrismaticJoint(AXIS), pairings=IN_SPACE),
    "CylindricalJoint": Case(lambda: mbs.CylindricalJoint(AXIS), pairings=IN_SPACE),
    "FixedJoint": Case(mbs.FixedJoint, pairings=IN_SPACE),
    "UniversalJoint": Case(lambda: mbs.UniversalJoint(AXIS, (1.0, 0.3, 0.2)), pairings=IN_SPACE),
    "GenericJoint of time": Case(lambda: mbs.GenericJoint((True,) * 6, 0.2 * AXIS, -AXIS, rising), pairings=IN_SPACE),
    "GenericJoint in part": Case(
        lambda: mbs.GenericJoint((False, True, True, False, True, False), 0.2 * AXIS, -AXIS), pairings=IN_SPACE
    ),
    "GenericJoint of points": Case(
        lambda: mbs.GenericJoint((True, False, True, False, False, False), AXIS), pairings=("point-spatial",)
    ),
    "PrismaticJoint2D": Case(lambda: mbs.PrismaticJoint2D((0.3, 0.8)), pairings=("planar-planar",)),
    "PrismaticJoint2D turning": Case(
        lambda: mbs.PrismaticJoint2D((0.3, 0.8), locks_rotation=False), pairings=("point-planar", "planar-planar")
    ),
    "Motor of time": Case(lambda: mbs.Motor(swinging, axis=AXIS), pairings=("spatial-spatial",)),
    "Motor planar of time": Case(lambda: mbs.Motor(swinging, axis=ABOUT_Z), pairings=("planar-planar",)),
    "Motor along an axis": Case(lambda: mbs.Motor(0.4, axis=AXIS, motion="axis"), pairings=SOME),
    "Motor speed of time": Case(lambda: mbs.Motor(speed=swinging, axis=AXIS), pairings=("spatial-spatial",)),
    "RollingDisc": Case(lambda: mbs.RollingDisc(0.4), pairings=("plane-wheel",)),
    "Gear": Case(lambda: mbs.Gear(-0.7, AXIS, ABOUT_Z), pairings=("spatial-spatial",)),
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
