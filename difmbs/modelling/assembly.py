"""From elements by name to groups: what is alike is stacked, what is wiring becomes indices."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError, ParameterError
from ..core.parameters import ParameterPath, Spec, key_name, show_error, specs_of
from ..dynamics.constraint_analysis import couple
from ..elements.bodies.body import AbstractBody
from ..elements.bodies.state_vector import StateVector
from ..elements.connectors.connector import AbstractConnector, AbstractConstraint, AbstractField
from ..elements.event import Event
from ..elements.ports import States
from ..jaxtools.compile_messages import called
from ..linalg.index import Index
from ..system.groups import BodyGroup, ConnectorGroup, EventGroup, GroupMarker, NumberGroup, SensorGroup, Stack
from ..system.structure import (
    KINDS,
    ControlledParameter,
    DerivedParameter,
    InstanceRange,
    NamedElement,
    ParameterLocation,
    StoredRows,
    Structure,
)
from ..system.system import System
from .markers import MarkerRef, of_instances
from .planar_checks import check_planes


@dataclasses.dataclass(frozen=True)
class AddedElement:
    """One `Model.add`: the element, its initial values if a body, the places of each of its markers if a connector."""

    name: str
    element: Any
    initial: dict[str, Any]
    places: tuple[tuple[MarkerRef, ...], ...]
    count: int
    single: bool
    active: bool


@dataclasses.dataclass(frozen=True)
class ModelContents:
    """All that was added to a model, by name; the ground is among the elements."""

    elements: Mapping[str, AddedElement]
    sensors: Mapping[str, Any]
    gravity: Any
    numbers: Mapping[ParameterPath, tuple[Any, Spec]] = dataclasses.field(default_factory=dict)
    derived: Mapping[ParameterPath, Callable[[Mapping[str, Any]], Any]] = dataclasses.field(default_factory=dict)
    controls: Mapping[ParameterPath, Any] = dataclasses.field(default_factory=dict)


def assemble(contents: ModelContents, redundant: str) -> System:
    """The system of what was added to a model."""
    called()
    contents = _all_measured(contents)
    system = _build(contents)
    for added in contents.elements.values():
        if added.places and not isinstance(added.element, AbstractField):
            check_planes(system, added.name, added.element, of_instances(added.places, lambda place: place.body))
        if isinstance(added.element, AbstractConnector) and added.active:
            try_out(system, added)
    return couple(system, redundant)


def preliminary(contents: ModelContents) -> System:
    """The system without any check, in which constraints have no equations yet."""
    return _build(_all_measured(contents))


def _all_measured(contents: ModelContents) -> ModelContents:
    """The contents with parameters that are to be measured read off the initial state."""
    connectors = [added for added in contents.elements.values() if isinstance(added.element, AbstractConnector)]
    if not any(getattr(added.element, field) is None for added in connectors for field in added.element.measured):
        return contents
    system = _build(dataclasses.replace(contents, sensors={}))
    of_groups: dict[tuple[str, int], dict[str, Any]] = {}
    measured = {added.name: _measured(system, added, of_groups) for added in connectors}
    return dataclasses.replace(contents, elements={**contents.elements, **measured})


class _Leaf(NamedTuple):
    """An array of an element: its name in the parameter tree, and whether all instances share it."""

    name: ParameterPath
    value: Any
    shared: bool
    spec: Spec

    def at(self, positions: np.ndarray) -> Any:
        return self.value[None] if self.shared else self.value[positions]

    @property
    def instance_shape(self) -> tuple[int, ...]:
        return self.value.shape if self.shared else self.value.shape[1:]


class _GrowingGroup:
    """A growing group: the rows of its stored leaves, and which instance uses which row."""

    def __init__(self, kind: str, number: int, structure: Any, treedef: Any):
        self.kind, self.number = kind, number
        self.structure, self.treedef = structure, treedef
        self.count = 0
        self.columns: list[list[Any]] = [[] for _ in range(treedef.num_leaves)]
        self.sizes = [0] * treedef.num_leaves
        self.shared: dict[tuple[int, ParameterPath], int] = {}
        self.rows: list[list[np.ndarray]] = [[] for _ in range(treedef.num_leaves)]
        self.markers: list[list[np.ndarray]] = []

    def grow(self, leaves: list[_Leaf], positions: list[np.ndarray], count: int) -> list[Index]:
        """Adds `count` instances; `positions` are those of the instances in each leaf. Returns the new rows."""
        added = []
        for k, (leaf, where) in enumerate(zip(leaves, positions, strict=True)):
            value, first = leaf.at(where), self.sizes[k]
            if leaf.shared:
                first = self.shared.setdefault((k, leaf.name), first)
            if first == self.sizes[k]:
                self.columns[k].append(value)
                self.sizes[k] += len(value)
            self.rows[k].append(np.full(count, first) if leaf.shared else first + np.arange(count))
            added.append(Index(first + np.arange(len(value))))
        self.count += count
        return added

    def stack(self) -> Stack:
        return Stack(self.structure, self.treedef, tuple(Index(np.concatenate(r)) for r in self.rows))

    def slots(self, slots: tuple[GroupMarker, ...]) -> tuple[GroupMarker, ...]:
        return tuple(
            dataclasses.replace(slot, rows=Index(np.concatenate(rows)))
            for slot, rows in zip(slots, self.markers, strict=True)
        )


SWITCH = "active"
"""What a connector's switch is called among its parameters, by controllers."""

_Kept = tuple[_GrowingGroup, int, Index, Index | None]
"""Where a parameter is: the group, which of its leaves, the rows, and their positions unless they are shared."""


def _build(contents: ModelContents) -> System:
    elements = contents.elements.values()
    events = [added for added in elements if isinstance(added.element, Event)]
    switched = dict.fromkeys(name for added in events for name, _ in added.element.switch)
    switched |= dict.fromkeys(path[0] for path in contents.controls if path[1:] == (SWITCH,))
    builder = _SystemBuilder({name: number for number, name in enumerate(switched)})
    for added in elements:
        if isinstance(added.element, AbstractBody):
            builder.add_body(added)
    for added in elements:
        if isinstance(added.element, AbstractField):
            builder.add_field(added)
        elif isinstance(added.element, AbstractConnector):
            builder.add_connector(added)
    for name, quantity in contents.sensors.items():
        builder.add_sensor(name, quantity)
    for added in events:
        builder.add_event(added)
    for path, (value, spec) in contents.numbers.items():
        builder.add_number(path, value, spec)
    starts = {added.name: added.active for added in elements}
    derived = tuple(DerivedParameter(path, function) for path, function in contents.derived.items())
    controls = tuple(
        ControlledParameter(path, rule, rule.sampled, builder.switches[path[0]] if path[1:] == (SWITCH,) else None)
        for path, rule in contents.controls.items()
    )
    return builder.finish(contents.gravity, tuple(starts.get(name, True) for name in switched), derived, controls)


class _SystemBuilder:
    def __init__(self, switches: dict[str, int]) -> None:
        self.switches = switches
        self.groups: dict[str, dict[Any, _GrowingGroup]] = {kind: {} for kind in KINDS}
        self.elements: dict[str, NamedElement] = {}
        self.readings: dict[str, Any] = {}
        self.stored: dict[ParameterPath, list[_Kept]] = {}
        self.leaves: dict[ParameterPath, _Leaf] = {}

    def add_body(self, added: AddedElement) -> None:
        tree = {
            "element": _described(added.name, added.element, specs_of(added.element)),
            "initial": _described(added.name, added.initial, dict(added.element.initial)),
        }
        part = self._add("bodies", tree, type(added.element), np.arange(added.count))
        self.elements[added.name] = NamedElement("bodies", added.single, added.count, (part,))

    def add_connector(self, added: AddedElement) -> None:
        kind = "constraints" if isinstance(added.element, AbstractConstraint) else "forces"
        law = _described(added.name, added.element, specs_of(added.element))
        points = [_points(added.name, f"marker{i}", side) for i, side in enumerate(added.places)]
        parts: list[InstanceRange] = []
        done, passed = 0, [0] * len(points)
        for segment in _segments(added):
            positions = done + np.arange(len(segment[0]) if segment else added.count)
            tree, elsewhere = {"element": law}, {}
            for i, (place, leaf) in enumerate(zip(segment, points, strict=True)):
                if place.points is not None and leaf is not None:
                    tree[f"marker{i}"] = leaf
                    elsewhere[leaf.name] = passed[i] + np.arange(len(place))
                    passed[i] += len(place)
            slots = tuple(self._slot(p, port) for p, port in zip(segment, added.element.ports, strict=True))
            rows = self._rows(segment)
            if added.element.initial:
                held = self._states(added, positions)
                slots = (*slots, GroupMarker(held.group, Index([]), States(), None))
                rows.append(held.instances.rows)
            part = self._add(kind, tree, (slots, *self._switch(added)), positions, elsewhere, rows)
            parts.append(part)
            done += len(positions)
        self.elements[added.name] = NamedElement(kind, added.single, added.count, _merged(parts))

    def _states(self, added: AddedElement, positions: np.ndarray) -> InstanceRange:
        """Where the states of some instances of a law are."""
        initial = _described(added.name, added.initial, dict(added.element.initial))
        count = sum(math.prod(leaf.instance_shape) for leaf in initial.values())
        tree = {"element": StateVector(count), "initial": initial}
        return self._add("bodies", tree, StateVector, positions)

    def add_field(self, added: AddedElement) -> None:
        """A field is a group of its own, with one slot for each run of markers of one kind."""
        (side,), (port,) = added.places, added.element.ports
        tree = {"element": _described(added.name, added.element, specs_of(added.element))}
        slots = tuple(self._slot(place, port) for place in side)
        for i, place in enumerate(side):
            if place.points is not None:
                tree[f"marker{i}"] = _Leaf((added.name, f"marker{i}"), place.points, True, Spec((None, 3), "m"))
        part = self._add("fields", tree, (slots, *self._switch(added), added.name), np.arange(1), {}, self._rows(side))
        self.elements[added.name] = NamedElement("fields", True, sum(map(len, side)), (part,))

    def add_event(self, added: AddedElement) -> None:
        tree = {"element": _described(added.name, added.element, specs_of(added.element))}
        switches = tuple((self.switches[name], on) for name, on in added.element.switch)
        part = self._add("events", tree, (added.name, switches), np.arange(1))
        self.elements[added.name] = NamedElement("events", True, 1, (part,))

    def add_number(self, path: ParameterPath, value: Any, spec: Spec) -> None:
        if path in self.leaves:
            raise ModelError(f"'{'.'.join(path)}' is a parameter of '{path[0]}' already: choose another name.")
        self._add("numbers", {"value": _Leaf(path, value, True, spec)}, path, np.arange(1))

    def _switch(self, added: AddedElement) -> tuple[bool, int | None]:
        """Whether the connector is ever active, and the number of its switch."""
        number = self.switches.get(added.name)
        return added.active or number is not None, number

    def add_sensor(self, name: str, quantity: Any) -> None:
        if not isinstance(quantity, tuple):
            self.readings[name] = quantity
            return
        sensor, place = quantity
        body = self.elements[place.body]
        # One of many is a single marker; all instances of a name are many, also where it has only one.
        single = body.single or (len(place) == 1 and body.count != 1)
        points = _points(name, "marker0", (place,))
        tree = {} if place.points is None else {"marker0": points}
        slots = (self._slot(place, None),)
        signature, rows = (slots, sensor, name, single), self._rows((place,))
        self.readings[name] = self._add("sensors", tree, signature, np.arange(len(place)), {}, rows).group

    def _add(self, kind, tree, signature, positions, elsewhere=None, rows=()) -> InstanceRange:
        """Adds instances to the group of their like. `elsewhere`: positions in leaves that count differently."""
        group = self._group(kind, tree, signature)
        leaves = [leaf for leaf in jax.tree.leaves(tree, is_leaf=_is_leaf) if _is_leaf(leaf)]
        where = [(elsewhere or {}).get(leaf.name, positions) for leaf in leaves]
        first = group.count
        added = group.grow(leaves, where, len(positions))
        for k, (leaf, at, stored) in enumerate(zip(leaves, where, added, strict=True)):
            if jnp.issubdtype(leaf.value.dtype, jnp.floating):
                self.leaves[leaf.name] = leaf
                self.stored.setdefault(leaf.name, []).append((group, k, stored, None if leaf.shared else Index(at)))
        group.markers = group.markers or [[] for _ in rows]
        for column, new in zip(group.markers, rows, strict=True):
            column.append(new)
        return InstanceRange(group.number, Index(first + np.arange(len(positions))), Index(positions))

    def _group(self, kind: str, tree: Any, signature: Any) -> _GrowingGroup:
        arrays, static = eqx.partition(tree, _is_leaf, is_leaf=_is_leaf)
        leaves, treedef = jax.tree.flatten(arrays, is_leaf=_is_leaf)
        rest, rest_treedef = jax.tree.flatten(static)
        shapes = tuple((leaf.instance_shape, str(leaf.value.dtype)) for leaf in leaves)
        key = (signature, shapes, treedef, tuple(rest), rest_treedef)
        groups = self.groups[kind]
        if key not in groups:
            groups[key] = _GrowingGroup(kind, len(groups), static, treedef)
        return groups[key]

    def _slot(self, place: MarkerRef, port: Any) -> GroupMarker:
        """The slot without its rows: what must agree within a group."""
        return GroupMarker(self.elements[place.body].parts[0].group, Index([]), port, place.coordinate)

    def _rows(self, segment: tuple[MarkerRef, ...]) -> list[np.ndarray]:
        return [self.elements[p.body].parts[0].instances.rows[p.rows] for p in segment]

    def _connector_groups(self, kind: str) -> tuple[ConnectorGroup, ...]:
        return tuple(
            ConnectorGroup(group.stack(), group.slots(slots), group.count, active, switch)
            for ((slots, active, switch, *_), *_), group in self.groups[kind].items()
        )

    def finish(
        self,
        gravity: Any,
        switches: tuple[bool, ...],
        derived: tuple[DerivedParameter, ...],
        controls: tuple[ControlledParameter, ...],
    ) -> System:
        groups = [group for kind in KINDS for group in self.groups[kind].values()]
        numbers = {id(group): n for n, group in enumerate(groups)}
        homes = {
            path: ParameterLocation(
                self.leaves[path].value.shape,
                self.leaves[path].spec,
                tuple(StoredRows(numbers[id(g)], leaf, rows, where) for g, leaf, rows, where in _together(parts)),
            )
            for path, parts in self.stored.items()
        }
        homes["gravity", "acceleration"] = ParameterLocation(
            (3,), Spec((3,), "m/s^2"), (StoredRows(len(groups), 0, Index([0]), None),)
        )
        structure = Structure(
            tuple(_body_groups(self.groups["bodies"])),
            self._connector_groups("forces"),
            self._connector_groups("fields"),
            self._connector_groups("constraints"),
            tuple(
                SensorGroup(g.stack(), g.slots(slots)[0], sensor, single)
                for ((slots, sensor, _, single), *_), g in self.groups["sensors"].items()
            ),
            tuple(EventGroup(g.stack(), name, switched) for ((name, switched), *_), g in self.groups["events"].items()),
            tuple(NumberGroup(g.stack()) for g in self.groups["numbers"].values()),
            self.elements,
            homes,
            self.readings,
            switches,
            derived,
            controls,
        )
        stacks = tuple(tuple(_device_array(column) for column in group.columns) for group in groups)
        system = System(_device_array([gravity[None]]), stacks, structure)
        _check_precision(system)
        return system


def _body_groups(groups: dict[Any, _GrowingGroup]) -> Iterator[BodyGroup]:
    first_q = first_v = 0
    for (kind, *_), group in groups.items():
        element = group.structure["element"]
        sizes = element.coordinates, element.velocities
        yield BodyGroup(group.stack(), kind, *sizes, group.count, first_q, first_v)
        first_q += group.count * sizes[0]
        first_v += group.count * sizes[1]


def _together(parts: list[_Kept]) -> Iterator[_Kept]:
    """One entry for each stored leaf: its rows, and their positions in the parameter unless they are shared."""
    leaves: dict[tuple[int, int], list[_Kept]] = {}
    for part in parts:
        leaves.setdefault((id(part[0]), part[1]), []).append(part)
    for (group, leaf, rows, where), *more in leaves.values():
        if where is not None:
            rows = Index(np.concatenate([rows.rows, *(part[2].rows for part in more)]))
            where = Index(np.concatenate([where.rows, *(part[3].rows for part in more if part[3] is not None)]))
        yield group, leaf, rows, where


def _merged(parts: list[InstanceRange]) -> tuple[InstanceRange, ...]:
    """One part for each group."""
    groups: dict[int, list[InstanceRange]] = {}
    for part in parts:
        groups.setdefault(part.group, []).append(part)
    return tuple(
        InstanceRange(
            group,
            Index(np.concatenate([p.instances.rows for p in same])),
            Index(np.concatenate([p.positions.rows for p in same])),
        )
        for group, same in groups.items()
    )


def _is_leaf(x: Any) -> bool:
    return isinstance(x, _Leaf)


def _described(name: str, tree: Any, specs: dict[str, Spec]) -> Any:
    """The tree with its arrays described. Arrays inside user laws are shared by all instances."""

    def describe(path, value):
        if not eqx.is_array(value):
            return value
        spec = specs[key_name(path[0])] if len(path) == 1 else Spec(None)
        shared = spec.shape is None or value.ndim == len(spec.shape)
        return _Leaf((name, *map(key_name, path)), value, shared, spec)

    return jax.tree_util.tree_map_with_path(describe, tree)


def _points(name: str, marker: str, side: tuple[MarkerRef, ...]) -> _Leaf | None:
    """The points of one side of a connector, one after the other; shared where one point serves all instances."""
    points = [place.points for place in side if place.points is not None]
    if not points:
        return None
    shared = len(side) == 1 and len(side[0]) == 1
    value = points[0][0] if shared else np.concatenate(points)
    return _Leaf((name, marker), value, shared, Spec((3,), "m"))


def _segments(added: AddedElement) -> Iterator[tuple[MarkerRef, ...]]:
    """Runs of instances whose markers are all of one place each."""
    sides = [
        [place.repeated(added.count) if len(side) == 1 and len(place) == 1 else place for place in side]
        for side in added.places
    ]
    ends = [np.cumsum([len(place) for place in side]) for side in sides]
    if not ends:
        yield ()
        return
    start = 0
    for stop in sorted(set(np.concatenate(ends).tolist())):
        segment = []
        for side, end in zip(sides, ends, strict=True):
            k = int(np.searchsorted(end, start, side="right"))
            offset = start - (end[k] - len(side[k]))
            segment.append(side[k][offset : offset + stop - start])
        yield tuple(segment)
        start = stop


def _device_array(column: list[Any]) -> Any:
    """Rows joined; in the precision that JAX is set to."""
    traced = any(isinstance(x, jax.Array) for x in column)
    joined = jnp.concatenate(column) if traced else np.concatenate(column)
    return jnp.asarray(joined, float) if jnp.issubdtype(joined.dtype, jnp.floating) else jnp.asarray(joined)


def _check_precision(system: System) -> None:
    for path, home in system.structure.homes.items():
        for part in home.parts:
            stored = (*system.stacks, (system.gravity,))[part.stack][part.leaf]
            if not isinstance(stored, jax.core.Tracer) and not np.all(np.isfinite(np.asarray(stored)[part.rows.rows])):
                raise ParameterError(f"'{path[0]}': {'.'.join(path[1:])} is too large for {stored.dtype}.")


def _measured(system: System, added: AddedElement, of_groups: dict[tuple[str, int], dict[str, Any]]) -> AddedElement:
    """The added with parameters that were left at None measured in the initial state; `of_groups`: what was measured
    already, of all instances of a group."""
    missing = [field for field in added.element.measured if getattr(added.element, field) is None]
    if not missing:
        return added
    element = system.structure.elements[added.name]
    found = dict[str, Any]()
    for part in element.parts:
        key = element.kind, part.group
        if key not in of_groups:
            world = system.world(*system.initial_state())
            of_groups[key] = _measure(system.local(world, *system.with_leaves(element.kind)[part.group]))
    order = np.argsort(np.concatenate([part.positions.rows for part in element.parts]))
    for field in missing:
        pieces = [of_groups[element.kind, part.group][field] for part in element.parts]
        traced = any(isinstance(x, jax.core.Tracer) for x in pieces)
        rows = [(x if traced else np.asarray(x))[p.instances.rows] for x, p in zip(pieces, element.parts, strict=True)]
        values = (jnp if traced else np).concatenate(rows)[order]
        found[field] = values[0] if added.single else values
    return dataclasses.replace(added, element=dataclasses.replace(added.element, **found))


@eqx.filter_jit
def _measure(local: Any) -> dict[str, Any]:
    return local.each(lambda x: x.law.measure(x.config()))


def try_out(system: System, added: AddedElement) -> None:
    """Evaluates user functions once, and what a law checks itself, so that what is wrong is said here and by name."""
    element = added.element
    functions = any(callable(leaf) for leaf in jax.tree.leaves(element, is_leaf=callable))
    checks_itself = type(element).verify is not AbstractConnector.verify
    if isinstance(element, AbstractField) or not (functions or checks_itself):
        return
    t = jnp.zeros((), system.gravity.dtype)
    world = system.world(*system.initial_state())

    def evaluate(t: Any, local: Any) -> Any:
        if isinstance(element, AbstractConstraint):
            return local.each(lambda x: (x.velocity_residual(t), x.acceleration_bias(t)))
        return local.each(lambda x: x.force(t))

    try:
        for part in system.structure.elements[added.name].parts:
            local = system.part(world, added.name, part)
            if functions:
                # With a traced time first: a function that asks `if t < 1` fails here and not in `simulate`.
                eqx.filter_eval_shape(evaluate, t, local)
                if not _is_finite(evaluate(t, local)):
                    raise ModelError("a user function gives NaN or infinity in the initial state.")
            if checks_itself:
                _verify(added.name, t, local)
    except ModelError as error:
        named = str(error) if str(error).startswith(f"'{added.name}'") else f"'{added.name}': {error}"
        raise ModelError(named) from error.__cause__
    except Exception as error:
        raise ModelError(f"'{added.name}': a user function fails: {show_error(error)}") from error


def _verify(name: str, t: Any, local: Any) -> None:
    config, flow = local.each(lambda x: (x.config(), x.flow()))
    seen = (local.law, config, flow)
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(seen)):
        return
    seen = jax.tree.map(lambda x: np.asarray(x) if eqx.is_array(x) else x, seen)
    for i in range(len(jax.tree.leaves(config)[0])):
        law, *state = jax.tree.map(lambda x, i=i: jnp.asarray(x[i]) if eqx.is_array(x) else x, seen)
        law.verify(name, t, *state)


def _is_finite(results: Any) -> bool:
    return all(isinstance(x, jax.core.Tracer) or bool(np.all(np.isfinite(x))) for x in jax.tree.leaves(results))
