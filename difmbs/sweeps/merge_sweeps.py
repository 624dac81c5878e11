"""Parts of a sweep that were made one by one."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import MismatchError, ParameterError
from ..core.parameters import show
from ..files.saved_sweeps import SweepResult
from .sweep_folder import sweep_in


def merge_sweeps(parts: Any) -> SweepResult:
    """One result of the parts of a sweep, which `sweep(part=(i, n))` made: results, their files, or their folders.

    The parts may come in any order. Runs of parts that are missing are missing in the result as well, see `rows`.
    """
    listed = isinstance(parts, Sequence) and not isinstance(parts, str) and len(parts) > 0
    if not listed or not all(isinstance(x, SweepResult | str | os.PathLike) for x in parts):
        raise ParameterError(f"merge_sweeps takes a list of results or of folders, got {show(parts)}.")
    results = [x if isinstance(x, SweepResult) else sweep_in(x) for x in parts]
    first = results[0]
    for given, result in zip(parts, results, strict=True):
        if result.fingerprint != first.fingerprint:
            which = "one of the parts" if isinstance(given, SweepResult) else str(given)
            raise MismatchError(f"{which} belongs to another sweep: model, samples, outputs or settings differ.")
    rows = np.concatenate([result.rows for result in results])
    order = np.argsort(rows, kind="stable")
    if np.any(np.diff(rows[order]) == 0):
        twice = rows[order][1:][np.diff(rows[order]) == 0][0]
        raise ParameterError(f"merge_sweeps: run {twice} is in two of the parts. Pass each part once.")
    join = lambda of: _joined([of(result) for result in results], order)
    return SweepResult(
        samples=join(lambda r: r.samples),
        outputs=join(lambda r: r.outputs),
        derivatives=join(lambda r: r.derivatives),
        units=first.units,
        t=first.t,
        code=join(lambda r: r.code),
        time=join(lambda r: r.time),
        over_time=first.over_time,
        rows=rows[order],
        count=first.count,
        fingerprint=first.fingerprint,
    )


def _joined(trees: list[Any], order: np.ndarray) -> Any:
    if isinstance(trees[0], np.ndarray):
        return np.concatenate(trees)[order]
    return {key: _joined([tree[key] for tree in trees], order) for key in trees[0]}
