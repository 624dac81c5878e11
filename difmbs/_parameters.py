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

from ._errors import ParameterError, did_you_mean

Path = tuple[str, ...]
_RANGES = {
    "positive": (lambda x: np.all(x > 0), "must be > 0"),
    "expected nonnegative": (lambda x: True, ""),
    "nonnegative": (lambda x: np.all(x >= 0), "must be >= 0"),
}


@dataclasses.dataclass(frozen=True)
class Spec:
    """Shape of one instance (None: free), unit, and the range of a parameter's values."""

    shape: tuple[int | None, ...] | None = ()
    unit: str = "-"
    range: str | None = None
    optional: bool = False


def parameter(default: Any = dataclasses.MISSING, *, shape=(), unit="-", range=None) -> Any:
    """Declares a field of an element as a parameter. With default None the field may stay empty."""
    spec = Spec(shape, unit, range, optional=default is None)
    # Lists, tuples and numbers become host arrays at once; what is traced or callable stays as it is.
    return eqx.field(default=default, converter=as_array, metadata={"parameter": spec})


def as_array(value: Any) -> Any:
    """Numbers as a float array, on the host unless already traced; None, text and callables as they are."""
    if value is None or isinstance(value, (str, jax.Array)) or callable(value):
        return value
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return value
    return array.astype(np.float64) if array.dtype.kind in "iuf" else value


def specs_of(element: Any) -> dict[str, Spec]:
    return {
        f.name: f.metadata["parameter"] for f in dataclasses.fields(element) if "parameter" in f.metadata
    }


def check_value(where: str, field: str, value: Any, spec: Spec) -> bool:
    """Refuses a value that does not fit its declaration; says whether it has an extra leading axis (instances)."""
    if not isinstance(value, (np.ndarray, jax.Array)) or not jnp.issubdtype(value.dtype, jnp.floating):
        raise ParameterError(f"'{where}': {field} must be numbers of shape {_shape(spec.shape)}, got {_show(value)}.")
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
    if not np.all(np.isfinite(array)):
        raise ParameterError(f"'{where}': {field} = {_show(array)} is not finite.")
    if spec.range:
        fits, sentence = _RANGES[spec.range]
        if not fits(array):
            raise ParameterError(f"'{where}': {field} = {_show(array)} {sentence}.")


def flatten(tree: Any) -> dict[Path, Any]:
    """The floating-point leaves of an element by the names on the way to them."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {tuple(key_name(k) for k in path): leaf for path, leaf in pairs if eqx.is_inexact_array_like(leaf)}


def nest(flat: Mapping[Path, Any]) -> dict[str, Any]:
    """{("a", "b"): x} as {"a": {"b": x}}."""
    tree: dict[str, Any] = {}
    for path, leaf in flat.items():
        *parents, last = path
        node = tree
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = leaf
    return tree


def unnest(tree: Mapping[str, Any], known: Mapping[Path, Any], prefix: Path = ()) -> dict[Path, Any]:
    """The inverse of `nest`, for a part of the known leaves; a name that leads nowhere is refused."""
    flat: dict[Path, Any] = {}
    for key, value in tree.items():
        path = prefix + (key,)
        if isinstance(value, Mapping) and path not in known:
            flat |= unnest(value, known, path)
        elif path not in known:
            raise _unknown(path, known)
        elif isinstance(value, Mapping):
            raise ParameterError(f"'{'.'.join(path)}' is an array, got a dictionary with {sorted(value)}.")
        else:
            flat[path] = value
    if not tree and prefix and not any(k[: len(prefix)] == prefix for k in known):
        raise _unknown(prefix, known)
    return flat


def _unknown(path: Path, known: Mapping[Path, Any]) -> ParameterError:
    *prefix, name = path
    below = [k[len(prefix)] for k in known if list(k[: len(prefix)]) == prefix and len(k) > len(prefix)]
    if name in below:
        return ParameterError(f"'{'.'.join(path)}' must be a dictionary of parameters.")
    kind = f"'{'.'.join(prefix)}' has no parameter" if prefix else "there is no element"
    return ParameterError(f"{kind} '{name}'. {did_you_mean(name, sorted(set(below)))}")


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


def _show(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 80 else text[:77] + "..."
