"""Everything about an assembled model that is not a number: groups, names, and where each parameter is stored."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.parameters import ParameterPath, Spec
from ..elements.bodies.state_vector import StateVector
from ..elements.sensors import Output
from ..linalg.index import Index
from .groups import BodyGroup, ConnectorGroup, EventGroup, NumberGroup, SensorGroup

KINDS = ("bodies", "forces", "fields", "constraints", "sensors", "events", "numbers")


@dataclasses.dataclass(frozen=True)
class InstanceRange:
    """Where a part of an element's instances is: these instances of that group of its kind."""

    group: int
    instances: Index
    positions: Index


@dataclasses.dataclass(frozen=True)
class NamedElement:
    """What a name stands for. `kind` is the name of one of the structure's lists of groups."""

    kind: str
    single: bool
    count: int
    parts: tuple[InstanceRange, ...]


@dataclasses.dataclass(frozen=True)
class StoredRows:
    """Rows of one stored leaf; `positions` in the parameter they belong to, None where all instances share it."""

    stack: int
    leaf: int
    rows: Index
    positions: Index | None


@dataclasses.dataclass(frozen=True)
class ParameterLocation:
    """Where a parameter lives."""

    shape: tuple[int, ...]
    spec: Spec
    parts: tuple[StoredRows, ...]


@dataclasses.dataclass(frozen=True)
class Coupling:
    """How a group of constraints stands in the equations of motion.

    `equations` of each; `nodes`: the node of the matrix where each has its multipliers; `waits`: whether this is
    eliminated only after all bodies of the constraint; `exponents`: where constraints of the model are redundant, the
    power of ten by which those of each are regularized; `weight`: w of equations c on bodies that have coordinates
    without mass: forces G^T w c besides those of the multipliers, which are zero where c is, make M + w G^T G regular.
    """

    equations: int
    nodes: Index
    waits: Index
    exponents: Index | None = None
    weight: float = 0.0


@dataclasses.dataclass(frozen=True)
class ConstraintPlan:
    """How the constraints of a model stand in the equations of motion.

    `couplings`: of each group of constraints; `repeated`: how many equations repeat what others fix at the start;
    `refinements`: how often solutions of the equations of motion are refined.
    """

    couplings: tuple[Coupling, ...]
    repeated: int = 0
    refinements: int = 0


@dataclasses.dataclass(frozen=True)
class DerivedParameter:
    """A parameter that follows from others: `function` takes all parameters by dotted names."""

    path: ParameterPath
    function: Callable[[Mapping[str, Any]], Any]


@dataclasses.dataclass(frozen=True)
class ControlledParameter:
    """A parameter, or with `switch` the switch of a connector, that a function (system, t, q, v) sets.

    The system that it is given has no controls. `sampled`: what it sets holds during each time step.
    """

    path: ParameterPath
    function: Callable[..., Any]
    sampled: bool
    switch: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """Everything about a model that is not a number: compared by content, so that equal models share compiled code."""

    bodies: tuple[BodyGroup, ...]
    forces: tuple[ConnectorGroup, ...]
    fields: tuple[ConnectorGroup, ...]
    constraints: tuple[ConnectorGroup, ...]
    sensors: tuple[SensorGroup, ...]
    events: tuple[EventGroup, ...]
    numbers: tuple[NumberGroup, ...]
    elements: Mapping[str, NamedElement]
    homes: Mapping[ParameterPath, ParameterLocation]
    readings: Mapping[str, int | Output | Callable[..., Any]]
    """Sensors by name: an index into `sensors`, an output under another name, or a function of (t, outputs)."""
    switches: tuple[bool, ...] = ()
    """Whether each connector that events switch is on at the start."""
    derived: tuple[DerivedParameter, ...] = ()
    """In the order in which they follow from others."""
    controls: tuple[ControlledParameter, ...] = ()
    plan: ConstraintPlan | None = None
    """None before the constraints were analysed: then multipliers are not known."""

    @functools.cached_property
    def groups(self) -> tuple[Any, ...]:
        return (*self.bodies, *self.forces, *self.fields, *self.constraints, *self.sensors, *self.events, *self.numbers)

    @functools.cached_property
    def _content(self) -> tuple[Any, ...]:
        return (
            self.groups,
            dict(self.elements),
            dict(self.homes),
            dict(self.readings),
            self.switches,
            self.derived,
            self.controls,
            self.plan,
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self._content == other._content)

    def __hash__(self) -> int:
        return hash((tuple(self.elements), tuple(self.readings), len(self.groups)))

    def __repr__(self) -> str:
        kinds = [(kind, [n for n, e in self.elements.items() if e.kind == kind]) for kind in KINDS[:4]]
        said = ", ".join(f"{len(names)} {kind}" for kind, names in kinds if names)
        return f"Structure({said}, {len(self.readings)} sensors)"

    @functools.cached_property
    def derived_paths(self) -> frozenset[ParameterPath]:
        return frozenset(rule.path for rule in self.derived)

    @functools.cached_property
    def without_controls(self) -> "Structure":
        return dataclasses.replace(self, controls=())

    @functools.cached_property
    def without_sampled(self) -> "Structure":
        """With controls that act between the steps' ends, too."""
        return dataclasses.replace(self, controls=tuple(c for c in self.controls if not c.sampled))

    @property
    def sampled(self) -> bool:
        return any(control.sampled for control in self.controls)

    def first_stack(self, kind: str) -> int:
        """Where the stacks of a kind of groups begin in `System.stacks`."""
        return sum(len(getattr(self, k)) for k in KINDS[: KINDS.index(kind)])

    @property
    def coordinate_count(self) -> int:
        return sum(g.count * g.coordinates_each for g in self.bodies)

    @functools.cached_property
    def is_state(self) -> np.ndarray:
        """Whether each velocity coordinate is a first-order state of a law."""
        return np.concatenate([np.full(g.count * g.velocities_each, g.kind is StateVector) for g in self.bodies])

    @property
    def velocity_count(self) -> int:
        return sum(g.count * g.velocities_each for g in self.bodies)

    @property
    def analysed(self) -> ConstraintPlan:
        if self.plan is None:
            raise ValueError("the constraints of this structure were not analysed.")
        return self.plan

    @property
    def couplings(self) -> tuple[Coupling, ...]:
        """Couplings of each group of constraints."""
        return self.analysed.couplings

    @property
    def multiplier_count(self) -> int:
        groups = zip(self.constraints, self.couplings, strict=True)
        return sum(group.count * coupling.equations for group, coupling in groups if group.active)


def instance_names(structure: Structure, number: int) -> list[str]:
    """The constraints of a group as a reader knows them: "rod", or "rods[3]" if the name holds many."""
    names = {}
    for name, element in structure.elements.items():
        for part in element.parts if element.kind == "constraints" else ():
            if part.group == number:
                for row, position in zip(part.instances.rows.tolist(), part.positions.rows.tolist(), strict=True):
                    names[row] = name if element.single else f"{name}[{position}]"
    return [names[row] for row in sorted(names)]


def equation_names(structure: Structure) -> list[str]:
    """The constraint that each equation of the active ones belongs to."""
    return [
        name
        for number, (group, coupling) in enumerate(zip(structure.constraints, structure.couplings, strict=True))
        if group.active
        for name in instance_names(structure, number)
        for _ in range(coupling.equations)
    ]
