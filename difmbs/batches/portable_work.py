"""Work on chunks that any thread or process can do, compiled once for each device of each process."""

import contextlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import jax

_MOST_KNOWN = 8
"""Number of programs that a process remembers."""


class _Precision:
    """Single or double, and so in each process that gets it, before the arrays that come after it."""

    def __init__(self, double: bool):
        if double != jax.config.read("jax_enable_x64"):
            jax.config.update("jax_enable_x64", double)
        self._double = double

    def __reduce__(self) -> Any:
        return _Precision, (self._double,)


class PortableWork:
    """`program`: from the rows of some chunks to numpy arrays; `key` stands for all of it, wherever it is made again
    from bytes; None: it is like no other one."""

    def __init__(self, program: Callable[[Any], Any], key: str | None = None):
        self._precision = _Precision(bool(jax.config.read("jax_enable_x64")))
        self._program, self._key = program, key or secrets.token_hex(16)

    def __reduce__(self) -> Any:
        return _in_precision, (self._precision, self._program, self._key)

    def __call__(self, rows: Any) -> Any:
        known = _known(self._key, self._program)
        with known.compiling():
            return known.program(rows)


def _in_precision(_: _Precision, program: Callable[[Any], Any], key: str) -> PortableWork:
    return PortableWork(program, key)


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


def _known(key: str, program: Callable[[Any], Any]) -> _KnownProgram:
    with _LOCK:
        known = _KNOWN.setdefault(key, _KnownProgram(program))
        _KNOWN.move_to_end(key)
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known
