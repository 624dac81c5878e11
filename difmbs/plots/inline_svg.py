"""Figures as SVG inside of a page: small, the same bytes each time, no names that clash, nothing from outside."""

import io
import itertools
import re
import xml.etree.ElementTree as ET

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ..core.markup import Html, plain

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
