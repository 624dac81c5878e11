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


def correlations(measured: np.ndarray, predicted: np.ndarray, longest: int) -> dict[int, float]:
    """`correlation` where measured comes late by so many samples, for all shifts up to the longest at once: sums of
    products of shifted series are those of a Fourier transform."""
    series = []
    for x in (measured, predicted):
        known = np.isfinite(x)
        # Near to zero, so that differences of sums are not all rounding.
        mean = np.sum(np.where(known, x, 0), axis=0) / np.maximum(np.sum(known, axis=0), 1)
        near = np.where(known, x - mean, 0)
        series.append([np.fft.rfft(y, 2 * len(x), axis=0) for y in (known.astype(float), near, near**2)])
    shifts = np.arange(-longest, longest + 1)
    sums = lambda i, j: np.fft.irfft(series[0][i] * np.conj(series[1][j]), 2 * len(measured), axis=0)[shifts]
    count = np.maximum(np.round(sums(0, 0)), 1)
    first, second = sums(1, 0), sums(0, 1)
    together = np.sum(sums(1, 1) - first * second / count, axis=1)
    spreads = [np.sum(sums(*of) - x**2 / count, axis=1) for of, x in (((2, 0), first), ((0, 2), second))]
    rounding = [1e-12 * np.max(np.sum(sums(*of), axis=1)) for of in ((2, 0), (0, 2))]
    varies = (spreads[0] > rounding[0]) & (spreads[1] > rounding[1])
    sizes = np.sqrt(np.where(varies, spreads[0] * spreads[1], 1))
    return dict(zip(shifts.tolist(), np.where(varies, together / sizes, 0).tolist(), strict=True))


def lag(measured: np.ndarray, predicted: np.ndarray) -> int:
    """Number of samples by which what was measured comes late; 0 where a shift does not make the two alike."""
    longest = int(_LONGEST * len(measured))
    if longest < 1:
        return 0
    # Of long series some samples first, and then what is around the best of them.
    every = -(-len(measured) // _ENOUGH)
    found = correlations(measured[::every], predicted[::every], longest // every)
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
