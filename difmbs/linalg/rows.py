"""Rows of arrays, by numbers that are not negative and known only when the program runs.

As `x[i]` and `x.at[i].set(row)`, which compile to gathers and scatters, or to more operations.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax


def row(x: Any, i: Any) -> Any:
    """x[i]."""
    sizes = 1, *x.shape[1:]
    return lax.squeeze(lax.dynamic_slice(x, _start(x, i), sizes, allow_negative_indices=False), [0])


def with_row(x: Any, i: Any, new: Any) -> Any:
    """x with row i replaced, in place where XLA can."""
    return lax.dynamic_update_slice(x, lax.expand_dims(new, [0]), _start(x, i), allow_negative_indices=False)


def _start(x: Any, i: Any) -> tuple[Any, ...]:
    return i, *(np.zeros((), jnp.result_type(i)),) * (x.ndim - 1)
