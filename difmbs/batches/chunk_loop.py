"""The loop over chunks: hands them out, takes what comes back, and can be stopped."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

from ..core.errors import SimulationError, counted
from .portable_work import PortableWork
from .workers import Workers, is_broken, is_lost

_SECONDS = 0.5
"""About how long a worker is busy with what it is handed at once."""
_LOSSES = 3
"""Number of workers that a chunk may lose."""


class ChunkLoop:
    """Does the chunks with these `numbers`; at most `most` are handed out at once, as many as take a moment.

    `rows_of(numbers)` is what the work is given; `take(numbers, results)` is called here, as results come.
    """

    def __init__(
        self,
        work: PortableWork,
        numbers: Iterable[int],
        rows_of: Callable[[Sequence[int]], Any],
        take: Callable[[Sequence[int], Any], None],
        *,
        most: int = 1,
        executor: Any = None,
    ):
        self._work, self._rows_of, self._take, self._most = work, rows_of, take, most
        # The next one is last.
        self._left = list(numbers)[::-1]
        self._running: dict[Future[Any], Sequence[int]] = {}
        self._workers = Workers(executor)
        self._losses: Counter[int] = Counter()
        self._together = 1

    def run(self, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Whether all are done, or it was `stopped`.

        Ctrl-C and `stopped` wait for the chunks that are being made, whose results are taken. Those of lost workers are
        handed out again.
        """
        try:
            self._workers.check(self._work)
            while (self._left or self._running) and not stopped():
                whole = self._hand_out()
                done, _ = wait(self._running, timeout=0.2, return_when=FIRST_COMPLETED)
                lost = [error for error in map(self._taken, sorted(done, key=self._first_of)) if error]
                if not whole and not lost:
                    self._losses[self._left[-1]] += 1
                if lost or not whole:
                    self._after_loss(not whole or any(map(is_broken, lost)))
            self._finish()
        except KeyboardInterrupt:
            self._finish()
            raise
        finally:
            for future in self._running:
                future.cancel()
            self._workers.close()
        return not self._left

    def _hand_out(self) -> bool:
        """Whether the executor took them."""
        ahead = self._workers.ahead
        while self._left and len(self._running) < ahead:
            # Fewer in the end, so that all workers are busy until then.
            together = max(1, min(self._together, len(self._left) // ahead))
            # In order, because only the last one may be filled up.
            numbers = sorted(self._left[-together:])
            try:
                future = self._workers.submit(_timed, self._work, self._rows_of(numbers))
            except Exception as error:
                if not is_broken(error):
                    raise
                return False
            del self._left[-len(numbers) :]
            self._running[future] = numbers
        return True

    def _first_of(self, future: Future[Any]) -> int:
        return self._running[future][0]

    def _taken(self, future: Future[Any]) -> BaseException | None:
        """Takes what one has made, or says how its worker was lost."""
        numbers = self._running.pop(future)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            results, seconds = future.result()
            self._take(numbers, results)
            if seconds < _SECONDS / 2 and len(numbers) == self._together:
                self._together = min(2 * self._together, self._most)
        elif is_lost(error):
            self._left.extend(reversed(numbers))
            self._losses.update(numbers)
        else:
            raise error
        return error

    def _after_loss(self, broken: bool) -> None:
        """`broken`: all that the executor had is lost."""
        # By itself, the one that it is because of is found.
        self._together = 1
        if broken:
            wait(self._running)
            for future in list(self._running):
                self._taken(future)
        missing = counted(len(self._left) + sum(map(len, self._running.values())), "chunk")
        said = f"a worker ended before its work; {missing} of it missing"
        worst, losses = max(self._losses.items(), key=lambda item: item[1], default=(0, 0))
        if losses > _LOSSES:
            raise SimulationError(
                f"{said}. Chunk {worst} has lost {losses} workers. Is there not enough memory? A smaller chunk needs "
                "less.",
                "workers_lost",
            )
        if broken and not self._workers.renewable:
            raise SimulationError(
                f"{said}. Pass a function that makes the executor, so that another one is made where it breaks; what "
                "was written to a folder is not lost: call again with resume=True.",
                "workers_lost",
            )
        if broken:
            self._workers.close(wait=False)

    def _finish(self) -> None:
        """Waits for what has begun."""
        for future in list(self._running):
            if future.cancel():
                self._left.extend(reversed(self._running.pop(future)))
        wait(self._running)
        for future in list(self._running):
            self._taken(future)


def _timed(work: PortableWork, rows: Any) -> tuple[Any, float]:
    begun = time.perf_counter()
    return work(rows), time.perf_counter() - begun
