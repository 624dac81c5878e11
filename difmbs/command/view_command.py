"""difmbs view: a motion as a page for the browser, or as a film."""

import click

from .shell import Report, command, in_background, start_jax


@click.command("view")
@click.argument("run")
@click.option("--out", help="The .html, .gif or .mp4 file, motion.html in the folder if left out.")
@click.option("--with", "others", multiple=True, metavar="RUN", help="Another run, laid over it.")
@click.option("--color-by", metavar="NAME", help="An output, such as spring.force, or force of all that have one.")
@click.option("--value", "values", multiple=True, metavar="NAME", help="An output whose numbers are shown.")
@click.option("--trail", "trails", multiple=True, metavar="NAME", help="A body or position that leaves a trace.")
@click.option("--shape", "shapes", multiple=True, metavar="BODY=FILE", help="The .stl or .obj file of a body.")
@click.option("--frames", type=click.IntRange(1), default=1000, show_default=True, help="How many at most.")
@click.option("--experiment", metavar="NAME", help="Which one of a fit; the first if left out.")
@click.option("--model", metavar="FILE", help="Where the model is, if it was moved.")
@click.option("--open/--no-open", "opens", default=None, help="Open it in the browser; the default on a terminal.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--allow-outside", is_flag=True, help="Files may lie outside of the folder of the file that names them.")
@command
def view(
    report: Report,
    run: str,
    out: str | None,
    others: tuple[str, ...],
    color_by: str | None,
    values: tuple[str, ...],
    trails: tuple[str, ...],
    shapes: tuple[str, ...],
    frames: int,
    experiment: str | None,
    model: str | None,
    opens: bool | None,
    force: bool,
    allow_outside: bool,
) -> int:
    """Show a motion.

    RUN is a folder that difmbs simulate, identify or optimize wrote: a simulation, the fitted motion with what was
    measured, or the motions at the start and at the optimum.
    """
    start_jax()
    import sys
    import webbrowser
    from pathlib import Path

    import matplotlib

    matplotlib.use("Agg")
    from ..core.errors import ParameterError
    from ..reports.animation import animate
    from .run_folder import motion_of

    path = Path(run) / "motion.html" if out is None else Path(out)
    places = [shape.partition("=") for shape in shapes]
    if any(not (equals and name and file) for name, equals, file in places):
        raise click.UsageError("--shape takes BODY=FILE, such as --shape arm=arm.stl.")

    def work() -> object:
        runs = (run, *others)
        motions = [motion_of(x, model=model if x == run else None, allow_outside=allow_outside) for x in runs]
        return animate(
            motions if others else motions[0],
            path,
            labels=list(runs) if others else None,
            shapes={name: file for name, _, file in places} or None,
            color_by=color_by,
            values=values,
            trails=trails or None,
            experiment=experiment,
            frames=frames,
            title=Path(run).name,
            # What nobody named is made again by the same command.
            force=force or out is None,
        )

    try:
        made = in_background(work, lambda: report.note("drawing ..."))
    except ParameterError as error:
        raise click.UsageError(str(error)) from None
    report.say(f"written: {made}")
    report.end(0, run=run, file=str(path), frames=made.frames, outputs=made.outputs, bytes=made.size)  # type: ignore
    if path.suffix == ".html" and (sys.stdout.isatty() if opens is None else opens):
        webbrowser.open(path.resolve().as_uri())
    return 0
