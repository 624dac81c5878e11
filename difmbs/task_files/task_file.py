"""What fit files and design files have in common."""

import abc
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ..core.errors import FileError, ModelError, ParameterError, SimulationError
from ..core.parameters import show
from ..files.error_locations import said_of
from ..files.fields import Kind, check_fields
from ..files.model_files import ModelFile, read_model
from ..files.reading import beside
from ..files.toml import Document
from ..search.progress import Progress, Watch
from ..search.unknowns import Unknowns
from ..system.system import System

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractTaskFile(abc.ABC, Generic[Result]):
    """A search as a file describes it: `model`: the file of the model; `search`: the settings by name; `hashes`: the
    SHA-256 of the files of numbers by their paths.
    """

    document: Document
    model: ModelFile
    system: System
    unknowns: Mapping[str, Any]
    search: Mapping[str, Any]
    hashes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    @abc.abstractmethod
    def resolved(self) -> Unknowns:
        """The unknowns, found in the model."""

    @abc.abstractmethod
    def _searched(self, **options: Any) -> Result:
        """Searches; `options`: the settings, and where the state and the progress go."""

    @property
    def unknown_numbers(self) -> dict[str, float]:
        """All unknown numbers by name, where they start."""
        return dict(zip(self.resolved.names, self.resolved.start.tolist(), strict=True))

    def run(
        self,
        *,
        starts: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: Progress = None,
        watch: Watch = None,
    ) -> Result:
        """Searches; the arguments are those of `identify` or `optimize`, `starts` instead of what the file says."""
        search = dict(self.search) if starts is None else {**self.search, "starts": starts}
        with said_of_task(self.document):
            return self._searched(**search, folder=folder, resume=resume, progress=progress, watch=watch)


def read_model_of(document: Document, allow_outside: bool) -> ModelFile:
    """The model file that a file names."""
    name = document.content.get("model")
    if not isinstance(name, str) or not name:
        what = "is missing" if name is None else f"must be the name of a file, got {show(name)}"
        raise FileError(f"{document.path}: model {what}.")
    return read_model(beside(document.path, name, allow_outside=allow_outside), allow_outside=allow_outside)


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
