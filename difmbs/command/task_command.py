"""What identify and optimize have in common: their options, the folder, and the end of the search."""

import dataclasses
import json
import shlex
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from ..core.errors import counted
from .shell import FAILED_CHECK, NOT_CONVERGED, Interrupted, Report, in_background, installed, plain
from .simulate_command import stopwatch

_CHECKS = "comparing derivatives with difference quotients ..."
_WRITES = "checking and writing the results ..."
_GRADIENT_ERROR = 1e-3
"""More of it, relative, is not an error of difference quotients."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of a search on the command line; `name`: of the command."""

    name: str
    file: str
    starts: int | None
    resume: bool
    check_gradient: bool
    out: str
    force: bool
    allow_outside: bool

    def to_resume(self) -> str:
        """The command that goes on with it."""
        words = ["difmbs", self.name, self.file, "--resume"]
        words += ["--out", self.out] if self.out != _FOLDERS[self.name] else []
        words += ["--starts", str(self.starts)] if self.starts is not None else []
        words += ["--allow-outside"] if self.allow_outside else []
        return shlex.join(words)


_FOLDERS = {"identify": "fit", "optimize": "design"}


def options_of_searches(folder: str) -> Callable[[Any], Any]:
    """Adds the options; `folder`: where results go."""
    options = [
        click.option("--starts", type=click.IntRange(1), help="Try so many starts, instead of what the file says."),
        click.option("--resume", is_flag=True, help="Go on where it was stopped."),
        click.option("--check-gradient", is_flag=True, help="Compare derivatives with difference quotients."),
        click.option("--out", default=folder, show_default=True, help="The folder for the results."),
        click.option("--force", is_flag=True, help="Replace results that are there."),
        click.option("--allow-outside", is_flag=True, help="The files it names may lie outside of its folder."),
    ]

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def search(
    report: Report,
    task: Any,
    options: Options,
    numbers: Callable[[Any], Mapping[str, Any]],
    said_of: Callable[[Any], tuple[str, str]],
) -> int:
    """Runs a task and writes what it found; returns the exit code.

    `numbers`: what is said of the result as JSON; `said_of`: for people, first of all and last of all.
    """
    from ..files.writing import output_folder
    from ..task_files.task_folder import TaskFolder

    folder = TaskFolder(Path(options.out), task, options.starts)
    say = lambda text: lambda: report.note(text)
    goes_on = options.resume and folder.begun
    try:
        with output_folder(options.out, force=options.force or goes_on):
            if not goes_on:
                folder.clear()
                if options.resume:
                    report.say(f"there is nothing in {options.out} to go on from: it starts from the beginning")
            with stopwatch() as searching:
                result = in_background(lambda: _run(report, task, folder, options, goes_on))
            with stopwatch() as writing:
                error = in_background(result.check_gradient, say(_CHECKS)) if options.check_gradient else None
                files = in_background(lambda: _write(folder, result, options, error), say(_WRITES))
    except Interrupted as interrupted:
        return _interrupted(report, folder, options, interrupted.number)
    converged = result.status == "converged"
    code = 0 if converged else NOT_CONVERGED
    first, last = said_of(result)
    report.say(first)
    if error is not None:
        report.say(f"derivatives differ by {error:.2g} from difference quotients")
        code = code if error <= _GRADIENT_ERROR else FAILED_CHECK
    seconds = {
        "all": time.perf_counter() - report.begun,
        "search": searching["all"],
        "after": writing["all"],
        "compile": searching["compile"] + writing["compile"],
    }
    report.say(
        f"{seconds['all']:.1f} s: search {seconds['search']:.1f} s, checks and report {seconds['after']:.1f} s; "
        f"{seconds['compile']:.1f} s of it compiling"
    )
    report.say(f"written: {options.out}/{', '.join(files)}")
    found = {"status": result.status, "values": result.values, "start": result.start, **numbers(result)}
    found |= {} if error is None else {"gradient_error": error}
    if code:
        said = f"not converged ({result.status}); the best values so far are saved"
        if converged:
            said = f"the derivatives are wrong by {error:.2g}, relative; please report this"
        if result.status == "max_iterations" and not getattr(result, "hints", ()):
            said += ". Raise max_iterations in [search]"
        click.echo(f"{options.name}: {said}.\nresume: {options.to_resume()}", err=True)
        found |= {"error": said, "resume": options.to_resume()}
    if last:
        report.say(last)
    where = {"file": options.file, "out": options.out, "files": files, "seconds": seconds}
    report.end(code, **where, **found, evaluations=result.evaluations)
    return code


def _run(report: Report, task: Any, folder: Any, options: Options, goes_on: bool) -> Any:
    silent = report.as_json or report.quiet
    return task.run(starts=options.starts, folder=folder.path, resume=goes_on, progress=not silent, watch=folder.watch)


def _write(folder: Any, result: Any, options: Options, error: float | None) -> list[str]:
    """The manifest last: where it is, the others are whole."""
    from ..files.writing import replacing
    from ..reports.report import report as write_page
    from ..task_files.task_folder import MANIFEST

    files = folder.write(result)
    write_page(result, folder.path / "report.html", force=True)
    files = [*files, "report.html", MANIFEST]
    documents = {d.path: d.sha256 for d in (folder.task.document, folder.task.model.document)}
    manifest = {
        "schema": 1,
        "command": options.name,
        "files": documents | folder.task.hashes,
        "starts": options.starts,
        "status": result.status,
        "evaluations": result.evaluations,
        "gradient_error": error,
        "versions": installed("difmbs", "jax", "jaxlib", "diffrax", "equinox", "numpy", "scipy"),
        "written": files,
    }
    with replacing(folder.path / MANIFEST, force=True) as file:
        file.write((json.dumps(plain(manifest), indent=2, ensure_ascii=False) + "\n").encode())
    return files


def _interrupted(report: Report, folder: Any, options: Options, number: int) -> int:
    folder.interrupt()
    said, found = f"stopped by {signal.Signals(number).name}", {}
    if folder.begun:
        best = folder.best
        said += f" after {counted(best.number + 1, 'iteration')}; the best so far is saved" if best else ""
        found = {"resume": options.to_resume()}
    else:
        said += " before the first iteration was finished"
    click.echo(f"{said}.", err=True)
    if folder.begun:
        click.echo(f"resume: {options.to_resume()}", err=True)
    report.end(128 + number, file=options.file, out=options.out, error=said, **found)
    return 128 + number
