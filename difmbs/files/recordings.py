"""Recorded functions of time, as tables of fit files, model files and options name them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..elements.piecewise import Piecewise
from . import fields
from .columns import Column, times_of
from .dialects import Dialect
from .reading import beside, hash_of
from .tables import Table, read_dialect

TIME = {"time": fields.WORD, "time_scale": fields.POSITIVE, "time_unit": fields.WORD}
DIALECT = {
    "delimiter": fields.WORD,
    "decimal": fields.WORD,
    "skip": fields.INDEX,
    "units_row": fields.FLAG,
    "encoding": fields.WORD,
}
_COLUMN = {"column": fields.WORDS, "scale": fields.NUMBER, "unit": fields.WORD, "smooth": fields.FLAG}
_FILE = {"file": fields.WORD, **TIME, **DIALECT}
_POINTS = {"times": fields.LIST, "values": fields.LIST, "smooth": fields.FLAG}


def open_table(
    path: str | Path,
    table: Mapping[str, Any],
    time: str | None,
    missing: str = "drop",
    hashes: dict[str, str] | None = None,
) -> Table:
    """The file at a path, with what a table says about how it is written; its SHA-256 is added to `hashes`."""
    if hashes is not None:
        hashes[str(path)] = hash_of(path)
    dialect = Dialect(**{key: table[key] for key in DIALECT if key in table})
    return read_dialect(path, dialect, time=time, missing=missing)


def times_in(record: Table, table: Mapping[str, Any]) -> Any:
    """The times of a file in seconds, with what a table says about them."""
    return times_of(record, table.get("time", "t"), table.get("time_scale", 1), table.get("time_unit"))


def points_from(table: Any, where: str) -> Piecewise:
    """A function through the points of a table."""
    fields.check_fields(table, _POINTS, ("times", "values"), where)
    return Piecewise(table["times"], table["values"], table.get("smooth", False))


def recorded(
    path: str,
    table: Any,
    where: str,
    *,
    record: Table | None = None,
    given: Mapping[str, Any] | None = None,
    allow_outside: bool = False,
    hashes: dict[str, str] | None = None,
) -> Piecewise:
    """A function through points or from a column, as a table in the file at `path` describes it.

    `record`: the table of numbers that is meant where it names no file; `given`: what it leaves out.
    """
    fields.check_fields(table, {**_COLUMN, **_FILE, **_POINTS}, where=where)
    if "column" not in table and "file" not in table:
        return points_from(table, where)
    needed = ("column", *(("file",) if record is None else ()))
    fields.check_fields(table, {**_COLUMN, **(_FILE if "file" in table else TIME)}, needed, where)
    full = {**_inherited(given or {}, table), **table}
    if "file" in table:
        other = beside(path, table["file"], allow_outside=allow_outside)
        record = open_table(other, full, full.get("time", "t"), hashes=hashes)
    assert record is not None  # or there is a file, which is needed then
    names = table["column"]
    column = Column(
        names if isinstance(names, str) else tuple(names),
        scale=table.get("scale", 1.0),
        unit=table.get("unit"),
        smooth=table.get("smooth", False),
    )
    return column.function(record, times_in(record, full))


def _inherited(given: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Where the times are and how the file is written, but no scale of times beside one of the table's own."""
    own_scale = {"time_scale", "time_unit"} & set(table)
    left_out = {"time_scale", "time_unit"} if own_scale else set()
    return {key: x for key, x in given.items() if key in {**TIME, **DIALECT} and key not in left_out}
