"""Which of the files it is that difmbs reads."""

import os
import tomllib

from ..files import read_text
from ._experiments import EXPERIMENTS


def kind_of(path: str | os.PathLike[str]) -> str:
    """ "fit", "design" or "model", by the tables in it; what is none of them is refused as a model."""
    try:
        keys = set(tomllib.loads(read_text(path)))
    except (ValueError, RecursionError):
        return "model"
    if keys & {"objective", "limit"} and not keys & set(EXPERIMENTS):
        return "design"
    return "fit" if keys & {"model", "unknown", *EXPERIMENTS} else "model"
