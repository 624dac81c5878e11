"""Plots as SVG inside of a page: small, the same bytes each time, no names that clash, nothing from outside."""

import io
import itertools
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter

from .markup import Html, plain

DATA, FIT, HELD_OUT, QUIET = "#3c4650", "#d1495b", "#2a7f62", "#9aa3ad"
SERIES = ("#0b5394", "#d1495b", "#2a7f62", "#c77700", "#6a4c93", "#1b998b", "#8d5524", "#5b6470")
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "difmbs",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6470",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-3, 4),
    "axes.unicode_minus": True,
    "grid.color": "#e8ebee",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.3,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "path.simplify": False,
    # Names of elements are text, not formulas.
    "text.parse_math": False,
}
_POINTS_PER_INCH = 96 / 72
_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


class Drawing:
    """Makes the figures of one page; counts them, so that what is inside of each has a name of its own."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def svg(self, figure: Figure, label: str) -> Html:
        """The figure as an element of the page; `label` is for those who cannot see it."""
        text = io.BytesIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        FigureCanvasSVG(figure).print_svg(text, metadata=nothing)
        return _inline(text.getvalue(), f"f{next(self._numbers)}", label)


@contextmanager
def style() -> Iterator[None]:
    """How all figures look, whatever the user's settings are."""
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        # The browser has glyphs that the font used for the layout lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def label(text: str, most: int = 40) -> str:
    """A name as it fits into a plot."""
    text = plain(text).replace("\n", " ").replace("\t", " ")
    return text if len(text) <= most else f"{text[: most - 1]}…"


def dots(axes: Axes, x: np.ndarray, y: np.ndarray, color: str, size: float = 2.6, label: str | None = None) -> None:
    """Points as one path, which takes a quarter of the place of markers."""
    axes.plot([], [], "o", color=color, ms=size, mew=0, label=label)
    finite = np.isfinite(x) & np.isfinite(y)
    places = np.repeat(np.stack([x[finite], y[finite]], axis=1), 2, axis=0)
    if len(places):
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], np.uint8), len(places) // 2)
        patch = PathPatch(Path(places, codes), fill=False, lw=size, capstyle="round", gid="dots", edgecolor=color)
        axes.add_patch(patch)
        axes.update_datalim(places)
        axes.autoscale_view()


def line(axes: Axes, x: np.ndarray, y: np.ndarray, **options: Any) -> None:
    axes.plot(x, np.where(np.isfinite(y), y, np.nan), **options)


def chosen(y: np.ndarray, most: int) -> np.ndarray:
    """Which samples are drawn: all, or the smallest and the largest of each stretch, so that no peak is lost."""
    if y.size <= most:
        return np.arange(y.size)
    edges = np.linspace(0, y.size, max(most // 2, 1) + 1).astype(int)
    filled = np.where(np.isfinite(y), y, np.nanmean(y) if np.any(np.isfinite(y)) else 0.0)
    picked = [a + np.array([np.argmin(filled[a:b]), np.argmax(filled[a:b])]) for a, b in itertools.pairwise(edges)]
    return np.unique(np.concatenate(picked))


def logarithmic(axes: Any) -> None:
    """Powers of ten at the ticks of the y axis."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: _power(x)))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda x, _: ""))
    low, high = axes.get_ylim()
    if high < 20 * low:
        axes.set_ylim(low / 5, high * 5)


def _power(x: float) -> str:
    exponent = round(np.log10(x)) if x > 0 else 0
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _inline(text: bytes, prefix: str, label: str) -> Html:
    root = ET.fromstring(text)
    width, height = (float(x) * _POINTS_PER_INCH for x in root.attrib["viewBox"].split()[2:])
    known = _referenced(root)
    names = {old: f"{prefix}-{i}" for i, old in enumerate(known)}
    _clean(root, names)
    view = root.attrib["viewBox"]
    root.attrib.clear()
    size = {"viewBox": view, "width": f"{width:.0f}", "height": f"{height:.0f}"}
    root.attrib.update({"class": "plot", "role": "img", "aria-label": plain(label)} | size)
    return Html(ET.tostring(root, encoding="unicode").replace("\n", ""))


def _referenced(root: ET.Element) -> list[str]:
    """What other elements point at, in order."""
    found: dict[str, None] = {}
    for element in root.iter():
        for value in element.attrib.values():
            if value.startswith("#"):
                found[value[1:]] = None
            found.update(dict.fromkeys(re.findall(r"url\(#([^)]*)\)", value)))
    # Colours also begin with "#".
    ids = {element.get("id") for element in root.iter()}
    return [name for name in found if name in ids]


def _clean(element: ET.Element, names: dict[str, str]) -> None:
    """Without namespaces and metadata, with few digits, and with names that differ from those of other figures."""
    element.tag = element.tag.removeprefix(_SVG)
    if element.get("id") == "dots":
        for path in element:
            path.set("class", "dots")
    attributes = {key.replace(_XLINK, ""): value for key, value in element.attrib.items() if key != "type"}
    element.attrib.clear()
    for key, value in attributes.items():
        if key == "id":
            if value in names:
                element.set("id", names[value])
            continue
        element.set(key, _value(key, value, names))
    if element.text is not None and not element.text.strip():
        element.text = None
    element.tail = None
    for child in list(element):
        if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
            element.remove(child)
        else:
            _clean(child, names)
            if child.tag == "defs" and not len(child):
                element.remove(child)


def _value(key: str, value: str, names: dict[str, str]) -> str:
    if key == "href":
        return f"#{names[value[1:]]}"
    if key == "d":
        return _path(value)
    if key == "style":
        value = re.sub(
            r"font-family:[^;]*;?|font: ([\d.]+px)[^;]*;?", lambda m: f"font-size: {m[1]};" * bool(m[1]), value
        )
        value = re.sub(r":\s+", ":", re.sub(r";\s*", ";", value)).strip("; ")
    value = re.sub(r"url\(#([^)]*)\)", lambda match: f"url(#{names[match[1]]})", value)
    return re.sub(r"(\d\.\d{2})\d+", r"\1", value) if key != "class" else value


def _path(value: str) -> str:
    """Hundredths of a point are enough; a line of no length is a dot."""
    numbers = lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    short = re.sub(r"-?\d+\.\d+", numbers, " ".join(value.split()))
    short = re.sub(r"M (\S+ \S+) L \1(?= M|$)", r"M\1h0", short)
    return re.sub(r" ?([MLCQZz]) ?", r"\1", short)
