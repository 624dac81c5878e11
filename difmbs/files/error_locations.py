"""Errors of the builder as errors of the file that it was told by."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..core.errors import FileError, ModelError, ParameterError, SimulationError
from ..core.parameters import show
from .toml import Document

_OF_CONTENT = (ModelError, ParameterError, SimulationError)


@contextmanager
def said_of(where: str) -> Iterator[None]:
    try:
        yield
    except _OF_CONTENT as error:
        raise FileError(f"{where} {error}") from None


@contextmanager
def said_of_item(document: Document, key: str, i: int, table: Mapping[str, Any]) -> Iterator[None]:
    """Errors of the builder begin with the name of the element, or are without."""
    try:
        yield
    except _OF_CONTENT as error:
        said, name = str(error).removeprefix(f"{key} "), show(table.get("name"))
        if "name" in table and not said.startswith(name):
            said = f"{name}: {said}"
        of = key if "name" in table else f"{key}:"
        raise FileError(f"{document.path}: {of} {said} {document.where(key, i)}") from None


@contextmanager
def said_of_part(document: Document, key: str, name: str) -> Iterator[None]:
    """Adds to errors that they are about the table [key."name"]."""
    try:
        yield
    except _OF_CONTENT as error:
        said = str(error).removeprefix(f"'{name}': ")
        raise FileError(f"{document.path}: {key} '{name}': {said}{document.where_part(key, name)}") from None
