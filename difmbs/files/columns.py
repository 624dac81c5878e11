"""Columns of tables as numbers in SI units, and as functions of time."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ..core.errors import FileError, ParameterError
from ..core.parameters import as_array, is_numbers, show
from ..core.units import unit_of
from ..elements.piecewise import Piecewise
from .tables import Table

Names = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table as a function of time: what was recorded of a load or a prescribed motion.

    **Arguments:** `column`: its name, or names for the entries of a vector; `scale` and `unit` turn its numbers into SI
    units, as those of a `Channel`; `smooth`: as in `Piecewise`.
    """

    column: str | tuple[str, ...]
    scale: float | int = dataclasses.field(default=1.0, kw_only=True)
    unit: str | None = dataclasses.field(default=None, kw_only=True)
    smooth: bool = dataclasses.field(default=False, kw_only=True)

    def function(self, table: Table, times: np.ndarray) -> Piecewise:
        values = column_of(table, self.column)
        return Piecewise(times, values * factor_of(table, self.column, self.scale, self.unit), self.smooth)


def column_of(table: Table, names: Names, missing: bool = False) -> np.ndarray:
    """A column, or columns as the entries of a vector, as in the file; `missing`: whether numbers may be."""
    column = table.column if missing else table.complete_column
    return column(names) if isinstance(names, str) else np.stack([column(name) for name in names], axis=-1)


def times_of(table: Table, name: str, scale: float | int = 1.0, unit: str | None = None) -> np.ndarray:
    """The column of times in seconds."""
    used = unit_in(table, name, scale, unit)
    if used is not None and unit_of(used).si != "s":
        raise ParameterError(f"the times of column '{name}' cannot be in {used}. Give a unit of time, such as \"ms\".")
    return table.column(name) * factor_of(table, name, scale, unit)


def factor_of(table: Table, column: Names, scale: float | int = 1.0, unit: str | None = None) -> float:
    """What turns the numbers of a column into SI units."""
    number = as_array(scale)
    if not is_numbers(number) or number.shape != () or not np.isfinite(number) or number == 0:
        raise ParameterError(f"scale must be a number other than 0, got {show(scale)}.")
    used = unit_in(table, column, scale, unit)
    return float(number) * (1.0 if used is None else unit_of(used).factor)


def unit_in(table: Table, names: Names, scale: float | int = 1.0, unit: str | None = None) -> str | None:
    """The unit of a column: what is said of it, else that of the row of units, if the table has one."""
    columns = [names] if isinstance(names, str) else list(names)
    if unit is not None or not any(name in table.units for name in columns):
        return unit
    found = list(dict.fromkeys(table.units.get(name, "") for name in columns))
    where = f"{table.path}: column {show(columns[0])} is in {show(found[0])} by the row of units"
    if len(found) > 1:
        raise FileError(f"{where}, column {show(columns[1])} in {show(found[1])}. Give a unit for all of them.")
    if scale != 1:
        # Whether it was meant to be multiplied by that unit, too, cannot be known.
        raise FileError(f"{where}. Give a unit, too, because there is a scale, or leave scale out.")
    try:
        unit_of(found[0])
    except ParameterError as error:
        raise FileError(f"{where}: {error} Give that column a unit, with a scale if need be.") from None
    return found[0]
