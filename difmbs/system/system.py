"""The assembled model: a frozen pytree of parameters and pure functions of time, coordinates and velocities."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core.errors import ParameterError, counted, did_you_mean
from ..core.parameters import ParameterPath, as_array, check_range, is_numbers, nest, show, unnest, warn_if_negative
from ..core.reprs import listed, of_arrays
from ..core.types import Params, Switches, Time, Values, Vector, Velocities
from ..elements.ports import Marker
from ..jaxtools import compile_messages, equinox_copies, program_cache
from ..jaxtools.memory_layout import by_component
from ..linalg.index import Index
from .groups import BodyGroup, ConnectorGroup, GroupMarker, Leaves, LocalConnector, with_ties
from .structure import InstanceRange, NamedElement, ParameterLocation, Structure

# There are no programs before there is a system.
program_cache.switch_on()
compile_messages.watch()
equinox_copies.register()

_KINDS = ("bodies", "forces", "fields", "constraints", "events")


@dataclasses.dataclass(frozen=True)
class BodyStates:
    """The bodies, their coordinates and velocities, by group."""

    bodies: tuple[Any, ...]
    q: tuple[Any, ...]
    v: tuple[Any, ...]


class ConstraintLevels(NamedTuple):
    """The equations of a group of constraints, or of one by name, on all levels.

    `position` is c (None for constraints on velocities), `jacobian` is G over the system's velocity coordinates,
    `velocity` is dc/dt, and G v' = `acceleration`. `shape` is (instances, equations of each).
    """

    shape: tuple[int, int]
    position: Values
    velocity: Velocities
    jacobian: Values
    acceleration: Velocities

    def __repr__(self) -> str:
        return of_arrays(self)


class System(eqx.Module):
    """An assembled model. All methods are pure; `with_params` returns another system."""

    gravity: Float[Array, "1 3"]
    stacks: tuple[Leaves, ...]
    structure: Structure = eqx.field(static=True)
    on: Switches = None
    """The position of each switch; None: as at the start."""

    def __repr__(self) -> str:
        names = {kind: [n for n, e in self.structure.elements.items() if e.kind == kind] for kind in _KINDS}
        names["bodies"].remove("ground")
        said = [f"{kind} {listed(known)}" for kind, known in names.items() if known]
        return f"System({'; '.join(said)}; {counted(self.structure.velocity_count, 'velocity coordinate')})"

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output

        elements = self.structure.elements.items()
        rows = [(kind, listed([n for n, e in elements if e.kind == kind and n != "ground"], 20)) for kind in _KINDS]
        rows.append(("velocity coordinates", str(self.structure.velocity_count)))
        return cell_output("System", [row for row in rows if row[1]])

    @property
    def constrained(self) -> bool:
        return any(group.active for group in self.structure.constraints)

    @property
    def redundant(self) -> bool:
        """Whether some constraints repeat what others fix."""
        return any(coupling.exponents is not None for coupling in self.structure.couplings)

    # Parameters

    def params(self) -> dict[str, Any]:
        """All parameters by element and field name; every floating-point number of the model is in it, but for those
        that follow from others."""
        stacks: Any = (*self.stacks, (self.gravity,))
        if not any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(stacks)):
            # Picked apart on the host: thousands of small reads from the device would take seconds.
            stacks = jax.tree.map(np.asarray, stacks)
            return jax.device_put(nest(self._free(stacks)))
        return nest(self._free(stacks))

    def _free(self, stacks: Any) -> dict[ParameterPath, Any]:
        """All parameters that do not follow from others."""
        structure = self.structure
        return {
            path: _read(stacks, home) for path, home in structure.homes.items() if path not in structure.derived_paths
        }

    def value(self, path: ParameterPath) -> Values:
        """A parameter by its path, also one that follows from others."""
        return _read((*self.stacks, (self.gravity,)), self.structure.homes[path])

    def with_params(self, params: Params) -> "System":
        """The system with some parameters replaced; `params` has the form of a part of `self.params()`."""
        return self.with_values(self.check_params(params))

    def check_params(self, params: Params) -> dict[ParameterPath, Any]:
        """The parameters by path, as arrays; names that lead nowhere, wrong shapes and values are refused."""
        homes = self.structure.homes
        given = unnest(params, homes)
        if derived := [path for path in given if path in self.structure.derived_paths]:
            raise ParameterError(f"'{'.'.join(derived[0])}' follows from other parameters of the model: set those.")
        return {path: self._checked(path, value, homes[path]) for path, value in given.items()}

    def with_values(self, values: Mapping[ParameterPath, Any]) -> "System":
        """The system with checked parameters replaced, and with what follows from them."""
        changed = self._replaced(values) if values else self
        return changed.with_derived() if values else changed

    def with_derived(self) -> "System":
        """With parameters that follow from others as these say."""
        system = self
        for rule in self.structure.derived:
            home = self.structure.homes[rule.path]
            found = jnp.asarray(rule.function(ParametersByName(system)), self.gravity.dtype)
            if found.shape != home.shape:
                raise ParameterError(
                    f"'{'.'.join(rule.path)}' must have shape {home.shape}, what it follows from gives {found.shape}."
                )
            system = system._replaced({rule.path: found})
        return system

    def _replaced(self, values: Mapping[ParameterPath, Any]) -> "System":
        changes: dict[tuple[int, int], list[tuple[Index, Any]]] = {}
        for path, value in values.items():
            for part in self.structure.homes[path].parts:
                rows = value.reshape(1, *value.shape) if part.positions is None else part.positions.take(value)
                changes.setdefault((part.stack, part.leaf), []).append((part.rows, rows))
        stacks = [list(leaves) for leaves in (*self.stacks, (self.gravity,))]
        for (stack, leaf), replaced in changes.items():
            stacks[stack][leaf] = _replace_rows(stacks[stack][leaf], replaced)
        *others, (gravity,) = (tuple(leaves) for leaves in stacks)
        return System(gravity, tuple(others), self.structure, self.on)

    def switched(self, on: Switches) -> "System":
        """The system with its switches in these positions."""
        return System(self.gravity, self.stacks, self.structure, on)

    def is_on(self, group: ConnectorGroup) -> Switches:
        """The position of the switch of a group; None if it has none."""
        if group.switch is None:
            return None
        return jnp.asarray(self.structure.switches[group.switch]) if self.on is None else self.on[group.switch]

    # Motion

    @jax.jit
    def initial_state(self) -> tuple[Vector, Vector]:
        """Coordinates and velocity coordinates at the start."""
        q, v = [], []
        for group, leaves in self.with_leaves("bodies"):
            tree = group.stack.instances(leaves)
            a, b = group.each(lambda e, initial: e.initial_state(**initial), tree["element"], tree["initial"])
            q.append(a)
            v.append(b)
        return _joined(q), _joined(v)

    def world(self, q: Vector, v: Vector) -> BodyStates:
        groups = self.with_leaves("bodies")
        bodies = tuple(group.stack.instances(leaves)["element"] for group, leaves in groups)
        # With constraints most of the work is done on the blocks of a matrix, row by row.
        stored = (lambda x: x) if self.constrained else by_component
        return BodyStates(
            bodies,
            tuple(stored(group.coordinates(q)) for group, _ in groups),
            tuple(stored(group.velocities(v)) for group, _ in groups),
        )

    def each_body(self, function: Callable[..., Any], q: Vector, v: Vector) -> list[Any]:
        """function(body, q, v) of every body: for each group an array with a leading axis of instances."""
        world = self.world(q, v)
        return [
            g.each(function, *x) for g, *x in zip(self.structure.bodies, world.bodies, world.q, world.v, strict=True)
        ]

    def rate(self, q: Vector, v: Vector) -> Vector:
        """dq/dt."""
        return _joined(self.each_body(lambda body, q, v: body.rate(q, v), q, v))

    def retract(self, q: Vector, dq: Vector) -> Vector:
        """q displaced by dq, a displacement in the sense of the velocity coordinates."""
        return _joined(self.each_body(lambda body, q, dq: body.retract(q, dq), q, dq))

    @jax.jit
    def applied_forces(self, t: Time, q: Vector, v: Vector) -> Vector:
        """All generalized forces but those of constraints: connectors, loads, weight, gyroscopic."""
        world, t = self.world(q, v), jnp.asarray(t, q.dtype)
        total = self.each_body(lambda body, q, v: body.bias(q, v, self.gravity[0]), q, v)
        for group, leaves in self.with_leaves("forces"):
            if group.active:
                local = self.local(world, group, leaves)
                self.add_to(total, group.slots, local.each(lambda x: x.force(t)))
        for group, leaves in self.with_leaves("fields"):
            if group.active:
                self.add_to(total, group.slots, self.field(world, group, leaves).force(t))
        return _joined(total)

    def constraint_levels(self, t: Time, q: Vector, v: Vector) -> dict[int, ConstraintLevels]:
        """The equations of each active group of constraints, by the number of the group."""
        world, t = self.world(q, v), jnp.asarray(t, q.dtype)
        return {
            number: self.levels(t, self.local(world, group, leaves), group.slots, q.dtype)
            for number, (group, leaves) in enumerate(self.with_leaves("constraints"))
            if group.active
        }

    def violations(self, t: Time, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """c and dc/dt of all active constraints, one after the other; c of constraints on velocities counts as 0."""
        world, t = self.world(q, v), jnp.asarray(t, q.dtype)
        positions, velocities = [jnp.zeros(0, q.dtype)], [jnp.zeros(0, q.dtype)]
        for group, leaves in self.with_leaves("constraints"):
            if group.active:
                local = self.local(world, group, leaves)
                velocities.append(local.each(lambda x: x.switched(x.velocity_residual(t))).reshape(-1))
                if local.law.on_velocity:
                    positions.append(jnp.zeros_like(velocities[-1]))
                else:
                    positions.append(local.each(lambda x: x.switched(x.position_residual(t))).reshape(-1))
        return jnp.concatenate(positions), jnp.concatenate(velocities)

    def row_lengths(self, t: Time, q: Vector) -> Vector:
        """The lengths of the rows of G: how much each equation of the active constraints changes with the motion."""
        world, t = self.world(q, jnp.zeros(self.structure.velocity_count, q.dtype)), jnp.asarray(t, q.dtype)
        lengths = [jnp.zeros(0, q.dtype)]
        for group, leaves in self.with_leaves("constraints"):
            if group.active:
                blocks = self.local(world, group, leaves).each(lambda x: x.constraint_jacobian(t))
                lengths.append(jnp.sqrt(sum(jnp.sum(block**2, axis=-1) for block in blocks)).reshape(-1))
        return jnp.concatenate(lengths)

    def extent(self, q: Vector) -> Values:
        """The largest of all coordinates and of what constraints see, which tells what is small."""
        world = self.world(q, jnp.zeros(self.structure.velocity_count, q.dtype))
        groups = self.with_leaves("constraints")
        seen = [self.local(world, *pair).each(lambda x: x.config()) for pair in groups if pair[0].active]
        return jnp.max(jnp.asarray([jnp.max(jnp.abs(x), initial=0) for x in (q, *jax.tree.leaves(seen))]))

    def levels(self, t: Time, local: LocalConnector, slots: tuple[GroupMarker, ...], dtype: Any) -> ConstraintLevels:
        """The equations of some constraints of one group."""
        on_velocity = local.law.on_velocity
        position = None if on_velocity else local.each(lambda x: x.switched(x.position_residual(t))).reshape(-1)
        velocity = local.each(lambda x: x.switched(x.velocity_residual(t)))
        blocks = local.each(lambda x: x.switched(x.constraint_jacobian(t)))
        instances, equations = velocity.shape
        jacobian = jnp.zeros((instances, equations, self.structure.velocity_count), dtype)
        for slot, block in zip(slots, blocks, strict=True):
            columns = self.structure.bodies[slot.body].velocity_indices(slot.rows.rows)
            rows = np.arange(instances)
            jacobian = jacobian.at[rows[:, None, None], np.arange(equations)[:, None], columns[:, None, :]].add(block)
        return ConstraintLevels(
            (instances, equations),
            position,
            velocity.reshape(-1),
            jacobian.reshape(instances * equations, -1),
            local.each(lambda x: x.switched(x.acceleration_bias(t))).reshape(-1),
        )

    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        """M^-1 f."""
        return _joined(self.each_body(lambda body, q, f: body.inverse_mass(q, f), q, f))

    def momentum(self, q: Vector, v: Vector) -> Vector:
        """M v."""
        return _joined(self.each_body(lambda body, q, v: body.momentum(q, v), q, v))

    @jax.jit
    def mass_matrix(self, q: Vector) -> Float[Array, "nv nv"]:
        """Dense, for analysis and tests."""
        # Row by row, as it is symmetric: putting blocks together would compile longer with each body.
        return jax.vmap(lambda v: self.momentum(q, v))(jnp.eye(self.structure.velocity_count, dtype=q.dtype))

    @jax.jit
    def kinetic_energy(self, q: Vector, v: Vector) -> Values:
        return sum(map(jnp.sum, self.each_body(lambda body, q, v: body.kinetic_energy(q, v), q, v)))

    @jax.jit
    def potential_energy(self, t: Time, q: Vector) -> Values:
        """Potential energy of the weights and of all active connectors that have a potential."""
        zero = jnp.zeros(self.structure.velocity_count, q.dtype)
        world, t = self.world(q, zero), jnp.asarray(t, q.dtype)
        energy = sum(map(jnp.sum, self.each_body(lambda body, q, v: body.weight_energy(q, self.gravity[0]), q, zero)))
        for group, leaves in self.with_leaves("forces"):
            local = self.local(world, group, leaves)
            of_group = local.each(lambda x: x.law.energy(t, x.config()))
            if group.active and of_group is not None:
                energy += jnp.sum(of_group if group.switch is None else jnp.where(local.on, of_group, 0))
        for group, leaves in self.with_leaves("fields"):
            field = self.field(world, group, leaves)
            of_field = field.law.energy(t, field.positions())
            if group.active and of_field is not None:
                energy += of_field if field.on is None else jnp.where(field.on, of_field, 0)
        return energy

    # Access by name

    def element(self, name: str, *kinds: str) -> NamedElement:
        """What the name stands for, if it is of one of the kinds."""
        elements = {n: e for n, e in self.structure.elements.items() if e.kind in kinds}
        if name in elements:
            return elements[name]
        other = self.structure.elements.get(name)
        said = f"'{name}' is not among the {' and '.join(kinds)}" if other else f"there is no element '{name}'"
        raise ParameterError(f"{said}. {did_you_mean(name, elements)}")

    def coordinates(self, name: str) -> np.ndarray:
        """Where a body's coordinates are in q; one row per instance if the name holds many."""
        return self._indices(name, BodyGroup.coordinate_indices)

    def velocities(self, name: str) -> np.ndarray:
        """Where a body's velocity coordinates are in v; one row per instance if the name holds many."""
        return self._indices(name, BodyGroup.velocity_indices)

    def with_leaves(self, kind: str) -> list[tuple[Any, Leaves]]:
        """The groups of a kind with their stored leaves."""
        groups = getattr(self.structure, kind)
        first = self.structure.first_stack(kind)
        return list(zip(groups, self.stacks[first : first + len(groups)], strict=True))

    def local(
        self, world: BodyStates, group: ConnectorGroup, leaves: Leaves, select: Index | None = None
    ) -> LocalConnector:
        """A group of connectors, or the selected instances of it, as local functions of their own bodies."""
        tree, slots = group.stack.instances(leaves), group.slots
        if select is not None:
            tree = jax.tree.map(lambda x: select.take(x) if eqx.is_array(x) else x, tree)
            slots = tuple(slot.select(select) for slot in slots)
        bodies = tuple(_taken(slot.rows, world.bodies[slot.body]) for slot in slots)
        return LocalConnector(
            with_ties(tree["element"], bodies),
            tuple(Marker(tree.get(f"marker{i}"), slot.coordinate) for i, slot in enumerate(slots)),
            bodies,
            tuple(jax.tree.map(slot.rows.take, world.q[slot.body]) for slot in slots),
            tuple(slot.rows.take(world.v[slot.body]) for slot in slots),
            tuple(slot.port for slot in slots),
            None if group.switch is None else jnp.broadcast_to(self.is_on(group), (len(slots[0].rows),)),
        )

    def part(self, world: BodyStates, name: str, part: InstanceRange) -> LocalConnector:
        """The instances of a named connector that are in one group, as local functions."""
        group, leaves = self.with_leaves(self.structure.elements[name].kind)[part.group]
        return self.local(world, group, leaves, part.instances)

    def field(self, world: BodyStates, group: ConnectorGroup, leaves: Leaves) -> "LocalField":
        tree = jax.tree.map(lambda x: x[0] if eqx.is_array(x) else x, group.stack.instances(leaves))
        sides = tuple(
            LocalConnector(
                None,
                (Marker(tree.get(f"marker{i}")),),
                (_taken(slot.rows, world.bodies[slot.body]),),
                (jax.tree.map(slot.rows.take, world.q[slot.body]),),
                (slot.rows.take(world.v[slot.body]),),
                (slot.port,),
            )
            for i, slot in enumerate(group.slots)
        )
        return LocalField(with_ties(tree["element"], (JoinedBodies(sides),)), sides, self.is_on(group))

    # Internals

    def add_to(self, total: list[Any], slots: tuple[GroupMarker, ...], forces: tuple[Any, ...]) -> None:
        """Adds the generalized forces of a group to those of its bodies (a list with an array for each group)."""
        for slot, force in zip(slots, forces, strict=True):
            total[slot.body] = slot.rows.add(total[slot.body], force)

    def _indices(self, name, of_group):
        element = self.element(name, "bodies")
        (part,) = element.parts
        indices = of_group(self.structure.bodies[part.group], part.instances.rows)
        return indices[0] if element.single else indices

    def _checked(self, path: ParameterPath, value: Any, home: ParameterLocation):
        where, field = path[0], ".".join(path[1:])
        value = as_array(value)
        if not is_numbers(value):
            raise ParameterError(f"'{where}': {field} must be numbers of shape {home.shape}, got {show(value)}.")
        with np.errstate(over="ignore"):
            value = jnp.asarray(value, dtype=self.gravity.dtype)
        if value.shape != home.shape:
            forms = " Parameters are rotation vectors, whatever the form in Model.add." if field == "rotation" else ""
            raise ParameterError(f"'{where}': {field} must have shape {home.shape}, got shape {value.shape}.{forms}")
        check_range(where, field, value, home.spec)
        warn_if_negative(where, field, value, home.spec)
        return value


class ParametersByName(Mapping[str, Any]):
    """The parameters of a system by dotted names."""

    def __init__(self, system: System):
        self._system = system

    def __getitem__(self, name: str) -> Values:
        path = tuple(name.split("."))
        if path not in self._system.structure.homes:
            raise ParameterError(f"there is no parameter '{name}'. {did_you_mean(name, list(self))}")
        return self._system.value(path)

    def __iter__(self) -> Iterator[str]:
        return (".".join(path) for path in self._system.structure.homes)

    def __len__(self) -> int:
        return len(self._system.structure.homes)


class JoinedBodies:
    """The parameters of the bodies of all sides of a field, one after the other."""

    def __init__(self, sides: tuple[LocalConnector, ...]):
        self._bodies = [side.bodies[0] for side in sides]

    def __getattr__(self, name: str) -> Any:
        return jnp.concatenate([getattr(body, name) for body in self._bodies])


@dataclasses.dataclass(frozen=True)
class LocalField:
    """A law among many points, with its markers side by side."""

    law: Any
    sides: tuple[LocalConnector, ...]
    on: Switches = None

    def positions(self):
        return jnp.concatenate([side.each(lambda local: local.config()[0]) for side in self.sides])

    def force(self, t):
        """The generalized forces on the markers' bodies, one array for each side."""

        def flows(v):
            moved = [side.at(side.q, (x,)) for side, x in zip(self.sides, v, strict=True)]
            return jnp.concatenate([side.each(lambda local: local.flow()[0]) for side in moved])

        _, transposed = jax.vjp(flows, tuple(side.v[0] for side in self.sides))
        forces = self.law.forces(t, self.positions())
        return transposed(forces if self.on is None else jnp.where(self.on, forces, 0))[0]


def _read(stacks: Any, home: ParameterLocation) -> Any:
    """A parameter from the rows that hold it."""
    first = home.parts[0]
    if first.positions is None:
        return stacks[first.stack][first.leaf][int(first.rows.rows[0])]
    rows = [stacks[part.stack][part.leaf][part.rows.rows] for part in home.parts]
    positions = np.concatenate([part.positions.rows for part in home.parts if part.positions is not None])
    joined = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else jnp.concatenate(rows)
    return joined[np.argsort(positions)]


def _taken(rows: Index, tree: Any) -> Any:
    """Rows of all arrays; bodies may have functions, too."""
    return jax.tree.map(lambda x: rows.take(x) if eqx.is_array(x) else x, tree)


def _joined(parts):
    parts = [p.reshape(-1) for p in parts if p.size]
    return jnp.concatenate(parts) if len(parts) != 1 else parts[0]


def _replace_rows(stored, changes):
    rows = np.concatenate([index.rows for index, _ in changes])
    values = jnp.concatenate([value for _, value in changes]) if len(changes) > 1 else changes[0][1]
    if rows.size == stored.shape[0] and np.array_equal(np.sort(rows), np.arange(rows.size)):
        return Index(np.argsort(rows)).take(values)
    return stored.at[rows].set(values)
