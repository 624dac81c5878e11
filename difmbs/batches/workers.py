"""Who does the chunks: cores and devices of this process, or any executor of `concurrent.futures`."""

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.reduction import ForkingPickler
from typing import Any

import jax

from ..core.errors import ParameterError
from ..core.parameters import show

_LOST = {"KilledWorker", "WorkerLostError", "TerminatedWorkerError"}
"""Names of what executors of other packages raise where a worker has ended."""
_MANY = 256
"""Tasks that are handed out ahead where nobody knows the number of workers."""


def is_broken(error: BaseException) -> bool:
    """Whether an executor can do nothing more, because a worker ended."""
    return isinstance(error, BrokenExecutor)


def is_lost(error: BaseException) -> bool:
    """Whether a worker ended before its work: no fault of the work. Ctrl-C in a terminal ends them, too."""
    return is_broken(error) or isinstance(error, KeyboardInterrupt | CancelledError) or type(error).__name__ in _LOST


class Workers:
    """`executor`: an executor, a function that makes one, or None: threads of this process, one for each core or
    device."""

    def __init__(self, executor: Any = None):
        if executor is not None and not isinstance(executor, Executor) and not callable(executor):
            raise ParameterError(
                "executor must be an Executor of concurrent.futures, such as client.get_executor() of Dask, or a "
                f"function that makes one, got {show(executor)}."
            )
        self._given = executor
        self._own: Any = None

    @property
    def renewable(self) -> bool:
        """Whether there is another executor where one has broken."""
        return not isinstance(self._given, Executor)

    @property
    def ahead(self) -> int:
        """Number of tasks that are handed out at a time: nobody waits, and few are left to wait for in the end."""
        known = getattr(self._executor, "_max_workers", None)
        return 2 * known if isinstance(known, int) else _MANY

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._executor.submit(function, *arguments)

    def check(self, work: Any) -> None:
        """Refuses what processes of the standard library cannot be sent: functions without a place in a module."""
        if not isinstance(self._executor, ProcessPoolExecutor):
            return
        try:
            ForkingPickler.dumps(work)
        except Exception as error:
            raise ParameterError(
                f"the work cannot be sent to another process: {error}. Define functions of the model and of outputs at "
                "the top of a module, or use an executor that sends any function, such as those of Dask and loky."
            ) from None

    @property
    def _executor(self) -> Any:
        if isinstance(self._given, Executor):
            return self._given
        if self._own is None:
            made = _Threads() if self._given is None else self._given()
            if not isinstance(made, Executor):
                raise ParameterError(f"executor must make an Executor of concurrent.futures, it made {show(made)}.")
            self._own = made
        return self._own

    def close(self, wait: bool = True) -> None:
        """Ends what was made here."""
        own, self._own = self._own, None
        if own is not None:
            own.shutdown(wait=wait, cancel_futures=True)


class _Threads(ThreadPoolExecutor):
    """One thread for each device; on CPUs for each core, because small programs use one core each."""

    def __init__(self) -> None:
        super().__init__(local_workers(), "difmbs-chunks", self._begin)
        self._places = itertools.cycle(local_devices())
        self._local = threading.local()

    def _begin(self) -> None:
        self._local.device = next(self._places)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:  # type: ignore[override]
        return super().submit(self._done, function, *arguments)

    def _done(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with jax.default_device(self._local.device):
            return function(*arguments)


def local_devices() -> list[Any]:
    """The devices of this process, or the one that its user has chosen."""
    chosen = jax.config.jax_default_device  # type: ignore[attr-defined]
    if isinstance(chosen, str):
        return jax.local_devices(backend=chosen)
    return jax.local_devices() if chosen is None else [chosen]


def local_workers() -> int:
    """Number of chunks that this process makes at the same time."""
    devices = local_devices()
    return max(len(devices), cores()) if devices[0].platform == "cpu" else len(devices)


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_once(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Results for a few items, in threads, one for each core."""
    pool = ThreadPoolExecutor(min(len(items), local_workers()))
    try:
        return list(pool.map(function, items))
    finally:
        # After Ctrl-C nobody waits for the others.
        pool.shutdown(wait=False, cancel_futures=True)
