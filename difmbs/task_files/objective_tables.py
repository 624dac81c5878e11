"""Tables of objectives and limits."""

from collections.abc import Mapping
from typing import Any

from ..core.errors import FileError, ParameterError, did_you_mean
from ..core.parameters import show
from ..design.objectives import (
    AbstractQuantity,
    Final,
    Integral,
    LargestSize,
    Limit,
    Maximum,
    Mean,
    MeanSquare,
    RootMeanSquare,
    SmoothMaximum,
    check_objective,
)
from ..files import fields
from ..files.error_locations import said_of_item
from ..files.fields import check_fields
from ..files.toml import Document
from ..system.system import System

_QUANTITIES: Mapping[str, type[AbstractQuantity]] = {
    "final": Final,
    "integral": Integral,
    "largest_size": LargestSize,
    "maximum": Maximum,
    "mean": Mean,
    "mean_square": MeanSquare,
    "root_mean_square": RootMeanSquare,
    "smooth_maximum": SmoothMaximum,
}
QUANTITY_FIELDS = {
    "quantity": fields.WORD,
    "output": fields.WORD,
    "component": fields.INDEX_OR_INDICES,
    "width": fields.POSITIVE,
}
_WEIGHT = {"weight": fields.NUMBER}
_BOUNDS = {"lower": fields.NUMBER, "upper": fields.NUMBER}


def read_objectives(document: Document, system: System) -> tuple[AbstractQuantity, ...]:
    tables = document.tables("objective")
    if not tables:
        said = "nothing is to be made small. Add a table [[objective]] with quantity and output."
        raise FileError(f"{document.path}: {said}")
    found = []
    for i, table in enumerate(tables):
        with said_of_item(document, "objective", i, {}):
            check_fields(table, {**QUANTITY_FIELDS, **_WEIGHT}, ("quantity", "output"))
            found.append(read_quantity(table, system))
            check_objective(found[-1], system)
    return tuple(found)


def read_limits(document: Document, system: System) -> tuple[Limit, ...]:
    found = []
    for i, table in enumerate(document.tables("limit")):
        with said_of_item(document, "limit", i, {}):
            check_fields(table, {**QUANTITY_FIELDS, **_BOUNDS}, ("quantity", "output"))
            bounds = {key: float(table[key]) for key in _BOUNDS if key in table}
            found.append(Limit(read_quantity(table, system), **bounds))
    return tuple(found)


def read_quantity(table: Mapping[str, Any], system: System) -> AbstractQuantity:
    word, output = table["quantity"], table["output"]
    if word not in _QUANTITIES:
        raise ParameterError(f"there is no quantity {show(word)}. {did_you_mean(word, _QUANTITIES)}")
    if "width" in table and word != "smooth_maximum":
        raise ParameterError("width is for quantity = 'smooth_maximum' only.")
    more = {key: float(table[key]) for key in ("weight", "width") if key in table}
    component = table.get("component")
    component = tuple(component) if isinstance(component, list) else component
    quantity = _QUANTITIES[word](output, component, **more)
    quantity.shape(system)
    return quantity
