"""The steps of the search: how far they go, in which direction, and where they stop."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from difmbs.identification.fit_problem import AbstractLeastSquares, Scaling
from difmbs.search import levenberg_marquardt as lm

FAR = np.array([0.3, 5.0])
"""Where the optimum is, in logarithms."""


class Linear(AbstractLeastSquares):
    """Residuals weights * (z - optimum), and a constant one that nothing changes."""

    scaling: Scaling
    lower: Any
    upper: Any
    weights: Any
    optimum: Any

    @property
    def count(self) -> int:
        return 3

    def residuals(self, z):
        found = jnp.append(self.weights * (z - self.optimum), 1e3)
        return found, found

    def linearized(self, z):
        return jnp.concatenate([jnp.diag(self.weights), jnp.zeros((1, 2))]), *self.residuals(z)


def problem(weights, *, logarithmic=True, upper=np.inf):
    scaling = Scaling(np.full(2, logarithmic), np.ones(2))
    return Linear(scaling, np.full(2, -np.inf), np.array([np.inf, upper]), np.array(weights), FAR)


def first_step(weights, **options):
    setup = problem(weights, **options)
    state = lm.one_iteration(setup, lm.begin(setup, np.zeros(2)), np.ones(2, bool))
    return np.asarray(state.trial)


def test_unknowns_that_would_go_far_for_little_do_not_hold_up_the_others():
    # The second takes away 0.25 of 9e4.
    step = first_step([1000.0, 0.1])
    assert step[0] == pytest.approx(0.3, rel=0.1)
    assert 0 <= step[1] <= 0.5


def test_steps_that_matter_are_shortened_as_a_whole():
    # Each takes away half of the sum of squares. Damping costs a tenth of it, all from the second, which so goes
    # 1 - sqrt(0.1 / 0.5) of its way; then both are shortened alike.
    step = first_step([1.0 / 0.3, 1.0 / 5.0])
    assert step[1] == pytest.approx(0.5, rel=1e-6)
    assert step[1] / step[0] == pytest.approx((1 - np.sqrt(0.2)) * 5.0 / 0.3, rel=0.02)


def test_only_logarithms_are_kept_from_going_far():
    np.testing.assert_allclose(first_step([1.0, 1.0], logarithmic=False), FAR, rtol=2e-3)


def test_an_unknown_stops_at_its_bound_and_the_other_goes_on():
    np.testing.assert_allclose(first_step([1.0, 1.0], upper=0.2), [0.3, 0.2], rtol=2e-3)


@pytest.mark.parametrize("weights", [(1000.0, 0.1), (1 / 0.3, 1 / 5.0)])
def test_the_optimum_is_found_all_the_same(weights):
    setup, free = problem(weights), np.ones(2, bool)
    state = lm.begin(setup, np.zeros(2))
    while int(state.code) == lm.RUNNING and int(state.iterations) < 40:
        state = lm.one_iteration(setup, state, free)
    assert int(state.code) == lm.CONVERGED
    # To a ten-thousandth of a standard error, with a residual of 1000 that nothing explains.
    np.testing.assert_allclose(np.abs(np.asarray(state.z) - FAR) * weights, 0, atol=0.1)
