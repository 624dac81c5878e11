"""Named outputs at one instant: sensors, and the documented output variables of every element."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import show
from ..core.reprs import value
from ..core.types import Coordinates, Multipliers, Switches, Time, Values, Vector, Velocities
from ..elements.connectors.connector import AbstractConnector
from ..elements.ports import Marker
from ..elements.sensors import BODY_OUTPUTS, Output
from ..linalg.index import Index
from ..system.control import controlled
from ..system.groups import ConnectorGroup
from ..system.structure import InstanceRange, NamedElement
from ..system.system import System
from .accelerations import accelerations

COMPONENTS = ("x", "y", "z")
_INSTANCE = re.compile(r"([^\[\]]+)\[(\d+)\]")


class Outputs(Mapping[str, Any]):
    """The outputs of a system in one state, by name: `outputs["tip"]`, `outputs["spring.force"]`.

    A sensor has its name; an output variable of an element is "element.variable". ".x", ".y" and ".z" after a vector is
    its component: `outputs["tip.x"]`. Evaluated when asked for.
    `accelerations`: accelerations and multipliers that are known; None: those of the equations of motion.
    """

    def __init__(self, system: System, t: Time, q: Vector, v: Vector, *, accelerations: Any = None):
        self.system = system
        self.t = jnp.asarray(t, q.dtype)
        self.q = q
        self.v = v
        self._accelerations = accelerations

    def __repr__(self) -> str:
        return f"Outputs(t={value(self.t)}, of {self.system})"

    def __getitem__(self, name: str) -> Values:
        readings = self.system.structure.readings
        if name in readings:
            return self._reading(readings[name])
        many, row = instance_of(name)
        if row is not None:
            return self._instance(many, row)
        vector, _, component = str(name).rpartition(".")
        if component in COMPONENTS and (instance_of(vector)[0] in readings or "." in vector):
            return self._component(vector, component)
        element, _, variable = str(name).partition(".")
        if element in readings and variable:
            raise ParameterError(f"'{element}' is a sensor; it has no '{variable}'. Components are .x, .y and .z.")
        if element not in self.system.structure.elements or element == "ground":
            raise ParameterError(f"there is no sensor or element '{element}'. {did_you_mean(element, self._names())}")
        return self._variable(element, variable)

    def __iter__(self) -> Iterator[str]:
        return iter(self.system.structure.readings)

    def __len__(self) -> int:
        return len(self.system.structure.readings)

    def accelerations(self) -> tuple[Vector, dict[int, Any]]:
        if self._accelerations is None:
            self._accelerations = accelerations(self.system, self.t, self.q, self.v)
        return self._accelerations

    def _instance(self, name: str, row: int) -> Values:
        values = self[name]
        if is_single(self.system, name):
            raise ParameterError(f"'{name}' is one, it has no [{row}].")
        if row >= values.shape[0]:
            raise ParameterError(f"'{name}' has instances 0 to {values.shape[0] - 1}, got [{row}].")
        return values[row]

    def _component(self, name: str, component: str) -> Values:
        value = self[name]
        # Without the axis of instances, which may be as long as a vector.
        shape = value.shape if is_single(self.system, name) else value.shape[1:]
        return value[..., component_index(name, shape, component)]

    def _names(self):
        return [*self.system.structure.readings, *(n for n in self.system.structure.elements if n != "ground")]

    def _reading(self, reading: Any) -> Values:
        if isinstance(reading, Output):
            return self[f"{reading.element}.{reading.variable}"]
        if callable(reading):
            return jnp.asarray(reading(self.t, self))
        group, leaves = self.system.with_leaves("sensors")[reading]
        point = group.stack.instances(leaves).get("marker0")
        values = self._read(group.sensor, group.slot.body, group.slot.rows, point)
        return values[0] if group.single else values

    def _read(self, sensor: Any, body_group: int, rows: Index, point: Any) -> Values:
        """A sensor on some bodies of a group."""
        system, group = self.system, self.system.structure.bodies[body_group]
        world = system.world(self.q, self.v)
        acceleration = group.velocities(self.accelerations()[0] if sensor.needs_acceleration else 0 * self.v)
        arguments = (world.bodies[body_group], world.q[body_group], world.v[body_group], acceleration)
        chosen = jax.tree.map(lambda x: rows.take(x) if eqx.is_array(x) else x, arguments)

        def one(body, q, v, acceleration, point):
            return sensor.read(body, Marker(point), q, v, acceleration)

        return eqx.filter_vmap(one, axis_size=len(rows))(*chosen, point)

    def _variable(self, name: str, variable: str) -> Values:
        element = self.system.structure.elements[name]
        if element.kind == "bodies":
            return self._of_body(name, element, variable)
        if element.kind == "fields":
            system = controlled(self.system, self.t, self.q, self.v)
            group, leaves = system.with_leaves("fields")[element.parts[0].group]
            field = system.field(system.world(self.q, self.v), group, leaves)
            values = field.law.outputs(self.t, field.positions())
            return switched_output(_chosen(name, variable, values), field.law, variable, group, field.on)
        pieces = [self._of_connector(name, element, part, variable) for part in element.parts]
        order = np.argsort(np.concatenate([part.positions.rows for part in element.parts]))
        values = Index(order).take(jnp.concatenate(pieces) if len(pieces) > 1 else pieces[0])
        return values[0] if element.single else values

    def _of_body(self, name: str, element: NamedElement, variable: str) -> Values:
        if variable not in BODY_OUTPUTS:
            known = variables(self.system, name)
            raise ParameterError(f"'{name}' has no output '{variable}'. {did_you_mean(variable, known)}")
        (part,) = element.parts
        kind = self.system.structure.bodies[part.group].kind
        if not (kind.in_space or BODY_OUTPUTS[variable].of_coordinates):
            known = variables(self.system, name)
            raise ParameterError(f"'{name}' has no output '{variable}'. {did_you_mean(variable, known)}")
        point = jnp.zeros((element.count, 3), self.q.dtype) if kind.extended else None
        values = self._read(BODY_OUTPUTS[variable], part.group, part.instances, point)
        return values[0] if element.single else values

    def _multipliers(self, part: InstanceRange, law: AbstractConnector, variable: str) -> Any:
        return part.instances.take(self.accelerations()[1][part.group])

    def _of_connector(self, name: str, element: NamedElement, part: Any, variable: str) -> Values:
        system = controlled(self.system, self.t, self.q, self.v)
        local = system.part(system.world(self.q, self.v), name, part)
        group = getattr(self.system.structure, element.kind)[part.group]
        multiplier = None
        if element.kind == "constraints" and group.active:
            multiplier = self._multipliers(part, local.law, variable)
        values = connector_outputs(self.t, local, element.kind, multiplier)
        return switched_output(_chosen(name, variable, values), local.law, variable, group, local.on)


def connector_outputs(t: Time, local: Any, kind: str, multiplier: Multipliers | None = None) -> dict[str, Any]:
    """All output variables of some connectors of a group; the multipliers of constraints are 0 if there are none."""
    if kind == "forces":
        return local.each(lambda x: x.law.outputs(t, x.config(), x.flow()))
    if multiplier is None:
        multiplier = jnp.zeros_like(local.each(lambda x: x.velocity_residual(t)))
    return eqx.filter_vmap(lambda x, m: x.law.outputs(t, x.config(), x.flow(), m))(local, multiplier)


def output_names(system: System) -> tuple[str, ...]:
    """All that can be asked for: the sensors, and the output variables of every element; vectors as a whole."""
    structure, known = system.structure, dict[tuple[str, int], list[str]]()
    names = list(structure.readings)
    for name, element in structure.elements.items():
        if name == "ground" or element.kind not in ("bodies", "forces", "fields", "constraints"):
            continue
        key = (element.kind, element.parts[0].group)
        if key not in known:
            known[key] = variables(system, name)
        names += [f"{name}.{variable}" for variable in known[key]]
    return tuple(names)


def variables(system: System, name: str) -> list[str]:
    """The output variables of an element; nothing is computed."""
    element = system.structure.elements[name]
    if element.kind == "events":
        return []
    part = element.parts[0]
    if element.kind == "bodies":
        kind = system.structure.bodies[part.group].kind
        # Bodies in space are known by where they are.
        return [
            variable
            for variable, sensor in BODY_OUTPUTS.items()
            if sensor.of_coordinates != kind.in_space and (kind.rotates or not sensor.turning)
        ]

    def outputs(t: Time, q: Coordinates, v: Velocities) -> dict[str, Any]:
        world = system.world(q, v)
        if element.kind != "fields":
            return connector_outputs(t, system.part(world, name, part), element.kind)
        field = system.field(world, *system.with_leaves("fields")[part.group])
        return field.law.outputs(t, field.positions())

    q, v = jax.eval_shape(system.initial_state)
    return list(jax.eval_shape(outputs, jax.ShapeDtypeStruct((), q.dtype), q, v))


def multiplier_outputs(system: System) -> dict[str, str]:
    """For each constraint by name, the output that has its multipliers."""
    structure, found = system.structure, {}
    for name, element in structure.elements.items():
        if element.kind == "constraints":
            law = structure.constraints[element.parts[0].group].stack.structure["element"]
            found[name] = f"{name}.{law.multipliers}"
    return found


def instance_of(name: Any) -> tuple[str, int | None]:
    """An output and the number of one of its instances, of "beads.position[3]"; else the name and None."""
    found = _INSTANCE.fullmatch(str(name))
    return (found[1], int(found[2])) if found else (str(name), None)


def is_single(system: System, name: str) -> bool:
    """Whether an output has no axis of instances."""
    readings = system.structure.readings
    if instance_of(name)[1] is not None or instance_of(name.rpartition(".")[0])[1] is not None:
        return True
    vector, _, component = name.rpartition(".")
    if name not in readings and vector in readings and component in COMPONENTS:
        return is_single(system, vector)
    if name not in readings:
        return system.structure.elements[name.partition(".")[0]].single
    reading = readings[name]
    if isinstance(reading, Output):
        return is_single(system, f"{reading.element}.{reading.variable}")
    return callable(reading) or system.structure.sensors[reading].single


def entry_names(system: System, name: str, shape: tuple[int, ...]) -> list[str]:
    """Each number of an output of this shape as a reader knows it: "tip.x", "beads[3].x", "turn[0][1]"."""
    return names_of_entries(name, shape, is_single(system, name))


def names_of_entries(name: str, shape: tuple[int, ...], single: bool) -> list[str]:
    """As `entry_names`, of an output that has an axis of instances or not."""
    is_vector = shape[0 if single else 1 :] in ((2,), (3,))
    names = []
    for entry in np.ndindex(shape):
        last = f".{COMPONENTS[entry[-1]]}" if is_vector else ""
        names.append(name + "".join(f"[{i}]" for i in (entry[:-1] if is_vector else entry)) + last)
    return names


def component_index(name: str, shape: tuple[int, ...], component: str) -> int:
    """Of .x, .y or .z of a vector in the last axis; `shape` of one instance."""
    i = COMPONENTS.index(component)
    if len(shape) != 1 or shape[0] not in (2, 3):
        raise ParameterError(f"'{name}' is not a vector; its shape is {shape}.")
    if i >= shape[0]:
        raise ParameterError(f"'{name}' has components x and y, not {component}.")
    return i


def check_names(function: str, names: Iterable[Any]) -> tuple[str, ...]:
    """Names of outputs as text; refused if they are none."""
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"{function} takes names such as 'tip' or 'spring.force', got {show(name)}.")
    return tuple(map(str, names))


def component_of(name: str, values: Any, component: Any, axis: int = 1) -> Any:
    """An entry of the output `name`, or of its entries, after so many other axes; None: all of them."""
    if component is None:
        return values
    index = (slice(None),) * axis + (component if isinstance(component, tuple) else (component,))
    try:
        np.broadcast_to(0.0, values.shape)[index]
    except (IndexError, TypeError):
        raise ParameterError(
            f"'{name}' has no component {show(component)}; its shape is {tuple(values.shape[axis:])}."
        ) from None
    return values[index]


def _chosen(name: str, variable: str, values: dict[str, Any]) -> Values:
    if variable not in values:
        raise ParameterError(f"'{name}' has no output '{variable}'. {did_you_mean(variable, values)}")
    return values[variable]


def switched_output(
    value: Values, law: AbstractConnector, variable: str, group: ConnectorGroup, on: Switches
) -> Values:
    """An inactive connector exerts nothing; its kinematic outputs go on."""
    if variable not in law.exerted:
        return value
    if not group.active:
        return jnp.zeros_like(value)
    return value if on is None else jnp.where(on.reshape(on.shape + (1,) * (value.ndim - on.ndim)), value, 0)


def output_shape(system: System, output: str) -> tuple[int, ...]:
    """Of an output at one time; refused if the system does not have it."""
    return jax.eval_shape(lambda q, v: Outputs(system, 0.0, q, v)[output], *system.initial_state()).shape
