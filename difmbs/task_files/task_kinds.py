"""Which of the files it is that difmbs reads."""

import os
import tomllib

from ..files.file_kinds import kind_of_keys
from ..files.reading import read_text


def kind_of(path: str | os.PathLike[str]) -> str:
    """ "fit", "design", "sweep" or "model", by the tables in it; what is none of them is refused as a model."""
    try:
        kind = kind_of_keys(tomllib.loads(read_text(path)))
    except (ValueError, RecursionError):
        return "model"
    return "model" if kind == "result" else kind
