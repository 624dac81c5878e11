"""A word where the constraints moved the start so far that it may be a mistake."""

import jax
import numpy as np

from ..core.errors import warn
from .solution import Solution

_FAR = 0.1
"""Of the size of the mechanism."""


def warn_if_moved(solution: Solution) -> None:
    """Of a single run that is not traced."""
    moved = solution.stats.get("start_moved")
    if moved is None or isinstance(moved, jax.core.Tracer) or np.ndim(moved) or not float(moved) > 0:
        return
    system, begin = solution.system, solution.system.initial_state()[0]
    if isinstance(begin, jax.core.Tracer) or not float(moved) > _FAR * float(np.max(np.abs(begin), initial=0)):
        return
    size = float(_extent(system, begin))
    if float(moved) > _FAR * size:
        warn(
            f"the constraints moved the start{_farthest(solution, begin)} by {float(moved):.3g}, and the size of the "
            f"mechanism is {size:.3g}. Give initial positions that meet them; when a length changes, change the "
            "positions with it."
        )


_extent = jax.jit(lambda system, q: system.extent(q))


def _farthest(solution: Solution, begin: jax.Array) -> str:
    """The body that moved most, if the first output is the start."""
    change = np.abs(np.asarray(solution.q[0] - begin)) if len(solution.q) else np.zeros(0)
    if not np.isclose(np.max(change, initial=0), float(solution.stats["start_moved"])):
        return ""
    at, system = int(np.argmax(change)), solution.system
    bodies = [name for name, element in system.structure.elements.items() if element.kind == "bodies"]
    return next((f" of '{name}'" for name in bodies if name != "ground" and at in system.coordinates(name)), "")
