"""Parameters that a person would name, and those that follow from them."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError, did_you_mean
from ..core.expression_reader import Formula, read_formula
from ..core.parameters import ParameterPath, Spec, as_array, check_value, show
from ..core.ranges import RANGES
from ..system.structure import Structure
from .assembly import ModelContents, preliminary
from .replaced_numbers import with_values

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ \-]{0,99}(?:\.[A-Za-z_][A-Za-z0-9_]{0,99})+")


@dataclasses.dataclass(frozen=True)
class DerivedFormulas:
    """A number, vector or matrix by formulas of parameters."""

    formulas: Any

    def __call__(self, known: Mapping[str, Any]) -> Any:
        return _each(self.formulas, lambda formula: jnp.asarray(formula(known)))

    @property
    def texts(self) -> Any:
        return _texts(self.formulas)


def path_of(name: Any) -> ParameterPath:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModelError(f"{show(name)} is not the name of a parameter, such as 'crank.length'.")
    return tuple(name.split("."))


def checked_number(name: str, value: Any, unit: Any, range: Any) -> tuple[Any, Spec]:
    """A parameter of the model itself, as it is kept."""
    if range is not None and range not in RANGES:
        raise ModelError(f"'{name}': there is no range {show(range)}. {did_you_mean(range, RANGES)}")
    if not isinstance(unit, str):
        raise ModelError(f"'{name}': unit must be text, got {show(unit)}.")
    array, (where, *field) = as_array(value), name.split(".")
    spec = Spec(np.shape(array) if not isinstance(array, str) else (), unit or "-", range)
    check_value(where, ".".join(field), array, spec)
    return array, spec


def checked_rule(name: str, rule: Any) -> Callable[[Mapping[str, Any]], Any]:
    """What a parameter follows from: a function of all parameters, or formulas."""
    if callable(rule):
        return rule
    return DerivedFormulas(_read(rule, name))


def _read(rule: Any, name: str) -> Any:
    if isinstance(rule, (list, tuple)):
        return tuple(_read(part, name) for part in rule)
    if isinstance(rule, (int, float)) and not isinstance(rule, bool):
        rule = repr(rule)
    return read_formula(rule, f"'{name}'")


def _each(formulas: Any, of: Callable[[Formula], Any]) -> Any:
    if isinstance(formulas, tuple):
        return jnp.stack([_each(part, of) for part in formulas])
    return of(formulas)


def _texts(formulas: Any) -> Any:
    return [_texts(part) for part in formulas] if isinstance(formulas, tuple) else formulas.text


def resolved(contents: ModelContents) -> ModelContents:
    """The contents with derived parameters as they follow from the others."""
    if not contents.derived:
        return contents
    system = preliminary(contents)
    _check_targets(system.structure, contents)
    with jax.ensure_compile_time_eval():
        found = system.with_derived()
        values = {path: np.asarray(found.value(path), np.float64) for path in contents.derived}
    for path, value in values.items():
        check_value(path[0], ".".join(path[1:]), value, system.structure.homes[path].spec)
    return with_values(contents, values, system.params())


def _check_targets(structure: Structure, contents: ModelContents) -> None:
    known = {".".join(path): path for path in structure.homes}
    if both := [path for path in contents.derived if path in contents.numbers]:
        raise ModelError(f"'{'.'.join(both[0])}' is a number of the model itself: it does not follow from others.")
    later = set(contents.derived)
    for path, rule in contents.derived.items():
        name = ".".join(path)
        if path not in structure.homes:
            raise ModelError(
                f"there is no parameter '{name}' that could follow from others. {did_you_mean(name, known)}"
            )
        for formula in _flat(rule.formulas) if isinstance(rule, DerivedFormulas) else ():
            for needed in formula.names:
                if needed not in known:
                    raise ModelError(f"'{name}': there is no parameter '{needed}'. {did_you_mean(needed, known)}")
                if known[needed] in later:
                    raise ModelError(f"'{name}' needs '{needed}', which follows from others itself: derive that first.")
        later.discard(path)


def _flat(formulas: Any) -> list[Formula]:
    return [x for part in formulas for x in _flat(part)] if isinstance(formulas, tuple) else [formulas]
