"""Which states of a run are stored."""

import pytest

from difmbs.simulation.stored_states import Evenly, Thinning


@pytest.mark.parametrize("plan", [Evenly(100, 1), Evenly(100, 11), Thinning(8, 100), Thinning(128, 100)])
def test_after_any_number_of_steps_the_states_at_even_distances_are_there(plan):
    rows = {}
    for number in range(101):
        if number % int(plan.spacing(number)) == 0:
            rows[int(plan.row(number))] = number
        assert max(rows) < plan.rows
        spacing = int(plan.spacing(number))
        assert spacing <= plan.longest
        assert {rows[int(plan.row(k))] for k in range(0, number + 1, spacing)} == set(range(0, number + 1, spacing))


def test_long_runs_of_large_systems_store_few_states_and_small_ones_all_they_can():
    assert Thinning.of(100_000, 4).rows == 4096
    assert Thinning.of(3_000, 4).longest == 1
    large = Thinning.of(100_000, 10**6)
    assert large.rows + large.longest <= 1024
    assert Evenly.of(1000, 4).longest == 1
    assert Evenly.of(10**6, 100).longest == 1000
