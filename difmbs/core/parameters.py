"""What a parameter is: a floating-point leaf of an element, declared with its unit, shape and range.

An element's class declares its parameters; the builder checks concrete values against the declaration; the names in
the parameter tree are the field names on the way from the element to the leaf.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .errors import ParameterError, did_you_mean, warn
from .ranges import RANGES, limits

ParameterPath = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Spec:
    """Shape of one instance (None: free), unit, and the range of a parameter's values."""

    shape: tuple[int | None, ...] | None = ()
    unit: str = "-"
    range: str | None = None
    optional: bool = False
    of_time: bool = False


def parameter(default: Any = dataclasses.MISSING, *, shape=(), unit="-", range=None, of_time=False) -> Any:
    """Declares a field of an element as a parameter.

    With default None the field may stay empty; with `of_time` it may be a function of time. `range` is a key of
    `RANGES`.
    """
    spec = Spec(shape, unit, range, default is None, of_time)
    # Lists, tuples and numbers become host arrays at once; what is traced or callable stays as it is.
    return eqx.field(default=default, converter=as_array, metadata={"parameter": spec})


def as_array(value: Any) -> Any:
    """Real numbers as a float array, on the host unless they are JAX arrays; everything else as it is."""
    if isinstance(value, jax.Array):
        return value.astype(float) if jnp.issubdtype(value.dtype, jnp.integer) else value
    if value is None or isinstance(value, str) or callable(value):
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            return array.astype(np.float64)
        # Integers beyond 64 bits.
        return array.astype(np.float64) if all(type(x) in (int, float) for x in array.flat) else value
    except jax.errors.TracerArrayConversionError:
        return _stacked(value)
    except Exception:  # whatever foreign objects raise when asked for an array
        return value


def _stacked(value: Any) -> Any:
    """A list with traced numbers in it."""
    try:
        return jnp.asarray(value, float)
    except (TypeError, ValueError):
        return value


def specs_of(element: Any) -> dict[str, Spec]:
    return {f.name: f.metadata["parameter"] for f in dataclasses.fields(element) if "parameter" in f.metadata}


def check_value(where: str, field: str, value: Any, spec: Spec) -> bool:
    """Refuses a value that does not fit its declaration; says whether it has an extra leading axis (instances)."""
    if not is_numbers(value):
        raise ParameterError(f"'{where}': {field} must be numbers of shape {_shape(spec.shape)}, got {show(value)}.")
    many = _fits(value.shape[1:], spec.shape) and value.ndim > 0 and not _fits(value.shape, spec.shape)
    if not many and not _fits(value.shape, spec.shape):
        raise ParameterError(
            f"'{where}': {field} must have shape {_shape(spec.shape)}, or one such row for each instance; "
            f"got shape {value.shape}."
        )
    check_range(where, field, value, spec)
    return many


def check_range(where: str, field: str, value: Any, spec: Spec) -> None:
    """Refuses NaN, infinities and values out of range; values under a JAX transformation are let through."""
    if isinstance(value, jax.core.Tracer):
        return
    array = np.asarray(value)
    largest = limits().max
    rules = (
        (lambda x: ~np.isfinite(x), "is not finite"),
        (lambda x: np.abs(x) > largest, f"is too large for {largest.dtype}"),
        *(RANGES[spec.range] if spec.range else ()),
    )
    for is_bad, sentence in rules:
        bad = np.argwhere(is_bad(array))
        if len(bad):
            entry = tuple(bad[0].tolist())
            at = str(list(entry)) if entry else ""
            raise ParameterError(f"'{where}': {field}{at} = {show(array[entry])} {sentence}.")


def warn_if_negative(where: str, field: str, value: Any, spec: Spec) -> None:
    """Where that is allowed, but hardly meant."""
    if spec.range != "expected nonnegative" or isinstance(value, jax.core.Tracer):
        return
    if np.any(np.asarray(value) < 0):
        warn(f"'{where}': {field} is negative.")


def is_numbers(value: Any) -> bool:
    """Whether `as_array` made real numbers of it."""
    return isinstance(value, (np.ndarray, jax.Array)) and jnp.issubdtype(value.dtype, jnp.floating)


def flatten(tree: Any) -> dict[ParameterPath, Any]:
    """The floating-point leaves of an element by the names on the way to them."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {tuple(key_name(k) for k in path): leaf for path, leaf in pairs if eqx.is_inexact_array_like(leaf)}


def nest(flat: Mapping[ParameterPath, Any]) -> dict[str, Any]:
    """{("a", "b"): x} as {"a": {"b": x}}."""
    tree: dict[str, Any] = {}
    for path, leaf in flat.items():
        *parents, last = path
        node = tree
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = leaf
    return tree


def unnest(tree: Mapping[str, Any], known: Mapping[ParameterPath, Any]) -> dict[ParameterPath, Any]:
    """The inverse of `nest`, for a part of the known leaves; a name that leads nowhere is refused."""
    if not isinstance(tree, Mapping):
        example = "{'spring': {'stiffness': 10.0}}"
        raise ParameterError(f"params must be a dictionary such as {example}, got {show(tree)}.")
    branches = {path[:n] for path in known for n in range(1, len(path))}
    flat: dict[ParameterPath, Any] = {}

    def collect(branch: Mapping[str, Any], prefix: ParameterPath) -> None:
        for key, value in branch.items():
            path = (*prefix, key)
            if path in known and not isinstance(value, Mapping):
                flat[path] = value
            elif path in branches and isinstance(value, Mapping):
                collect(value, path)
            else:
                raise _misplaced(path, known, branches)

    collect(tree, ())
    return flat


def _misplaced(path: ParameterPath, known: Mapping[ParameterPath, Any], branches: set[ParameterPath]) -> ParameterError:
    *prefix, name = path
    dotted = ".".join(str(p) for p in prefix)
    if path in known:
        return ParameterError(f"'{dotted}.{name}' is an array, got a dictionary.")
    if path in branches:
        return ParameterError(f"'{'.'.join(path)}' must be a dictionary of parameters.")
    below = sorted({k[len(prefix)] for k in known if list(k[: len(prefix)]) == prefix})
    shown = name if isinstance(name, str) and len(name) < 80 else show(name)
    kind = f"'{dotted}' has no parameter" if prefix else "there is no element"
    return ParameterError(f"{kind} '{shown}'. {did_you_mean(shown.partition('.')[0], below)}")


def key_name(entry: Any) -> str:
    """The name of one step on the way to a leaf."""
    for attribute in ("name", "key", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...] | None) -> bool:
    if wanted is None:
        return True
    return len(shape) == len(wanted) and all(w in (None, s) for s, w in zip(shape, wanted, strict=True))


def _shape(shape: tuple[int | None, ...] | None) -> str:
    if shape is None:
        return "(any)"
    return "()" if not shape else "(" + ", ".join("n" if s is None else str(s) for s in shape) + ")"


def show(value: Any) -> str:
    """A value in an error message: not too long, whatever it is."""
    try:
        text = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    except Exception:  # integers of thousands of digits, foreign objects
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def show_error(error: Exception) -> str:
    """What somebody else's code raised, in one line."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
