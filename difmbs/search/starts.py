"""Starts of a search, at random in the ranges of the unknowns."""

import numpy as np

from .scaling import Scaling
from .unknowns import Unknowns

_SPREAD = 10.0
"""Positive unknowns without bounds are looked for so many times above and below the start."""


def random_starts(unknowns: Unknowns, scaling: Scaling, count: int, seed: int) -> np.ndarray:
    """Starts as z: the given one, and others at random between the bounds."""
    first, lower, upper = (scaling.inverse(x) for x in (unknowns.start, unknowns.lower, unknowns.upper))
    reach = np.where(unknowns.logarithmic, np.log(_SPREAD), 1.0)
    lower = np.where(np.isfinite(lower), lower, first - reach)
    upper = np.where(np.isfinite(upper), upper, first + reach)
    # Here, because it takes half a second to import.
    from scipy.stats.qmc import LatinHypercube

    # Spread more evenly than independent draws.
    places = LatinHypercube(first.size, rng=seed).random(count - 1)
    return np.concatenate([first[None], lower + (upper - lower) * places])
