"""difmbs optimize: from a design file to a folder with the best parameters and a report."""

from typing import Any

import click

from ..core.errors import counted
from .shell import Report, command, start_jax
from .task_command import Options, options_of_searches, search


@click.command("optimize")
@click.argument("file", metavar="DESIGN")
@options_of_searches("design")
@command
def optimize(report: Report, file: str, **given: Any) -> int:
    """Find the parameters for which a motion is best.

    DESIGN is a .toml file that says what is to be small and what is unknown.

    Writes parameters.toml, model.toml and report.html.
    """
    start_jax()
    from ..task_files.design_file import load_design

    options = Options("optimize", file, **given)
    task = load_design(file, allow_outside=options.allow_outside)
    report.say(f"{file}: {summary(task)}")
    return search(report, task, options, _numbers, lambda design: (str(design), ""))


def summary(task: Any) -> str:
    """What there is in a design task."""
    counts = [(task.unknown_numbers, "unknown"), (task.objectives, "objective"), (task.limits, "limit")]
    return ", ".join(counted(len(things), word) for things, word in counts)


def _numbers(design: Any) -> dict[str, Any]:
    return {"objective": design.objective, "objectives": design.objectives, "limits": design.limits}
