"""Tables of unknowns."""

import math
from collections.abc import Mapping
from typing import Any

from ..core.errors import FileError, ParameterError
from ..core.parameters import show
from ..files.error_locations import said_of_part
from ..files.fields import FLAG, NUMBER, NUMBERS, PAIR, WORD, Kind, check_fields
from ..files.toml import Document
from ..search.unknowns import Fixed, Free, Interval, Positive, Tied

_SEARCHED = {"start": NUMBERS, "lower": NUMBER, "upper": NUMBER, "positive": FLAG, "shared": FLAG}
_OF_FITS = {"prior": PAIR, "own": FLAG}
_FIXED = {"value": NUMBERS}
_TIED = {"follows": WORD, "factor": NUMBER, "offset": NUMBER}


def read_unknowns(document: Document, *, of_fit: bool) -> dict[str, Any]:
    """The tables [unknown."name"]; those of a design know no priors and no experiments."""
    parts = document.parts("unknown")
    if not parts:
        raise FileError(f'{document.path}: nothing is unknown. Add a table such as [unknown."spring.stiffness"].')
    unknowns = {}
    for name, table in parts.items():
        with said_of_part(document, "unknown", name):
            unknowns[name] = _unknown(name, table, _SEARCHED | (_OF_FITS if of_fit else {}))
    return unknowns


def _unknown(name: str, table: Mapping[str, Any], searched: Mapping[str, Kind]) -> Any:
    if len(table) == 1 and isinstance((inner := next(iter(table.values()))), dict):
        (key,) = table
        raise ParameterError(f'names with dots need quotes: write [unknown."{name}.{key}"], not {show(inner)} in it.')
    if "value" in table:
        check_fields(table, _FIXED)
        return Fixed(table["value"])
    if "follows" in table:
        check_fields(table, _TIED)
        return Tied(table["follows"], float(table.get("factor", 1)), float(table.get("offset", 0)))
    check_fields(table, {**searched, **_FIXED, **_TIED})
    for key in table:
        if key not in searched:
            raise ParameterError(f"{key} is for what follows another unknown.")
    if "start" not in table:
        raise ParameterError("give a start, a value, or what it follows.")
    more = {key: table[key] for key in ("shared", "own") if key in table}
    if "prior" in table:
        more["prior"] = tuple(map(float, table["prior"]))
    lower, upper = (table.get(key) for key in ("lower", "upper"))
    if lower is not None and upper is not None and not lower < upper:
        raise ParameterError(f"lower = {lower:g} must be less than upper = {upper:g}.")
    if table.get("positive", False) and (lower is not None or upper is not None):
        raise ParameterError("give positive = true, or lower and upper, not both.")
    if table.get("positive", False) or (lower == 0 and upper is None):
        return Positive(table["start"], **more)
    if lower is None and upper is None:
        return Free(table["start"], **more)
    bounds = (-math.inf if lower is None else float(lower), math.inf if upper is None else float(upper))
    return Interval(table["start"], *bounds, **more)
