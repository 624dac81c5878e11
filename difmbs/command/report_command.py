"""difmbs report: the page of a fit or a design, written again."""

import click

from .shell import Report, command, in_background, start_jax


@click.command("report")
@click.argument("folder")
@click.option("--allow-outside", is_flag=True, help="Files may lie outside of the folder of the file that names them.")
@command
def report(report: Report, folder: str, allow_outside: bool) -> int:
    """Write the report of a fit or a design again.

    FOLDER is that of difmbs identify or optimize; report.html goes there.
    """
    start_jax()
    from pathlib import Path

    from ..files.writing import output_folder
    from ..identification.fit import Fit
    from ..reports.report import report as write_page
    from ..task_files.task_folder import stored

    if Path(folder).is_file():
        raise click.UsageError(f"'{folder}' is a file. Pass the folder that difmbs identify or optimize wrote.")
    if not Path(folder).is_dir():
        raise click.UsageError(f"there is no folder '{folder}'.")
    with output_folder(folder, force=True) as path:
        result = in_background(lambda: stored(path, allow_outside=allow_outside))
        note = lambda: report.note("checking the results and writing the report ...")
        in_background(lambda: write_page(result, path / "report.html", force=True), note)
    report.say(f"written: {folder}/report.html ({result.status})")
    verdict = {}
    if isinstance(result, Fit):
        verdict = {"verdict": result.verdict.level, "verdict_sentence": result.verdict.text}
        report.say(result.verdict.text)
    report.end(0, folder=folder, status=result.status, **verdict, files=["report.html"])
    return 0
