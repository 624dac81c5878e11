"""Units of parameters and outputs, as far as the model says them; "" where it does not."""

from typing import Any

from ..core.errors import ParameterError
from ..core.units import si_of, unit_of
from ..elements.connectors.connector import USUAL_UNITS
from ..elements.sensors import BODY_OUTPUTS, Output
from ..search.unknowns import Target, Unknowns
from ..system.system import System

_OF_VIBRATIONS = {"frequency": "Hz"}
_COMPONENTS = (".x", ".y", ".z")


def of_parameter(system: System, path: tuple[str, ...]) -> str:
    home = system.structure.homes.get(path)
    if home is None:
        return "s" if path[-1] == "delay" else ""
    return "" if home.spec.unit == "-" else _shown(home.spec.unit)


def of_unknown(system: System, unknowns: Unknowns, index: int) -> str:
    """That of the parameter that the unknown is, not of those that are tied to it."""
    for target in unknowns.targets:
        if index in _slots(target) and (target.factor, target.offset) == (1.0, 0.0):
            return of_parameter(system, target.path)
    return ""


def of_output(system: System, name: str) -> str:
    """Unit of a sensor or of an output variable such as "mass.position"."""
    if name in _OF_VIBRATIONS:
        return _OF_VIBRATIONS[name]
    structure = system.structure
    if name not in structure.readings and name.endswith(_COMPONENTS):
        return of_output(system, name[:-2])
    if name in structure.readings:
        reading: Any = structure.readings[name]
        if isinstance(reading, Output):
            return of_output(system, f"{reading.element}.{reading.variable}")
        return _shown(structure.sensors[reading].sensor.unit) if isinstance(reading, int) else ""
    element, _, variable = name.partition(".")
    kind = structure.elements[element].kind if element in structure.elements else None
    if kind == "bodies":
        return _shown(BODY_OUTPUTS[variable].unit) if variable in BODY_OUTPUTS else ""
    if kind not in ("forces", "fields", "constraints"):
        return ""
    group = getattr(structure, kind)[structure.elements[element].parts[0].group]
    return _shown({**USUAL_UNITS, **group.stack.structure["element"].units}.get(variable, ""))


def check_unit(system: System, output: str, unit: str | None) -> None:
    """Refuses a unit of something else than the output is, where that is known."""
    known = of_output(system, output)
    if unit is not None and known and unit_of(unit).si != si_of(known):
        raise ParameterError(f"{unit} is a unit of {unit_of(unit).si}, but '{output}' is in {known}.")


def with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _shown(unit: str) -> str:
    return unit.replace("^2", "²").replace("^3", "³")


def _slots(target: Target) -> set[int]:
    return {slot for row in target.slots for slot in row}
