"""Models drawn with matplotlib."""

from typing import Any

from ..elements.bodies.body import AbstractBody
from ..elements.connectors.connector import AbstractConnector
from ..pictures.graph import draw_graph
from ..pictures.state_sketch import draw_initial
from ..plots.notebook import cell_output, picture_of
from ..plots.style import axes_or_new, style
from ..system.system import System
from .assembly import ModelContents
from .description import describe


def draw_model(system: System, ax: Any, names: bool) -> Any:
    """In the initial state."""
    with style():
        axes = axes_or_new(ax, 6.4, 4.8)
        draw_initial(axes, system, names)
    return axes


def model_cell(system: System | None, contents: ModelContents, title: str) -> str:
    """What a notebook shows: elements with kinds and markers, and a sketch if the model can be assembled."""
    rows = describe(contents, ()).elements
    picture = None if system is None else picture_of(lambda axes: draw_initial(axes, system), 6.4, 4.0)
    return cell_output(title, rows, ("element", "kind", "markers"), picture)


def draw_connections(contents: ModelContents, ax: Any) -> Any:
    bodies = [name for name, added in contents.elements.items() if isinstance(added.element, AbstractBody)]
    connectors = {
        name: [place.body for side in added.places for place in side]
        for name, added in contents.elements.items()
        if isinstance(added.element, AbstractConnector)
    }
    with style():
        axes = axes_or_new(ax, 6.4, 4.8)
        draw_graph(axes, bodies, connectors)
    return axes
