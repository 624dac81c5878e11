"""What objects show of themselves in notebooks: a short table, and the picture one would ask for first."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..core.formatting import plain
from ..core.markup import Html, join, tag
from .inline_svg import Drawing
from .style import new_figure, style

_MOST_ROWS = 15


def cell_output(title: str, rows: Sequence[Sequence[object]], head: Sequence[object] = (), picture: Any = None) -> str:
    """A title, the first rows of a table, and a picture, where that can be drawn."""
    kept = [tag("tr", *(tag("td", plain(x)) for x in row)) for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        kept.append(tag("tr", tag("td", f"and {len(rows) - _MOST_ROWS} more", colspan=max(map(len, rows)))))
    above = [tag("thead", tag("tr", *(tag("th", plain(x)) for x in head)))] if head else []
    table = tag("table", *above, tag("tbody", *kept)) if rows else Html("")
    return str(tag("div", tag("p", tag("b", title)), table, _drawn(picture) if picture is not None else Html("")))


def picture_of(draw: Callable[[Any], Any], width: float = 6.4, height: float = 3.2) -> Callable[[], Html]:
    """A picture that is drawn when it is asked for, by a function of axes."""

    def made() -> Html:
        with style():
            figure = new_figure(width, height)
            draw(figure.add_subplot())
            return Drawing().svg(figure, "picture")

    return made


def _drawn(picture: Callable[[], Html]) -> Html:
    # A table is worth showing, whatever happens to its picture.
    with contextlib.suppress(Exception):
        return join([picture()])
    return Html("")
