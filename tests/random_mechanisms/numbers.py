"""Numbers for a plan, laid out like `System.params()`; constraints fit the start, up to a few millimetres."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from . import kinematics, oracle
from .plans import ALONG_LINE, COORDINATES, EXTENDED, Connector, Plan

DURATION = 0.3
"""Of all motions [s]."""
LARGEST_CONDITION = 20.0
SHORTEST = 0.3
UPRIGHT = 0.6
"""What is drawn again: constraints that nearly repeat each other; connectors shorter than this [m], along which the
direction, and with it accelerations, would change too fast to compare anything; and bodies in space so near to being
turned upside down that their angle about z is nearly undefined, by its share w^2 + z^2 of the quaternion."""
PLANAR_ANGLE = ("LinearSpringDamper", "RotationalSpringDamper")


def draw_numbers(plan: Plan, rng: np.random.Generator, tries: int = 20) -> tuple[dict[str, Any] | None, int]:
    """Sound numbers, or None if there were none; and how often they were drawn again."""
    for redrawn in range(tries):
        params = _drawn(plan, rng)
        if _sound(plan, params):
            return params, redrawn
    return None, tries


def states(plan: Plan, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """q and v of each body at the start."""
    both = {name: kinematics.start(kind, params[name]) for name, kind in plan.bodies.items()}
    return {name: q for name, (q, _) in both.items()}, {name: v for name, (_, v) in both.items()}


def _sound(plan: Plan, params: dict[str, Any]) -> bool:
    q, v = states(plan, params)
    mechanism = oracle.Mechanism(plan, params, 0.0, q, v)
    for name, connector in plan.connectors.items():
        if connector.kind in ALONG_LINE:
            a, b = mechanism.points(name)
            seen = (b.p - a.p)[: 2 if connector.kind == "LinearSpringDamper" else 3]
            kept = connector.options.get("dof_constraint", ()) if connector.options.get("mask") == "kinematic" else ()
            seen = seen * [not x for x in kept[:2]] if kept else seen
            if not (kept and kept[0] and kept[1]) and np.linalg.norm(seen) < SHORTEST:
                return False
        for i, end in enumerate(connector.ends):
            if connector.kind in PLANAR_ANGLE and plan.kind(end.body) == "RigidBody":
                w, _, _, z = q[end.body][3:]
                if w * w + z * z < UPRIGHT:
                    return False
            if end.body != "ground" and np.abs(params[name].get(f"marker{i}", 0.0)).max() > 3:
                return False
    return oracle.condition(plan, params, 0.0, q, v) < LARGEST_CONDITION


def _drawn(plan: Plan, rng: np.random.Generator) -> dict[str, Any]:
    params: dict[str, Any] = {"gravity": {"acceleration": rng.normal(0, 5, 3)}}
    for i, (name, kind) in enumerate(plan.bodies.items()):
        params[name] = _body(kind, np.array([0.9 * i, 0, 0]) + rng.normal(0, 0.5, 3), rng)
    for name, connector in plan.connectors.items():
        if connector.copies is not None:
            params[name] = params[connector.copies]
            continue
        drawn = VALUES[connector.kind](connector, rng)
        params[name] = {field: x for field, x in drawn.items() if field not in connector.left_out}
        for i, end in enumerate(connector.ends):
            if plan.kind(end.body) in EXTENDED and connector.kind not in COORDINATE_KINDS:
                spread = 1.0 if end.body == "ground" else 0.4
                place = rng.normal(0, spread, 3) if end.at == "point" else np.zeros(3)
                params[name][f"marker{i}"] = place[None] if connector.kind == "AllPairsGravity" else place
        if connector.kind in FITS:
            FITS[connector.kind](plan, params, name, rng)
    return params


COORDINATE_KINDS = ("CoordinateConstraint", "CoordinateVectorConstraint", "CoordinateLoad")


def _body(kind: str, place: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    mass, velocity = rng.uniform(0.5, 3), rng.normal(0, 0.7, 3)
    inertia, offset = rng.uniform(0.1, 1), rng.normal(0, 0.2, 3)
    if kind == "MassPoint":
        return dict(mass=mass, position=place, velocity=velocity)
    if kind == "MassPoint2D":
        return dict(mass=mass, position=place[:2], velocity=velocity[:2])
    if kind == "Mass1D":
        axis = rng.normal(0, 1, 3)
        return dict(mass=mass, axis=axis, origin=place, position=rng.normal(0, 0.3), velocity=velocity[0])
    turning = dict(angle=rng.normal(), angular_velocity=rng.normal())
    if kind == "RotationalMass1D":
        return dict(inertia=inertia, origin=place) | turning
    if kind == "RigidBody2D":
        flat = dict(center_of_mass=offset[:2], position=place[:2], velocity=velocity[:2])
        return dict(mass=mass, inertia=inertia) | flat | turning
    # Sums of two of three numbers are principal moments that a body can have.
    x, y, z = rng.uniform(0.1, 1, 3)
    R = Rotation.from_rotvec(rng.normal(0, 1, 3)).as_matrix()
    inertia = R @ np.diag([y + z, x + z, x + y]) @ R.T
    given = dict(mass=mass, inertia=0.5 * (inertia + inertia.T), center_of_mass=offset)
    return given | dict(
        position=place, velocity=velocity, rotation=rng.normal(0, 0.7, 3), angular_velocity=rng.normal(0, 1, 3)
    )


def _curve(points: int, shape: tuple[int, ...], size: float, rng: np.random.Generator) -> dict[str, Any]:
    widths = rng.uniform(0.15, 1, points - 1) * DURATION
    times = rng.uniform(-0.1, 0.3) * DURATION + np.append(0, np.cumsum(widths))
    return dict(times=times, values=rng.normal(0, size, (points, *shape)))


def _spring_damper(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    return dict(
        stiffness=rng.uniform(5, 200),
        damping=rng.uniform(0, 3),
        reference_length=rng.uniform(0, 1.5),
        force=rng.normal(0, 3),
        velocity_offset=rng.normal(0, 0.5),
    )


def _linear_spring_damper(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    n: dict[str, Any] = dict(
        stiffness=rng.uniform(5, 200),
        damping=rng.uniform(0, 3),
        reference_length=rng.uniform(0.1, 1.5),
        preload=rng.normal(0, 0.1),
        spring_coupling=rng.normal(0, 0.1),
        damper_coupling=rng.uniform(0, 0.1),
        gate_width=rng.uniform(0.02, 0.2),
    )
    if connector.options["type"] == "tabular":
        x = np.cumsum(rng.uniform(0.1, 0.8, connector.size)) - 1
        n["curve"] = np.stack([x, rng.uniform(20, 100) * x + rng.normal(0, 3, connector.size)], axis=1)
    return n


def _rotational_spring_damper(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    return dict(
        stiffness=rng.uniform(1, 30),
        damping=rng.uniform(0, 1),
        preload=rng.normal(0, 0.2),
        reference_angle=rng.normal(0, 0.5),
    )


def _connector_gravity(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    masses = dict(mass0=rng.uniform(0.5, 2), mass1=rng.uniform(0.5, 2))
    return _attraction(rng) | masses


def _all_pairs_gravity(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    return _attraction(rng) | dict(mass=rng.uniform(0.5, 2, len(connector.ends)))


def _attraction(rng: np.random.Generator) -> dict[str, Any]:
    return dict(gravitational_constant=rng.uniform(0.2, 2), min_distance_regularization=rng.uniform(0.3, 1))


def _load(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    curve = connector.curves.get("load_vector")
    return dict(load_vector=rng.normal(0, 5, 3) if curve is None else _curve(curve.points, (3,), 5, rng))


def _coordinate_load(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    curve = connector.curves.get("load")
    return dict(load=rng.normal(0, 5) if curve is None else _curve(curve.points, (), 5, rng))


def _coordinate_constraint(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    return dict(factor=rng.uniform(0.5, 2) * rng.choice([-1, 1]))


def _coordinate_vector_constraint(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    # As wide as the widest; what a body does not have is cut off when its coordinates are known.
    names = ("scaling_marker0", "scaling_marker1", "quadratic_term_marker0", "quadratic_term_marker1")
    return {name: rng.normal(0, 0.3 if name[0] == "q" else 1, (connector.size, 3)) for name in names}


def _nothing(connector: Connector, rng: np.random.Generator) -> dict[str, Any]:
    return {}


VALUES = {
    "SpringDamper": _spring_damper,
    "LinearSpringDamper": _linear_spring_damper,
    "RotationalSpringDamper": _rotational_spring_damper,
    "ConnectorGravity": _connector_gravity,
    "AllPairsGravity": _all_pairs_gravity,
    "Force": _load,
    "Torque": _load,
    "CoordinateLoad": _coordinate_load,
    "DistanceConstraint": _nothing,
    "RevoluteJoint2D": _nothing,
    "SphericalJoint": _nothing,
    "CoordinateConstraint": _coordinate_constraint,
    "CoordinateVectorConstraint": _coordinate_vector_constraint,
}


def _fit_distance(plan: Plan, params: dict[str, Any], name: str, rng: np.random.Generator) -> None:
    a, b = oracle.Mechanism(plan, params, 0.0, *states(plan, params)).points(name)
    length = max(float(np.linalg.norm(b.p - a.p)), 0.1)
    # The start need not meet the constraints; `simulate` brings it there.
    _fit(plan, params, name, "distance", length + 0.003 * rng.normal(), 0.05, rng)


def _fit(
    plan: Plan, params: dict[str, Any], name: str, field: str, value: Any, size: float, rng: np.random.Generator
) -> None:
    """A number, or a function of time that begins with it."""
    curve = plan.connectors[name].curves.get(field)
    if curve is None:
        params[name][field] = value
        return
    params[name][field] = numbers = _curve(curve.points, np.shape(value), size, rng)
    numbers["values"] = numbers["values"] + value - oracle.at_time(curve, numbers, 0.0)


def _fit_joint(plan: Plan, params: dict[str, Any], name: str, rng: np.random.Generator) -> None:
    first, _ = oracle.Mechanism(plan, params, 0.0, *states(plan, params)).points(name)
    body = plan.connectors[name].ends[1].body
    numbers = {} if body == "ground" else params[body]
    params[name]["marker1"] = kinematics.local_of(plan.kind(body), numbers, first.p) + 0.003 * rng.normal(size=3)


def _fit_coordinates(plan: Plan, params: dict[str, Any], name: str, rng: np.random.Generator) -> None:
    connector, n = plan.connectors[name], params[name]
    q, _ = states(plan, params)
    sides = []
    for i, end in enumerate(connector.ends):
        at = q.get(end.body, np.zeros(0))
        if connector.kind == "CoordinateConstraint":
            sides.append((at[end.at] if at.size else 0.0) * (n["factor"] if i else 1))
            continue
        total = np.zeros(connector.size)
        for term, power in (("scaling", 1), ("quadratic_term", 2)):
            if (field := f"{term}_marker{i}") in n:
                n[field] = n[field][:, : COORDINATES[plan.kind(end.body)]]
                total = total + n[field] @ at**power
        sides.append(total)
    value = sides[1] - sides[0] + 0.003 * rng.normal()
    value = 0.3 * rng.normal(size=np.shape(value)) if connector.options["velocity_level"] else value
    _fit(plan, params, name, "offset", value, 0.03, rng)


FITS = {
    "DistanceConstraint": _fit_distance,
    "RevoluteJoint2D": _fit_joint,
    "SphericalJoint": _fit_joint,
    "CoordinateConstraint": _fit_coordinates,
    "CoordinateVectorConstraint": _fit_coordinates,
}
