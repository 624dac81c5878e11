"""Numbers and lists as text, with as many digits as they deserve."""

import re
from collections.abc import Sequence

import numpy as np

from .errors import counted

_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


class Number(str):
    """A number as text: aligned to the right in tables."""

    __slots__ = ()


def plain(text: object) -> str:
    """Text without characters that no document may hold, or that turn the direction of what follows."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(text))


count = counted


def short(x: float, digits: int = 4) -> Number:
    """A number for a table; NaN is a dash."""
    if np.isnan(x):
        return Number("–")
    if np.isinf(x):
        return Number("∞" if x > 0 else "−∞")
    return Number(_powers(f"{x:.{digits}g}"))


def measured(x: float, error: float) -> Number:
    """A value with digits down to a tenth of its leading uncertain one."""
    if not np.isfinite(error) or error <= 0 or not np.isfinite(x):
        return short(x, 7)
    last = int(np.floor(np.log10(error))) - 1
    digits = 1 if x == 0 else int(np.floor(np.log10(abs(x)))) - last + 1
    if digits < 1:
        return short(x, 2)
    if -last > 12 or digits > 14 or abs(x) >= 1e7 or 0 < abs(x) < 1e-3:
        return short(x, min(max(digits, 2), 15))
    return Number(_minus(f"{x:.{max(-last, 0)}f}"))


def percent(x: float) -> Number:
    return short(100 * x, 3)


def explained(unexplained: float) -> Number:
    """R^2 in percent, with two digits at least of what it lacks."""
    lacks = 100 * unexplained
    if not np.isfinite(lacks) or lacks <= 0:
        return Number("–" if np.isnan(lacks) else "100")
    digits = int(np.clip(1 - np.floor(np.log10(lacks)), 2, 8))
    return Number(f"{100 - lacks:.{digits}f}")


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def _powers(text: str) -> str:
    mantissa, e, exponent = text.partition("e")
    if not e:
        return _minus(text)
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{_minus(mantissa)}·10{raised}" if mantissa not in ("1", "-1") else f"{_minus(mantissa[:-1])}10{raised}"


def _minus(text: str) -> str:
    return text.replace("-", "−")
