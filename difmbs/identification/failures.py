"""Why a measurement cannot be predicted, and what to do about it."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import SimulationError
from .experiments import AbstractExperiment
from .fit_problem import ExperimentGroup, FitProblem
from .predictions import ModalPrediction, MotionPrediction
from .setup import FitSetup
from .time_scale import fastest, refined, step_of


def why_not(setup: FitSetup, problem: FitProblem) -> str:
    """Which experiment could not be simulated with the start values."""
    values = jnp.asarray(problem.scaling.values(setup.start))
    for group in problem.groups:
        predicted = group.predict(values)
        for row, member in enumerate(group.members):
            for channel, x in predicted.items():
                missing = ~np.isfinite(np.asarray(x[row]))
                if np.any(missing & (np.asarray(group.weights[channel][row]) > 0)):
                    experiment, at = setup.experiments[member], int(np.argwhere(missing)[0][0])
                    said = reason(group.only(row), values, experiment)
                    return (
                        f"with the start values, experiment '{experiment.name}' cannot be predicted from sample {at} "
                        f"of '{channel}' on: {said} Or start elsewhere."
                    )
    why = (
        ": two natural frequencies are the same"
        if any(isinstance(g.program, ModalPrediction) for g in problem.groups)
        else ""
    )
    return f"the derivatives are not finite with the start values{why}. Start elsewhere."


def reason(alone: ExperimentGroup, values: Any, experiment: AbstractExperiment) -> str:
    """Why one experiment cannot be predicted, in the words of `simulate`, and the remedy that fits its inputs."""
    try:
        alone.each(values, lambda system, loads, _: alone.program.raise_if_failed(system, loads))
    except SimulationError as error:
        said = f"the simulation {error}" if str(error).startswith("stopped") else str(error)
        return remedied(said, error, alone.program, experiment, _rate(alone, values, experiment))
    return "it is not a finite number there."


def _rate(alone: ExperimentGroup, values: Any, experiment: AbstractExperiment) -> float | None:
    """Angular frequency of the fastest vibration, where a time step is to be proposed."""
    if not isinstance(alone.program, MotionPrediction) or not experiment.inputs:
        return None
    t0 = alone.program.t0
    return float(alone.each(values, lambda system, *_: np.asarray(fastest(system, t0) or 0.0))[0]) or None


def remedied(
    said: str, error: SimulationError, program: Any, experiment: AbstractExperiment, rate: float | None = None
) -> str:
    """The reason with what helps where there are inputs; `rate`: angular frequency of the fastest vibration."""
    if not isinstance(program, MotionPrediction) or not experiment.inputs or error.time is None:
        return said
    name, points = max(((name, f.times.size) for name, f in experiment.inputs.items()), key=lambda x: x[1])
    step = step_of(experiment.inputs, program.t0, program.times[-1])
    step = None if step is None else refined(step, rate)
    if error.status == "max_steps" and program.settings.dt is None:
        example = "" if step is None else f", for example {step.dt:.6g}"
        return (
            f"the simulation stopped at t = {error.time:.6g}: the number of steps reached max_steps, because adaptive "
            f"steps begin anew at each of the {points} points of '{name}'. Give dt, the size of fixed steps{example}."
        )
    if error.status in ("non_finite", "newton_failed") and program.settings.dt is not None:
        return f"{said} With dt = {program.settings.dt:.6g} the steps may be too large: give a smaller dt."
    return said
