"""Elements as tables: which there are, and which keys they have, follows from their classes."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from ..core.errors import FileError, ModelError, did_you_mean
from ..core.expression_reader import read_formula
from ..core.parameters import Spec, show, specs_of
from ..elements import bodies, connectors
from ..elements.bodies.body import AbstractBody
from ..elements.bodies.ground import Ground
from ..elements.bodies.state_vector import StateVector
from ..elements.connectors.connector import AbstractConnector
from ..elements.event import Event
from ..elements.expression import Expression
from ..elements.piecewise import Piecewise
from .recordings import recorded

_OF_CONNECTORS = ("between", "on", "active")


def _classes() -> Iterator[type]:
    for package in (bodies, connectors):
        for module in pkgutil.iter_modules(package.__path__):
            for kind in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
                is_element = inspect.isclass(kind) and issubclass(kind, (AbstractBody, AbstractConnector))
                if is_element and "Abstract" not in kind.__name__ and kind not in (Ground, StateVector):
                    yield kind
    yield Event


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", name).lower()


KINDS: Mapping[str, type] = {_snake(kind.__name__): kind for kind in _classes()}
"""Every class of elements by the name of its tables: "mass_point", "spring_damper" ..."""


def kind_of(element: Any) -> str | None:
    """The name of the tables of an element; None if its class is not one of difmbs."""
    return next((key for key, kind in KINDS.items() if kind is type(element)), None)


def element_from(kind: Any, table: Mapping[str, Any], path: str = "", allow_outside: bool = False) -> Any:
    """The element that a table in the file at `path` describes, and refuses what it does not know."""
    specs, options = specs_of(kind), _options(kind)
    functions = [f.name for f in dataclasses.fields(kind) if f.init and f.name not in specs and f.name not in options]
    others = [] if kind is Event else [*kind.initial, *([] if issubclass(kind, AbstractBody) else _OF_CONNECTORS)]
    of_time = [key for key, spec in specs.items() if spec.of_time]
    formulas = {} if kind is Event else _formulas(table, [*kind.arguments, *of_time])
    for key in table:
        if key in functions and key not in formulas:
            formula = "unless it is a formula in quotes" if kind is not Event and key in kind.arguments else "at all"
            raise ModelError(
                f"{key} is a function, which a file cannot hold {formula}. Leave it out, and replace the element after "
                "mbs.load: model.replace(name, element)."
            )
        if key not in (known := ["name", *specs, *options, *others, *functions, *(["parameters"] if formulas else [])]):
            raise ModelError(f"there is no {show(key)}. {did_you_mean(key, known)}")
    required = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING]
    for field in required:
        if field not in table:
            raise ModelError(f"{field} is missing.")
    where = path, allow_outside
    numbers = {key: spec for key, spec in specs.items() if key in table and key not in formulas}
    given = {key: _parameter(kind, key, spec, table[key], *where) for key, spec in numbers.items()}
    return kind(**given, **formulas, **{key: _tuple(table[key]) for key in options if key in table})


def _formulas(table: Mapping[str, Any], fields: list[str]) -> dict[str, Expression]:
    """The fields that are given as text, or as a list of it, each with those of the table's parameters that it has."""
    texts = {
        key: table[key]
        for key in fields
        if isinstance(table.get(key), str)
        or (isinstance(table.get(key), list) and table[key] and all(isinstance(x, str) for x in table[key]))
    }
    parameters = table.get("parameters", {})
    if not isinstance(parameters, dict):
        raise ModelError(f"parameters must be a table {{ k = 1.0, ... }}, got {show(parameters)}.")
    found, used = {}, set()
    for key, text in texts.items():
        parts = [text] if isinstance(text, str) else text
        names = {name for part in parts for name in read_formula(part, key).names}
        used |= names
        found[key] = Expression(text, **{name: x for name, x in parameters.items() if name in names})
    if texts and (unused := [name for name in parameters if name not in used]):
        raise ModelError(f"no formula has a {show(unused[0])}, which is among the parameters.")
    return found


def table_of(element: Any) -> dict[str, Any]:
    """What a table has to say about an element besides its name: all that differs from the defaults."""
    table: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    specs, options = specs_of(element), _options(type(element))
    for field in dataclasses.fields(element):
        value = getattr(element, field.name)
        if isinstance(value, Piecewise) and field.name in specs:
            smooth = {"smooth": True} if value.smooth else {}
            table[field.name] = {"times": numbers(value.times), "values": numbers(value.values), **smooth}
        elif isinstance(value, Expression):
            table[field.name] = value.text
            for name, number in value.parameters.items():
                if parameters.setdefault(name, numbers(number)) != numbers(number):
                    raise FileError(f"two formulas have a {name} of their own: give one of them another name.")
        elif callable(value):
            raise FileError(
                f"{field.name} is a function, which a file cannot hold. Save the model with another element in this "
                "place, and put this one there again after mbs.load: model.replace does both."
            )
        elif field.name in specs:
            if value is not None and not same(value, field.default):
                table[field.name] = numbers(value)
        elif field.name in options and value != field.default:
            table[field.name] = dict(value) if isinstance(element, Event) and field.name == "switch" else value
    return table | {"parameters": parameters} if parameters else table


def numbers(value: Any) -> Any:
    """Numbers as lists of floats, which are written with all digits."""
    if isinstance(value, jax.core.Tracer):
        raise FileError("a number is traced by JAX. Save models outside of transformations.")
    return np.asarray(value, float).tolist()


def same(value: Any, default: Any) -> bool:
    """Whether numbers are equal to the last bit to a default, if there is one."""
    if default is None or default is dataclasses.MISSING:
        return False
    a, b = (np.asarray(numbers(x)) for x in (value, default))
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _options(kind: type) -> list[str]:
    return [f.name for f in dataclasses.fields(kind) if f.init and f.metadata.get("static")]


def _parameter(kind: type, key: str, spec: Spec, value: Any, path: str, allow_outside: bool) -> Any:
    if not isinstance(value, dict):
        return value
    if not spec.of_time or kind is Event:
        raise ModelError(f"{key} must be numbers, got {show(value)}.")
    if not {"times", "values", "file", "column"} & set(value):
        raise ModelError(
            f"{key}: a function of time is {{ times = [...], values = [...] }}, or {{ file = ..., column = ... }}, got "
            f"{show(value)}."
        )
    return recorded(path, value, f"{key}: ", allow_outside=allow_outside)


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
