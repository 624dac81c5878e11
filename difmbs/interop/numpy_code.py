"""Functions that are written with numpy and math, with JAX in their place."""

import functools
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_OF_MATH = {name: getattr(jnp, of) for name, of in dict(
    sin="sin", cos="cos", tan="tan", asin="arcsin", acos="arccos", atan="arctan", atan2="arctan2", sinh="sinh",
    cosh="cosh", tanh="tanh", exp="exp", log="log", sqrt="sqrt", fabs="abs", pow="power", floor="floor", ceil="ceil",
    hypot="hypot",
).items()}  # fmt: skip


class Assignable:
    """An array of JAX with entries that can be assigned to, as those of numpy."""

    def __init__(self, value: Any):
        # One of numpy's stays that: what JAX makes of it belongs to the program that is being traced.
        self.value: Any = value if isinstance(value, (np.ndarray, jax.Array)) else jnp.asarray(value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        return _assignable(found) if callable(found) else found

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    def __setitem__(self, index: Any, new: Any) -> None:
        self.value = jnp.asarray(self.value).at[index].set(as_array(new))

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return iter(self.value)

    def __neg__(self) -> "Assignable":
        return Assignable(-self.value)

    def __abs__(self) -> "Assignable":
        return Assignable(abs(self.value))


def _of(operation: Callable[..., Any], turned: bool) -> Callable[..., Any]:
    def method(self: Assignable, other: Any) -> Assignable:
        pair = (as_array(other), self.value) if turned else (self.value, as_array(other))
        return Assignable(operation(*pair))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "lt", "le", "gt", "ge", "eq", "ne"):
    _operation = getattr(operator, _name)
    setattr(Assignable, f"__{_name}__", _of(_operation, False))
    if _name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Assignable, f"__r{_name}__", _of(_operation, True))


def as_array(found: Any) -> Any:
    """What a function returned: numbers, arrays, lists of them."""
    if isinstance(found, Assignable):
        return found.value
    if isinstance(found, (list, tuple)):
        return jnp.stack([jnp.asarray(as_array(x), float) for x in found])
    return jax.tree.map(jnp.asarray, found)


def with_jax(function: Any, done: dict[int, Any], modules: dict[int, dict[str, Any]]) -> Any:
    """A function whose numpy and math, and those of the functions that it calls, are those of JAX.

    `done`: functions that were translated, by their identity; `modules`: copies of the global variables around them, so
    that one function sees what another one sets.
    """
    if not isinstance(function, types.FunctionType) or function.__module__.partition(".")[0] in ("jax", "numpy"):
        return function
    if id(function) in done:
        return done[id(function)]
    given = function.__globals__
    around = modules.setdefault(id(given), dict(given))
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    new = types.FunctionType(function.__code__, around, function.__name__, function.__defaults__, cells or None)
    new.__kwdefaults__ = function.__kwdefaults__
    # Before its parts, as it may call itself.
    done[id(function)] = new
    names = set(names_in(function.__code__))
    around.update({name: other for name, other in _BUILTINS.items() if name in names and name not in around})
    for name in names & set(around):
        if name in given and around[name] is given[name]:
            around[name] = _replaced(around[name], done, modules)
    for cell, content in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _replaced(content.cell_contents, done, modules)
    return new


def names_in(code: types.CodeType) -> list[str]:
    """The names that code uses, with those of functions inside of it."""
    inner = [name for const in code.co_consts if isinstance(const, types.CodeType) for name in names_in(const)]
    return [*code.co_names, *inner]


def _assignable(function: Any) -> Any:
    """A function of JAX whose arguments may be assignable arrays; what it returns is one."""

    def called(*arguments: Any, **more: Any) -> Any:
        result = function(*map(_plain, arguments), **{key: _plain(x) for key, x in more.items()})
        return Assignable(result) if isinstance(result, jax.Array) and result.ndim else result

    return called


class _LikeNumpy:
    """A module of JAX as that of numpy: its functions give arrays whose entries can be assigned to."""

    def __init__(self, module: Any):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if found is jnp.linalg:
            return _LikeNumpy(found)
        return _assignable(found) if callable(found) and not isinstance(found, type) else found


def _plain(given: Any) -> Any:
    parts = (Assignable, jax.Array, list, tuple)
    listed = isinstance(given, (list, tuple)) and any(isinstance(x, parts) for x in given)
    return as_array(given) if isinstance(given, Assignable) or listed else given


_NUMPY = _LikeNumpy(jnp)


def _extreme(of: Any) -> Any:
    return lambda *given: functools.reduce(of, given if len(given) > 1 else given[0])


_BUILTINS = {"max": _extreme(jnp.maximum), "min": _extreme(jnp.minimum), "float": lambda x: x}


def _replaced(value: Any, done: dict[int, Any], modules: dict[int, dict[str, Any]]) -> Any:
    if value is np:
        return _NUMPY
    if value is math:
        return types.SimpleNamespace(**_OF_MATH, pi=math.pi, e=math.e, inf=math.inf)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return done.setdefault(id(value), Assignable(value))
    name, module = getattr(value, "__name__", ""), str(getattr(value, "__module__", ""))
    if module == "math" and name in _OF_MATH:
        return _OF_MATH[name]
    if isinstance(value, np.ufunc) or (module == "numpy" and callable(value) and not isinstance(value, type)):
        return getattr(_NUMPY, name, value)
    return with_jax(value, done, modules)
