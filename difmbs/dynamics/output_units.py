"""Units of outputs, as far as the model says them; "" where it does not."""

from typing import Any

from ..elements.connectors.connector import USUAL_UNITS
from ..elements.sensors import BODY_OUTPUTS, Output
from ..system.system import System
from .outputs import instance_of

_OF_VIBRATIONS = {"frequency": "Hz"}
_COMPONENTS = (".x", ".y", ".z")


def of_output(system: System, name: str) -> str:
    """Unit of a sensor or of an output variable such as "mass.position"."""
    if name in _OF_VIBRATIONS:
        return _OF_VIBRATIONS[name]
    structure, name = system.structure, _without_index(name)
    if name not in structure.readings and name.endswith(_COMPONENTS):
        return of_output(system, name[:-2])
    if name in structure.readings:
        reading: Any = structure.readings[name]
        if isinstance(reading, Output):
            return of_output(system, f"{reading.element}.{reading.variable}")
        return shown(structure.sensors[reading].sensor.unit) if isinstance(reading, int) else ""
    element, _, variable = name.partition(".")
    kind = structure.elements[element].kind if element in structure.elements else None
    if kind == "bodies":
        if variable == "rotation" and structure.bodies[structure.elements[element].parts[0].group].kind.planar:
            return "rad"
        return shown(BODY_OUTPUTS[variable].unit) if variable in BODY_OUTPUTS else ""
    if kind not in ("forces", "fields", "constraints"):
        return ""
    group = getattr(structure, kind)[structure.elements[element].parts[0].group]
    return shown({**USUAL_UNITS, **group.stack.structure["element"].units}.get(variable, ""))


def _without_index(name: str) -> str:
    """Of "beads.position[3].x" what is common to all of them."""
    vector, _, component = name.rpartition(".")
    if f".{component}" in _COMPONENTS and instance_of(vector)[1] is not None:
        return f"{instance_of(vector)[0]}.{component}"
    return instance_of(name)[0]


def with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def shown(unit: str) -> str:
    """As it is printed."""
    return unit.replace("^2", "²").replace("^3", "³")
