"""Tangents against difference quotients."""

from collections.abc import Callable
from typing import Any

import numpy as np


def quotient_error(linearized: Callable[[Any], tuple[Any, Any]], x: Any, direction: Any, step: float) -> float:
    """The largest difference between the tangent of a function and its central difference quotient, relative.

    `linearized(x)`: the function's value and its derivative along the direction. Values ahead and behind are those of
    the same program: compiling another one takes longer than running this one.
    """
    tangent = np.asarray(linearized(x)[1])
    ahead, behind = (np.asarray(linearized(x + side * step * direction)[0]) for side in (1, -1))
    size = float(np.nanmax(np.abs(tangent), initial=0)) or 1.0
    return float(np.nanmax(np.abs(tangent - (ahead - behind) / (2 * step)), initial=0)) / size
