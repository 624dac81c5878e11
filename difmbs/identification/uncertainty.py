"""How far the result of a fit may be off: covariance, intervals, and whether the residuals look like noise."""

import dataclasses
import functools
from typing import Any

import numpy as np
from scipy import special
from scipy.linalg import solve_triangular

from .identifiability import Identifiability

_NOTHING = 0.05
"""Of residuals, in standard deviations: how they behave does not matter."""
_ROUNDING = 1e-16
"""Share of the variance of a signal that is rounding."""
_ACCIDENT = 1e-3
"""Probability that chi^2 of residuals that are only noise is far from its mean."""
_FAR = 5
"""Usual sizes of residuals: of a million normally distributed ones less than one is as large."""
NORMAL = 1.4826
"""The standard deviation of normally distributed numbers over the median of their sizes."""
_SHOWN = 3
_FEW = 0.01
"""Share of the samples: more of them are no outliers."""
_OF_STEPS = 0.5
"""Share of the residuals that is due to the resolution of the data."""
_NOTICEABLE = 0.05
"""Standard errors that would change by less, relative, are left as they are."""


def covariance(R: np.ndarray, found: Identifiability, slopes: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Covariance of the values, by the linearization: infinite for unknowns that the data do not determine by
    themselves, and 0 for those that are held at a bound.
    """
    count = R.shape[1]
    result = np.zeros((count, count))
    kept = found.determined & free
    lost = ~found.determined & free
    if np.any(free):
        lengths = np.where(np.linalg.norm(R, axis=0) > 0, np.linalg.norm(R, axis=0), 1)
        scaled = (R / lengths)[:, free]
        if found.full:
            inverse = solve_triangular(np.linalg.qr(scaled, mode="r"), np.eye(scaled.shape[1]))
            all_free = inverse @ inverse.T
        else:
            all_free = np.linalg.pinv(scaled.T @ scaled, rcond=1e-14, hermitian=True)
        result[np.ix_(free, free)] = all_free / np.outer(lengths[free], lengths[free])
        result *= np.outer(slopes, slopes)
    result[~kept & free] = 0
    result[:, ~kept & free] = 0
    result[lost, lost] = np.inf
    return result


def correlation(covariance: np.ndarray) -> np.ndarray:
    """NaN where there is no standard deviation."""
    deviation = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        return covariance / np.outer(deviation, deviation)


def far_from_one(chi2: float, degrees_of_freedom: float | int) -> bool:
    """Whether chi^2 over the degrees of freedom is no accident: outside of the range that holds 99.9 % of it, and by so
    much that standard errors are noticeably wrong."""
    if not degrees_of_freedom > 0 or not np.isfinite(chi2):
        return False
    tail = min(special.chdtr(degrees_of_freedom, chi2), special.chdtrc(degrees_of_freedom, chi2))
    return bool(tail < _ACCIDENT / 2 and abs(np.sqrt(chi2 / degrees_of_freedom) - 1) > _NOTICEABLE)


@dataclasses.dataclass(frozen=True)
class Residuals:
    """How the residuals of one channel of one experiment behave; all of them in standard deviations of the noise.

    `count` samples; `rms`; `chi2`, the sum of squares; `normality`: the probability of so unusual a distribution if
    they were normally distributed; `autocorrelation` from one sample to the next; `whiteness`: the probability of so
    much of it if they were independent; `unexplained`: the share of the variance of the data that is left, NaN where
    the data are constant, and `r_squared`, 1 less that; `resolution` of the data if they are multiples of one number,
    otherwise 0; `outliers`: where the largest are, and how large, if they are too large for noise; `weighted`: the
    residuals themselves.
    """

    experiment: str
    channel: str
    count: int
    noise: float
    rms: float
    chi2: float
    autocorrelation: float
    whiteness: float
    unexplained: float
    resolution: float
    outliers: tuple[tuple[str, float], ...]
    weighted: np.ndarray = dataclasses.field(repr=False, compare=False)

    def numbers(self) -> dict[str, Any]:
        """All but the residuals themselves, by name."""
        names = [field.name for field in dataclasses.fields(self) if field.name not in ("weighted", "outliers")]
        return {name: getattr(self, name) for name in (*names, "r_squared", "normality")}

    @property
    def r_squared(self) -> float:
        """R^2: 1 less the sum of squared residuals over that of the data's deviations from their mean."""
        return 1 - self.unexplained

    @functools.cached_property
    def normality(self) -> float:
        if self.count < 20 or not self.rms > 0:
            return 1.0
        # Here, because it takes half a second to import.
        from scipy.stats import normaltest

        return float(normaltest(self.weighted).pvalue)

    @property
    def _alike(self) -> bool:
        """Whether neighbours are."""
        return self.whiteness < 1e-3 and abs(self.autocorrelation) > 0.1

    @property
    def remark(self) -> str:
        """What is unusual, in words; but not about residuals that are nothing but rounding."""
        if self.rms < _NOTHING or self.unexplained < _ROUNDING:
            return ""
        said = []
        if self._alike:
            said.append("neighbouring residuals are alike: something is missing in the model")
        if self.normality < 1e-3:
            said.append(f"not normally distributed{self._of_resolution()}")
        if not self._alike and 0 < len(self.outliers) <= max(_SHOWN, _FEW * self.count):
            shown = ", ".join(f"{where} ({size:+.3g})" for where, size in self.outliers[:_SHOWN])
            more = f" and {len(self.outliers) - _SHOWN} more" if len(self.outliers) > _SHOWN else ""
            said.append(f"outliers {shown}{more}, which count less with another loss than linear")
        return "; ".join(said)

    def _of_resolution(self) -> str:
        rounding = self.resolution / np.sqrt(12)
        if rounding > _OF_STEPS * self.rms * self.noise:
            return (
                f": the data are multiples of {self.resolution:.4g}, as of an encoder or a converter, which is noise "
                f"of {self.resolution:.4g} / sqrt(12) = {rounding:.3g}"
            )
        return ""


def residuals_of(
    experiment: str,
    channel: str,
    weighted: np.ndarray,
    weights: np.ndarray,
    measured: np.ndarray,
    times: np.ndarray | None = None,
) -> Residuals:
    """`weighted` residuals with their `weights`, 0 where a sample does not count; `times` of time series."""
    counts = weights > 0
    kept = weighted[counts]
    n = kept.size
    rms = float(np.sqrt(np.mean(kept**2))) if n else np.nan
    # Along time, of one component after the other.
    series = np.moveaxis(np.where(counts, weighted, np.nan), 0, -1)
    pairs = series[..., :-1] * series[..., 1:]
    pairs = pairs[np.isfinite(pairs)]
    together = float(np.mean(pairs) / np.mean(kept**2)) if pairs.size and rms > 0 else 0.0
    # Of vectors each entry has a mean of its own.
    known = np.where(counts, measured, 0)
    spread = np.where(counts, measured - np.sum(known, axis=0) / np.maximum(np.sum(counts, axis=0), 1), 0)
    signal, missed = np.sum(spread**2), np.sum((kept / weights[counts]) ** 2)
    constant = signal <= known.size * (1e-14 * np.max(np.abs(known), initial=0)) ** 2
    return Residuals(
        experiment,
        channel,
        n,
        float(np.median(1 / weights[counts])),
        rms,
        float(np.sum(kept**2)),
        together,
        float(2 * special.ndtr(-abs(together) * np.sqrt(max(pairs.size, 1)))),
        np.nan if constant else float(missed / signal),
        _resolution(measured[counts]),
        _outliers(weighted, counts, times),
        kept,
    )


def _resolution(known: np.ndarray) -> float:
    """The number that all are multiples of, but for a common offset; 0 if most of them differ."""
    levels = np.unique(known)
    if levels.size < 3 or levels.size > known.size / 2:
        return 0.0
    gaps = np.diff(levels)
    # What differs by rounding is equal.
    gaps = gaps[gaps > 1e-12 * np.max(np.abs(levels))]
    least = float(np.min(gaps, initial=np.inf))
    multiples = gaps / least
    return least if np.all(np.abs(multiples - np.round(multiples)) < 0.05) else 0.0


def _outliers(weighted: np.ndarray, counts: np.ndarray, times: np.ndarray | None) -> tuple[tuple[str, float], ...]:
    sizes = np.where(counts, np.abs(weighted), 0)
    far = _FAR * NORMAL * float(np.median(sizes[counts])) if np.any(counts) else np.inf
    places = [tuple(place) for place in np.argwhere(sizes > far)]
    places.sort(key=lambda place: -sizes[place])
    return tuple(
        (f"at sample {place[0]}" if times is None else f"at {times[place[0]]:.6g} s", float(weighted[place]))
        for place in places
    )
