"""How two series differ: the shift between them."""

import numpy as np
import pytest

from difmbs.identification.comparisons import correlation, correlations, lag


@pytest.mark.parametrize("count", [1001, 9001])
@pytest.mark.parametrize("late", [0.2, 0.3, -0.25])
def test_a_shift_of_what_oscillates_is_not_one_by_a_period_more(late, count):
    t = np.linspace(0, 10, count)
    measured, predicted = (np.sin(2 * np.pi * (t - d))[:, None] for d in (late, 0.0))
    assert lag(measured, predicted) * t[1] == pytest.approx(late, abs=1.001 * t[1])


def test_what_is_alike_already_or_not_at_all_has_no_shift():
    t = np.linspace(0, 1, 200)[:, None]
    noise = np.random.default_rng(0).normal(size=(2, 200, 1))
    assert lag(np.sin(9 * t), np.sin(9 * t)) == 0
    assert lag(*noise) == 0
    assert lag(t[:3], t[:3]) == 0


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_all_shifts_at_once_are_the_shifts_one_by_one(offset):
    rng = np.random.default_rng(0)
    measured, predicted = np.cumsum(rng.normal(size=(2, 90, 3)), axis=1) + offset
    measured[rng.random(measured.shape) < 0.2] = np.nan
    predicted[40:45, 1] = np.nan
    found = correlations(measured, predicted, 22)
    assert sorted(found) == list(range(-22, 23))
    for late, alike in found.items():
        pair = (measured[late:], predicted[: 90 - late]) if late >= 0 else (measured[:late], predicted[-late:])
        assert alike == pytest.approx(correlation(*pair), abs=1e-9)
    assert set(correlations(np.ones((20, 1)), predicted[:20, :1], 5).values()) == {0.0}
