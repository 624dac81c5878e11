"""The folder of a fit or a design: what is in it during the search, and what is written at its end."""

import dataclasses
import functools
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import FileError
from ..design.design import Design
from ..design.evaluation_log import NAME as EVALUATIONS
from ..files.model_files import save
from ..files.tables import write_table
from ..files.toml import SCHEMA, format_table, read_document
from ..files.writing import replacing
from ..identification.experiments import AbstractExperiment, Experiment, StaticTest
from ..identification.fit import Fit
from ..identification.fit_checkpoint import NAME as STATE
from ..search.progress import Iteration
from .design_file import DesignFile, load_design
from .fit_file import FitFile, load_fit

PARAMETERS, MANIFEST = "parameters.toml", "manifest.json"
_RESULT = re.compile(r"parameters\.toml|model\.toml|covariance\.csv|report\.html|predictions-[\w.-]+\.csv")
_OF_FITS = ("verdict", "verdict_sentence", "chi2", "degrees_of_freedom", "noise")
_KEYS = ("file", "starts", "status", "objective", "limits", *_OF_FITS, "parameter")


@dataclasses.dataclass
class TaskFolder:
    """The folder at `path` for the results of `task`; `starts`: so many, instead of what the task says."""

    path: Path
    task: FitFile | DesignFile
    starts: int | None = None
    best: Iteration | None = None
    """The best iteration of this search so far."""
    closed: bool = False
    lock: Any = dataclasses.field(default_factory=threading.Lock)

    @functools.cached_property
    def start(self) -> dict[str, float]:
        return self.task.unknown_numbers

    @property
    def begun(self) -> bool:
        """Whether there is something to resume."""
        return (self.path / _state_of(self.task)).exists()

    def clear(self) -> None:
        """Without what belongs to a search before, be it a fit or a design."""
        states = [name for name in (STATE, EVALUATIONS) if (self.path / name).exists()]
        # What the user put there does not stand beside a state.
        values = [PARAMETERS] if states else []
        inputs = {Path(document.path).resolve() for document in (self.task.document, self.task.model.document)}
        for name in (*_written(self.path / MANIFEST), *values, *states, MANIFEST):
            if (self.path / name).resolve() not in inputs:
                (self.path / name).unlink(missing_ok=True)

    def watch(self, line: Iteration) -> None:
        """Writes the best values after each iteration."""
        with self.lock:
            if line.accepted and not self.closed:
                self.best = line
                self._write_best(line, "running")

    def interrupt(self) -> None:
        """Writes the best values, and no others afterwards."""
        with self.lock:
            if self.best is not None and not self.closed:
                self._write_best(self.best, "interrupted")
            self.closed = True

    def _write_best(self, best: Iteration, status: str) -> None:
        pairs = zip(self.start.items(), best.values, strict=True)
        values = {name: {"value": value, "start": start} for (name, start), value in pairs}
        (self.path / MANIFEST).unlink(missing_ok=True)
        measure = "chi2" if isinstance(self.task, FitFile) else "objective"
        self._write_parameters({"status": status, measure: best.value}, values)

    def write(self, result: Fit | Design) -> list[str]:
        """Writes the result but for the manifest; returns the names of the files."""
        with self.lock:
            self.closed = True
        (self.path / MANIFEST).unlink(missing_ok=True)
        head, values, rest = _of_fit(result) if isinstance(result, Fit) else _of_design(result)
        self._write_parameters(head, values, rest)
        model = self.task.model
        fitted = model.model.with_params(result.params)
        path = self.path / "model.toml"
        save(fitted, path, simulation=model.simulation, redundant=model.redundant, force=True)
        tables = dict(_tables(result)) if isinstance(result, Fit) else {}
        for name, columns in tables.items():
            write_table(self.path / name, columns, force=True)
        return [_state_of(self.task), PARAMETERS, "model.toml", *tables]

    def _write_parameters(
        self, head: Mapping[str, Any], values: Mapping[str, Mapping[str, Any]], rest: Mapping[str, Any] | None = None
    ) -> None:
        starts = {} if self.starts is None else {"starts": self.starts}
        file = Path(os.path.relpath(self.task.document.path, self.path)).as_posix()
        parts = [format_table({"schema": SCHEMA, "file": file, **starts, **head, **(rest or {})})]
        for name, table in values.items():
            parts.append(format_table(table, header=("parameter", name)))
        with replacing(self.path / PARAMETERS, force=True) as target:
            target.write("\n".join(parts).encode())


def stored(path: str | os.PathLike[str], *, allow_outside: bool = False) -> Fit | Design:
    """The fit or the design in a folder, as far as it went."""
    folder = Path(path)
    if not (folder / PARAMETERS).exists():
        raise FileError(f"{path} is not the folder of a fit or a design: there is no {PARAMETERS} in it.")
    document = read_document(folder / PARAMETERS, "result", list(_KEYS))
    file, starts = document.content.get("file"), document.content.get("starts")
    if not isinstance(file, str) or not (starts is None or type(starts) is int):
        raise FileError(f"{document.path}: it does not say which file it is of. Make the fit or the design again.")
    if (folder / STATE).exists():
        return load_fit(folder / file, allow_outside=allow_outside).stored(folder)
    return load_design(folder / file, allow_outside=allow_outside).stored(folder, starts)


def _written(manifest: Path) -> list[str]:
    """The files of results that a manifest lists; what is not named like one of them is left alone."""
    try:
        listed = json.loads(manifest.read_bytes())["written"]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return [x for x in listed if isinstance(x, str) and _RESULT.fullmatch(x)] if isinstance(listed, list) else []


def _state_of(task: FitFile | DesignFile) -> str:
    return STATE if isinstance(task, FitFile) else EVALUATIONS


def _of_fit(fit: Fit) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]:
    intervals = fit.interval()
    values = {
        name: {
            "value": fit.values[name],
            "standard_error": fit.standard_errors[name],
            **({} if fit.error_factor == 1 else {"scaled_standard_error": fit.scaled_standard_errors[name]}),
            "interval": list(intervals[name]),
            "start": fit.start[name],
        }
        for name in fit.names
    }
    # The report checks it, too: both say the same.
    fit.check_gradient()
    verdict = {"verdict": fit.verdict.level, "verdict_sentence": fit.verdict.text}
    head = {"status": fit.status, **verdict, "chi2": fit.chi2, "degrees_of_freedom": fit.degrees_of_freedom}
    return head, values, {"noise": fit.noise} if fit.noise else {}


def _of_design(design: Design) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]:
    values = {name: {"value": design.values[name], "start": design.start[name]} for name in design.names}
    return (
        {"status": design.status, "objective": design.objective},
        values,
        {"limits": design.limits} if design.limits else {},
    )


def _tables(fit: Fit) -> Iterator[tuple[str, dict[str, Any]]]:
    # What the data do not determine has no covariance.
    covariance = np.where(np.isfinite(fit.covariance), fit.covariance, np.nan)
    yield "covariance.csv", dict(zip(fit.names, covariance.T, strict=True))
    taken: list[str] = []
    everything = zip(
        (*fit.setup.experiments, *fit.setup.validation), (*fit.predicted, *fit.predicted_validation), strict=True
    )
    for experiment, predicted in everything:
        name = re.sub(r"[^\w.-]+", "_", experiment.name)[:100]
        taken.append(name.lower())
        number = f"-{taken.count(name.lower())}" if taken.count(name.lower()) > 1 else ""
        yield f"predictions-{name}{number}.csv", _compared(experiment, predicted)


def _compared(experiment: AbstractExperiment, predicted: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What was measured and what is predicted, one column for each number."""
    columns: dict[str, Any] = {}
    if isinstance(experiment, Experiment):
        columns["t"] = experiment.times
    elif isinstance(experiment, StaticTest):
        columns |= {key: loads for key, loads in experiment.loads.items() if loads.ndim == 1}
    for channel, values in predicted.items():
        measured = experiment.data[channel]
        for entry in np.ndindex(values.shape[1:]):
            label = channel + "".join(f"[{i}]" for i in entry)
            at = (slice(None), *entry)
            columns |= {f"{label} measured": measured[at], f"{label} predicted": values[at]}
    return columns
