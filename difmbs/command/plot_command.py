"""difmbs plot: results of simulations over time, as a picture."""

from typing import Any

import click

from .figure_files import checked_kind, write_figure
from .shell import Report, command, start_jax


@click.command("plot")
@click.argument("run")
@click.argument("names", nargs=-1)
@click.option("--with", "others", multiple=True, metavar="RUN", help="Another run, on top of it.")
@click.option("--out", default="plot.png", show_default=True, help="The picture, a .png, .svg or .pdf file.")
@click.option("--force", is_flag=True, help="Replace a picture that is there.")
@command
def plot(report: Report, run: str, names: tuple[str, ...], others: tuple[str, ...], out: str, force: bool) -> int:
    """Plot results of a simulation over time.

    RUN is a folder that difmbs simulate wrote, or its solution.npz; NAMES are outputs such as tip or spring.force, none
    of them: the first ones.
    """
    start_jax()
    import numpy as np

    from .run_folder import read_results

    checked_kind("--out", out)
    results = {path: read_results(path) for path in (run, *others)}
    import matplotlib

    matplotlib.use("Agg")
    from ..core.errors import FileError

    axes: Any = None
    shown = names or tuple(results[run].names[:6])
    for path, result in results.items():
        try:
            axes = result.plot(*shown, ax=axes, label=path if others else None)
        except FileError as error:
            raise click.UsageError(f"{path}: {error}") from None
    write_figure(np.ravel(axes)[0].figure, out, force)
    report.say(f"written: {out}")
    report.end(0, run=run, names=list(shown), file=out)
    return 0
