"""Loops that stay fast when they run side by side."""

import contextvars
import enum
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


class _Use(enum.Enum):
    """What a program is made for."""

    alone = enum.auto()
    batch = enum.auto()
    hardly_ever = enum.auto()


_USE = contextvars.ContextVar("use", default=_Use.alone)


def in_batch() -> bool:
    """Whether what is traced now is for the members of a batch: there a larger program pays that is faster."""
    return _USE.get() is _Use.batch


def is_rare() -> bool:
    """Whether what is traced now hardly ever runs: there a smaller program pays that is slower."""
    return _USE.get() is _Use.hardly_ever


def of_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is traced `in_batch`."""
    return _traced_for(_Use.batch, function)


def hardly_ever(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is traced as one that `is_rare`."""
    return _traced_for(_Use.hardly_ever, function)


def _traced_for(use: _Use, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def traced(*arguments: Any) -> Any:
        token = _USE.set(use)
        try:
            return function(*arguments)
        finally:
            _USE.reset(token)

    return traced
