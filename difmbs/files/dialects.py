"""How a table is written: what separates columns, decimals, and what stands above the numbers."""

import csv
import dataclasses
import functools
import json
import re
from typing import Any

from ..core.errors import FileError, ParameterError
from ..core.parameters import show

_DELIMITERS = {",": "','", ";": "';'", "\t": r"'\t'", "|": "'|'"}
_ENCODINGS = ("utf-8", "latin-1", "cp1252")
_MOST_SKIPPED = 10_000


@dataclasses.dataclass(frozen=True)
class Dialect:
    r"""What a table is to be read with where it is not comma-separated values with decimal points.

    **Arguments:** `delimiter`: ",", ";", "\t" or "|"; `decimal`: "." or ","; `skip`: so many lines stand above the
    names of the columns; `units_row`: the row below the names has their units; `encoding`: "utf-8", "latin-1" or
    "cp1252".
    """

    delimiter: str = ","
    decimal: str = "."
    skip: int = 0
    units_row: bool = False
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        _check("delimiter", self.delimiter, tuple(_DELIMITERS))
        _check("decimal", self.decimal, (".", ","))
        _check("encoding", self.encoding, _ENCODINGS)
        if self.delimiter == self.decimal:
            raise ParameterError("columns and decimals cannot both be separated by ','. Give delimiter, such as ';'.")
        if type(self.skip) is not int or not 0 <= self.skip <= _MOST_SKIPPED:
            raise ParameterError(f"skip must be a number of lines from 0 to {_MOST_SKIPPED}, got {show(self.skip)}.")
        if not isinstance(self.units_row, bool):
            raise ParameterError(f"units_row must be true or false, got {show(self.units_row)}.")

    @functools.cached_property
    def _plain(self) -> re.Pattern[str]:
        """Lines of numbers without quotes."""
        return re.compile(rf"[0-9eE+\- {re.escape(self.decimal + self.delimiter)}]*")

    @functools.cached_property
    def number(self) -> re.Pattern[str]:
        point = re.escape(self.decimal)
        return re.compile(rf"[+-]?(\d+{point}?\d*|{point}\d+)([eE][+-]?\d+)?", re.ASCII)

    def decoded(self, path: Any, row: int, raw: bytes) -> str:
        """A line without its end; a byte order mark may begin the first one."""
        sign = "utf-8-sig" if self.encoding == "utf-8" and row == 1 else self.encoding
        try:
            return raw.decode(sign).rstrip("\r\n")
        except UnicodeDecodeError:
            raise FileError(f"{path}: row {row} is not {self.encoding.upper()} text. {_other_encoding(raw)}") from None

    def numbers_of(self, line: str) -> list[float] | None:
        """Those of a line that has nothing else; None if it has to be looked at cell by cell."""
        if not self._plain.fullmatch(line):
            return None
        plain = line if self.decimal == "." else line.replace(",", ".")
        try:
            return [float(cell) for cell in plain.split(self.delimiter)]
        except ValueError:
            return None

    def value(self, cell: str) -> float:
        return float(cell if self.decimal == "." else cell.replace(",", "."))

    def cells(self, path: Any, row: int, line: str) -> list[str]:
        try:
            (cells,) = csv.reader([line], strict=True, delimiter=self.delimiter)
        except (csv.Error, ValueError):
            raise FileError(f"{path}: row {row}: a quoted cell or the row does not end properly.") from None
        return cells

    def other_delimiter(self, line: str) -> str:
        """What seems to separate the columns of a line that has one only, with the remedy; "" if nothing does."""
        other = next((c for c in ";\t|," if c in line and c not in (self.delimiter, self.decimal)), None)
        return "" if other is None else f"columns are separated by {_DELIMITERS[other]}: read it with {_option(other)}."

    def hint(self, line: str, columns: int) -> str:
        """What to do about a row that has another number of cells; "" if that is not known."""
        if any(c in line for c in ";\t" if c != self.delimiter):
            return f" Separate columns by {_DELIMITERS[self.delimiter]}, in all rows alike."
        if self.delimiter == "," and line.count(",") + 1 == 2 * columns and self._plain.fullmatch(line):
            return " Write decimal points, not commas."
        return ""

    def other_decimal(self, cell: str) -> str:
        """What to do about a number that is written with the other decimal sign."""
        if self.decimal == "." and re.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?", cell):
            remedy = ', or read it with decimal = ","' if self.delimiter != "," else ""
            return f" Write decimal points, not commas{remedy}."
        if self.decimal == "," and re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", cell):
            return ' Leave out decimal = ",".'
        return ""


def unbracketed(unit: str) -> str:
    """ "mm" of "[mm]"."""
    return re.sub(r"^\s*[\[(]?\s*|\s*[\])]?\s*$", "", unit)


def _option(delimiter: str) -> str:
    return f"delimiter = {json.dumps(delimiter)}"


def _other_encoding(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "It seems to be UTF-16. Save the file as UTF-8."
    return 'Save the file as UTF-8, or read it with encoding, such as "latin-1".'


def _check(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        said = ", ".join(_DELIMITERS.get(x, repr(x)) for x in known)
        raise ParameterError(f"{name} must be one of {said}, got {show(value)}.")
