"""The same mechanism described in another way: elsewhere, turned, in other units, with its markers swapped."""

import dataclasses
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import difmbs as mbs

from .plans import SPATIAL, TURNING, Connector, Plan

WAYS = ("translated", "turned about z", "turned in space")
PLANAR = ("MassPoint2D", "RigidBody2D")
_IN_SPACE = ("SpringDamper", "ConnectorGravity", "AllPairsGravity", "Force", "Torque", "DistanceConstraint")
_COORDINATES = ("CoordinateConstraint", "CoordinateVectorConstraint", "CoordinateLoad")


@dataclasses.dataclass(frozen=True)
class Motion:
    """Turned by R about the origin, then moved by `shift`."""

    way: str
    R: np.ndarray
    shift: np.ndarray

    def gravity(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"acceleration": self.R @ params["gravity"]["acceleration"]}

    def of(self, plan: Plan, params: dict[str, Any]) -> dict[str, Any] | None:
        """The numbers of the moved mechanism, None if it is not the same elsewhere."""
        if not self._may_move(plan):
            return None
        found = {name: self._body(kind, params[name]) for name, kind in plan.bodies.items()}
        return found | {name: self._connector(plan, c, params[name]) for name, c in plan.connectors.items()}

    def _may_move(self, plan: Plan) -> bool:
        kinds, laws = set(plan.bodies.values()), [c.kind for c in plan.connectors.values()]
        if any(kind in _COORDINATES for kind in laws):
            return False
        if self.way == "translated":
            return True
        # A monotone cubic through vectors is one of each component.
        if any(
            curve.smooth and c.kind in ("Force", "Torque")
            for c in plan.connectors.values()
            for curve in c.curves.values()
        ):
            return False
        if self.way == "turned in space":
            joints = all(kind in (*_IN_SPACE, "SphericalJoint") for kind in laws)
            return joints and kinds <= {*SPATIAL, "Mass1D"}
        masked = any(any(c.options.get("dof_constraint", ())[:2]) for c in plan.connectors.values())
        # The angle of the ground stays 0.
        grounded = any(
            c.kind in ("RotationalSpringDamper", "LinearSpringDamper")
            and any(plan.kind(e.body) not in TURNING[:3] for e in c.ends)
            for c in plan.connectors.values()
        )
        return not masked and not grounded

    def _place(self, p: np.ndarray) -> np.ndarray:
        return p @ self.R.T + self.shift

    def _angle(self) -> float:
        return float(np.arctan2(self.R[1, 0], self.R[0, 0]))

    def _body(self, kind: str, n: dict[str, Any]) -> dict[str, Any]:
        if kind in ("Mass1D", "RotationalMass1D"):
            new = n | {"origin": self._place(n["origin"])}
            return new | ({"axis": self.R @ n["axis"]} if kind == "Mass1D" else {"angle": n["angle"] + self._angle()})
        if kind in PLANAR:
            new = n | {
                "position": self._place(np.append(n["position"], 0))[:2],
                "velocity": self.R[:2, :2] @ n["velocity"],
            }
            return new | ({"angle": n["angle"] + self._angle()} if kind == "RigidBody2D" else {})
        new = n | {"position": self._place(n["position"]), "velocity": self.R @ n["velocity"]}
        if kind == "RigidBody":
            turned = Rotation.from_matrix(self.R) * Rotation.from_rotvec(n["rotation"])
            new |= {"rotation": turned.as_rotvec(), "angular_velocity": self.R @ n["angular_velocity"]}
        return new

    def _connector(self, plan: Plan, connector: Connector, n: dict[str, Any]) -> dict[str, Any]:
        new = dict(n)
        for i, end in enumerate(connector.ends):
            if (name := f"marker{i}") in n and end.body == "ground":
                new[name] = self._place(n[name])
            elif name in n and plan.kind(end.body) == "Mass1D":
                new[name] = n[name] @ self.R.T
        if connector.kind in ("Force", "Torque") and not connector.options["body_fixed"]:
            load = n["load_vector"]
            turn = lambda x: np.asarray(x) @ self.R.T
            new["load_vector"] = load | {"values": turn(load["values"])} if isinstance(load, dict) else turn(load)
        return new


def draw(way: str, rng: np.random.Generator) -> Motion:
    if way == "translated":
        # Bodies in the plane have no z.
        return Motion(way, np.eye(3), np.append(rng.normal(0, 3, 2), 0))
    if way == "turned about z":
        return Motion(way, Rotation.from_rotvec([0, 0, rng.uniform(-0.5, 0.5)]).as_matrix(), np.zeros(3))
    return Motion(way, Rotation.from_rotvec(rng.normal(0, 1, 3)).as_matrix(), np.zeros(3))


def turned(x: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Of vectors in the world frame; numbers stay."""
    if x.shape[-1:] == (2,):
        return x @ R[:2, :2].T
    return x @ R.T if x.shape[-1:] == (3,) else x


def turned_acceleration(kind: str, a: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Angular accelerations are those of a body's own frame, and about z."""
    if kind == "RigidBody2D":
        return np.append(R[:2, :2] @ a[:2], a[2])
    if kind == "RigidBody":
        return np.append(R @ a[:3], a[3:])
    return a if kind in ("Mass1D", "RotationalMass1D") else turned(a, R)


# Units


@dataclasses.dataclass(frozen=True)
class Scale:
    """The new numbers of what was 1 kg, 1 m and 1 s."""

    kilogram: float
    metre: float
    second: float

    def of(self, unit: str) -> float:
        """The factor of a unit such as "m^3/(kg s^2)"."""
        newton = self.kilogram * self.metre / self.second**2
        known = {"kg": self.kilogram, "m": self.metre, "s": self.second, "N": newton, "rad": 1.0, "-": 1.0, "1": 1.0}
        above, _, below = unit.partition("/")
        factor = 1.0
        for words, sign in ((above, 1), (below.strip("()"), -1)):
            for word in words.split():
                base, _, power = word.partition("^")
                factor *= known[base] ** (sign * int(power or 1))
        return factor


def coordinate_units(kind: str) -> list[str]:
    return {
        "MassPoint": ["m"] * 3,
        "MassPoint2D": ["m"] * 2,
        "RigidBody2D": ["m", "m", "rad"],
        "RigidBody": ["m"] * 3 + ["-"] * 4,
        "Mass1D": ["m"],
        "RotationalMass1D": ["rad"],
        "ground": [],
    }[kind]


def in_units(system: mbs.System, plans: list[Plan], params: dict[str, Any], scale: Scale) -> dict[str, Any]:
    """All numbers in other units: those that the parameters declare, where these do not depend on the markers."""
    declared = {path: home.spec.unit for path, home in system.structure.homes.items()}

    def scaled(tree: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        return {
            key: scaled(x, (*path, key)) if isinstance(x, dict) else x * scale.of(_plain(declared[(*path, key)]))
            for key, x in tree.items()
        }

    new = scaled(params, ())
    for plan in plans:
        for name, connector in plan.connectors.items():
            new[name] |= _by_markers(plan, connector, params[name], scale)
    return new


def _plain(unit: str) -> str:
    """Units that depend on the markers come from `_by_markers`."""
    return "-" if " or " in unit or "," in unit else unit


def _by_markers(plan: Plan, connector: Connector, n: dict[str, Any], scale: Scale) -> dict[str, Any]:
    units = [coordinate_units(plan.kind(end.body)) for end in connector.ends]
    each = [np.array([scale.of(u) for u in side]) for side in units]
    slower = 1 / scale.second if connector.options.get("velocity_level") else 1.0
    if connector.kind == "CoordinateConstraint":
        # On ground the equation has the unit of the other coordinate, and the factor none.
        second = each[1][connector.ends[1].at]
        first = each[0][connector.ends[0].at] if each[0].size else second
        return dict(factor=n["factor"] * first / second, offset=_of_time(n["offset"], first * slower, scale))
    if connector.kind == "CoordinateVectorConstraint":
        new: dict[str, Any] = {"offset": _of_time(n["offset"], slower, scale)}
        for i in (0, 1):
            for term, power in (("scaling", 1), ("quadratic_term", 2)):
                if (field := f"{term}_marker{i}") in n:
                    new[field] = n[field] / each[i] ** power
        return new
    if connector.kind == "CoordinateLoad":
        return dict(load=_of_time(n["load"], scale.of("N m") / each[0][connector.ends[0].at], scale))
    if connector.kind == "DistanceConstraint":
        return dict(distance=_of_time(n["distance"], scale.metre, scale))
    if connector.kind in ("Force", "Torque"):
        unit = scale.of("N" if connector.kind == "Force" else "N m")
        return dict(load_vector=_of_time(n["load_vector"], unit, scale))
    return {"curve": n["curve"] * [scale.metre, scale.of("N")]} if "curve" in n else {}


def _of_time(numbers: Any, factor: Any, scale: Scale) -> Any:
    if isinstance(numbers, dict):
        return dict(times=numbers["times"] * scale.second, values=numbers["values"] * factor)
    return numbers * factor


def factors_of_accelerations(kind: str, scale: Scale) -> np.ndarray:
    units = ["m"] * 3 + ["rad"] * 3 if kind == "RigidBody" else coordinate_units(kind)
    return np.array([scale.of(unit) for unit in units]) / scale.second**2


def factors_of_outputs(plan: Plan, scale: Scale) -> dict[str, float]:
    factors: dict[str, Any] = {}
    for name, connector in plan.connectors.items():
        units = [coordinate_units(plan.kind(end.body)) for end in connector.ends]
        factors |= {f"{name}.{x}": scale.of("N") for x in ("force", "force_local")}
        factors |= {f"{name}.{x}": scale.of("N m") for x in ("torque", "torque0", "torque1")}
        if connector.kind == "CoordinateConstraint":
            first = units[0][int(connector.ends[0].at)] if units[0] else units[1][int(connector.ends[1].at)]
            factors[f"{name}.force"] = scale.of("N m") / scale.of(first)
        elif connector.kind == "CoordinateVectorConstraint":
            factors[f"{name}.force"] = scale.of("N m")
        elif connector.kind == "CoordinateLoad":
            factors[f"{name}.load"] = scale.of("N m") / scale.of(units[0][int(connector.ends[0].at)])
    return factors


# Markers swapped


def swapped_plan(plan: Plan) -> Plan:
    """a -> b is b -> a; of a mass of its own the number goes along."""
    return dataclasses.replace(plan, connectors={name: _swapped(c) for name, c in plan.connectors.items()})


def _swapped(connector: Connector) -> Connector:
    if connector.kind == "AllPairsGravity" or len(connector.ends) != 2:
        return connector
    left_out = tuple(_other(field) for field in connector.left_out)
    return dataclasses.replace(connector, ends=connector.ends[::-1], left_out=left_out)


def _other(field: str) -> str:
    """marker0 of marker1."""
    return field[:-1] + {"0": "1", "1": "0"}.get(field[-1], field[-1])


def swapped_params(plans: list[Plan], params: dict[str, Any]) -> dict[str, Any]:
    new = dict(params)
    for plan in plans:
        for name, connector in plan.connectors.items():
            if _swapped(connector) is connector:
                continue
            n = {_other(field): x for field, x in params[name].items()}
            if connector.kind == "RotationalSpringDamper":
                n |= {field: -n[field] for field in ("preload", "reference_angle")}
            elif "offset" in n:
                factor = n.get("factor", 1.0)
                n["offset"] = _of_time(n["offset"], -1 / factor, Scale(1.0, 1.0, 1.0))
                n |= {"factor": 1 / factor} if "factor" in n else {}
            if "reference_displacement" in n:
                n["reference_displacement"] = -n["reference_displacement"]
            new[name] = n
    return new


def swapped_outputs(name: str, connector: Connector, n: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """What of the swapped connector are the outputs of the one before."""
    own = {key.rpartition(".")[2]: x for key, x in outputs.items() if key.rpartition(".")[0] == name}
    if _swapped(connector) is connector:
        return {}
    if connector.kind == "LinearSpringDamper":
        own |= {"torque0": own["torque1"], "torque1": own["torque0"]}
    if connector.kind == "RotationalSpringDamper":
        own["torque"] = -own["torque"]
    elif connector.kind == "CoordinateConstraint":
        # The equation was divided by -r.
        own["force"] = -own["force"] / n["factor"]
    elif connector.kind != "DistanceConstraint":
        own["force"] = -own["force"]
    return {f"{name}.{variable}": x for variable, x in own.items()}
