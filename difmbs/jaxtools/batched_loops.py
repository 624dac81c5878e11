"""Loops that stay fast when they run side by side."""

import contextvars
import functools
from collections.abc import Callable
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


_BATCH = contextvars.ContextVar("batch", default=False)


def in_batch() -> bool:
    """Whether what is traced now is for the members of a batch: there a larger program pays that is faster."""
    return _BATCH.get()


def of_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is traced `in_batch`."""

    @functools.wraps(function)
    def traced(*arguments: Any) -> Any:
        token = _BATCH.set(True)
        try:
            return function(*arguments)
        finally:
            _BATCH.reset(token)

    return traced
