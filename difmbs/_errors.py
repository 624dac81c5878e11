"""The errors users meet, and the search for the name they probably meant."""

import difflib
from collections.abc import Iterable


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
