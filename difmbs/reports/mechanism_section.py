"""The mechanism in a page: a sketch, and its motion."""

import contextlib
from typing import Any

from ..core.errors import ParameterError
from ..core.markup import Html, figure, join
from ..design.design import Design
from ..identification.fit import Fit
from ..pictures.page import scene_element
from ..pictures.state_sketch import draw_initial
from ..plots.inline_svg import Drawing
from ..plots.style import new_figure, style
from ..system.system import System
from .animation import scene_text
from .shown_motions import positions_measured

_FRAMES = 250


def mechanism(drawing: Drawing, result: Fit | Design) -> Html:
    """A sketch of the initial state, and the motion: of a fit where positions were measured, of a design."""
    system = result.setup.system if isinstance(result, Fit) else result.task.system
    parts = [_sketch(drawing, system)]
    if isinstance(result, Design):
        parts.append(_moving(result, "Solid: the optimum; pale: the start."))
    elif positions_measured(result):
        parts.append(_moving(result, "The fitted motion; the pale balls are where positions were measured."))
    return join(parts)


def _sketch(drawing: Drawing, system: System) -> Html:
    with style():
        whole = new_figure(8.4, 3.4)
        draw_initial(whole.add_subplot(), system)
        return figure(drawing.svg(whole, "sketch of the mechanism"), "The mechanism in its initial state.")


def _moving(result: Any, said: str) -> Html:
    # What cannot be simulated has its sentence in other sections.
    with contextlib.suppress(ParameterError):
        return figure(Html(scene_element(scene_text(result, _FRAMES))), f"{said} Drag to turn or move, wheel to zoom.")
    return Html("")
