"""HTML from Python: text is escaped unless it is `Html` already."""

import html
from collections.abc import Iterable, Sequence

from .formatting import Number, plain

_EMPTY = ("meta",)


class Html(str):
    """Text that is markup."""

    __slots__ = ()


def escape(content: object) -> Html:
    return content if isinstance(content, Html) else Html(html.escape(plain(content)))


def join(parts: Iterable[object]) -> Html:
    return Html("".join(map(escape, parts)))


def tag(name: str, /, *content: object, **attributes: object) -> Html:
    """An element; attributes that are None are left out, `class_` is `class`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>" if name in _EMPTY else f"<{name}{given}>{join(content)}</{name}>")


def paragraph(*content: object) -> Html:
    return tag("p", *content)


def note(*content: object) -> Html:
    """What explains, in smaller letters."""
    return tag("p", *content, class_="note")


def items(entries: Iterable[object]) -> Html:
    return tag("ul", *(tag("li", entry) for entry in entries))


def cell(content: object, full: object = None) -> Html:
    """A number or text in a table; `full`: what is shown when the pointer rests on it."""
    numeric = "number" if isinstance(content, Number) else None
    return tag("td", content, class_=numeric, title=full)


def table(head: Sequence[object], rows: Iterable[Sequence[object]], most: int = 200, caption: object = None) -> Html:
    """Rows of cells, which may be made by `cell`; of more than `most` rows the first ones."""
    rows = list(rows)
    numeric = [isinstance(x, Number) or str(x).startswith('<td class="number"') for x in rows[0]] if rows else []
    titles = [
        tag("th", x, class_="number" if n else None) for x, n in zip(head, numeric or [False] * len(head), strict=True)
    ]
    body = [
        tag("tr", *(x if isinstance(x, Html) and x.startswith("<td") else cell(x) for x in row)) for row in rows[:most]
    ]
    more = note(f"{len(rows) - most} more rows are not shown.") if len(rows) > most else ""
    above = tag("caption", caption) if caption else ""
    whole = tag("table", above, tag("thead", tag("tr", *titles)), tag("tbody", *body))
    return join([tag("div", whole, class_="wide"), more])


def facts(pairs: Iterable[tuple[object, object]]) -> Html:
    """A table of names and what they are."""
    rows = [tag("tr", tag("th", key), tag("td", value)) for key, value in pairs]
    return tag("div", tag("table", tag("tbody", *rows), class_="facts"), class_="wide")


def figure(picture: Html, *caption: object) -> Html:
    return tag("figure", tag("div", picture, class_="wide"), tag("figcaption", *caption))


def section(key: str, title: str, *content: object) -> tuple[str, str, Html]:
    """A part of a page, for `document`."""
    return key, title, tag("section", tag("h2", title), *content, id=key)


def document(
    title: str,
    subtitle: str,
    style: str,
    sections: Sequence[tuple[str, str, Html]],
    script: str = "",
    allowed: str = "",
) -> str:
    """A whole page with a table of contents. It asks for nothing from outside, and forbids it; of scripts, it runs the
    one whose hash is `allowed`."""
    policy = "default-src 'none'; style-src 'unsafe-inline'" + (f"; script-src {allowed}" if script else "")
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in sections]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("title", title),
        Html(f"<style>\n{style}</style>"),
    )
    header = tag("header", tag("h1", title), tag("p", subtitle))
    contents = tag("nav", tag("ol", *links), aria_label="Contents")
    page = tag("div", contents, tag("main", *(s for *_, s in sections)), class_="page")
    body = tag("body", header, page, Html(f"<script>{script}</script>") if script else Html(""))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"
