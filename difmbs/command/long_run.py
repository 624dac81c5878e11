"""Long simulations on the command line: stopped and resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .shell import Report, in_background, stoppable

_MANY_STEPS = 100_000
"""Runs of more are made in pieces."""
_MOST_CHECKED = 20_000
"""Outputs of such runs at which their health is checked."""


def is_long(settings: Any) -> bool:
    """Whether it may take many steps."""
    if settings.dt is not None:
        return (settings.t_end - settings.t_start) / settings.dt > _MANY_STEPS
    return settings.max_steps > _MANY_STEPS


def long_run(report: Report, system: Any, settings: Any, folder: Path, goes_on: bool) -> tuple[Any, Any, int | None]:
    """The solution, its health, and the signal that stopped it, if one did. After a second signal nothing is written,
    but what was saved on the way."""
    import numpy as np

    from ..files.long_simulation import RunFolder, go_on
    from ..simulation.health import check
    from ..simulation.moved_starts import warn_if_moved
    from ..simulation.simulate import run_in_pieces
    from ..simulation.solution import reached

    bar = False if report.as_json or report.quiet else None

    def work(stopped: Callable[[], bool]) -> Any:
        run = run_in_pieces(system, **settings.arguments())
        kept = RunFolder(folder, run)
        if goes_on:
            kept.restore()
        go_on(run, kept, progress=bar, stopped=stopped)
        return run.solution()

    solution, number = stoppable(work)
    if number is not None:
        return solution, None, number
    warn_if_moved(solution)
    # Of very many outputs the first and the last would take as long as the simulation.
    rows = np.flatnonzero(reached(solution))
    health = in_background(lambda: check(_thinned(solution, rows))) if len(rows) else None
    return solution, health, None


def _thinned(solution: Any, rows: Any) -> Any:
    """With as many outputs as its health is judged by."""
    import numpy as np

    from ..simulation.solution import at_rows

    kept = rows[np.unique(np.linspace(0, len(rows) - 1, min(_MOST_CHECKED, len(rows))).round().astype(int))]
    return at_rows(solution, kept) if len(kept) < len(solution.t) else solution


def words_to_resume(
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
