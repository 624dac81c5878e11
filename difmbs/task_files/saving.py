"""Results of any kind in files."""

import os
from typing import Any

import jax
import numpy as np

from ..design.design import Design
from ..files import results
from ..files.fingerprint import fingerprint
from ..files.saved_searches import SavedDesign, SavedFit, to_arrays
from ..files.saved_sweeps import SweepResult
from ..files.toml import SCHEMA
from ..files.writing import replacing
from ..identification.fit import Fit
from ..simulation.solution import Solution
from ..sweeps.sweep_folder import save_sweep


def save_result(
    result: Solution | Fit | Design | SweepResult, path: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Writes a solution, a fit, a design or a sweep to a .npz file, for `load_result`; `force`: replace one.

    Of a fit and a design these are numbers and words by name: unknowns, errors, covariance, verdict.
    """
    if isinstance(result, Fit):
        _write(_of_fit(result), path, force)
    elif isinstance(result, Design):
        _write(_of_design(result), path, force)
    elif isinstance(result, SweepResult):
        save_sweep(result, path, force=force)
    else:
        results.save_solution(result, path, force=force)


def _write(saved: SavedFit | SavedDesign, path: str | os.PathLike[str], force: bool) -> None:
    with replacing(path, force=force) as file:
        np.savez(file, allow_pickle=False, schema=SCHEMA, **to_arrays(saved))


def _of_fit(fit: Fit) -> SavedFit:
    return SavedFit(
        **_common(fit),
        standard_errors=fit.standard_errors,
        covariance=np.asarray(fit.covariance),
        chi2=fit.chi2,
        degrees_of_freedom=int(fit.degrees_of_freedom),
        noise=fit.noise,
        verdict=fit.verdict.level,
    )


def _of_design(design: Design) -> SavedDesign:
    limits, met = tuple(map(float, design.limits)), tuple(map(bool, design.met))
    return SavedDesign(**_common(design), objectives=design.objectives, limits=limits, met=met)


def _common(result: Fit | Design) -> dict[str, Any]:
    return dict(
        names=result.names,
        values=result.values,
        start=result.start,
        status=result.status,
        params=jax.tree.map(np.asarray, result.params),
        text=str(result),
        fingerprint=fingerprint(result.system),
    )
