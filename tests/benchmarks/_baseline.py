"""What is slower than it was."""

import math
from collections.abc import Mapping

_STEPS, _COMPILING = 1.25, 1.4
"""The same program compiles in times that vary more than those in which it runs."""


def limit_of(row: str) -> float:
    """How many times as long a row may take as the baseline says."""
    return _COMPILING if row.startswith("compiling") else _STEPS


def slower(found: Mapping[str, float], baseline: Mapping[str, float]) -> list[str]:
    """The rows that take clearly longer than they did; rows that are new do not."""
    return [row for row, time in found.items() if time > limit_of(row) * baseline.get(row, math.inf)]
