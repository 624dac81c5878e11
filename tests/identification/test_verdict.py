"""What a fit says of unknowns that went to the end of what is possible."""

import functools

import numpy as np
import pytest

import difmbs as mbs

TIMES = np.linspace(0.05, 2, 40)


@functools.cache
def vibrating():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=0.1)
    model.add("spring", mbs.SpringDamper(1.0, 20.0, 0.0), between=(model.ground.at(-1, 0, 0), mass))
    return model.assemble()


def fitted(unknown):
    """The damping is zero, and what noise makes of it a little less."""
    true = mbs.simulate(vibrating(), t1=2.0, dt=0.02, saveat=TIMES)
    x = np.asarray(true["mass.position.x"]) * (1 + 1e-3 * TIMES) + 1e-3 * np.random.default_rng(2).normal(size=40)
    run = mbs.Experiment(TIMES, {"x": x}, {"x": mbs.Channel("mass.position.x", noise=1e-3)})
    return mbs.identify(vibrating(), run, {"spring.damping": unknown}, dt=0.02, progress=False)


def test_an_unknown_that_goes_to_zero_is_named():
    fit = fitted(mbs.Positive(1.0))
    assert fit.values["spring.damping"] < 1e-4
    assert fit.verdict.level == "doubt"
    assert "spring.damping went towards zero" in fit.verdict.text
    low, high = fit.interval()["spring.damping"]
    assert low == 0
    assert high > fit.values["spring.damping"]


def test_intervals_end_where_the_range_does():
    fit = fitted(mbs.Interval(0.0, -0.02, 0.02))
    value, error = fit.values["spring.damping"], fit.standard_errors["spring.damping"]
    assert fit.interval(0.5)["spring.damping"] == pytest.approx((value - 0.6744898 * error, value + 0.6744898 * error))
    assert fit.interval(1 - 1e-9)["spring.damping"] == (-0.02, 0.02)
