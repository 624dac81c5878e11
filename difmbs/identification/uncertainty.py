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
_EVERYTHING = 100 - 1e-6
"""Percent of the signal that are explained."""


def covariance(R: np.ndarray, found: Identifiability, slopes: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Of the values, by the linearization: infinite for unknowns that the data do not determine by themselves, and 0
    for those that are held at a bound.
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


@dataclasses.dataclass(frozen=True)
class Residuals:
    """How the residuals of one channel of one experiment behave; all of them in standard deviations of the noise.

    `count` samples; `rms`; `chi2`, the sum of squares; `normality`: the probability of so unusual a distribution if
    they were normally distributed; `autocorrelation` from one sample to the next; `whiteness`: the probability of so
    much of it if they were independent; `fit`: 100 % less the part of the signal, as root of mean squares, that is not
    explained; `weighted`: the residuals themselves.
    """

    experiment: str
    channel: str
    count: int
    noise: float
    rms: float
    chi2: float
    autocorrelation: float
    whiteness: float
    fit: float
    weighted: np.ndarray = dataclasses.field(repr=False, compare=False)

    def numbers(self) -> dict[str, Any]:
        """All but the residuals themselves, by name."""
        names = [field.name for field in dataclasses.fields(self) if field.name != "weighted"]
        return {name: getattr(self, name) for name in (*names, "normality")}

    @functools.cached_property
    def normality(self) -> float:
        if self.count < 20 or not self.rms > 0:
            return 1.0
        # Here, because it takes half a second to import.
        from scipy.stats import normaltest

        return float(normaltest(self.weighted).pvalue)

    @property
    def remark(self) -> str:
        """What is unusual, in words; but not about residuals that are nothing but rounding."""
        if self.rms < _NOTHING or self.fit > _EVERYTHING:
            return ""
        said = []
        if self.whiteness < 1e-3 and abs(self.autocorrelation) > 0.1:
            said.append("neighbouring residuals are alike: something is missing in the model")
        if self.normality < 1e-3:
            said.append("not normally distributed: outliers?")
        return "; ".join(said)


def residuals_of(
    experiment: str, channel: str, weighted: np.ndarray, weights: np.ndarray, measured: np.ndarray
) -> Residuals:
    """`weighted` residuals with their `weights`, 0 where a sample does not count."""
    counts = weights > 0
    kept = weighted[counts]
    n = kept.size
    rms = float(np.sqrt(np.mean(kept**2))) if n else np.nan
    # Along time, of one component after the other.
    series = np.moveaxis(np.where(counts, weighted, np.nan), 0, -1)
    pairs = series[..., :-1] * series[..., 1:]
    pairs = pairs[np.isfinite(pairs)]
    together = float(np.mean(pairs) / np.mean(kept**2)) if pairs.size and rms > 0 else 0.0
    spread = measured[counts] - np.mean(measured[counts])
    signal = np.sqrt(np.mean(spread**2))
    missed = np.sqrt(np.mean((kept / weights[counts]) ** 2))
    return Residuals(
        experiment,
        channel,
        n,
        float(np.median(1 / weights[counts])),
        rms,
        float(np.sum(kept**2)),
        together,
        float(2 * special.ndtr(-abs(together) * np.sqrt(max(pairs.size, 1)))),
        float(100 * (1 - missed / signal)) if signal > 0 else np.nan,
        kept,
    )
