"""The motion that a fit predicts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import show
from ..simulation.solution import Solution
from .fit_problem import FitProblem
from .predictions import MotionPrediction
from .setup import FitSetup


def motion_of(setup: FitSetup, problem: FitProblem, values: np.ndarray, experiment: Any) -> Solution:
    """Of an experiment by name, None: the first one that is a motion, at the times of its samples."""
    rows = {member: (group, row) for group in problem.groups for row, member in enumerate(group.members)}
    motions = {
        setup.experiments[i].name: x for i, x in sorted(rows.items()) if isinstance(x[0].program, MotionPrediction)
    }
    if not motions:
        raise ParameterError("none of the experiments of this fit is a motion.")
    name = next(iter(motions)) if experiment is None else experiment
    if name not in motions:
        raise ParameterError(f"there is no motion {show(name)} in this fit. {did_you_mean(name, motions)}")
    group, row = motions[name]
    program = group.program
    assert isinstance(program, MotionPrediction)
    solutions = group.only(row).each(
        jnp.asarray(values),
        lambda system, loads, sensors: program.motion(system, np.asarray(program.times), throw=False),
    )
    return jax.tree.map(lambda x: x[0], solutions)
