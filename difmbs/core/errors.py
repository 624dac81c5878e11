"""The errors users meet, and words for them: names that were probably meant, numbers of things."""

import difflib
import sys
import warnings
from collections.abc import Iterable

_BETWEEN = ("difmbs", "equinox", "jaxtyping", "beartype", "jax", "contextlib")
"""Packages that may stand between a line of the user and a warning of ours."""


class ModelError(ValueError):
    """A model cannot be built as described: says which element, what was expected, what came."""


class ParameterError(ValueError):
    """A parameter is named or shaped wrongly, or has a value that its element does not allow."""


class SimulationError(RuntimeError):
    """A simulation could not be started or stopped early.

    `status` is the reason in one word, `time` the time reached, `solution` what was computed until then.
    """

    def __init__(self, message: str, status: str = "refused", time: float | None = None, solution: object = None):
        super().__init__(message)
        self.status = status
        self.time = time
        self.solution = solution


class FileError(ValueError):
    """A file cannot be read as it is, or written: says which file, where in it, what was expected, what came.

    `output`: it is about what was to be written.
    """

    def __init__(self, message: str, *, output: bool = False):
        super().__init__(message)
        self.output = output


class MismatchError(FileError):
    """What is on the disk belongs to something else than what is to go on from it."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The sentence that follows 'there is no ...': the nearest valid name and the list of all."""
    names = [str(k) for k in known]
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    guess = f"Did you mean '{close[0]}'? " if close else ""
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"{guess}Known: {shown}." if names else "There are none."


def warn(text: str) -> None:
    """Warns, and names the user's line as the place."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def counted(number: int, what: str, many: str | None = None) -> str:
    """ "1 sample", "3 samples"; `many`: of words whose plural is another one."""
    return f"{number} {what if number == 1 else many or what + 's'}"
