"""The line that is shown for each iteration of a search."""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from ..core.progress_bar import in_notebook, looked_at, note_line

Progress: TypeAlias = Callable[[str], Any] | bool | None
Watch: TypeAlias = "Callable[[Iteration], Any] | None"
_SHOWN = 4
"""Number of unknowns that are shown in a line."""


@dataclasses.dataclass(frozen=True)
class Iteration:
    """One line of the search.

    `value` of what is made least: chi^2 or an objective; `step`: the largest change of a logarithm or, relative to the
    start, of a number; `values` of the unknowns; `seconds` since the start.
    """

    number: int
    value: float
    step: float
    accepted: bool
    values: tuple[float, ...]
    seconds: float


class Console:
    """Where lines of text go. `progress`: a function of a line; True: standard error; None: that only on a terminal."""

    def __init__(self, progress: Progress):
        on_terminal = sys.stderr.isatty()
        if progress is None:
            progress = looked_at()
        self._write = progress if callable(progress) else (_to_stderr if progress else None)
        # In a notebook each line takes the place of the one before.
        self._bar = note_line() if progress is True and in_notebook() else None
        # What nobody looks at does not need all lines.
        self._pause = 0.0 if on_terminal or callable(progress) else 0.0 if self._bar is not None else 10.0
        self._last = -1e9

    @property
    def replaces(self) -> bool:
        """Whether each line takes the place of the one before."""
        return self._bar is not None

    @property
    def due(self) -> bool:
        """Whether it is time for another line of many."""
        return self._write is not None and time.monotonic() - self._last >= self._pause

    def say(self, text: str) -> None:
        if self._write is not None:
            self._write(text)

    def close(self) -> None:
        """No line of a notebook is replaced any more."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def show(self, text: str) -> None:
        """One of many lines."""
        self._last = time.monotonic()
        if self._bar is None:
            self.say(text)
        else:
            self._bar.set_description_str(text)


class Lines:
    """Shows iterations on a `Console`. `watch` is given each iteration itself."""

    def __init__(self, names: tuple[str, ...], progress: Progress, measure: str = "chi^2", watch: Watch = None):
        self._console = Console(progress)
        self._names, self._measure = names, measure
        self._widths = [max(12, len(name)) for name in names[:_SHOWN]]
        self._begun, self._watch = False, watch
        self._skipped: Iteration | None = None
        self._last: Iteration | None = None

    def show(self, line: Iteration) -> None:
        self._last = line
        if self._watch is not None:
            self._watch(line)
        if self._console.due:
            self._print(line)
        else:
            self._skipped = line

    def say(self, text: str) -> None:
        """Something that is no iteration."""
        self._console.say(text)

    def end(self, status: str) -> None:
        last = self._skipped or self._last
        if self._console.replaces and last is not None:
            # The line that is not replaced any more.
            self._console.close()
            self._skipped = last
        if self._skipped is not None:
            self._print(self._skipped)
        if self._begun:
            self._console.say(status)

    def _print(self, line: Iteration) -> None:
        self._skipped = None
        if not self._begun:
            self._begun = True
            titles = [f"{n:>{w}}" for n, w in zip(self._names, self._widths, strict=False)]
            more = f"  and {len(self._names) - _SHOWN} more" if len(self._names) > _SHOWN else ""
            self._console.say(f"{'it':>4}  {self._measure:>12}  {'step':>8}  {'time':>8}  {'  '.join(titles)}{more}")
        mark = " " if line.accepted else "-"
        columns = [f"{line.number:>4}{mark} {line.value:>12.6g}", f"{line.step:>8.1e}", f"{line.seconds:>6.1f} s"]
        columns += [f"{x:>{w}.7g}" for x, w in zip(line.values, self._widths, strict=False)]
        self._console.show("  ".join(columns))


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
