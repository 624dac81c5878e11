"""Units of parameters and unknowns, as far as the model says them; "" where it does not."""

from ..core.errors import ParameterError
from ..core.units import si_of, unit_of
from ..dynamics.output_units import of_output, shown
from ..search.unknowns import Target, Unknowns
from ..system.system import System


def of_parameter(system: System, path: tuple[str, ...]) -> str:
    home = system.structure.homes.get(path)
    if home is None:
        return "s" if path[-1] == "delay" else ""
    return "" if home.spec.unit == "-" else shown(home.spec.unit)


def of_unknown(system: System, unknowns: Unknowns, index: int) -> str:
    """That of the parameter that the unknown is, not of those that are tied to it."""
    for target in unknowns.targets:
        if index in _slots(target) and (target.factor, target.offset) == (1.0, 0.0):
            return of_parameter(system, target.path)
    return ""


def check_unit(system: System, output: str, unit: str | None) -> None:
    """Refuses a unit of something else than the output is, where that is known."""
    known = of_output(system, output)
    if unit is not None and known and unit_of(unit).si != si_of(known):
        raise ParameterError(f"{unit} is a unit of {unit_of(unit).si}, but '{output}' is in {known}.")


def _slots(target: Target) -> set[int]:
    return {slot for row in target.slots for slot in row}
