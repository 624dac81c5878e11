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
        if double != _is_double():
            jax.config.update("jax_enable_x64", double)
        self._double = double

    def __reduce__(self) -> Any:
        return _Precision, (self._double,)


class PortableWork:
    """`program`: from the rows of some chunks to numpy arrays. `token` stands for it, wherever it is made again from
    bytes: it is like no other one, because nobody knows whether two functions are the same."""

    def __init__(self, program: Callable[[Any], Any], token: str | None = None):
        self._double = _is_double()
        self._program, self._token = program, token or secrets.token_hex(16)

    def __reduce__(self) -> Any:
        return _in_precision, (_Precision(self._double), self._program, self._token)

    def __call__(self, rows: Any) -> Any:
        known = _known(self._token, self._program)
        # Threads do not know what holds only where they were started.
        precise = jax.enable_x64(self._double) if self._double != _is_double() else contextlib.nullcontext()
        with precise, known.compiling():
            return known.program(rows)


def _is_double() -> bool:
    return bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]


def _in_precision(_: _Precision, program: Callable[[Any], Any], token: str) -> PortableWork:
    return PortableWork(program, token)


class _KnownProgram:
    """A program of this process. The one that was here first: another one like it has other functions, which would be
    compiled again."""

    def __init__(self, program: Callable[[Any], Any]):
        self.program = program
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._compiled: set[Any] = set()

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Alone, where it has not been compiled for the present device; what one thread compiles, the others find."""
        device = jax.config.jax_default_device  # type: ignore[attr-defined]
        with self._lock:
            lock = self._locks.setdefault(device, threading.Lock())
        with contextlib.ExitStack() as stack:
            if device not in self._compiled:
                stack.enter_context(lock)
            if device in self._compiled:
                # It was, in the meantime.
                stack.close()
            yield
            self._compiled.add(device)


_KNOWN: OrderedDict[str, _KnownProgram] = OrderedDict()
_LOCK = threading.Lock()


def _known(token: str, program: Callable[[Any], Any]) -> _KnownProgram:
    with _LOCK:
        known = _KNOWN.setdefault(token, _KnownProgram(program))
        _KNOWN.move_to_end(token)
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known
