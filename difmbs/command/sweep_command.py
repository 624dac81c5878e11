"""difmbs sweep: from a sweep file to a folder of results; difmbs merge: of its parts one."""

import json
import re
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..core.errors import counted
from .shell import STOPPED, Report, command, installed, plain, start_jax, stoppable

_PART = re.compile(r"(\d{1,9})/(\d{1,9})")
_FOLDER = "sweep"


@click.command("sweep")
@click.argument("file", metavar="SWEEP")
@click.option("--part", metavar="I/N", help="Of N parts the I-th, from 0 on, such as 3/100.")
@click.option("--resume", is_flag=True, help="Go on where it was stopped.")
@click.option("--out", help="The folder for the results.  [default: sweep, of a part sweep-I]")
@click.option("--force", is_flag=True, help="Replace results that are there.")
@click.option("--allow-outside", is_flag=True, help="The files it names may lie outside of its folder.")
@command
def sweep(
    report: Report, file: str, part: str | None, resume: bool, out: str | None, force: bool, allow_outside: bool
) -> int:
    """Simulate a model with many sets of parameters.

    SWEEP is a .toml file that says which parameters are sampled and what is kept of each run.

    Writes sweep.npz, runs.csv, sweep.svg and manifest.json.
    """
    start_jax()
    from ..sweeps.sweep_folder import RESULT
    from ..task_files.sweep_file import load_sweep

    number, count = _part(part)
    folder = Path(out or (_FOLDER if part is None else f"{_FOLDER}-{number}"))
    task = load_sweep(file, allow_outside=allow_outside)
    report.say(f"{file}: {task.summary}")
    shown = False if report.as_json or report.quiet else None
    work = lambda stopped: task.run(
        part=(number, count), folder=folder, resume=resume, force=force, progress=shown, stopped=stopped
    )
    result, stopped = stoppable(work)
    if stopped is not None and not (folder / RESULT).exists():
        return _interrupted(report, result, stopped, file, part, out, allow_outside)
    documents = {document.path: document.sha256 for document in (task.document, task.model.document)}
    return _written(report, result, folder, {"command": "sweep", "files": documents, "part": [number, count]})


@click.command("merge")
@click.argument("parts", nargs=-1, required=True)
@click.option("--out", default=_FOLDER, show_default=True, help="The folder for the results.")
@click.option("--force", is_flag=True, help="Replace results that are there.")
@command
def merge(report: Report, parts: tuple[str, ...], out: str, force: bool) -> int:
    """Make one sweep of its parts.

    PARTS are folders that difmbs sweep --part wrote. Writes what difmbs sweep writes.
    """
    from ..files.writing import output_folder
    from ..sweeps.merge_sweeps import merge_sweeps
    from ..sweeps.sweep_folder import RESULT, save_sweep

    result = merge_sweeps(parts)
    with output_folder(out, force=force) as folder:
        save_sweep(result, folder / RESULT, force=True)
    return _written(report, result, folder, {"command": "merge", "parts": list(parts)})


def _part(given: str | None) -> tuple[int, int]:
    found = _PART.fullmatch(given or "0/1")
    if found is None or not int(found[1]) < int(found[2]):
        raise click.UsageError(f"--part takes I/N such as 3/100, with I from 0 to N - 1, got {given!r}.")
    return int(found[1]), int(found[2])


def _written(report: Report, result: Any, folder: Path, said: dict[str, Any]) -> int:
    """The manifest last: where it is, the others are whole."""
    from ..files.tables import write_table
    from ..files.writing import output_folder, replacing
    from ..sweeps.sweep_folder import RESULT

    counts = {word: int(n) for word, n in zip(*_counted(result.status), strict=True)}
    missing = result.count - len(result) if said["command"] == "merge" else 0
    files = [RESULT, "runs.csv", "sweep.svg", "manifest.json"]
    said |= {"runs": len(result), "status": counts, "missing": missing, "fingerprint": result.fingerprint}
    said |= {"versions": installed("difmbs", "jax", "jaxlib", "diffrax", "equinox", "numpy"), "written": files}
    with output_folder(folder, force=True):
        (folder / "manifest.json").unlink(missing_ok=True)
        write_table(folder / "runs.csv", {"run": result.rows, "code": result.code, **result.columns()}, force=True)
        _draw(result, folder / "sweep.svg")
        with replacing(folder / "manifest.json", force=True) as file:
            file.write((json.dumps(plain({"schema": 1, **said}), indent=2, ensure_ascii=False) + "\n").encode())
    report.say(str(result))
    report.say(f"{time.perf_counter() - report.begun:.1f} s; written: {folder}/{', '.join(files)}")
    code, error = 0, {}
    if missing:
        error = {"error": f"{missing} of {result.count} runs are in none of these parts"}
        click.echo(f"merge: {error['error']}.", err=True)
        code = STOPPED
    means = {name: _statistics(result, name) for name in result.outputs if _is_number(result, name)}
    report.end(code, out=str(folder), **said, outputs=means, **error)
    return code


def _counted(words: Any) -> Any:
    import numpy as np

    return np.unique(words, return_counts=True)


def _is_number(result: Any, name: str) -> bool:
    return result[name].ndim == 1 and bool(result.finite(name).any())


def _statistics(result: Any, name: str) -> dict[str, Any]:
    low, median, high = result.quantile(name, [0.05, 0.5, 0.95])
    spread = {"mean": result.mean(name), "standard_deviation": result.standard_deviation(name)}
    return spread | {"quantile_5": low, "median": median, "quantile_95": high}


def _draw(result: Any, path: Path) -> None:
    """How each output is distributed."""
    import matplotlib

    matplotlib.use("Agg")
    from ..plots.style import new_figure, style
    from .figure_files import write_figure

    drawn = {name: x.ndim == 1 + (name in result.over_time) for name, x in result.outputs.items()}
    names = [name for name, one in drawn.items() if one and result.finite(name).any()][:12]
    with style():
        figure = new_figure(6.4, max(2.4 * len(names), 2.4))
        axes = figure.subplots(max(len(names), 1), 1, squeeze=False)[:, 0]
        draw: Callable[..., Any] = result.plot
        for name, one in zip(names, axes, strict=False):
            draw(name, ax=one)
        write_figure(figure, str(path), True)


def _interrupted(
    report: Report, result: Any, number: int, file: str, part: str | None, out: str | None, allow_outside: bool
) -> int:
    # Where all runs are made, what is left is to make failed ones again.
    left = int((result.status == "interrupted").sum())
    words = ["difmbs", "sweep", file, "--resume", *(["--part", part] if part else []), *(["--out", out] if out else [])]
    again = shlex.join(words + ["--allow-outside"] * allow_outside)
    said = f"stopped by {signal.Signals(number).name}; {len(result) - left} of {counted(len(result), 'run')} are saved"
    click.echo(f"{said}.\nresume: {again}", err=True)
    report.end(128 + number, file=file, error=said, resume=again)
    return 128 + number
