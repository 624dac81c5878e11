"""difmbs simulate: from a model file to a folder of results."""

import dataclasses
import itertools
import json
import shlex
import signal
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from .input_options import driven, recorded_inputs
from .long_run import is_long, long_run, words_to_resume
from .shell import STOPPED, Report, command, in_background, installed, plain, start_jax

_MOST_COLUMNS = 1000
"""Largest number of columns of a table that nobody has asked for."""


@click.command("simulate")
@click.argument("model")
@click.option("--t-end", type=float, help="When it ends [s], instead of what the file says.")
@click.option("--save-dt", type=float, help="Time between outputs [s], instead of what the file says.")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="Such as spring.stiffness=3e3.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=FILE:COLUMN[:UNIT]",
    help="What drives it, such as profile.offset=ride.csv:road:mm.",
)
@click.option("--out", default="run", show_default=True, help="The folder for the results.")
@click.option("--force", is_flag=True, help="Replace results that are there.")
@click.option("--in-pieces", is_flag=True, help="As long runs are made: with a bar, saved on the way.")
@click.option("--resume", is_flag=True, help="Go on where it was stopped.")
@click.option("--allow-outside", is_flag=True, help="The tables that MODEL names may lie outside of its folder.")
@command
def simulate(
    report: Report,
    model: str,
    t_end: float | None,
    save_dt: float | None,
    given: tuple[str, ...],
    inputs: tuple[str, ...],
    out: str,
    force: bool,
    in_pieces: bool,
    resume: bool,
    allow_outside: bool,
) -> int:
    """Simulate a model.

    MODEL is a .toml file. Writes manifest.json, sensors.csv and solution.npz.
    """
    start_jax()
    from ..files.long_simulation import RunFolder, clear_pieces
    from ..files.model_files import read_model
    from ..files.writing import output_folder
    from ..simulation.solution import reached

    described = read_model(model, allow_outside=allow_outside)
    settings = _settings(model, described.simulation, t_end, save_dt)
    changes, recorded = _changes(given), recorded_inputs(inputs)
    system = changed(described.assemble(), changes)
    system, settings, remark = driven(system, settings, recorded)
    if remark:
        report.say(remark)
    goes_on = resume and RunFolder.begun(out)
    if resume and not goes_on and not force and (Path(out) / "manifest.json").exists():
        raise click.UsageError(f"there is nothing in {out} to go on from: it is finished. --force begins again.")
    with output_folder(out, force=force or goes_on) as folder:
        if resume and not goes_on:
            report.say(f"there is nothing in {out} to go on from: it starts from the beginning")
        if not goes_on:
            clear_pieces(folder)
        stopped = None
        with stopwatch() as seconds:
            if in_pieces or resume or is_long(settings):
                solution, health, stopped = long_run(report, system, settings, folder, goes_on)
            else:
                solution, health = in_background(lambda: _run(system, settings))
        message = _message(solution)
        said = {"status": solution.status, "message": message, "stats": solution.stats, "health": _numbers(health)}
        how = {"settings": settings.table(), "set": changes, "inputs": list(inputs), **said}
        left_out = _write(folder, solution, described, how, force or goes_on)
        if stopped is None:
            clear_pieces(folder)
    good = int(reached(solution).sum())
    report.say(f"{model}: {solution.status} at t = {float(solution.stats['time']):g} s")
    if stopped is None:
        report.say(str(health) if health else "nothing was reached")
    whole = time.perf_counter() - report.begun
    report.say(f"{whole:.1f} s: simulation {seconds['all']:.1f} s, {seconds['compile']:.1f} s of it compiling")
    report.say(f"written: {folder}/manifest.json, sensors.csv, solution.npz ({good} of {len(solution.t)} output times)")
    if not system.structure.readings:
        report.say("the model names no sensor: sensors.csv has all outputs of its bodies and connectors")
    if left_out:
        report.warn(left_out)
    if stopped is not None:
        again = shlex.join(words_to_resume(model, t_end, save_dt, given, inputs, out, allow_outside))
        until = float(solution.stats["time"])
        said_of = f"stopped by {signal.Signals(stopped).name} at t = {until:.6g}; what it reached is saved"
        click.echo(f"{said_of}.\nresume: {again}", err=True)
        report.end(128 + stopped, model=model, out=str(folder), outputs=good, **said, error=said_of, resume=again)
        return 128 + stopped
    if message:
        click.echo(f"simulate: {message}", err=True)
    code, error = (STOPPED, {"error": message}) if message else (0, {})
    report.end(code, model=model, out=str(folder), outputs=good, **said, **error, seconds=seconds)
    return code


def _settings(model: str, described: Any, t_end: float | None, save_dt: float | None) -> Any:
    from ..core.errors import FileError
    from ..files.simulation_settings import SimulationSettings

    if t_end is None and described is None:
        raise FileError(f"{model} has no table [simulation]. Add one with t_end, or pass --t-end.")
    given: dict[str, Any] = {} if t_end is None else {"t_end": t_end}
    given |= {} if save_dt is None else {"save_dt": save_dt, "save_times": None}
    return SimulationSettings(**given) if described is None else dataclasses.replace(described, **given)


def _changes(given: tuple[str, ...]) -> dict[str, Any]:
    """{"spring.stiffness": 3000.0} from "spring.stiffness=3e3"."""
    changes = {}
    for change in given:
        name, equals, value = change.partition("=")
        try:
            changes[name.strip()] = tomllib.loads(f"x = {value}")["x"]
        except (ValueError, RecursionError):
            equals = ""
        if not equals or "." not in name:
            raise click.UsageError(f"--set takes NAME=VALUE such as spring.stiffness=3e3, got {change!r}.")
    return changes


def changed(system: Any, changes: dict[str, Any]) -> Any:
    """The system with some parameters replaced, by their dotted names."""
    from ..core.errors import ParameterError
    from ..core.parameters import nest

    try:
        for name, value in changes.items():
            system = system.with_params(nest({tuple(name.split(".")): value}))
    except ParameterError as error:
        raise click.UsageError(f"--set: {error}") from None
    return system


def _run(system: Any, settings: Any) -> tuple[Any, Any]:
    import jax
    import numpy as np

    from ..simulation.health import check
    from ..simulation.moved_starts import warn_if_moved
    from ..simulation.simulate import simulate
    from ..simulation.solution import reached

    solution = jax.block_until_ready(simulate(system, throw=False, **settings.arguments()))
    warn_if_moved(solution)
    return solution, check(solution) if np.any(reached(solution)) else None


def _numbers(health: Any) -> dict[str, Any]:
    names = ("position", "velocity", "acceleration", "worst", "balance", "quadrature")
    return {name: getattr(health, name) for name in names} if health else {}


def _message(solution: Any) -> str | None:
    """Why it stopped early."""
    from ..core.errors import SimulationError
    from ..simulation.early_stops import raise_if_failed

    try:
        raise_if_failed(solution)
    except SimulationError as error:
        return str(error)
    return None


def _write(folder: Path, solution: Any, described: Any, said: dict[str, Any], force: bool) -> str | None:
    """The manifest last: where it is, the others are whole. Returns what is left out, if something is."""
    from ..files.results import save_solution
    from ..files.tables import write_table
    from ..files.writing import replacing

    save_solution(solution, folder / "solution.npz", force=force)
    columns, count = _columns(solution)
    write_table(folder / "sensors.csv", columns, force=force)
    manifest = {
        "schema": 1,
        "model": {"file": described.document.path, "sha256": described.document.sha256},
        "versions": installed("difmbs", "jax", "jaxlib", "diffrax", "equinox", "numpy"),
        **said,
    }
    with replacing(folder / "manifest.json", force=force) as file:
        file.write((json.dumps(plain(manifest), indent=2, ensure_ascii=False) + "\n").encode())
    if count < len(columns):
        return None
    return f"sensors.csv has the first {len(columns) - 1} of {count} numbers; name sensors to choose others."


def _columns(solution: Any) -> tuple[dict[str, Any], int]:
    """Time and sensors, at the times that were reached, with a column for each number: "tip.x", "beads[3].x".

    Where no sensor is named, all outputs of bodies and connectors, as far as there is room; and how many columns that
    would be.
    """
    import numpy as np

    from ..simulation.solution import all_outputs, reached

    system, good = solution.system, reached(solution)
    sensors = {name: np.asarray(solution[name]) for name in system.structure.readings}
    columns: dict[str, Any] = {}
    for name, values in (sensors or all_outputs(solution)).items():
        columns |= _numbered(system, name, values[good])
    shown = columns if sensors else dict(itertools.islice(columns.items(), _MOST_COLUMNS))
    return {"t": np.asarray(solution.t)[good]} | shown, len(columns)


def _numbered(system: Any, name: str, values: Any) -> dict[str, Any]:
    """A column for each number of an output."""
    from ..dynamics.outputs import entry_names

    names = entry_names(system, name, values.shape[1:])
    return dict(zip(names, values.reshape(len(values), len(names)).T, strict=True))


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Seconds in all, and of compiling."""
    import jax

    seconds = {"all": 0.0, "compile": 0.0}

    def count(event: str, duration_secs: float, **_: Any) -> None:
        if event.endswith(("backend_compile_duration", "jaxpr_to_mlir_module_duration")):
            seconds["compile"] += duration_secs

    jax.monitoring.register_event_duration_secs_listener(count)
    start = time.perf_counter()
    try:
        yield seconds
    finally:
        seconds["all"] = time.perf_counter() - start
        jax.monitoring.unregister_event_duration_listener(count)
