"""What fit files and design files have in common."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._errors import FileError, ModelError, ParameterError, SimulationError
from .._parameters import show
from ..files import Document, ModelFile, beside, read_model, said_of
from ._fields import Kind, check_fields


def read_model_of(document: Document, allow_outside: bool) -> ModelFile:
    """The model file that a file names."""
    name = document.content.get("model")
    if not isinstance(name, str) or not name:
        what = "is missing" if name is None else f"must be the name of a file, got {show(name)}"
        raise FileError(f"{document.path}: model {what}.")
    return read_model(beside(document.path, name, allow_outside=allow_outside))


def read_search(document: Document, fields: Mapping[str, Kind]) -> dict[str, Any]:
    """The table [search]."""
    search = document.content.get("search", {})
    with said_of(f"{document.path}: [search]:"):
        check_fields(search, fields)
    return dict(search)


@contextmanager
def said_of_task(document: Document) -> Iterator[None]:
    """Errors of the whole, with the line of the first unknown or experiment that they name."""
    try:
        yield
    except (ModelError, ParameterError, SimulationError) as error:
        if isinstance(error, SimulationError) and error.status != "refused":
            raise
        raise FileError(f"{document.path}: {error}{_where(document, str(error))}") from None


def _where(document: Document, said: str) -> str:
    for name in re.findall(r"'([^']*)'", said):
        if line := document.where_part("unknown", name):
            return line
        for key, i, table in document.in_order(["experiment", "static_test", "modal_test"]):
            if table.get("name") == name:
                return f" {document.where(key, i)}"
    return ""
