"""TOML files: read with the lines on which elements begin, written with all digits."""

import dataclasses
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import FileError, did_you_mean
from ..core.parameters import show
from ..core.reprs import listed
from .file_kinds import other_kind
from .reading import read_text

SCHEMA = 1
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*([\w-]+)[ \t]*\]\]", re.ASCII)
_PART = re.compile(r"[ \t]*\[[ \t]*[\w-]+[ \t]*\.[^\[\]=]*(\[[^\[\]=]*\])?[^\[\]=]*\]", re.ASCII)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

_OF_TABLES = (".csv", ".tsv", ".dat")

Item = tuple[str, int]
"""The n-th of the tables [[key]]."""

Part = tuple[str, str]
"""The table [key."name"]."""


@dataclasses.dataclass(frozen=True)
class Document:
    """What a file says. `lines`: where each of its tables begins, for those of which that is certain."""

    path: str
    content: dict[str, Any]
    lines: dict[Item | Part, int]
    sha256: str

    def __repr__(self) -> str:
        return f"Document({self.path!r}: {listed(self.content, 20)})"

    def where(self, key: str, i: int) -> str:
        line = f", line {self.lines[key, i]}" if (key, i) in self.lines else ""
        return f"(item {i + 1}{line})"

    def where_part(self, key: str, name: str) -> str:
        return f" (line {self.lines[key, name]})" if (key, name) in self.lines else ""

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The tables [[key]]; none if there are none."""
        tables = self.content.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise FileError(f"{self.path}: write '{key}' as tables, each under a line [[{key}]].")
        return tables

    def parts(self, key: str) -> dict[str, dict[str, Any]]:
        """The tables [key."name"] by name; none if there are none."""
        parts = self.content.get(key, {})
        if not isinstance(parts, dict) or not all(isinstance(part, dict) for part in parts.values()):
            raise FileError(f"{self.path}: write '{key}' as tables, each under a line [{key}.\"name\"].")
        return parts

    def in_order(self, keys: list[str]) -> list[tuple[str, int, dict[str, Any]]]:
        """The tables of some keys as they follow each other in the file: key, number and table."""
        found = [(key, i, table) for key in self.content if key in keys for i, table in enumerate(self.tables(key))]
        certain = all((key, i) in self.lines for key, i, _ in found)
        return sorted(found, key=lambda item: self.lines[item[:2]]) if certain else found


def read_document(path: str | os.PathLike[str], kind: str, keys: list[str]) -> Document:
    """A file of a kind and of this schema, with no other keys than these at the top."""
    text = read_text(path)
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise FileError(f"{path}: brackets are nested too deeply.") from None
    except ValueError as error:
        if Path(path).suffix.lower() in _OF_TABLES:
            raise FileError(
                f"{path} is a table, and a {kind} file is needed. A fit file names it under [[experiment]], with "
                f'file = "{Path(path).name}".'
            ) from None
        raise FileError(f"{path}: {error}.") from None
    document = Document(
        str(path), content, _lines(text, content) | _parts(text, content), hashlib.sha256(text.encode()).hexdigest()
    )
    _check_schema(path, content)
    if said := other_kind(content, kind, keys):
        raise FileError(f"{path}: {said}")
    check_keys(f"{path}:", content, ["schema", *keys])
    return document


def check_keys(where: str, table: Mapping[str, Any], known: list[str]) -> None:
    for key in table:
        if key not in known:
            raise FileError(f"{where} there is no {show(key)}. {did_you_mean(key, known)}")


def format_table(table: Mapping[str, Any], header: tuple[str, ...] = ()) -> str:
    """Lines of "key = value", under the line [header] if it has one."""
    head = f"[{'.'.join(map(_key, header))}]\n" if header else ""
    return head + "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _check_schema(path: Any, content: dict[str, Any]) -> None:
    schema = content.get("schema")
    if schema is None:
        raise FileError(f"{path}: the line 'schema = {SCHEMA}' is missing.")
    if type(schema) is not int or schema < 1:
        raise FileError(f"{path}: schema must be {SCHEMA}, got {show(schema)}.")
    if schema > SCHEMA:
        raise FileError(f"{path}: schema = {show(schema)} is newer than what this difmbs reads. Update it.")


def _parts(text: str, content: dict[str, Any]) -> dict[Item | Part, int]:
    """Lines of the tables [key."name"], if each of these headers stands there once."""
    found: dict[Part, list[int]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _PART.match(line):
            try:
                ((key, inner),) = tomllib.loads(header[0]).items()
                (name,) = inner
            except ValueError:
                continue
            found.setdefault((key, name), []).append(number)
    known = lambda key, name: isinstance(content.get(key), dict) and name in content[key]
    return {part: lines[0] for part, lines in found.items() if len(lines) == 1 and known(*part)}


def _lines(text: str, content: dict[str, Any]) -> dict[Item | Part, int]:
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            found.setdefault(header[1], []).append(number)
    # Else some of them are written in another way, or stand inside of a text.
    sure = [key for key in found if isinstance(content.get(key), list) and len(content[key]) == len(found[key])]
    return {(key, i): line for key in sure for i, line in enumerate(found[key])}


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, (np.ndarray, np.generic)):
        return _value(value.tolist())
    return repr(value)
