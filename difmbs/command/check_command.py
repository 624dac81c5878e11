"""difmbs check: what a file describes, and whether the constraints of the model are sound."""

from typing import Any

import click

from ..core.errors import counted
from . import identify_command, optimize_command
from .figure_files import checked_kind, write_figure
from .shell import FAILED_CHECK, Report, command, in_background, start_jax

_KINDS = ("bodies", "forces", "constraints", "events")


@click.command("check")
@click.argument("file")
@click.option("--picture", metavar="FILE", help="Draw the model: a .png, .svg or .pdf file.")
@click.option("--force", is_flag=True, help="Replace a picture that is there.")
@click.option("--allow-outside", is_flag=True, help="The files it names may lie outside of its folder.")
@command
def check(report: Report, file: str, picture: str | None, force: bool, allow_outside: bool) -> int:
    """Say what is in a file, and whether it is sound.

    FILE is a model, a fit, a design or a sweep. Of a fit it shows what was measured, beside what the start values
    predict, which takes one simulation.
    """
    start_jax()
    from ..files.model_files import read_model
    from ..task_files.design_file import load_design
    from ..task_files.fit_file import load_fit
    from ..task_files.sweep_file import load_sweep
    from ..task_files.task_kinds import kind_of

    kind, unknowns = kind_of(file), dict[str, Any]()
    if kind == "model":
        described = read_model(file, allow_outside=allow_outside)
        system = described.assemble()
    elif kind == "sweep":
        sweep = load_sweep(file, allow_outside=allow_outside)
        described, system = sweep.model, sweep.system
        report.say(f"{file} is a sweep file: {sweep.summary}, {counted(len(sweep.outputs), 'output')}")
    else:
        load, summary = (
            (load_fit, identify_command.summary) if kind == "fit" else (load_design, optimize_command.summary)
        )
        task = load(file, allow_outside=allow_outside)
        described, system, unknowns = task.model, task.system, {"unknowns": task.unknown_numbers}
        report.say(f"{file} is a {kind} file: {summary(task)}")
        unknowns |= _data(report, task) if kind == "fit" else {}
    if picture is not None:
        in_background(lambda: _draw(described.model, picture, force))
        report.say(f"written: {picture}")
        unknowns |= {"picture": picture}
    return _check_model(report, described, system, kind == "model", file=file, kind=kind, **unknowns)


def _draw(model: Any, path: str, force: bool) -> None:
    """The mechanism, and beside it what is connected to what."""
    import matplotlib

    matplotlib.use("Agg")
    from ..plots.style import new_figure

    checked_kind("--picture", path)
    figure = new_figure(11, 5)
    first, second = figure.subplots(1, 2)
    model.draw(first)
    model.draw_graph(second)
    write_figure(figure, path, force)


def _data(report: Report, task: Any) -> dict[str, Any]:
    """What was measured, beside what the start values predict."""
    import dataclasses

    from ..identification.overview import overview

    found = in_background(lambda: overview(task.setup))
    for line in (*task.setup.remarks, *found.lines()):
        report.say(line)
    return {"data": dataclasses.asdict(found)}


def _check_model(report: Report, described: Any, system: Any, alone: bool, **more: Any) -> int:
    """`alone`: it is not that of a fit or a design, which say themselves how they simulate it; `more`: for JSON."""
    found = _counts(system) | _constraints(system)
    sensors, model = list(system.structure.readings), described.document.path
    report.say(f"{model} is a model file: {', '.join(f'{kind}: {found[kind]}' for kind in _KINDS if found[kind])}")
    coordinates = counted(found["coordinates"], "coordinate")
    report.say(f"{coordinates}, {counted(found['velocities'], 'velocity coordinate')}")
    if found["equations"]:
        off = f"off by {found['violation']:.2g} at the start"
        equations = counted(found["equations"], "equation of constraints", "equations of constraints")
        report.say(f"{equations} of rank {found['rank']}, {off}")
    report.say(counted(found["degrees_of_freedom"], "degree of freedom", "degrees of freedom"))
    report.say(f"sensors: {', '.join(sensors) or 'none'}")
    if alone:
        settings = "not described" if described.simulation is None else _settings(described.simulation)
        report.say(f"simulation: {settings}")
    if found["rank"] == found["equations"] or described.redundant != "warn":
        report.end(0, **more, model=model, **found, sensors=sensors)
        return 0
    error = f'constraints are redundant. To allow that, write redundant = "min_norm" into {model}.'
    click.echo(f"check: {error}", err=True)
    report.end(FAILED_CHECK, **more, model=model, **found, sensors=sensors, error=error)
    return FAILED_CHECK


def _counts(system: Any) -> dict[str, Any]:
    kinds: dict[str, int] = {"bodies": -1}  # without the ground
    for element in system.structure.elements.values():
        kind = "forces" if element.kind == "fields" else element.kind
        kinds[kind] = kinds.get(kind, 0) + element.count
    counts = {kind: kinds.get(kind, 0) for kind in _KINDS}
    return counts | {"coordinates": system.structure.coordinate_count, "velocities": system.structure.velocity_count}


def _constraints(system: Any) -> dict[str, Any]:
    """Number of equations of the active constraints, and of the independent ones among them, at the start."""
    import jax
    import numpy as np

    violations = jax.jit(lambda system, state: system.violations(0.0, *state))(system, system.initial_state())
    structure = system.structure
    rank = structure.multiplier_count - structure.analysed.repeated
    return {
        "equations": structure.multiplier_count,
        "rank": rank,
        "degrees_of_freedom": structure.velocity_count - rank,
        "violation": float(np.abs(np.concatenate(violations)).max(initial=0)),
    }


def _settings(simulation: Any) -> str:
    return ", ".join(f"{key} = {value}" for key, value in simulation.table().items() if key != "save_times")
