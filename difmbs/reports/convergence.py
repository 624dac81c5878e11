"""How a search went: objective and unknowns over iterations."""

from collections.abc import Sequence

import numpy as np

from ..core.formatting import Number, listed, short
from ..core.markup import Html, figure, join, note, paragraph, table
from ..identification.best_start import TriedStarts
from ..plots.inline_svg import Drawing
from ..plots.style import DATA, FIT, SERIES, label, logarithmic, new_figure, style
from ..search.progress import Iteration

_CURVES = 8
_FIRST, _LAST = 10, 15
"""Iterations of a long search that its table shows."""
_COLUMNS = 4


def curves_and_table(
    drawing: Drawing, names: Sequence[str], history: Sequence[Iteration], final: np.ndarray, measure: str
) -> Html:
    if not history:
        return paragraph("No iteration was recorded.")
    return join([_curves(drawing, names, history, final, measure), _table(names, history, measure)])


def _curves(drawing, names, history, final, measure) -> Html:
    at = np.array([line.number for line in history])
    heights = np.array([line.value for line in history])
    taken = np.array([line.accepted for line in history])
    drawn = np.flatnonzero(final != 0)[:_CURVES]
    with style():
        whole = new_figure(8.4, 2.8)
        left, right = whole.subplots(1, 2)
        left.plot(at[taken], heights[taken], "-o", color=DATA, ms=3.5)
        left.plot(at[~taken], heights[~taken], "o", mfc="none", color=FIT, ms=4)
        left.set_title(measure)
        left.set_xlabel("iteration")
        if np.all(heights[np.isfinite(heights)] > 0) and np.any(heights > 0):
            logarithmic(left)
        for color, i in zip(SERIES, drawn, strict=False):
            values = np.array([line.values[i] for line in history])
            right.plot(at[taken], values[taken] / final[i], "-o", color=color, ms=2.5, label=label(names[i], 26))
        right.set_title("unknowns / their final values")
        right.set_xlabel("iteration")
        if len(drawn):
            right.legend(loc="best", handlelength=1.2)
        for axes in (left, right):
            axes.xaxis.get_major_locator().set_params(integer=True)
        picture = drawing.svg(whole, f"{measure} and unknowns over the iterations")
    refused = " Hollow: steps that were not taken." if not np.all(taken) else ""
    more = f" Of {len(names)} unknowns {len(drawn)} are drawn." if len(drawn) < len(names) else ""
    return figure(picture, f"From the start to the end of the search.{refused}{more}")


def _table(names, history, measure) -> Html:
    long = len(history) > _FIRST + _LAST
    shown = [*history[:_FIRST], *history[-_LAST:]] if long else list(history)
    head = ["iteration", measure, "step", "taken", *names[:_COLUMNS]]
    rows = [
        (
            Number(line.number),
            short(line.value, 7),
            short(line.step, 2),
            "yes" if line.accepted else "no",
            *(short(x, 7) for x in line.values[:_COLUMNS]),
        )
        for line in shown
    ]
    said = []
    if long:
        said.append(f"Of {len(history)} iterations the first {_FIRST} and the last {_LAST} are shown.")
    if len(names) > _COLUMNS:
        said.append(f"Of {len(names)} unknowns {_COLUMNS} are shown.")
    said.append("Step: the largest change of a logarithm or, relative to start or range, of a number.")
    return join([table(head, rows), note(" ".join(said))])


def starts(names: Sequence[str], tried: TriedStarts) -> Html:
    """The results of several starts, the best one first."""
    head = ["rank", "chi²", *(f"{n}, start" for n in names[:3]), *(f"{n}, end" for n in names[:3])]
    rows = [
        (Number(k + 1), short(chi2, 6), *(short(x, 5) for x in start[:3]), *(short(x, 5) for x in end[:3]))
        for k, (chi2, start, end) in enumerate(zip(tried.chi2, tried.starts, tried.values, strict=True))
    ]
    said = f"{tried.agreeing} of {len(tried.chi2)} starts ended where the best one did."
    more = f" Of the unknowns {listed(names[:3])} are shown." if len(names) > 3 else ""
    return join([paragraph(said + more), table(head, rows, 40)])
