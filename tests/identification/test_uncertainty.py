"""What residuals say about a fit: laws of chi^2 and R^2."""

import numpy as np
import pytest

from difmbs.identification.uncertainty import far_from_one, residuals_of


def test_r_squared_is_one_less_the_unexplained_share_of_the_variance():
    rng = np.random.default_rng(0)
    # Each entry of a vector has a mean of its own.
    measured = rng.normal(size=(40, 3)) * [1, 2, 0] + [5, -3, 7]
    off = 0.3 * rng.normal(size=(40, 3))
    noise = rng.uniform(0.1, 1, size=(40, 3))
    weights = np.where(np.arange(40)[:, None] < 5, 0, 1 / noise)
    found = residuals_of("run", "x", weights * off, weights, measured)
    kept = measured[5:] - measured[5:].mean(axis=0)
    assert found.r_squared == pytest.approx(1 - np.sum(off[5:] ** 2) / np.sum(kept**2), rel=1e-12)
    assert found.numbers()["r_squared"] == found.r_squared
    mean = residuals_of("run", "x", measured[:, 0] - measured[:, 0].mean(), np.ones(40), measured[:, 0])
    assert mean.r_squared == pytest.approx(0, abs=1e-12)
    constant = residuals_of("run", "x", np.full(9, 0.1), np.ones(9), np.full(9, 0.3))
    assert np.isnan(constant.r_squared)


def test_probabilities_of_noise_are_uniform():
    """Of independent residuals a share p looks less independent than p says, whatever p is."""
    rng, weights = np.random.default_rng(0), np.ones(100)
    draws = [residuals_of("run", "x", rng.normal(size=100), weights, rng.normal(size=100)) for _ in range(1000)]
    whiteness = np.array([draw.whiteness for draw in draws])
    for p in (0.05, 0.3, 0.7):
        # Four standard deviations of a share of 1000 draws.
        assert abs(np.mean(whiteness < p) - p) < 4 * np.sqrt(p * (1 - p) / 1000)


def test_outliers_are_named_with_their_times():
    rng, times = np.random.default_rng(0), np.linspace(0, 2, 201)
    off = rng.normal(size=201)
    off[[50, 120]] = 9.0, -30.0
    found = residuals_of("run", "x", off, np.ones(201), off, times)
    assert found.outliers == (("at 1.2 s", -30.0), ("at 0.5 s", 9.0))
    assert "outliers at 1.2 s (-30), at 0.5 s (+9), which count less with another loss than linear" in found.remark
    few = residuals_of("run", "x", off[110:127], np.ones(17), off[110:127], times[110:127])
    assert "outliers at 1.2 s" in few.remark
    spike = np.round(np.sin(10 * times), 1)
    spike[50] = 5.0
    assert residuals_of("run", "x", off, np.ones(201), spike, times).resolution == pytest.approx(0.1)
    assert residuals_of("run", "x", off, np.ones(201), off).outliers[0] == ("at sample 120", -30.0)
    uncounted = residuals_of("run", "x", off, np.where(np.abs(off) < 5, 1.0, 0.0), off, times)
    assert (uncounted.outliers, uncounted.remark) == ((), "")


@pytest.mark.parametrize(("step", "coarse"), [(0.1, True), (1e-3, False)])
def test_the_resolution_of_an_encoder_is_no_outlier(step, coarse):
    times = np.linspace(0, 3, 500)
    way = 2 * np.sin(2 * times) + 1e-3 * np.random.default_rng(0).normal(size=500)
    measured = step * np.round(way / step)
    found = residuals_of("run", "x", (measured - 2 * np.sin(2 * times)) / 0.03, np.full(500, 1 / 0.03), measured, times)
    assert found.resolution == (pytest.approx(step) if coarse else 0)
    assert ("the data are multiples of 0.1, as of an encoder" in found.remark) == coarse
    assert ("/ sqrt(12) = 0.0289" in found.remark) == coarse


@pytest.mark.parametrize("freedom", [3, 50])
def test_chi2_of_noise_is_hardly_ever_far_from_one(freedom):
    draws = np.random.default_rng(0).chisquare(freedom, size=5000)
    flagged = np.mean([far_from_one(chi2, freedom) for chi2 in draws])
    # 0.001 is expected; this is four standard deviations more.
    assert 0 < flagged < 0.0028
    assert far_from_one(5.0 * freedom + 20, freedom)
    assert not far_from_one(float(freedom), freedom)


def test_what_hardly_changes_the_errors_is_not_far_however_sure_it_is():
    assert not far_from_one(1.08e6, 1_000_000)
    assert far_from_one(1.12e6, 1_000_000)
    assert far_from_one(0.8e6, 1_000_000)
    assert not far_from_one(1.0, 0)
    assert not far_from_one(np.inf, 5)
