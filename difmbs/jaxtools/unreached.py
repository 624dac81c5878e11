"""What was not reached: neither it nor its derivatives are numbers."""

from typing import Any

import jax
import jax.numpy as jnp

from .deferred import LinearMap


def replaced(missing: Any, x: Any, by: Any) -> Any:
    """where(missing, by, x); but the cotangent passes to x unchanged, so that `marked` decides about NaN."""
    return _UNMARKED(jax.ShapeDtypeStruct(x.shape, x.dtype), missing, x) + jnp.where(missing, by, 0)


def marked(missing: Any, x: Any) -> Any:
    """NaN if it is missing, else x. Backwards NaN too, but only where it counts: where its cotangent is not 0."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return _MARKED(jax.ShapeDtypeStruct(x.shape, x.dtype), missing, x)


_SENTENCE = "whether something is missing has no derivative."
_UNMARKED = LinearMap(
    lambda missing, x: jnp.where(missing, 0, x),
    lambda missing, cotangent: cotangent,
    _SENTENCE,
)
_MARKED = LinearMap(
    lambda missing, x: jnp.where(missing, jnp.nan, x),
    lambda missing, cotangent: jnp.where(missing & (cotangent != 0), jnp.nan, cotangent),
    _SENTENCE,
)
