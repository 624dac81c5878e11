"""What the keys of a table may hold."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import as_array, is_numbers, show


@dataclasses.dataclass(frozen=True)
class Kind:
    """`said`: what a value must be, in words."""

    said: str
    holds: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_array(value: Any) -> bool:
    if not isinstance(value, (int, float, list)) or isinstance(value, bool):
        return False
    numbers = as_array(value)
    return bool(is_numbers(numbers) and np.all(np.isfinite(numbers)))


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) > 0 and all(map(holds, value))


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_index(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9


NUMBER = Kind("a number", _is_number)
POSITIVE = Kind("a number > 0", lambda value: _is_number(value) and value > 0)
WHOLE = Kind("a whole number from 1 on", lambda value: _is_index(value) and value > 0)
INDEX = Kind("a whole number from 0 on", _is_index)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WORD = Kind("a text", _is_word)
TABLE = Kind("a table such as { ... }", lambda value: isinstance(value, dict))
NUMBERS = Kind("a number or a list of numbers", _is_array)
LIST = Kind("a list of numbers", lambda value: isinstance(value, list) and _is_array(value))
PAIR = Kind("two numbers [mean, deviation]", lambda value: _list_of(_is_number)(value) and len(value) == 2)
WORDS = Kind("a text or a list of texts", lambda value: _is_word(value) or _list_of(_is_word)(value))
INDICES = Kind("a list of whole numbers from 0 on", _list_of(_is_index))
INDEX_OR_INDICES = Kind("whole numbers from 0 on", lambda value: _is_index(value) or INDICES.holds(value))


def check_fields(table: Any, fields: Mapping[str, Kind], needed: tuple[str, ...] = (), where: str = "") -> None:
    """Refuses keys that are unknown, missing or hold something else."""
    if not isinstance(table, dict):
        raise ParameterError(f"{where}expected a table such as {{ ... }}, got {show(table)}.")
    for key, value in table.items():
        if key not in fields:
            raise ParameterError(f"{where}there is no {show(key)}. {did_you_mean(key, fields)}")
        if not fields[key].holds(value):
            raise ParameterError(f"{where}{key} must be {fields[key].said}, got {show(value)}.")
    for key in needed:
        if key not in table:
            raise ParameterError(f"{where}{key} is missing.")
