"""A system in its initial state, drawn."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..dynamics.projection import consistent
from ..system.system import System
from .scene import scene_of
from .sketch import sketch


def draw_initial(axes: Axes, system: System, names: bool = True, shapes: Any = None) -> None:
    """Brought onto the constraints, if it can be."""
    start = consistent(system, np.zeros(()), *system.initial_state())
    q, v = (start.q, start.v) if bool(start.possible) else system.initial_state()
    scene = scene_of(system, np.zeros(1), np.asarray(q)[None], np.asarray(v)[None], shapes=shapes)
    sketch(axes, scene, names=names)
