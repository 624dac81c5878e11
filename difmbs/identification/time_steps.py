"""Time steps of experiments with recorded inputs, where none were given."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .experiments import AbstractExperiment
from .fit_problem import ExperimentGroup
from .predictions import MotionPrediction
from .time_scale import SuggestedStep, fastest, refined, step_of


def with_steps(
    groups: Sequence[ExperimentGroup], experiments: Sequence[AbstractExperiment], values: Any
) -> tuple[tuple[ExperimentGroup, ...], tuple[str, ...]]:
    """The groups with the sampling of their inputs as time step, and what was chosen, in words.

    Adaptive steps would begin anew at each of the points. `values` of the unknowns at the start.
    """
    found, remarks = [], []
    for group in groups:
        program = group.program
        step = _step(group, program, experiments, values) if isinstance(program, MotionPrediction) else None
        if step is not None and isinstance(program, MotionPrediction):
            group = group.simulated_with(dataclasses.replace(program.settings, dt=step.dt))
            names = [experiments[member].name for member in group.members]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            remarks.append(f"{names[0]}{more}: {step}; give dt for another one")
        found.append(group)
    return tuple(found), tuple(remarks)


def _step(
    group: ExperimentGroup, program: MotionPrediction, experiments: Sequence[AbstractExperiment], values: Any
) -> SuggestedStep | None:
    steps = [step_of(experiments[m].inputs, program.t0, program.times[-1]) for m in group.members]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return None
    rate = group.only(0).each(values, lambda system, *_: np.asarray(fastest(system, program.t0) or 0.0))
    return refined(min(known, key=lambda step: step.sampling), float(rate[0]) or None)
