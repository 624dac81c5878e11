"""Tables of experiments, with the files of numbers that they name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import FileError, ParameterError
from ..elements.piecewise import Piecewise
from ..files import fields
from ..files.columns import column_of, factor_of, unit_in
from ..files.error_locations import said_of_item
from ..files.fields import check_fields
from ..files.file_kinds import EXPERIMENTS
from ..files.reading import beside
from ..files.recordings import DIALECT, TIME, open_table, recorded, times_in
from ..files.tables import Table
from ..files.toml import Document
from ..identification.channels import Channel
from ..identification.experiments import AbstractExperiment, Experiment, ModalTest, StaticTest

_COMMON = {
    "name": fields.WORD,
    "file": fields.WORD,
    "channels": fields.TABLE,
    "params": fields.TABLE,
    "weight": fields.POSITIVE,
    "validation": fields.FLAG,
    **DIALECT,
}
_WINDOW = {"from": fields.NUMBER, "to": fields.NUMBER}
_OF_KIND: Mapping[str, Mapping[str, fields.Kind]] = {
    "experiment": {**_COMMON, **TIME, **_WINDOW, "t0": fields.NUMBER, "inputs": fields.TABLE},
    "static_test": {**_COMMON, "loads": fields.TABLE},
    "modal_test": {**_COMMON, "numbers": fields.INDICES, "loaded": fields.FLAG},
}

_CHANNEL = {
    "output": fields.WORD,
    "component": fields.INDEX_OR_INDICES,
    "noise": fields.NUMBERS,
    "scale": fields.NUMBER,
    "unit": fields.WORD,
    "gain": fields.NUMBER,
    "bias": fields.NUMBER,
    "delay": fields.NUMBER,
    "missing": fields.FLAG,
    "column": fields.WORDS,
}
_LOAD = {"column": fields.WORDS, "scale": fields.NUMBER, "unit": fields.WORD}
_VALUES = {"values": fields.NUMBERS}


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
        table = self.table
        record = self._file(table.get("time", "t"))
        assert record is not None
        times = times_in(record, table)
        channels, data = self._channels(record, _CHANNEL)
        inputs = {key: self._input(key, what, record) for key, what in table.get("inputs", {}).items()}
        window = (table.get("from"), table.get("to"))
        t0 = float(table.get("t0", 0))
        return Experiment(times, data, channels, t0=t0, inputs=inputs, window=window, **self.rest)

    def _input(self, key: str, what: Any, record: Table) -> Piecewise:
        where = f"input '{key}': "
        return recorded(
            self.path,
            what,
            where,
            record=record,
            given=self.table,
            allow_outside=self.allow_outside,
            hashes=self.hashes,
        )

    def static(self) -> StaticTest:
        record = self._file()
        channels, data = self._channels(record, _CHANNEL | _VALUES)
        given = self.table.get("loads", {})
        columns = {key: _load(record, what, key) for key, what in given.items() if isinstance(what, str | dict)}
        loads = columns | _numbers({key: x for key, x in given.items() if key not in columns}, "loads")
        return StaticTest(data, channels, loads=loads, **self.rest)

    def modal(self) -> ModalTest:
        record = self._file()
        channels, data = self._channels(record, _CHANNEL | _VALUES)
        more = {key: self.table[key] for key in ("numbers", "loaded") if key in self.table}
        return ModalTest(data, channels, **more, **self.rest)

    def _file(self, time: str | None = None) -> Table | None:
        if "file" not in self.table:
            return None
        path = beside(self.path, self.table["file"], allow_outside=self.allow_outside)
        return open_table(path, self.table, time, hashes=self.hashes)

    def _channels(
        self, record: Table | None, known: Mapping[str, fields.Kind]
    ) -> tuple[dict[str, Channel], dict[str, Any]]:
        channels, data = {}, {}
        for name, table in self.table["channels"].items():
            where = f"channel '{name}': "
            check_fields(table, known, where=where)
            channel = Channel(**{key: _given(key, value) for key, value in table.items() if key != "values"})
            if "values" in table and "column" in table:
                raise ParameterError(f"{where}give column or values, not both.")
            if "values" in table:
                channels[name], data[name] = channel, table["values"]
            else:
                channels[name], data[name] = _measured(record, name, channel)
        return channels, data


def _measured(record: Table | None, name: str, channel: Channel) -> tuple[Channel, np.ndarray]:
    """The channel, with the unit of its column, and the numbers of it."""
    if record is None:
        raise ParameterError(f"'{name}' needs values, or a column of a file.")
    column = name if channel.column is None else channel.column
    unit = unit_in(record, column, channel.scale, channel.unit)
    return channel.in_unit(unit), column_of(record, column, channel.missing)


def _load(record: Table | None, what: Any, key: str) -> np.ndarray:
    table = what if isinstance(what, dict) else {"column": what}
    check_fields(table, _LOAD, ("column",), f"load '{key}': ")
    if record is None:
        raise ParameterError(f"'{key}' needs values, or a column of a file.")
    return column_of(record, table["column"]) * factor_of(record, **table)


def _numbers(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    check_fields(table, dict.fromkeys(table, fields.NUMBERS), where=f"{where}: ")
    return {key: np.asarray(value, float) for key, value in table.items()}


def _given(key: str, value: Any) -> Any:
    return tuple(value) if key in ("component", "column") and isinstance(value, list) else value
