"""Says "compiling ..." on a terminal where compiling takes so long that one wonders what is going on.

JAX tells when it begins to trace, lower or compile a program, and when it has done so. Programs of difmbs call it while
they are traced, so all that is compiled without a pause around such a call counts as one of them.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 2.0
_PAUSE = 0.5
_PHASES = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)


class _CompileWatch:
    """What is being compiled at the moment: since when, until when, and how many programs one inside the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth, self._since, self._until = 0, 0.0, -_PAUSE
        self._called = -_PAUSE
        self.silent = 0

    def called(self) -> None:
        self._called = time.monotonic()

    def begins(self, event: str, value: float | int, **_: Any) -> None:
        if event not in _PHASES:
            return
        now = time.monotonic()
        with self._lock:
            anew = self._depth == 0 and now > self._until + _PAUSE
            self._depth += 1
            if not anew:
                return
            self._since = now
        self._look_after(_PATIENCE, now)

    def ends(self, event: str, duration_secs: float, **_: Any) -> None:
        if event in _PHASES:
            with self._lock:
                self._depth, self._until = max(0, self._depth - 1), time.monotonic()

    def _look_after(self, seconds: float, since: float) -> None:
        timer = threading.Timer(seconds, self._look, [since])
        timer.daemon = True
        timer.start()

    def _look(self, since: float) -> None:
        with self._lock:
            going = self._depth > 0 or time.monotonic() <= self._until + _PAUSE
            if since != self._since or not going:
                return
            ours = self._called >= since - _PAUSE
        if not ours:
            self._look_after(_PAUSE, since)
        elif not self.silent and sys.stderr.isatty():
            print("compiling ...", file=sys.stderr, flush=True)


_WATCH = _CompileWatch()


def called() -> None:
    """To be called by what programs of difmbs are made of."""
    _WATCH.called()


@contextmanager
def silence(wanted: bool = True) -> Iterator[None]:
    """Nothing is said inside, if that is wanted."""
    _WATCH.silent += wanted
    try:
        yield
    finally:
        _WATCH.silent -= wanted


def watch() -> None:
    """Nothing is watched where nobody would see it."""
    import jax

    if sys.stderr is not None and sys.stderr.isatty():
        jax.monitoring.register_scalar_listener(_WATCH.begins)
        jax.monitoring.register_event_duration_secs_listener(_WATCH.ends)
