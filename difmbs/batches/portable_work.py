"""Work on chunks that any thread or process can do, compiled once for each device of each process."""

import contextlib
import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import jax

_MOST_KNOWN = 8
"""Number of programs that a process remembers."""


@dataclasses.dataclass(frozen=True)
class PortableWork:
    """`program`: from the rows of some chunks to numpy arrays; `key` stands for all of it, wherever it is made again
    from bytes."""

    program: Callable[[Any], Any]
    key: str
    double: bool = dataclasses.field(default_factory=lambda: bool(jax.config.read("jax_enable_x64")))

    def __call__(self, rows: Any) -> Any:
        if self.double != jax.config.read("jax_enable_x64"):
            # In a process of its own.
            jax.config.update("jax_enable_x64", self.double)
        known = _known(self)
        with known.compiling():
            return known.program(rows)


class _KnownProgram:
    """A program of this process. The one that was here first: another one like it has other functions, which would be
    compiled again."""

    def __init__(self, program: Callable[[Any], Any]):
        self.program = program
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Alone, where it has not been compiled for the present device; what one thread compiles, the others find."""
        device = jax.config.jax_default_device  # type: ignore[attr-defined]
        with self._lock:
            lock = self._locks.setdefault(device, threading.Lock())
        if lock is _COMPILED:
            yield
            return
        with lock:
            yield
        self._locks[device] = _COMPILED


_COMPILED = threading.Lock()
_KNOWN: OrderedDict[str, _KnownProgram] = OrderedDict()
_LOCK = threading.Lock()


def _known(work: PortableWork) -> _KnownProgram:
    with _LOCK:
        known = _KNOWN.setdefault(work.key, _KnownProgram(work.program))
        _KNOWN.move_to_end(work.key)
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known
