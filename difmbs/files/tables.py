"""Tables of numbers: read strictly, written so that they are read back exactly."""

import csv
import dataclasses
import math
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from ..core.errors import FileError, counted, did_you_mean
from ..core.parameters import show
from ..core.reprs import listed
from ..core.units import UNITS
from .dialects import Dialect, unbracketed
from .error_locations import said_of
from .reading import opened
from .writing import replacing

LONGEST_LINE = 1_000_000
MOST_ROWS = 10_000_000
MOST_NUMBERS = 100_000_000
_LOOKED_AT = 100
"""Lines in which names of columns are looked for."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of numbers by name, all of one length. `first`: the row of the file that has the first numbers; `units`:
    of the columns, where a row of the file names them.
    """

    path: str
    columns: Mapping[str, np.ndarray]
    first: int = 2
    units: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        rows = counted(len(next(iter(self.columns.values()), ())), "row")
        return f"Table({self.path!r}: {rows}; {listed(self.columns, 20)})"

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output

        rows = [
            (name, self.units.get(name, ""), f"{np.nanmin(x):.6g}", f"{np.nanmax(x):.6g}", int(np.sum(np.isfinite(x))))
            for name, x in self.columns.items()
            if len(x) and np.any(np.isfinite(x))
        ]
        return cell_output(f"Table {self.path}", rows, ("column", "unit", "least", "largest", "numbers"))

    def column(self, name: str) -> np.ndarray:
        """The numbers of a column, as they stand in the file."""
        if name not in self.columns:
            raise FileError(f"{self.path}: there is no column {show(name)}. {did_you_mean(name, self.columns)}")
        return self.columns[name]

    def complete_column(self, name: str) -> np.ndarray:
        """A column; refused if a number is missing in it."""
        column = self.column(name)
        if np.any(np.isnan(column)):
            row = int(np.argmax(np.isnan(column))) + self.first
            raise FileError(
                f"{self.path}: row {row}, column '{name}': the number is missing. Allow that with missing = true."
            )
        return column


def read_table(
    path: str | os.PathLike[str],
    *,
    time: str | None = None,
    missing: str = "refuse",
    delimiter: str = ",",
    decimal: str = ".",
    skip: int = 0,
    units_row: bool = False,
    encoding: str = "utf-8",
) -> Table:
    r"""The columns of a file of comma-separated values; the first row names them, after lines that begin with "#".

    **Arguments:** `time`: the column that must increase from row to row; `missing`: whether cells may be empty or "nan"
    and are NaN then ("drop"), or not ("refuse"); for tables that are written otherwise `delimiter`: ";", "\t" or "|";
    `decimal`: ","; `skip`: so many lines stand above the names of the columns; `units_row`: the row below the names has
    their units; `encoding`: "latin-1" or "cp1252".
    """
    with said_of(f"{path}:"):
        dialect = Dialect(delimiter, decimal, skip, units_row, encoding)
    return read_dialect(path, dialect, time=time, missing=missing)


def read_dialect(
    path: str | os.PathLike[str], dialect: Dialect, *, time: str | None = None, missing: str = "refuse"
) -> Table:
    """What `read_table` does."""
    if missing not in ("refuse", "drop"):
        raise FileError(f"{path}: missing must be 'refuse' or 'drop', got {show(missing)}.")
    with opened(path) as file:
        lines = _lines(path, dialect, file)
        row, head = next(lines, (1 + dialect.skip, ""))
        names = _header(path, dialect, row, head)
        units = _units(path, dialect, names, *next(lines, (row + 1, ""))) if dialect.units_row else {}
        first = row + 1 + dialect.units_row
        numbers = _numbers(path, dialect, names, lines, first, missing == "drop")
    if len(numbers) == 0:
        raise FileError(f"{path} has no numbers, only the names of columns.")
    table = Table(str(path), dict(zip(names, numbers.T.copy(), strict=True)), first, units)
    if time is not None:
        _check_times(table, table.column(time))
    return table


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Any], *, force: bool = False) -> None:
    """Writes columns of numbers with all their digits; a name that looks like a formula gets a quote in front."""
    names = ["'" + name if name.startswith(_FORMULA) else name for name in columns]
    with replacing(path, force=force) as file:
        lines = _Encoded(file)
        plain = csv.writer(lines, lineterminator="\n")
        quoted = csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_ALL)
        # Without quotes a name with # would make the row a comment.
        (quoted if names[:1] and names[0].startswith("#") else plain).writerow(names)
        plain.writerows(zip(*(np.asarray(x).tolist() for x in columns.values()), strict=True))


@dataclasses.dataclass(frozen=True)
class _Encoded:
    file: BinaryIO

    def write(self, text: str) -> int:
        return self.file.write(text.encode())


def _lines(path: Any, dialect: Dialect, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without their ends, but for comments before the first and empty ones at the end."""
    row, empty, begun = 0, 0, False
    while raw := file.readline(LONGEST_LINE + 1):
        row += 1
        if len(raw) > LONGEST_LINE:
            raise FileError(f"{path}: row {row} is longer than {LONGEST_LINE} characters. Is this a table of text?")
        if row > MOST_ROWS + 1 + dialect.skip:
            raise FileError(f"{path} has more than {MOST_ROWS} rows. Keep fewer samples, or split the file.")
        if row <= dialect.skip:
            continue
        line = dialect.decoded(path, row, raw)
        if "\0" in line:
            raise FileError(f"{path}: row {row} has a NUL character in it. Is this a table of text?")
        if not line.strip():
            empty = empty or row
        elif empty:
            raise FileError(f"{path}: row {empty} is empty.{_above(path, dialect) if row < _LOOKED_AT else ''}")
        elif begun or not line.startswith("#"):
            begun = True
            yield row, line


def _header(path: Any, dialect: Dialect, row: int, line: str) -> list[str]:
    if not line:
        raise FileError(f"{path} is empty.")
    names = [name.strip() for name in dialect.cells(path, row, line)]
    if all(dialect.number.fullmatch(name) for name in names):
        hint = " Names in a line that begins with # are a comment." if row > 1 else ""
        example = dialect.delimiter.join("tx")
        raise FileError(f"{path}: row {row} has numbers; it must name the columns, for example {example!r}.{hint}")
    if len(names) == 1 and (said := dialect.other_delimiter(line)):
        raise FileError(f"{path}: {said}")
    for i, name in enumerate(names):
        if not name:
            raise FileError(f"{path}: column {i + 1} has no name.{_above(path, dialect)}")
        if name in names[:i]:
            raise FileError(f"{path}: there are two columns {show(name)}.")
    return names


def _units(path: Any, dialect: Dialect, names: list[str], row: int, line: str) -> dict[str, str]:
    """Units of the columns that have one."""
    cells = [unbracketed(cell) for cell in dialect.cells(path, row, line)]
    if len(cells) != len(names):
        raise FileError(f"{path}: row {row}, of the units, has {len(cells)} cells, but there are {len(names)} columns.")
    if any(dialect.number.fullmatch(cell) for cell in cells):
        raise FileError(f"{path}: row {row} has numbers, but units_row = true says that it names units.")
    return {name: cell for name, cell in zip(names, cells, strict=True) if cell}


def _numbers(
    path: Any, dialect: Dialect, names: list[str], lines: Iterator[tuple[int, str]], first: int, may_miss: bool
) -> np.ndarray:
    numbers = array("d")
    for row, line in lines:
        values = dialect.numbers_of(line)
        cells = [] if values else dialect.cells(path, row, line)
        if (found := len(values or cells)) != len(names):
            said = f"row {row} has {found} cells, but there are {len(names)} columns."
            hint = dialect.hint(line, len(names)) or (_above(path, dialect) if row == first else "")
            raise FileError(f"{path}: {said}{hint}")
        if len(numbers) > MOST_NUMBERS:
            raise FileError(f"{path} has more than {MOST_NUMBERS} numbers. Keep fewer samples, or split the file.")
        if row == first and any(cells) and not any(map(_begins_like_a_number, cells)):
            said = f"row {row} has no numbers. A row of units is read with units_row = true."
            raise FileError(f"{path}: {said}{_above(path, dialect)}")
        numbers.extend(
            values or [_number(path, dialect, row, *cell, may_miss) for cell in zip(names, cells, strict=True)]
        )
    table = np.asarray(numbers).reshape(-1, len(names))
    if bad := np.argwhere(np.isinf(table)).tolist():
        row, column = bad[0]
        raise FileError(f"{path}: row {row + first}, column '{names[column]}': the number is too large.")
    return table


def _above(path: Any, dialect: Dialect) -> str:
    """What to do about lines above the names of the columns, and how many there seem to be; "" if there are none."""
    with opened(path) as file:
        lines = [file.readline(LONGEST_LINE) for _ in range(_LOOKED_AT)]
    named: list[tuple[int, list[str]]] = []
    for i, line in enumerate(lines[dialect.skip :], dialect.skip):
        try:
            cells = [cell.strip() for cell in dialect.cells(path, i + 1, dialect.decoded(path, i + 1, line))]
        except FileError:
            break
        if cells and all(map(dialect.number.fullmatch, cells)):
            last = [(i, names) for i, names in named if len(names) == len(cells)][-2:]
            if last and all(cell == "" or cell in UNITS or unbracketed(cell) != cell for cell in last[-1][1]):
                last.pop()  # units
            if last and last[-1][0] == dialect.skip:
                return ""
            if not last or last[-1][1][0].startswith("#"):
                break
            above, names = last[-1]
            return f" With skip = {above} the lines above row {above + 1} are left out, and {listed(names)} are names."
        named.append((i, cells))
    return " Lines above the names of the columns are left out with skip = 1 or more."


def _begins_like_a_number(cell: str) -> bool:
    return re.match(r"\s*[+-]?([.,]?\d|nan|inf)", cell.lower()) is not None


def _number(path: Any, dialect: Dialect, row: int, name: str, cell: str, may_miss: bool) -> float:
    text = cell.strip()
    if dialect.number.fullmatch(text):
        return dialect.value(text)
    if text == "" or text.lower() in ("nan", "+nan", "-nan"):
        if may_miss:
            return math.nan
        what = "the cell is empty" if text == "" else f"{text} is not a number"
        raise FileError(f"{path}: row {row}, column '{name}': {what}. Allow missing values with missing = \"drop\".")
    said = f"{show(text)} is not a number.{dialect.other_decimal(text)}"
    raise FileError(f"{path}: row {row}, column '{name}': {said}")


def _check_times(table: Table, times: np.ndarray) -> None:
    path, first = table.path, table.first
    if len(times) < 2:
        raise FileError(f"{path} has one row of numbers; a time series needs two at least.")
    if np.any(np.isnan(times)):
        raise FileError(f"{path}: row {int(np.argmax(np.isnan(times))) + first}: the time is missing.")
    steps = np.diff(times)
    if not np.all(steps > 0):
        i = int(np.argmin(steps > 0))
        raise FileError(f"{path}: row {first + i + 1}: time {times[i + 1]} after {times[i]}: times must increase.")
