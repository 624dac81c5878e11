"""Loops that stay fast when they run side by side."""

from typing import Any

import jax
import jax.numpy as jnp


@jax.custom_batching.custom_vmap
def anywhere(flag: Any) -> Any:
    """The flag itself; under vmap, whether it is true for any member of the batch.

    As the condition of a loop: with one of its own for each member, vmap would copy all that the loop carries, such as
    recorded steps, in each iteration. So all members go on until the last one is finished, and the body of the loop
    says itself what those that are have to keep.
    """
    return flag


@anywhere.def_vmap
def _any(axis_size: int, batched: list[bool], flag: Any) -> tuple[Any, bool]:
    return anywhere(jnp.any(flag, axis=0) if batched[0] else flag), False
