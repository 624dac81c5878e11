"""Accelerations, multipliers and forces of a mechanism, written out in numpy and solved with dense matrices.

M v' + G^T lambda = f and G v' = gamma. Nothing of difmbs is used; the formulas are those of its documentation.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from . import kinematics
from .plans import VELOCITIES, Connector, Curve, Plan


@dataclasses.dataclass(frozen=True)
class Found:
    """`outputs`: forces of connectors by "name.variable", multipliers among them; `jacobian`: G."""

    acceleration: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    jacobian: np.ndarray


def slopes_between(x: np.ndarray, y: np.ndarray, ends: tuple[Any, Any]) -> np.ndarray:
    """Of the monotone cubic of Fritsch and Butland at its points."""
    width, slope = np.diff(x), (np.diff(y, axis=0).T / np.diff(x)).T
    inner = []
    for (w0, w1), (d0, d1) in zip(itertools.pairwise(width), itertools.pairwise(slope), strict=True):
        a, b, same = 2 * w1 + w0, w1 + 2 * w0, d0 * d1 > 0
        d0, d1 = np.where(same, d0, 1), np.where(same, d1, 1)
        inner.append(np.where(same, (a + b) / (a / d0 + b / d1), 0))
    return np.array([slope[0] if ends[0] else 0 * slope[0], *inner, slope[-1] if ends[1] else 0 * slope[-1]])


def at_time(curve: Curve, numbers: dict[str, Any], t: float, derivative: int = 0) -> np.ndarray:
    """A function of time through given points, or a derivative of it."""
    times, values = (np.asarray(numbers[name], float) for name in ("times", "values"))
    if t < times[0] or t > times[-1]:
        return 0 * values[0] if derivative else values[0 if t < times[0] else -1]
    if curve.smooth:
        return CubicHermiteSpline(times, values, slopes_between(times, values, (False, False)))(t, derivative)
    assert derivative == 0, "a constraint needs a smooth function"
    i = min(int(np.searchsorted(times, t, side="right")) - 1, times.size - 2)
    return values[i] + (t - times[i]) / (times[i + 1] - times[i]) * (values[i + 1] - values[i])


class Mechanism:
    """A plan with its numbers in one state; collects forces and constraint rows."""

    def __init__(self, plan: Plan, params: dict[str, Any], t: float, q: dict[str, Any], v: dict[str, Any]):
        self.plan, self.params, self.t = plan, params, t
        self.q = {name: np.asarray(x, float) for name, x in q.items()} | {"ground": np.zeros(0)}
        self.v = {name: np.asarray(x, float) for name, x in v.items()} | {"ground": np.zeros(0)}
        sizes = [VELOCITIES[kind] for kind in plan.bodies.values()]
        self.size, first = sum(sizes), np.cumsum([0, *sizes])
        self.at = {name: slice(*ends) for name, *ends in zip(plan.bodies, first, first[1:], strict=False)}
        self.at["ground"] = slice(0, 0)
        self.f = np.zeros(self.size)
        self.outputs: dict[str, Any] = {}

    def point(self, name: str, i: int, field: bool = False) -> kinematics.Point:
        end = self.plan.connectors[name].ends[i]
        local = np.asarray(self.params[name].get(f"marker{i}", np.zeros(3)), float)
        body, kind = end.body, self.plan.kind(end.body)
        numbers = self.params.get(body, {}) if body != "ground" else {}
        return kinematics.point(kind, numbers, self.q[body], self.v[body], local[0] if field else local)

    def points(self, name: str) -> list[kinematics.Point]:
        return [self.point(name, i) for i in range(len(self.plan.connectors[name].ends))]

    def value(self, name: str, field: str, derivative: int = 0) -> Any:
        curve, numbers = self.plan.connectors[name].curves.get(field), self.params[name].get(field)
        if curve is not None:
            return at_time(curve, numbers, self.t, derivative)
        return np.asarray(0.0 if numbers is None or derivative else numbers, float)

    def push(self, name: str, i: int, force: np.ndarray, point: kinematics.Point) -> None:
        self.f[self.at[self.plan.connectors[name].ends[i].body]] += point.J.T @ force

    def angles(self, name: str) -> list[tuple[float, float, np.ndarray]]:
        """Angle about z, its rate and gradient of each end."""
        found = []
        for end in self.plan.connectors[name].ends:
            angle, row = kinematics.angle_about_z(self.plan.kind(end.body), self.q[end.body])
            found.append((angle, row @ self.v[end.body] if row.size else 0.0, row))
        return found

    # Bodies

    def mass(self) -> np.ndarray:
        M, gravity = np.zeros((self.size, self.size)), np.asarray(self.params["gravity"]["acceleration"], float)
        for name, kind in self.plan.bodies.items():
            at, n, v = self.at[name], self.params[name], self.v[name]
            if kind == "RotationalMass1D":
                M[at, at] = n["inertia"]
                continue
            m = float(n["mass"])
            J = kinematics.point(kind, n, self.q[name], v, np.zeros(3)).J
            M[at, at] = m * np.eye(VELOCITIES[kind])
            if kind == "RigidBody2D":
                M[at, at][2, 2] = n["inertia"]
                self.f[at] += m * np.append(gravity[:2], 0)
            elif kind == "RigidBody":
                inertia = 0.5 * (np.asarray(n["inertia"]) + np.asarray(n["inertia"]).T)
                M[at, at][3:, 3:] = inertia
                self.f[at] += np.append(m * gravity, -np.cross(v[3:], inertia @ v[3:]))
            else:
                self.f[at] += m * J.T @ gravity
        return M

    # Forces

    def spring_damper(self, name: str) -> None:
        a, b = self.points(name)
        n, dp, dv = self.params[name], b.p - a.p, b.velocity - a.velocity
        length = np.linalg.norm(dp)
        u = dp / length
        f = n["stiffness"] * (length - n["reference_length"]) + n["damping"] * (u @ dv - n["velocity_offset"])
        f = f + n["force"]
        self.pair(name, a, b, f * u)
        self.outputs[f"{name}.force_local"] = f

    def pair(self, name: str, a: kinematics.Point, b: kinematics.Point, force: np.ndarray) -> None:
        self.push(name, 0, force, a)
        self.push(name, 1, -force, b)
        self.outputs[f"{name}.force"] = force

    def mass_at(self, name: str, i: int) -> float:
        own = self.params[name].get(f"mass{i}")
        return float(self.params[self.plan.connectors[name].ends[i].body]["mass"] if own is None else own)

    def connector_gravity(self, name: str) -> None:
        a, b = self.points(name)
        softening = self.plan.connectors[name].options["softening"]
        pull = attraction(b.p - a.p, self.params[name], softening)
        self.pair(name, a, b, self.mass_at(name, 0) * self.mass_at(name, 1) * pull)

    def all_pairs_gravity(self, name: str) -> None:
        connector, n = self.plan.connectors[name], self.params[name]
        ends = range(len(connector.ends))
        points = [self.point(name, i, field=True) for i in ends]
        own = n.get("mass")
        mass = [self.params[end.body]["mass"] for end in connector.ends] if own is None else np.asarray(own)
        forces = np.zeros((len(points), 3))
        for i in ends:
            for j in ends:
                if i != j:
                    pull = attraction(points[j].p - points[i].p, n, connector.options["softening"])
                    forces[i] += mass[i] * mass[j] * pull
            self.push(name, i, forces[i], points[i])
        self.outputs[f"{name}.force"] = forces

    def load(self, name: str) -> None:
        connector, at = self.plan.connectors[name], self.point(name, 0)
        vector = self.value(name, "load_vector")
        vector = at.R @ vector if connector.options["body_fixed"] else vector
        if connector.kind == "Force":
            self.push(name, 0, vector, at)
            self.outputs[f"{name}.force"] = vector
        else:
            self.f[self.at[connector.ends[0].body]] += at.spin.T @ vector
            self.outputs[f"{name}.torque"] = vector

    def coordinate_load(self, name: str) -> None:
        (end,) = self.plan.connectors[name].ends
        load = self.value(name, "load")
        B, _ = kinematics.coordinate_rates(self.plan.kind(end.body), self.q[end.body], self.v[end.body])
        self.f[self.at[end.body]] += B[end.at] * load
        self.outputs[f"{name}.load"] = load

    def rotational_spring_damper(self, name: str) -> None:
        ends, n = self.angles(name), self.params[name]
        (angle0, rate0, row0), (angle1, rate1, row1) = ends
        torque = n["stiffness"] * (angle1 - angle0 + n["preload"] - n["reference_angle"])
        torque = torque + n["damping"] * (rate1 - rate0)
        connector = self.plan.connectors[name]
        torque = torque * (0 if connector.options["dof_constraint"][2] else 1)
        for end, sign, row in zip(connector.ends, (1, -1), (row0, row1), strict=True):
            self.f[self.at[end.body]] += sign * torque * row
        self.outputs[f"{name}.torque"] = torque

    def linear_spring_damper(self, name: str) -> None:
        a, b = self.points(name)
        connector, n = self.plan.connectors[name], self.params[name]
        keep = np.array([not x for x in connector.options.get("dof_constraint", (False,) * 3)], float)
        kinematic = connector.options.get("mask", "force") == "kinematic"
        seen = keep[:2] if kinematic else 1
        dp, dv = (b.p - a.p)[:2] * seen, (b.velocity - a.velocity)[:2] * seen
        length = np.linalg.norm(dp)
        u = dp / length if length > 0 else 0 * dp
        spring, gate = self.planar_law(connector, n, length - n["reference_length"] + n["preload"])
        damping = n["damping"] * (gate if connector.options.get("gate_damper", True) else 1)
        f = spring + damping * (u @ dv)
        force = f * u if connector.options["damper"] == "axial" else spring * u + damping * dv
        force = force if kinematic else force * keep[:2]
        angles = self.angles(name)
        turn = angles[1][0] - angles[0][0], angles[1][1] - angles[0][1]
        coupling = abs(f) * (n["spring_coupling"] * turn[0] + n["damper_coupling"] * turn[1])
        for i, (end, at, sign) in enumerate(zip(connector.ends, (a, b), (1, -1), strict=True)):
            arm = (at.p - at.center)[:2]
            moment = sign * (arm[0] * force[1] - arm[1] * force[0])
            torque = keep[2] * (moment + sign * coupling)
            self.push(name, i, sign * np.append(force, 0), at)
            # The force at the marker already turns the body by `moment`.
            self.f[self.at[end.body]] += (torque - moment) * angles[i][2]
            self.outputs[f"{name}.torque{i}"] = torque
        self.outputs |= {f"{name}.force": force, f"{name}.force_local": f}

    def planar_law(self, connector: Connector, n: dict[str, Any], stretch: float) -> tuple[float, float]:
        """Force of the spring, and how much of a one-sided one acts."""
        law, width = connector.options["type"], n.get("gate_width")
        if law == "linear":
            return n["stiffness"] * stretch, 1.0
        if law == "tabular":
            return table(connector, np.asarray(n["curve"], float), stretch), 1.0
        sign = 1 if law == "tensile" else -1
        if width is None:
            gate = float(sign * stretch >= 0)
            return n["stiffness"] * stretch * gate, gate
        x = sign * stretch / width
        return sign * n["stiffness"] * width * np.logaddexp(0, x), 1 / (1 + np.exp(-x))

    # Constraints: rows of G, and gamma

    def two_points(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Displacement, velocity and bias of marker 1 relative to marker 0, and the Jacobian of the displacement."""
        a, b = self.points(name)
        J = np.zeros((3, self.size))
        for end, at, sign in zip(self.plan.connectors[name].ends, (a, b), (-1, 1), strict=True):
            J[:, self.at[end.body]] += sign * at.J
        return b.p - a.p, b.velocity - a.velocity, b.bias - a.bias, J

    def distance_constraint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        dp, dv, bias, J = self.two_points(name)
        length = np.linalg.norm(dp)
        u = dp / length
        centrifugal = (dv @ dv - (u @ dv) ** 2) / length
        return (u @ J)[None], np.atleast_1d(self.value(name, "distance", 2) - centrifugal - u @ bias)

    def revolute_joint_2d(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        _, _, bias, J = self.two_points(name)
        return J[:2], -bias[:2]

    def spherical_joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        _, _, bias, J = self.two_points(name)
        return J, -bias

    def coordinates(self, name: str, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, rates, their Jacobian and bias of one end."""
        end = self.plan.connectors[name].ends[i]
        q, v = self.q[end.body], self.v[end.body]
        B, bias = kinematics.coordinate_rates(self.plan.kind(end.body), q, v)
        J = np.zeros((q.size, self.size))
        J[:, self.at[end.body]] = B
        chosen = slice(end.at, end.at + 1) if isinstance(end.at, int) else slice(None)
        return q[chosen], (B @ v)[chosen], J[chosen], bias[chosen]

    def coordinate_constraint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        (_, _, J0, bias0), (_, _, J1, bias1) = (self.coordinates(name, i) for i in (0, 1))
        order = 1 if self.plan.connectors[name].options["velocity_level"] else 2
        factor, of_time = self.params[name]["factor"], self.value(name, "offset", order)
        J = factor * J1.sum(axis=0, keepdims=True) - J0.sum(axis=0, keepdims=True)
        return J, np.atleast_1d(of_time - factor * bias1.sum() + bias0.sum())

    def coordinate_vector_constraint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        order = 1 if self.plan.connectors[name].options["velocity_level"] else 2
        size = self.plan.connectors[name].size
        J, right = np.zeros((size, self.size)), np.zeros(size) + self.value(name, "offset", order)
        for i, sign in ((0, -1), (1, 1)):
            q, rate, rows, bias = self.coordinates(name, i)
            X, Y = (self.params[name].get(f"{term}_marker{i}") for term in ("scaling", "quadratic_term"))
            X, Y = (np.zeros((size, q.size)) if x is None else np.asarray(x, float) for x in (X, Y))
            slope = X + 2 * Y * q
            J += sign * slope @ rows
            right -= sign * (slope @ bias + 2 * Y @ rate**2)
        return J, right


RULES = {
    "SpringDamper": Mechanism.spring_damper,
    "LinearSpringDamper": Mechanism.linear_spring_damper,
    "RotationalSpringDamper": Mechanism.rotational_spring_damper,
    "ConnectorGravity": Mechanism.connector_gravity,
    "AllPairsGravity": Mechanism.all_pairs_gravity,
    "Force": Mechanism.load,
    "Torque": Mechanism.load,
    "CoordinateLoad": Mechanism.coordinate_load,
}
ROWS = {
    "DistanceConstraint": Mechanism.distance_constraint,
    "RevoluteJoint2D": Mechanism.revolute_joint_2d,
    "SphericalJoint": Mechanism.spherical_joint,
    "CoordinateConstraint": Mechanism.coordinate_constraint,
    "CoordinateVectorConstraint": Mechanism.coordinate_vector_constraint,
}


def attraction(dp: np.ndarray, n: dict[str, Any], softening: str) -> np.ndarray:
    """Between two masses of 1 kg."""
    length, least = np.linalg.norm(dp), float(n["min_distance_regularization"])
    if softening == "plummer":
        return n["gravitational_constant"] * dp / (length**2 + least**2) ** 1.5
    divisor = length**2 + float(np.minimum(length - least, 0)) ** 2
    return n["gravitational_constant"] * dp / length / divisor


def table(connector: Connector, curve: np.ndarray, stretch: float) -> float:
    x, y = curve.T
    secants = np.diff(y) / np.diff(x)
    inside = np.clip(stretch, x[0], x[-1])
    if connector.options["interpolation"] == "linear":
        force = np.interp(inside, x, y)
    else:
        force = CubicHermiteSpline(x, y, slopes_between(x, y, (True, True)))(inside)
    if connector.options["extrapolate"] == "linear":
        # Of both kinds of curves the end slopes are those of the first and the last line.
        force += min(stretch - x[0], 0) * secants[0] + max(stretch - x[-1], 0) * secants[-1]
    return float(force)


def rows(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray, list[tuple[str, int]]]:
    """G, gamma, and how many rows each constraint has."""
    found = {name: ROWS[c.kind](mechanism, name) for name, c in mechanism.plan.constraints.items()}
    G = np.concatenate([np.zeros((0, mechanism.size)), *(J for J, _ in found.values())])
    gamma = np.concatenate([np.zeros(0), *(right for _, right in found.values())])
    return G, gamma, [(name, len(J)) for name, (J, _) in found.items()]


def solve(plan: Plan, params: dict[str, Any], t: float, q: dict[str, Any], v: dict[str, Any]) -> Found:
    """Of all multipliers with the same forces the smallest."""
    mechanism = Mechanism(plan, params, t, q, v)
    M = mechanism.mass()
    for name, connector in plan.forces.items():
        RULES[connector.kind](mechanism, name)
    G, gamma, owners = rows(mechanism)
    # Columns measured in roots of masses make the system one of least squares, with one factor G M^(-1/2).
    root = np.linalg.cholesky(M)
    scaled = np.linalg.solve(root, G.T)
    free = np.linalg.solve(root, mechanism.f)
    correction = np.linalg.pinv(scaled.T, rcond=1e-9) @ (gamma - scaled.T @ free)
    acceleration = np.linalg.solve(root.T, free + correction)
    multipliers = -np.linalg.pinv(G.T, rcond=1e-9) @ (root @ correction)
    outputs, first = mechanism.outputs, 0
    for name, count in owners:
        found = multipliers[first : first + count]
        outputs[f"{name}.force"] = found[0] if plan.connectors[name].kind in SINGLE else found
        first += count
    return Found({name: acceleration[mechanism.at[name]] for name in plan.bodies}, outputs, G)


SHORTEST_ROW = 0.2
"""Of G: equations that change less with the motion are singular. A start 3 mm off would not be near one on them."""
SINGLE = ("DistanceConstraint", "CoordinateConstraint")
"""Constraints whose force is a number."""


def condition(plan: Plan, params: dict[str, Any], t: float, q: dict[str, Any], v: dict[str, Any]) -> float:
    """Of the constraints without their copies, rows scaled to the same length: 1 where they do not know of each other,
    infinite where one repeats another."""
    own = {name: c for name, c in plan.connectors.items() if c.copies is None}
    G, _, _ = rows(Mechanism(dataclasses.replace(plan, connectors=own), params, t, q, v))
    if not len(G):
        return 1.0
    length = np.linalg.norm(G, axis=1, keepdims=True)
    if len(G) >= G.shape[1] or np.any(length < SHORTEST_ROW):
        return np.inf
    sizes = np.linalg.svd(G / length, compute_uv=False)
    return sizes[0] / max(sizes[-1], 1e-300)
