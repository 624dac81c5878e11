"""User functions of Exudyn's items, called with its signatures and traced by JAX."""

import math
import types
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError


class ExudynSystem:
    """What user functions are given as `mbs`: its variables, and nothing that would be a number of another program."""

    def __init__(self, item: str, variables: Any):
        self._item, self.variables = item, variables

    def __getattr__(self, name: str) -> Any:
        raise ModelError(
            f"'{self._item}': its user function reads mbs.{name}, which has no values here. Write it as a function of "
            "its arguments, or replace the element after the conversion by one with markers on what it reads."
        )


class ExudynFunction(eqx.Module):
    """A user function (mbs, t, ...) of an item as one of (t, ...); `number` of the item is passed where Exudyn does."""

    function: Any = eqx.field(static=True)
    item: str = eqx.field(static=True)
    system: Any = eqx.field(static=True)
    number: int | None = eqx.field(static=True)

    def __call__(self, t: Any, *arguments: Any) -> Any:
        given = (self.system, t, *(() if self.number is None else (self.number,)), *arguments)
        try:
            found = self.function(*given)
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError, TypeError):
            # Written with numpy or math: the same code with JAX in their place.
            found = _with_jax(self.function)(*given)
        return jax.tree.map(jnp.asarray, found) if not isinstance(found, (list, tuple)) else _stacked(found)


def _stacked(found: Any) -> Any:
    if isinstance(found, (list, tuple)):
        return jnp.stack([jnp.asarray(_stacked(x), float) for x in found])
    return found


_OF_MATH = {name: getattr(jnp, of) for name, of in dict(
    sin="sin", cos="cos", tan="tan", asin="arcsin", acos="arccos", atan="arctan", atan2="arctan2", sinh="sinh",
    cosh="cosh", tanh="tanh", exp="exp", log="log", sqrt="sqrt", fabs="abs", pow="power", floor="floor", ceil="ceil",
).items()}  # fmt: skip


def _with_jax(function: Any, done: dict[int, Any] | None = None) -> Any:
    """A function whose numpy and math, and those of the functions that it calls, are those of JAX."""
    if not isinstance(function, types.FunctionType) or function.__module__.partition(".")[0] in ("jax", "numpy"):
        return function
    done = {} if done is None else done
    if id(function) in done:
        return done[id(function)]
    around = dict(function.__globals__)
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    new = types.FunctionType(function.__code__, around, function.__name__, function.__defaults__, cells or None)
    # Before its parts, as it may call itself.
    done[id(function)] = new
    for name in set(_names(function.__code__)) & set(around):
        around[name] = _replaced(around[name], done)
    for cell, given in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _replaced(given.cell_contents, done)
    return new


def _names(code: types.CodeType) -> list[str]:
    """The names that code uses, with those of functions inside of it."""
    inner = [name for const in code.co_consts if isinstance(const, types.CodeType) for name in _names(const)]
    return [*code.co_names, *inner]


def _replaced(value: Any, done: dict[int, Any]) -> Any:
    if value is np:
        return jnp
    if value is math:
        return types.SimpleNamespace(**_OF_MATH, pi=math.pi, e=math.e, inf=math.inf)
    name, module = getattr(value, "__name__", ""), str(getattr(value, "__module__", ""))
    if module == "math" and name in _OF_MATH:
        return _OF_MATH[name]
    if isinstance(value, np.ufunc) or (module == "numpy" and callable(value) and not isinstance(value, type)):
        return getattr(jnp, name, value)
    return _with_jax(value, done)
