"""What is joined to what: bodies, connectors and their options, without a number."""

import dataclasses
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

EXTENDED = ("RigidBody2D", "RigidBody", "Mass1D", "RotationalMass1D", "ground")
TURNING = ("RigidBody2D", "RigidBody", "RotationalMass1D", "ground")
SPATIAL = ("MassPoint", "RigidBody")
VELOCITIES = {"MassPoint": 3, "MassPoint2D": 2, "RigidBody2D": 3, "RigidBody": 6, "Mass1D": 1, "RotationalMass1D": 1}
COORDINATES = VELOCITIES | {"RigidBody": 7}
ALONG_LINE = ("SpringDamper", "LinearSpringDamper", "ConnectorGravity", "DistanceConstraint")
CONSTRAINTS = (
    "DistanceConstraint",
    "RevoluteJoint2D",
    "SphericalJoint",
    "CoordinateConstraint",
    "CoordinateVectorConstraint",
)


@dataclasses.dataclass(frozen=True)
class End:
    """Where a connector meets a body: at a "point" of it, its "origin", all its "coordinates" or one of them, by its
    number."""

    body: str
    at: str | int = "origin"


@dataclasses.dataclass(frozen=True)
class Curve:
    """A parameter that is a function of time through so many points."""

    points: int
    smooth: bool


@dataclasses.dataclass(frozen=True)
class Connector:
    """`options` are arguments that are no numbers; `left_out`: parameters that the model finds by itself; `curves`:
    parameters that are functions of time; `size`: how many points or equations; `copies`: the constraint repeated."""

    kind: str
    ends: tuple[End, ...]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    curves: dict[str, Curve] = dataclasses.field(default_factory=dict)
    size: int = 0
    copies: str | None = None

    @property
    def sharp(self) -> bool:
        """Whether its force, or the rate of it, jumps somewhere."""
        one_sided = self.options.get("type") in ("tensile", "compressive") and "gate_width" in self.left_out
        table = self.options.get("type") == "tabular" and self.options["interpolation"] == "linear"
        return one_sided or table or any(not curve.smooth for curve in self.curves.values())

    @property
    def kinked(self) -> bool:
        """Whether its force has no derivative somewhere: couplings are proportional to the size of a force."""
        couplings = {"spring_coupling", "damper_coupling"}
        return self.sharp or (self.kind == "LinearSpringDamper" and not couplings <= set(self.left_out))


@dataclasses.dataclass(frozen=True)
class Plan:
    """Bodies by name, with their kinds, and connectors by name; names begin with `prefix`."""

    prefix: str
    bodies: dict[str, str]
    connectors: dict[str, Connector]

    @property
    def constraints(self) -> dict[str, Connector]:
        return {name: c for name, c in self.connectors.items() if c.kind in CONSTRAINTS}

    @property
    def forces(self) -> dict[str, Connector]:
        return {name: c for name, c in self.connectors.items() if c.kind not in CONSTRAINTS}

    @property
    def kinds(self) -> list[str]:
        return [*self.bodies.values(), *(c.kind for c in self.connectors.values())]

    @property
    def topology(self) -> str:
        """The same for two plans if and only if all but their names and numbers is the same."""
        number = {name: i for i, name in enumerate(("ground", *self.bodies))}
        ends = [[(number[end.body], end.at) for end in c.ends] for c in self.connectors.values()]
        laws = [(c.kind, c.options, c.left_out, c.curves, c.size) for c in self.connectors.values()]
        said = repr((list(self.bodies.values()), ends, laws))
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def kind(self, body: str) -> str:
        return "ground" if body == "ground" else self.bodies[body]

    def with_connector(self, name: str, connector: Connector) -> "Plan":
        return dataclasses.replace(self, connectors=self.connectors | {name: connector})


@dataclasses.dataclass(frozen=True)
class Palette:
    """Some kinds of bodies and connectors, and one choice of options for each connector.

    Compiling takes as long as there are different kinds of elements, so mechanisms of one model draw from one palette.
    """

    seed: int
    bodies: tuple[str, ...]
    constraints: tuple[str, ...]
    forces: tuple[str, ...]


def draw_palette(seed: int) -> Palette:
    rng = np.random.default_rng([seed, 1])
    planar = rng.random() < 0.35
    kinds = ["MassPoint2D", "RigidBody2D", "RotationalMass1D"] if planar else list(VELOCITIES)
    forces = [kind for kind in DRAWN if kind not in CONSTRAINTS]
    some = lambda known, count: tuple(str(x) for x in rng.permutation(known)[:count])
    return Palette(seed, some(kinds, 2), some(CONSTRAINTS, 2), some(forces, 2))


def draw_plan(seed: int, palette: Palette, accepts: Callable[[Plan], bool], copies: bool = False) -> Plan:
    """The plan of a seed. A constraint is kept if `accepts` says so of the plan with it; `copies`: one of them is
    repeated, if there is one."""
    rng = np.random.default_rng([seed, 0])
    prefix = f"m{seed} "
    bodies = {f"{prefix}body{i}": str(rng.choice(palette.bodies)) for i in range(rng.integers(2, 6))}
    plan = Plan(prefix, bodies, {})
    for i in range(rng.integers(0, 6)):
        kind = str(rng.choice(palette.constraints))
        connector = _connector(kind, rng, palette, plan)
        if connector is not None and accepts(grown := plan.with_connector(f"{prefix}{kind}{i}", connector)):
            plan = grown
    if copies and plan.constraints:
        name = str(rng.choice(list(plan.constraints)))
        plan = plan.with_connector(f"{name} again", dataclasses.replace(plan.connectors[name], copies=name))
    for i in range(rng.integers(1, 7)):
        kind = str(rng.choice(palette.forces))
        connector = _connector(kind, rng, palette, plan)
        if connector is not None:
            plan = plan.with_connector(f"{prefix}{kind}{i}", connector)
    return plan


def _connector(kind: str, rng: np.random.Generator, palette: Palette, plan: Plan) -> Connector | None:
    of_palette = np.random.default_rng([palette.seed, 2, list(DRAWN).index(kind)])
    order = tuple(str(kind) for kind in np.random.default_rng([palette.seed, 3]).permutation([*VELOCITIES, "ground"]))
    return DRAWN[kind](_Chooser(rng, of_palette, plan, order), kind)


@dataclasses.dataclass(frozen=True)
class _Chooser:
    """Random choices: of bodies of a plan and points on them by `rng`, of options, the same for all connectors of a
    palette, by `of_palette`."""

    rng: np.random.Generator
    of_palette: np.random.Generator
    plan: Plan
    order: tuple[str, ...]

    def chance(self, share: float) -> bool:
        return bool(self.of_palette.random() < share)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.of_palette.integers(len(choices))]

    def number(self, least: int, most: int) -> int:
        return int(self.of_palette.integers(least, most + 1))

    def bodies(self, count: int, kinds: tuple[str, ...] = (*VELOCITIES, "ground")) -> list[str] | None:
        """So many bodies of these kinds, with the ground perhaps, in the palette's order; None if there are too few."""
        known = [body for body, kind in self.plan.bodies.items() if kind in kinds]
        known += ["ground"] if "ground" in kinds and self.rng.random() < 0.5 else []
        if len(known) < count or known == ["ground"]:
            return None
        chosen = [str(body) for body in self.rng.permutation(known)[:count]]
        return sorted(chosen, key=lambda body: self.order.index(self.plan.kind(body)))

    def end(self, body: str) -> End:
        extended = self.plan.kind(body) in EXTENDED
        return End(body, "point" if extended and self.rng.random() < 0.8 else "origin")

    def points(self, kinds: tuple[str, ...] = (*VELOCITIES, "ground")) -> tuple[End, ...] | None:
        bodies = self.bodies(2, kinds)
        return None if bodies is None else tuple(self.end(body) for body in bodies)

    def curve(self, smooth: bool | None = None) -> Curve:
        return Curve(self.number(2, 5), self.chance(0.5) if smooth is None else smooth)

    def missing(self, **shares: float) -> tuple[str, ...]:
        return tuple(name for name, share in shares.items() if self.chance(share))


def _spring_damper(choose: _Chooser, kind: str) -> Connector | None:
    ends = choose.points()
    return None if ends is None else Connector(kind, ends)


def _linear_spring_damper(choose: _Chooser, kind: str) -> Connector | None:
    # Bodies that all move along lines might move along z, where the law does nothing and is refused.
    ends = choose.points(tuple(k for k in (*VELOCITIES, "ground") if k != "Mass1D"))
    if ends is None:
        return None
    law = choose.one_of("linear", "linear", "tensile", "compressive", "tabular")
    options: dict[str, Any] = dict(type=law, damper=choose.one_of("axial", "axial", "isotropic"))
    left_out = choose.missing(reference_length=0.2)
    if law in ("tensile", "compressive"):
        options["gate_damper"] = choose.chance(0.5)
        left_out += choose.missing(gate_width=0.3)
    else:
        left_out += ("gate_width",)
    if law == "tabular":
        options |= dict(interpolation=choose.one_of("linear", "smooth"), extrapolate=choose.one_of("clamp", "linear"))
    if choose.chance(0.25):
        options |= dict(dof_constraint=tuple(choose.chance(0.4) for _ in range(3)))
        options |= dict(mask=choose.one_of("force", "kinematic"))
    return Connector(kind, ends, options, left_out, size=choose.number(2, 5))


def _rotational_spring_damper(choose: _Chooser, kind: str) -> Connector | None:
    ends = choose.points(TURNING)
    if ends is None:
        return None
    flags = (False, False, choose.chance(0.1))
    return Connector(kind, ends, dict(dof_constraint=flags), choose.missing(reference_angle=0.3))


def _has_mass(choose: _Chooser, body: str) -> bool:
    return choose.plan.kind(body) not in ("ground", "RotationalMass1D")


def _connector_gravity(choose: _Chooser, kind: str) -> Connector | None:
    ends = choose.points()
    if ends is None:
        return None
    options = dict(softening=choose.one_of("document", "plummer"))
    wanted = choose.missing(mass0=0.6, mass1=0.6)
    own = tuple(f"mass{i}" for i, end in enumerate(ends) if f"mass{i}" in wanted and _has_mass(choose, end.body))
    return Connector(kind, ends, options, own)


def _all_pairs_gravity(choose: _Chooser, kind: str) -> Connector | None:
    bodies = list(choose.plan.bodies)
    massive = all(_has_mass(choose, body) for body in bodies)
    options = dict(softening=choose.one_of("document", "plummer"), tile=int(choose.one_of(2, 64)))
    left_out = choose.missing(mass=0.6) if massive else ()
    return Connector(kind, tuple(choose.end(body) for body in bodies), options, left_out)


def _load(choose: _Chooser, kind: str) -> Connector | None:
    body_fixed = choose.chance(0.4)
    turning = tuple(k for k in TURNING if k != "ground")
    bodies = choose.bodies(1, turning if body_fixed or kind == "Torque" else tuple(VELOCITIES))
    if bodies is None:
        return None
    curves = {"load_vector": choose.curve()} if choose.chance(0.5) else {}
    return Connector(kind, (choose.end(bodies[0]),), dict(body_fixed=body_fixed), curves=curves)


def _coordinate_load(choose: _Chooser, kind: str) -> Connector | None:
    end = _coordinate(choose, str(choose.rng.choice(list(choose.plan.bodies))))
    return Connector(kind, (end,), curves={"load": choose.curve()} if choose.chance(0.5) else {})


def _coordinate(choose: _Chooser, body: str) -> End:
    kind = choose.plan.kind(body)
    return End(body, "origin" if kind == "ground" else int(choose.rng.integers(COORDINATES[kind])))


def _distance_constraint(choose: _Chooser, kind: str) -> Connector | None:
    ends = choose.points()
    curves = {"distance": choose.curve(smooth=True)} if choose.chance(0.25) else {}
    return None if ends is None else Connector(kind, ends, curves=curves)


def _joint(choose: _Chooser, kind: str) -> Connector | None:
    """The last end is a point, which the numbers put where the first one is."""
    bodies = choose.bodies(2)
    if bodies is None:
        return None
    bodies.sort(key=lambda body: choose.plan.kind(body) in EXTENDED)
    if choose.plan.kind(bodies[1]) not in EXTENDED:
        return None
    if kind == "SphericalJoint" and not any(choose.plan.kind(body) in SPATIAL for body in bodies):
        return None
    return Connector(kind, (choose.end(bodies[0]), End(bodies[1], "point")))


def _coordinate_constraint(choose: _Chooser, kind: str) -> Connector | None:
    bodies = choose.bodies(2)
    if bodies is None:
        return None
    # The ground, which has no coordinate, comes first.
    bodies.sort(key="ground".__ne__)
    curves = {"offset": choose.curve(smooth=True)} if choose.chance(0.3) else {}
    ends = tuple(_coordinate(choose, body) for body in bodies)
    return Connector(kind, ends, dict(velocity_level=choose.chance(0.25)), curves=curves)


def _coordinate_vector_constraint(choose: _Chooser, kind: str) -> Connector | None:
    bodies = choose.bodies(2, tuple(k for k in (*VELOCITIES, "ground") if k != "RigidBody"))
    if bodies is None:
        return None
    bodies.sort(key="ground".__ne__)
    left_out = choose.missing(quadratic_term_marker0=0.6, quadratic_term_marker1=0.6)
    if bodies[0] == "ground":
        left_out += ("scaling_marker0", "quadratic_term_marker0")
    ends = tuple(End(body, "origin" if body == "ground" else "coordinates") for body in bodies)
    options = dict(velocity_level=choose.chance(0.2))
    curves = {"offset": choose.curve(smooth=True)} if choose.chance(0.2) else {}
    return Connector(kind, ends, options, left_out, curves, size=choose.number(1, 2))


DRAWN: dict[str, Callable[[_Chooser, str], Connector | None]] = {
    "SpringDamper": _spring_damper,
    "LinearSpringDamper": _linear_spring_damper,
    "RotationalSpringDamper": _rotational_spring_damper,
    "ConnectorGravity": _connector_gravity,
    "AllPairsGravity": _all_pairs_gravity,
    "Force": _load,
    "Torque": _load,
    "CoordinateLoad": _coordinate_load,
    "DistanceConstraint": _distance_constraint,
    "RevoluteJoint2D": _joint,
    "SphericalJoint": _joint,
    "CoordinateConstraint": _coordinate_constraint,
    "CoordinateVectorConstraint": _coordinate_vector_constraint,
}
