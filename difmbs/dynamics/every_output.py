"""All output variables of all elements at once, group by group: one small program, however many names there are."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.types import Coordinates, Switches, Time, Velocities
from ..elements.bodies.state_vector import StateVector
from ..elements.ports import Marker
from ..elements.sensors import BODY_OUTPUTS
from ..system.control import controlled
from ..system.structure import NamedElement
from ..system.system import System
from .outputs import Outputs, connector_outputs, output_names, switched_output

_KINDS = ("bodies", "forces", "fields", "constraints")


def every_output(system: System, on: Switches, known: Any, t: Time, q: Coordinates, v: Velocities) -> dict[str, Any]:
    """By name "element.variable", with time along the first axis, of states in rows.

    `on`, `known`: their switches, accelerations and multipliers, as a `Solution` has them.
    """
    arrays = jax.tree.map(jnp.asarray, (on, known, t, q, v))
    found = jax.tree.map(np.asarray, _by_group(system, *arrays))
    named = {}
    for name, element in system.structure.elements.items():
        if name == "ground" or element.kind not in _KINDS:
            continue
        first = found[element.kind][element.parts[0].group]
        for variable in first:
            named[f"{name}.{variable}"] = _of_name(
                element, [found[element.kind][p.group][variable] for p in element.parts]
            )
    # Programs have sorted the variables.
    return {name: named[name] for name in output_names(system) if name in named}


def _of_name(element: NamedElement, groups: list[np.ndarray]) -> np.ndarray:
    if element.kind == "fields":
        return groups[0]
    rows = [values[:, part.instances.rows] for values, part in zip(groups, element.parts, strict=True)]
    order = np.argsort(np.concatenate([part.positions.rows for part in element.parts]))
    joined = np.concatenate(rows, axis=1)[:, order]
    return joined[:, 0] if element.single else joined


@eqx.filter_jit
def _by_group(system: System, on: Any, known: Any, t: Any, q: Any, v: Any) -> Any:
    def at(on, known, t, q, v):
        here = system if on is None else system.switched(on)
        outputs = Outputs(here, t, q, v, accelerations=known)
        return {
            "bodies": _of_bodies(here, q, v, outputs.accelerations()[0]),
            **_of_connectors(controlled(here, t, q, v), t, q, v, outputs.accelerations()[1]),
        }

    return jax.vmap(at)(on, known, t, q, v)


def _of_bodies(system: System, q: Any, v: Any, acceleration: Any) -> list[dict[str, Any]]:
    world = system.world(q, v)
    found: list[dict[str, Any]] = []
    for number, group in enumerate(system.structure.bodies):
        kind = group.kind
        sensors = {
            name: sensor
            for name, sensor in BODY_OUTPUTS.items()
            if sensor.of_coordinates != kind.in_space and (kind.rotates or not sensor.turning)
        }
        if kind is StateVector or not group.count:
            found.append({})
            continue
        point = jnp.zeros(3, q.dtype) if kind.extended else None
        arguments = world.bodies[number], world.q[number], world.v[number], group.velocities(acceleration)
        marker = Marker(point)
        read = lambda sensor, marker=marker: lambda body, q, v, a: sensor.read(body, marker, q, v, a)
        found.append({name: group.each(read(sensor), *arguments) for name, sensor in sensors.items()})
    return found


def _of_connectors(system: System, t: Any, q: Any, v: Any, multipliers: Any) -> dict[str, list[dict[str, Any]]]:
    world = system.world(q, v)
    found: dict[str, list[dict[str, Any]]] = {"forces": [], "fields": [], "constraints": []}
    for kind in ("forces", "constraints"):
        for number, (group, leaves) in enumerate(system.with_leaves(kind)):
            local = system.local(world, group, leaves)
            values = connector_outputs(t, local, kind, multipliers.get(number) if kind == "constraints" else None)
            found[kind].append({n: switched_output(x, local.law, n, group, local.on) for n, x in values.items()})
    for group, leaves in system.with_leaves("fields"):
        field = system.field(world, group, leaves)
        values = field.law.outputs(t, field.positions())
        found["fields"].append({n: switched_output(x, field.law, n, group, field.on) for n, x in values.items()})
    return found
