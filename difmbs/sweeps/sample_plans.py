"""Samples of parameters: grids, and draws from distributions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import as_array, is_numbers, show, show_error
from ..simulation.arguments import check_whole


def grid_samples(values: Any) -> dict[str, np.ndarray]:
    """All combinations of the values of some parameters; those of the last one vary fastest."""
    _check_names("grid_samples", values)
    axes = [as_array(x) for x in values.values()]
    for name, axis in zip(values, axes, strict=True):
        if not is_numbers(axis) or axis.ndim != 1 or axis.size == 0:
            raise ParameterError(f"grid_samples: '{name}' needs a list of numbers, got {show(values[name])}.")
    combined = np.meshgrid(*axes, indexing="ij")
    return {name: np.ravel(x) for name, x in zip(values, combined, strict=True)}


def random_samples(distributions: Any, count: int, *, seed: Any) -> dict[str, np.ndarray]:
    """Independent draws of some parameters.

    **Arguments:** `distributions`: by name a pair (lower, upper), between which all values are equally likely, or a
    distribution of `scipy.stats` such as `scipy.stats.norm(500, 25)`; `seed`: the same one draws the same numbers.
    """
    return _drawn("random_samples", distributions, check_whole("count", count), seed, even=False)


def latin_hypercube_samples(distributions: Any, count: int, *, seed: Any) -> dict[str, np.ndarray]:
    """Draws as in `random_samples`, spread evenly: each of `count` equally likely ranges of a parameter has one, so
    that means of smooth quantities need far fewer runs."""
    return _drawn("latin_hypercube_samples", distributions, check_whole("count", count), seed, even=True)


def _drawn(where: str, distributions: Any, count: int, seed: Any, *, even: bool) -> dict[str, np.ndarray]:
    _check_names(where, distributions)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"{where}: seed must be a whole number from 0 on, got {show(seed)}.")
    quantiles = [_quantile(where, name, given) for name, given in distributions.items()]
    if even:
        # Here, because it takes half a second to import.
        from scipy.stats.qmc import LatinHypercube

        places = LatinHypercube(len(quantiles), rng=int(seed)).random(count)
    else:
        places = np.random.default_rng(int(seed)).random((count, len(quantiles)))
    return {n: _values(where, n, f, x) for n, f, x in zip(distributions, quantiles, places.T, strict=True)}


def _values(where: str, name: str, quantile: Any, places: np.ndarray) -> np.ndarray:
    try:
        values = np.asarray(quantile(places), float)
    except Exception as error:
        raise ParameterError(f"{where}: the distribution of '{name}' fails: {show_error(error)}") from None
    if values.shape != places.shape or not np.all(np.isfinite(values)):
        raise ParameterError(f"{where}: the distribution of '{name}' does not give a finite number for each run.")
    return values


def _quantile(where: str, name: str, given: Any) -> Any:
    """From places between 0 and 1 to values."""
    # The older and the newer kind of scipy's distributions.
    for method in ("ppf", "icdf"):
        if callable(getattr(given, method, None)):
            return getattr(given, method)
    bounds = as_array(given)
    if not is_numbers(bounds) or bounds.shape != (2,) or not np.all(np.isfinite(bounds)) or not bounds[0] < bounds[1]:
        raise ParameterError(
            f"{where}: '{name}' needs a pair (lower, upper) with lower < upper, or a distribution of scipy.stats, got "
            f"{show(given)}."
        )
    return lambda x: bounds[0] + (bounds[1] - bounds[0]) * x


def _check_names(where: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        example = "{'spring.stiffness': (400.0, 600.0)}"
        raise ParameterError(f"{where} takes a dictionary of parameters such as {example}, got {show(given)}.")
