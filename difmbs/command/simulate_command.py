"""difmbs simulate: from a model file to a folder of results."""

import dataclasses
import itertools
import json
import shlex
import signal
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from .input_options import driven, recorded_inputs
from .shell import STOPPED, Interrupted, Report, command, in_background, installed, plain, start_jax

_MOST_COLUMNS = 1000
"""Largest number of columns of a table that nobody has asked for."""
_MANY_STEPS = 100_000
"""Runs of more are made in pieces."""
_MOST_CHECKED = 20_000
"""Outputs of such runs at which their health is checked."""


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

    described = read_model(model, allow_outside=allow_outside)
    settings = _settings(model, described.simulation, t_end, save_dt)
    changes, recorded = _changes(given), recorded_inputs(inputs)
    system = changed(described.assemble(), changes)
    system, settings, remark = driven(system, settings, recorded)
    if remark:
        report.say(remark)
    goes_on = resume and RunFolder.begun(out)
    with output_folder(out, force=force or goes_on) as folder:
        if resume and not goes_on:
            report.say(f"there is nothing in {out} to go on from: it starts from the beginning")
        if not goes_on:
            clear_pieces(folder)
        stopped = None
        with stopwatch() as seconds:
            if in_pieces or resume or _long(settings):
                solution, health, stopped = _long_run(report, system, settings, folder, goes_on)
            else:
                solution, health = in_background(lambda: _run(system, settings))
        message = _message(solution)
        said = {"status": solution.status, "message": message, "stats": solution.stats, "health": _numbers(health)}
        how = {"settings": settings.table(), "set": changes, "inputs": list(inputs), **said}
        left_out = _write(folder, solution, described, how, force or goes_on)
        if stopped is None:
            clear_pieces(folder)
    good = int(_reached(solution).sum())
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
        again = shlex.join(_again(model, t_end, save_dt, given, inputs, out, allow_outside))
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


def _again(
    model: str,
    t_end: float | None,
    save_dt: float | None,
    given: tuple[str, ...],
    inputs: tuple[str, ...],
    out: str,
    allow_outside: bool,
) -> list[str]:
    """The command that goes on."""
    words = ["difmbs", "simulate", model, "--resume"]
    words += ["--t-end", repr(t_end)] if t_end is not None else []
    words += ["--save-dt", repr(save_dt)] if save_dt is not None else []
    words += [word for change in given for word in ("--set", change)]
    words += [word for column in inputs for word in ("--input", column)]
    words += ["--out", out] if out != "run" else []
    return words + ["--allow-outside"] * allow_outside


def _long(settings: Any) -> bool:
    """Whether it may take many steps."""
    if settings.dt is not None:
        return (settings.t_end - settings.t_start) / settings.dt > _MANY_STEPS
    return settings.max_steps > _MANY_STEPS


def _long_run(report: Report, system: Any, settings: Any, folder: Path, goes_on: bool) -> tuple[Any, Any, int | None]:
    """The solution, its health, and the signal that stopped it, if one did. After a second signal nothing is written,
    but what was saved on the way."""
    import numpy as np

    from ..files.long_simulation import RunFolder, go_on
    from ..simulation.health import check
    from ..simulation.moved_starts import warn_if_moved
    from ..simulation.simulate import run_in_pieces

    ended, stopping = threading.Event(), threading.Event()
    bar = False if report.as_json or report.quiet else None

    def work() -> Any:
        try:
            run = run_in_pieces(system, **settings.arguments())
            kept = RunFolder(folder, run)
            if goes_on:
                kept.restore()
            go_on(run, kept, progress=bar, stopped=stopping.is_set)
            return run.solution()
        finally:
            ended.set()

    future: Future[Any] = Future()

    def kept_work() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    number = None
    try:
        in_background(kept_work)
    except Interrupted as interrupted:
        number = interrupted.number
        stopping.set()
        in_background(ended.wait)
    solution = future.result()
    if number is not None:
        return solution, None, number
    warn_if_moved(solution)
    # Of very many outputs the first and the last would take as long as the simulation.
    rows = np.flatnonzero(_reached(solution))
    health = in_background(lambda: check(_thinned(solution, rows))) if len(rows) else None
    return solution, health, None


def _thinned(solution: Any, rows: Any) -> Any:
    """With as many outputs as its health is judged by."""
    import numpy as np

    from ..simulation.solution import at_rows

    kept = rows[np.unique(np.linspace(0, len(rows) - 1, min(_MOST_CHECKED, len(rows))).round().astype(int))]
    return at_rows(solution, kept) if len(kept) < len(solution.t) else solution


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

    solution = jax.block_until_ready(simulate(system, throw=False, **settings.arguments()))
    warn_if_moved(solution)
    return solution, check(solution) if np.any(_reached(solution)) else None


def _numbers(health: Any) -> dict[str, Any]:
    names = ("position", "velocity", "acceleration", "worst", "balance", "quadrature")
    return {name: getattr(health, name) for name in names} if health else {}


def _reached(solution: Any) -> Any:
    import numpy as np

    return np.all(np.isfinite(np.asarray(solution.q)), axis=-1)


def _message(solution: Any) -> str | None:
    """Why it stopped early."""
    from ..core.errors import SimulationError
    from ..simulation.solution import raise_if_failed

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

    from ..simulation.solution import all_outputs

    system, reached = solution.system, _reached(solution)
    sensors = {name: np.asarray(solution[name]) for name in system.structure.readings}
    columns: dict[str, Any] = {}
    for name, values in (sensors or all_outputs(solution)).items():
        columns |= _numbered(system, name, values[reached])
    shown = columns if sensors else dict(itertools.islice(columns.items(), _MOST_COLUMNS))
    return {"t": np.asarray(solution.t)[reached]} | shown, len(columns)


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
