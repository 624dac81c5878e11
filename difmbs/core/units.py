"""Units of measured numbers, by the names that loggers and tables give them."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from .errors import ParameterError
from .parameters import show

_TURN = 2 * np.pi


@dataclasses.dataclass(frozen=True)
class Unit:
    """A number in this unit times `factor` is one in the SI unit `si`."""

    factor: float
    si: str


_BY_SI: Mapping[str, Mapping[str, float]] = {
    "m": {"m": 1, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "km": 1e3, "in": 0.0254, "ft": 0.3048},
    "s": {"s": 1, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600},
    "rad": {"rad": 1, "mrad": 1e-3, "deg": _TURN / 360, "rev": _TURN},
    "m/s": {"m/s": 1, "mm/s": 1e-3, "km/h": 1 / 3.6, "mph": 0.44704},
    "rad/s": {"rad/s": 1, "deg/s": _TURN / 360, "rev/s": _TURN, "rpm": _TURN / 60},
    "m/s^2": {"m/s^2": 1, "mm/s^2": 1e-3, "g": 9.80665, "mg": 9.80665e-3},
    "rad/s^2": {"rad/s^2": 1, "deg/s^2": _TURN / 360},
    "N": {"N": 1, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "lbf": 4.4482216152605},
    "N m": {"Nm": 1, "mNm": 1e-3, "Nmm": 1e-3, "kNm": 1e3},
    "kg": {"kg": 1, "t": 1e3},
    "Hz": {"Hz": 1, "kHz": 1e3},
    "-": {"-": 1, "%": 1e-2},
}
UNITS: Mapping[str, Unit] = {name: Unit(float(x), si) for si, names in _BY_SI.items() for name, x in names.items()}
_SPELLED = {" ": "", "*": "", "·": "", "²": "^2", "\u00b5": "u", "\u03bc": "u", "°": "deg"}
"""As tables also write units; the two code points of the letter for a millionth."""


def unit_of(name: object) -> Unit:
    """The unit of a name such as "mm", "deg/s" or "N m"; what is not known is refused with a list of all."""
    found = UNITS.get(_spelled(name)) if isinstance(name, str) else None
    if found is None:
        known = "; ".join(", ".join(names) for names in _BY_SI.values())
        raise ParameterError(f"there is no unit {show(name)}. Known: {known}. For others give scale.")
    return found


def si_of(name: str) -> str:
    """The name of an SI unit as here: "m/s^2" of "m/s²"."""
    plain = _spelled(name)
    return UNITS[plain].si if plain in UNITS else name


def _spelled(name: str) -> str:
    for other, plain in _SPELLED.items():
        name = name.replace(other, plain)
    return name
