"""How a recorded series differs from a predicted one, whatever the unknowns are: in size, sign, time, at the start.

Arrays have time along the first axis and entries along the second, NaN where a sample does not count.
"""

from collections.abc import Mapping

import numpy as np

_BEGINNING = 0.05
"""The share of a record that is its beginning."""
_FEWEST = 5
_ALIKE, _CLEARLY = 0.9, 0.2
"""Correlation of two series that are the same but for a delay, and how much less it is without the shift."""
_NEARLY = 0.02
"""How much less the correlation may be with a smaller shift."""
_ENOUGH = 2000
"""Samples that tell a shift."""
_LONGEST = 0.25
"""Share of a record that one series may be late by."""


def size(x: np.ndarray) -> float:
    return float(np.sqrt(np.nansum(x**2)))


def spread(x: np.ndarray) -> float:
    """Of what varies."""
    return size(_varying(x))


def ratio(measured: np.ndarray, predicted: np.ndarray, of=size) -> float:
    """How many times as large what was measured is as what is predicted, by a measure `of` size."""
    both = np.isfinite(measured) & np.isfinite(predicted)
    large, small = (of(np.where(both, x, np.nan)) for x in (measured, predicted))
    return float(large / small) if small > 0 else np.nan


def correlation(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Of what varies, between -1 and 1; 0 where nothing does."""
    both = np.isfinite(measured) & np.isfinite(predicted)
    a, b = (np.nan_to_num(_varying(np.where(both, x, np.nan))) for x in (measured, predicted))
    sizes = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.sum(a * b) / sizes) if sizes > 0 else 0.0


def lag(measured: np.ndarray, predicted: np.ndarray) -> int:
    """Number of samples by which what was measured comes late; 0 where a shift does not make the two alike."""
    longest = int(_LONGEST * len(measured))
    if longest < 1:
        return 0
    # Of long series some samples first, and then what is around the best of them.
    every = -(-len(measured) // _ENOUGH)
    thin = lambda late: _shifted(measured[::every], predicted[::every], late)
    found = {late: thin(late) for late in range(-(longest // every), longest // every + 1)}
    best = every * _nearest(found)
    if every > 1:
        near = {late: _shifted(measured, predicted, late) for late in range(best - every, best + every + 1)}
        best = max(near, key=lambda late: near[late])
    alike = _shifted(measured, predicted, best)
    return best if alike > max(_ALIKE, _shifted(measured, predicted, 0) + _CLEARLY) else 0


def _nearest(found: Mapping[int, float]) -> int:
    """The smallest shift that is better than those beside it and nearly as good as the best: of what oscillates, not
    one by a period more."""
    enough = max(found.values()) - _NEARLY
    beside = lambda late: max(found.get(late - 1, -1.0), found.get(late + 1, -1.0))
    return min((late for late, alike in found.items() if alike >= max(enough, beside(late))), key=abs)


def _shifted(measured: np.ndarray, predicted: np.ndarray, late: int) -> float:
    if late < 0:
        return _shifted(predicted, measured, -late)
    return correlation(measured[late:], predicted[: len(predicted) - late])


def moves_at_start(measured: np.ndarray, predicted: np.ndarray) -> bool:
    """Whether a prediction moves in the beginning, as much as ever, while what was measured rests."""
    first = max(_FEWEST, int(_BEGINNING * len(measured)))
    at_rest, moving, whole = (_range(x) for x in (measured[:first], predicted[:first], measured))
    return bool(at_rest < 0.1 * min(moving, whole) and moving > 0.5 * whole)


def _range(x: np.ndarray) -> float:
    """The largest of all entries; 0 where nothing is known."""
    known = x[:, np.any(np.isfinite(x), axis=0)]
    return float(np.max(np.nanmax(known, axis=0) - np.nanmin(known, axis=0), initial=0))


def _varying(x: np.ndarray) -> np.ndarray:
    known = ~np.all(np.isnan(x), axis=0)
    return x[:, known] - np.nanmean(x[:, known], axis=0)
