"""Tables of experiments, with the files of numbers that they name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import FileError, ParameterError
from ..files import EXPERIMENTS, Document, Table, beside, hash_of, read_table, said_of_item
from ..identification.experiments import (
    AbstractExperiment,
    Channel,
    Experiment,
    ModalTest,
    StaticTest,
    column_of,
)
from ..piecewise import Piecewise
from . import _fields as fields
from ._fields import check_fields

_COMMON = {
    "name": fields.WORD,
    "file": fields.WORD,
    "channels": fields.TABLE,
    "params": fields.TABLE,
    "weight": fields.POSITIVE,
    "validation": fields.FLAG,
}
_TIME = {"time": fields.WORD, "time_scale": fields.POSITIVE}
_OF_KIND: Mapping[str, Mapping[str, fields.Kind]] = {
    "experiment": {**_COMMON, **_TIME, "t0": fields.NUMBER, "inputs": fields.TABLE},
    "static_test": {**_COMMON, "loads": fields.TABLE},
    "modal_test": {**_COMMON, "numbers": fields.INDICES, "loaded": fields.FLAG},
}

_CHANNEL = {
    "output": fields.WORD,
    "component": fields.INDEX_OR_INDICES,
    "noise": fields.NUMBERS,
    "scale": fields.NUMBER,
    "gain": fields.NUMBER,
    "bias": fields.NUMBER,
    "delay": fields.NUMBER,
    "missing": fields.FLAG,
    "column": fields.WORDS,
}
_VALUES = {"values": fields.NUMBERS}
_POINTS = {"times": fields.LIST, "values": fields.LIST, "smooth": fields.FLAG}
_COLUMN = {
    "column": fields.WORDS,
    "file": fields.WORD,
    **_TIME,
    "scale": fields.NUMBER,
    "smooth": fields.FLAG,
}


def read_experiments(
    document: Document, allow_outside: bool
) -> tuple[tuple[AbstractExperiment, ...], Mapping[str, str]]:
    """The experiments in the order of the file; the SHA-256 of the files of numbers by their paths."""
    found = document.in_order(list(EXPERIMENTS))
    if not found:
        raise FileError(f"{document.path}: there is no experiment. Add a table [[experiment]] with a file of numbers.")
    hashes: dict[str, str] = {}
    return tuple(_experiment(document, key, i, table, allow_outside, hashes) for key, i, table in found), hashes


def _experiment(
    document: Document, key: str, i: int, table: Mapping[str, Any], allow_outside: bool, hashes: dict[str, str]
) -> AbstractExperiment:
    with said_of_item(document, key, i, table):
        check_fields(table, _OF_KIND[key], ("channels", *(("file",) if key == "experiment" else ())))
    name = table.get("name", Path(table["file"]).stem if "file" in table else key.replace("_", " "))
    with said_of_item(document, key, i, {"name": name}):
        read = _Reader(document.path, table, name, allow_outside, hashes)
        try:
            return {"experiment": read.motion, "static_test": read.static, "modal_test": read.modal}[key]()
        except ParameterError as error:
            raise ParameterError(str(error).removeprefix(f"experiment '{name}': ")) from None


class _Reader:
    """Reads one table, after its keys were checked; notes in `hashes` the files of numbers."""

    def __init__(self, path: str, table: Mapping[str, Any], name: str, allow_outside: bool, hashes: dict[str, str]):
        self.path, self.table, self.allow_outside, self.hashes = path, table, allow_outside, hashes
        self.rest: dict[str, Any] = {"name": name, "params": _numbers(table.get("params", {}), "params")}
        self.rest |= {"weight": float(table.get("weight", 1)), "validation": table.get("validation", False)}

    def motion(self) -> Experiment:
        record = self._file(self.table["file"], self._time(self.table))
        channels, data = self._channels(record, _CHANNEL)
        inputs = {key: self._input(key, what, record) for key, what in self.table.get("inputs", {}).items()}
        times = self._times(record, self.table)
        return Experiment(times, data, channels, t0=float(self.table.get("t0", 0)), inputs=inputs, **self.rest)

    def static(self) -> StaticTest:
        record = self._file(self.table["file"]) if "file" in self.table else None
        channels, data = self._channels(record, _CHANNEL | _VALUES)
        given = self.table.get("loads", {})
        columns = {key: _of_record(record, name, key) for key, name in given.items() if isinstance(name, str)}
        loads = columns | _numbers({key: x for key, x in given.items() if key not in columns}, "loads")
        return StaticTest(data, channels, loads=loads, **self.rest)

    def modal(self) -> ModalTest:
        record = self._file(self.table["file"]) if "file" in self.table else None
        channels, data = self._channels(record, _CHANNEL | _VALUES)
        more = {key: self.table[key] for key in ("numbers", "loaded") if key in self.table}
        return ModalTest(data, channels, **more, **self.rest)

    def _time(self, table: Mapping[str, Any]) -> str:
        """The column of times; what the table of an input leaves out is as in the experiment."""
        return table.get("time", self.table.get("time", "t"))

    def _times(self, record: Table, table: Mapping[str, Any]) -> np.ndarray:
        scale = table.get("time_scale", self.table.get("time_scale", 1))
        return record.column(self._time(table)) * float(scale)

    def _file(self, name: str, time: str | None = None) -> Table:
        path = beside(self.path, name, allow_outside=self.allow_outside)
        self.hashes[str(path)] = hash_of(path)
        return read_table(path, time=time, missing="drop")

    def _channels(
        self, record: Table | None, known: Mapping[str, fields.Kind]
    ) -> tuple[dict[str, Channel], dict[str, Any]]:
        channels, data = {}, {}
        for name, table in self.table["channels"].items():
            where = f"channel '{name}': "
            check_fields(table, known, where=where)
            channels[name] = Channel(**{key: _given(key, value) for key, value in table.items() if key != "values"})
            if "values" in table and "column" in table:
                raise ParameterError(f"{where}give column or values, not both.")
            data[name] = table["values"] if "values" in table else _of_record(record, name, name, channels[name])
        return channels, data

    def _input(self, key: str, table: Any, record: Table) -> Piecewise:
        where = f"input '{key}': "
        check_fields(table, {**_COLUMN, **_POINTS}, where=where)
        smooth = table.get("smooth", False)
        if "column" not in table:
            check_fields(table, _POINTS, ("times", "values"), where)
            return Piecewise(table["times"], table["values"], smooth)
        check_fields(table, _COLUMN, where=where)
        other = self._file(table["file"], self._time(table)) if "file" in table else record
        values = column_of(other, table["column"]) * float(table.get("scale", 1))
        return Piecewise(self._times(other, table), values, smooth)


def _of_record(record: Table | None, names: Any, key: str, channel: Channel | None = None) -> np.ndarray:
    if record is None:
        raise ParameterError(f"'{key}' needs values, or a column of a file.")
    if channel is None:
        return column_of(record, names)
    return column_of(record, names if channel.column is None else channel.column, channel.missing)


def _numbers(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    check_fields(table, dict.fromkeys(table, fields.NUMBERS), where=f"{where}: ")
    return {key: np.asarray(value, float) for key, value in table.items()}


def _given(key: str, value: Any) -> Any:
    return tuple(value) if key in ("component", "column") and isinstance(value, list) else value
