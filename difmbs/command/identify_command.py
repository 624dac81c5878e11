"""difmbs identify: from a fit file to a folder with the parameters, their uncertainty and a report."""

from typing import Any

import click

from ..core.errors import counted
from .shell import Report, command, start_jax
from .task_command import Options, options_of_searches, search


@click.command("identify")
@click.argument("file", metavar="FIT")
@options_of_searches("fit")
@command
def identify(report: Report, file: str, **given: Any) -> int:
    """Find parameters from measurements.

    FIT is a .toml file that says what was measured and what is unknown.

    Writes parameters.toml, model.toml, covariance.csv, predictions and report.html.
    """
    start_jax()
    from ..task_files.fit_file import load_fit

    options = Options("identify", file, **given)
    task = load_fit(file, allow_outside=options.allow_outside)
    report.say(f"{file}: {summary(task)}")
    return search(report, task, options, _numbers, lambda fit: (fit.summary(), fit.verdict.text))


def summary(task: Any) -> str:
    """What there is in a fit; samples that are missing do not count."""
    import numpy as np

    held_out = sum(e.validation for e in task.experiments)
    samples = sum(int(np.sum(np.isfinite(data))) for e in task.experiments for data in e.data.values())
    validation = f" ({held_out} of them only predicted)" if held_out else ""
    unknowns = counted(len(task.unknown_numbers), "unknown")
    experiments = counted(len(task.experiments), "experiment")
    return f"{unknowns}, {experiments}{validation}, {counted(samples, 'sample')}"


def _numbers(fit: Any) -> dict[str, Any]:
    behaviour = lambda rows: [row.numbers() for row in rows]
    return {
        "verdict": fit.verdict.level,
        "verdict_sentence": fit.verdict.text,
        "standard_errors": fit.standard_errors,
        "scaled_standard_errors": fit.scaled_standard_errors,
        "error_factor": fit.error_factor,
        "intervals": fit.interval(),
        "chi2": fit.chi2,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "noise": fit.noise,
        "hints": fit.hints,
        "residuals": behaviour(fit.residuals),
        "validation": behaviour(fit.validation),
    }
