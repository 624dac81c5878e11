"""What was not reached: neither it nor its derivatives are numbers."""

from typing import Any

import jax
import jax.numpy as jnp

from .deferred import LinearMap


def replaced(missing: Any, x: Any, by: Any) -> Any:
    """x, or what takes its place if it is missing. Backwards all weights are its own, so that `marked` ones count."""
    return _UNMARKED((jax.ShapeDtypeStruct(x.shape, x.dtype),), [missing], [x])[0] + jnp.where(missing, by, 0)


def marked(missing: Any, x: Any) -> Any:
    """NaN if it is missing, else x. Backwards NaN too, but only where it counts: where its weight is not 0."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return _MARKED((jax.ShapeDtypeStruct(x.shape, x.dtype),), [missing], [x])[0]


def _without(known, x):
    return [jnp.where(known[0], 0, x[0])]


def _all(known, weights):
    return weights


def _forwards(known, x):
    return [jnp.where(known[0], jnp.nan, x[0])]


def _backwards(known, weights):
    return [jnp.where(known[0] & (weights[0] != 0), jnp.nan, weights[0])]


_SENTENCE = "whether something is missing has no derivative."
_UNMARKED = LinearMap(_without, _all, _SENTENCE)
_MARKED = LinearMap(_forwards, _backwards, _SENTENCE)
