"""Many independent fits at once: the same mechanism, one set of data after the other."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError
from ..search.progress import Console, Progress
from ..simulation.arguments import check_whole
from ..system.system import System
from .experiments import AbstractExperiment
from .fit_batches import FitBatches
from .fits import Fits, collected
from .hints import before, texts
from .identify import checked_setup
from .setup import FitSetup, check_samples

_MOST_HINTS = 3
"""Questions about the data of many experiments are mostly the same one."""


def identify_each(
    system: System,
    experiments: Sequence[AbstractExperiment],
    unknowns: Mapping[str, Any],
    *,
    dt: float | None = None,
    solver: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
    loss: str = "linear",
    max_iterations: int = 100,
    chunk: int | None = None,
    executor: Any = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = None,
) -> Fits:
    """A fit for each experiment by itself, all of them by one compiled program: production tests, repeated
    measurements, statistics of noise.

    The arguments are those of `identify`. The experiments must be alike but for their numbers: same times, channels,
    names of changed parameters. Fixed steps (`dt`) are the fastest. Where the noise is not given, the residuals of each
    fit tell it; then there may be one channel only.

    They are made in chunks, on all cores or devices of this process: `chunk`: number of fits side by side, None: what
    suits the device; `executor`: as in `sweep`. There are lines of progress, and what is done is written to `folder`,
    from which `resume` goes on. Ctrl-C ends it when the chunks are finished that are being made; fits that were not
    made have the status "interrupted".
    """
    if isinstance(experiments, AbstractExperiment):
        experiments = [experiments]
    setup = checked_setup(system, list(experiments), unknowns, dt, solver, rtol, atol, max_steps, loss)
    _check(setup)
    console = Console(progress)
    for remark in (*setup.remarks, *texts(before(setup, jnp.asarray(setup.unknowns.start)))[:_MOST_HINTS]):
        console.say(remark)
    size = None if chunk is None else check_whole("chunk", chunk)
    batches = FitBatches(setup, check_whole("max_iterations", max_iterations), folder, size)
    if resume:
        batches.restore()
    batches.run(console, executor)
    return collected(setup, batches.problem, batches.found)


def _check(setup: FitSetup) -> None:
    if setup.validation:
        raise ParameterError("identify_each fits every experiment: none can be for validation.")
    if len(setup.groups) > 1:
        raise ParameterError("identify_each needs experiments with the same times, channels and changed parameters.")
    slots = {slot for target in setup.unknowns.targets for row in target.slots for slot in row}
    own = any(len(set(target.slots)) > 1 for target in setup.unknowns.targets)
    if own or len(slots) != len(setup.unknowns.names):
        raise ParameterError("identify_each fits every experiment by itself: leave out own=True.")
    channels = setup.groups[0].program.channels
    if setup.estimated and len(channels) > 1:
        raise ParameterError("identify_each estimates the noise of one channel only: give that of each Channel.")
    if setup.estimated and (setup.loss != "linear" or np.any(np.isfinite(setup.unknowns.prior_deviation))):
        raise ParameterError(
            "identify_each needs the noise of the Channel to weigh priors or to tell outliers: give it."
        )
    for experiment in setup.experiments:
        check_samples(setup, [experiment])
