"""How two series differ: the shift between them."""

import numpy as np
import pytest

from difmbs.identification.comparisons import lag


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
