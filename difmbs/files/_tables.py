"""Tables of numbers as comma-separated values: read strictly, written so that they are read back exactly."""

import csv
import dataclasses
import math
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from .._errors import FileError, counted, did_you_mean
from .._parameters import show
from .._shown import listed
from ._reading import opened
from ._writing import replacing

LONGEST_LINE = 1_000_000
MOST_ROWS = 10_000_000
MOST_NUMBERS = 100_000_000
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PLAIN = re.compile(r"[0-9eE+\-., ]*")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of numbers by name, all of one length. `first`: the row of the file that has the first numbers."""

    path: str
    columns: Mapping[str, np.ndarray]
    first: int = 2

    def __repr__(self) -> str:
        rows = counted(len(next(iter(self.columns.values()), ())), "row")
        return f"Table({self.path!r}: {rows}; {listed(self.columns, 20)})"

    def column(self, name: str) -> np.ndarray:
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


def read_table(path: str | os.PathLike[str], *, time: str | None = None, missing: str = "refuse") -> Table:
    """The columns of a file of comma-separated values; the first row names them, after lines that begin with "#".

    **Arguments:** `time`: the column that must increase from row to row; `missing`: whether cells may be empty or "nan"
    and are NaN then ("drop"), or not ("refuse").
    """
    if missing not in ("refuse", "drop"):
        raise FileError(f"{path}: missing must be 'refuse' or 'drop', got {show(missing)}.")
    with opened(path) as file:
        lines = _lines(path, file)
        row, head = next(lines, (1, ""))
        names = _header(path, row, head)
        numbers = _numbers(path, names, lines, row + 1, missing == "drop")
    if len(numbers) == 0:
        raise FileError(f"{path} has no numbers, only the names of columns.")
    table = Table(str(path), dict(zip(names, numbers.T.copy(), strict=True)), row + 1)
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


def _lines(path: Any, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without their ends, but for comments before the first and empty ones at the end."""
    row, empty, begun = 0, 0, False
    while raw := file.readline(LONGEST_LINE + 1):
        row += 1
        if len(raw) > LONGEST_LINE:
            raise FileError(f"{path}: row {row} is longer than {LONGEST_LINE} characters. Is this a table of text?")
        if row > MOST_ROWS + 1:
            raise FileError(f"{path} has more than {MOST_ROWS} rows. Keep fewer samples, or split the file.")
        try:
            line = raw.decode("utf-8-sig" if row == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise FileError(f"{path}: row {row} is not UTF-8 text. Save the file as UTF-8.") from None
        if "\0" in line:
            raise FileError(f"{path}: row {row} has a NUL character in it. Is this a table of text?")
        if not line.strip():
            empty = empty or row
        elif empty:
            raise FileError(f"{path}: row {empty} is empty.")
        elif begun or not line.startswith("#"):
            begun = True
            yield row, line


def _header(path: Any, row: int, line: str) -> list[str]:
    if not line:
        raise FileError(f"{path} is empty.")
    names = [name.strip() for name in _cells(path, row, line)]
    if all(_NUMBER.fullmatch(name) for name in names):
        hint = " Names in a line that begins with # are a comment." if row > 1 else ""
        raise FileError(f"{path}: row {row} has numbers; it must name the columns, for example 't,x'.{hint}")
    if len(names) == 1 and (other := next((c for c in ";\t" if c in line), None)):
        raise FileError(f"{path}: columns are separated by {other!r}. Separate them by ',', with decimal points.")
    for i, name in enumerate(names):
        if not name:
            raise FileError(f"{path}: column {i + 1} has no name.")
        if name in names[:i]:
            raise FileError(f"{path}: there are two columns {show(name)}.")
    return names


def _numbers(path: Any, names: list[str], lines: Iterator[tuple[int, str]], first: int, may_miss: bool) -> np.ndarray:
    numbers = array("d")
    for row, line in lines:
        plain = _PLAIN.fullmatch(line)
        cells = line.split(",") if plain else _cells(path, row, line)
        if len(cells) != len(names):
            said = f"row {row} has {len(cells)} cells, but there are {len(names)} columns."
            raise FileError(f"{path}: {said}{_hint(line, len(names))}")
        if len(numbers) > MOST_NUMBERS:
            raise FileError(f"{path} has more than {MOST_NUMBERS} numbers. Keep fewer samples, or split the file.")
        try:
            numbers.extend([float(cell) for cell in cells] if plain else [])
        except ValueError:
            plain = None
        if not plain:
            numbers.extend([_number(path, row, *cell, may_miss) for cell in zip(names, cells, strict=True)])
    table = np.asarray(numbers).reshape(-1, len(names))
    if bad := np.argwhere(np.isinf(table)).tolist():
        row, column = bad[0]
        raise FileError(f"{path}: row {row + first}, column '{names[column]}': the number is too large.")
    return table


def _number(path: Any, row: int, name: str, cell: str, may_miss: bool) -> float:
    text = cell.strip()
    if _NUMBER.fullmatch(text) and text.isascii():
        return float(text)
    if text == "" or text.lower() in ("nan", "+nan", "-nan"):
        if may_miss:
            return math.nan
        what = "the cell is empty" if text == "" else f"{text} is not a number"
        raise FileError(f"{path}: row {row}, column '{name}': {what}. Allow missing values with missing = \"drop\".")
    hint = " Write decimal points, not commas." if re.fullmatch(r"[+-]?\d*,\d+", text) else ""
    raise FileError(f"{path}: row {row}, column '{name}': {show(text)} is not a number.{hint}")


def _cells(path: Any, row: int, line: str) -> list[str]:
    try:
        (cells,) = csv.reader([line], strict=True)
    except (csv.Error, ValueError):
        raise FileError(f"{path}: row {row}: a quoted cell or the row does not end properly.") from None
    return cells


def _hint(line: str, columns: int) -> str:
    if ";" in line or "\t" in line:
        return " Separate columns by ',' and write decimal points."
    return " Write decimal points, not commas." if line.count(",") + 1 == 2 * columns else ""


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
