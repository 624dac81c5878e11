"""The machine for which a program is made.

On a GPU each operation of a program is a launch, and a loop whose end is not known beforehand asks the processor in
each iteration whether it goes on: a few microseconds each, however little there is to do. There a program pays that is
larger and has fewer of both.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax

_ON_GPU = jax.make_user_context(default_value=None)
"""None where nothing is said. Part of the key under which JAX keeps what it has traced."""


def on_gpu() -> bool:
    """Whether what is traced now is for a GPU, or another machine that is no CPU."""
    return jax.default_backend() != "cpu" if _ON_GPU.value is None else _ON_GPU.value


def as_if_on_gpu() -> AbstractContextManager[Any]:
    """Inside of it programs are made as they are for GPUs, also those that run on a CPU."""
    return _ON_GPU(True)


def of_platforms(platforms: tuple[str, ...], function: Callable[[], Any]) -> Any:
    """function(), in which programs are made for these platforms, unless something else was said before."""
    wanted = "cpu" not in platforms
    if _ON_GPU.value is not None or wanted == on_gpu():
        return function()
    with _ON_GPU(wanted):
        return function()
