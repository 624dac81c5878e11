"""What shorter time steps would change in the result of a fit."""

import dataclasses
import functools

import numpy as np
import pytest

import difmbs as mbs
from difmbs.identification.verdict import checks
from difmbs.search.run_settings import RunSettings

from ..zoo import fits

TIMES = np.linspace(0, 1, 201)
NOISE = 1e-4


@functools.cache
def oscillator():
    """10 Hz: a step of 5 ms turns it by a third of a radian."""
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint(1.0), position=(0.1, 0, 0))
    spring = mbs.SpringDamper(1.0, 4000.0, 2.0)
    model.add("spring", spring, between=(model.ground.at(-1, 0, 0), mass))
    return model.assemble()


@functools.cache
def experiments():
    """Two of them, with noise that differs, and a sample that is missing."""
    x = np.asarray(mbs.simulate(oscillator(), t1=1.0, saveat=TIMES)["mass.position.x"])
    rng = np.random.default_rng(0)
    found = []
    for name, noise in (("first", NOISE), ("second", 3 * NOISE)):
        measured = x + noise * rng.normal(size=x.size)
        measured[7] = np.nan
        channel = mbs.Channel("mass.position.x", noise=noise, missing=True)
        found.append(mbs.Experiment(TIMES, {"x": measured}, {"x": channel}, name=name))
    return found


def identify(**options):
    unknowns = {"spring.stiffness": mbs.Positive(3900.0), "spring.damping": mbs.Positive(1.5)}
    return mbs.identify(oscillator(), experiments(), unknowns | options.pop("more", {}), progress=False, **options)


@functools.cache
def exact():
    return identify()


def moved(fit, other):
    return {name: other.values[name] - fit.values[name] for name in fit.names}


def test_shifts_are_those_of_a_fit_with_shorter_steps():
    fit, there = identify(dt=0.005), identify(dt=0.0025)
    assert fit.step_shifts == pytest.approx(moved(fit, there), rel=0.02)
    # The rest of the way is short: the method is of fourth order.
    assert fit.step_shifts == pytest.approx(moved(fit, exact()), rel=0.1)


@pytest.mark.parametrize("options", [dict(loss="huber"), dict(more={"x.bias": mbs.Free(0.0)}, dt=0.004)])
def test_robust_losses_and_unknowns_of_channels_have_shifts_too(options):
    options = {"dt": 0.005, **options}
    # Of losses that are no squares half the way, or more, is made in the first step.
    tolerance = 0.3 if "loss" in options else 0.1
    fit, there = (identify(**options | {"dt": options["dt"] / parts}) for parts in (1, 2))
    stiffness = "spring.stiffness"
    assert fit.step_shifts[stiffness] == pytest.approx(moved(fit, there)[stiffness], rel=tolerance)


def test_what_is_at_a_bound_does_not_move():
    fit = identify(dt=0.005, more={"spring.damping": mbs.Interval(1.5, 0.1, 1.8)})
    assert fit.at_bounds == {"spring.damping": "upper"}
    assert fit.step_shifts["spring.damping"] == 0
    assert fit.step_shifts["spring.stiffness"] < -0.1


@pytest.mark.parametrize(("dt", "level"), [(0.005, "bad"), (0.0025, "doubt"), (0.001, "good")])
def test_the_verdict_knows_whether_the_steps_are_too_long(dt, level):
    fit = identify(dt=dt)
    assert fit.verdict.level == level
    assert ("the time steps are too long" in fit.verdict.text) == (level != "good")
    far = abs(moved(fit, exact())["spring.stiffness"]) / fit.standard_errors["spring.stiffness"]
    assert (far > 1, far > 0.3) == (level == "bad", level != "good")


def test_solvers_that_choose_the_steps_are_asked_only_where_tolerances_are_loose():
    assert exact().step_shifts == {}
    loose = identify(rtol=1e-3, atol=1e-4)
    assert loose.step_shifts == pytest.approx(moved(loose, exact()), rel=0.1)
    assert "rtol = 1e-05 instead of rtol = 0.001" in " ".join(check.text for check in checks(loose))


def test_steps_with_which_nothing_can_be_predicted_are_far_too_long():
    fit = identify(dt=0.005)
    lost = dataclasses.replace(fit, step_shifts=dict.fromkeys(fit.names, np.nan))
    assert lost.verdict.text == "Do not use these numbers yet: the time steps are far too long."


def test_data_without_noise_do_not_make_steps_too_long():
    """The residuals are far smaller than the noise that was said; the errors are those of the noise."""
    fit = fits.identify(fits.experiment(), fits.unknowns())
    assert fit.step_shifts
    assert "time steps are too long" not in fit.verdict.text


def test_tighter_tolerances_are_possible_in_single_precision():
    settings = RunSettings(None, None, 5e-6, 1e-6, 1000, single=True, sampled=False)
    assert dataclasses.replace(settings, rtol=1.1e-5).with_shorter_steps.rtol == pytest.approx(1e-6)
    assert dataclasses.replace(settings, rtol=1e-3).with_shorter_steps.rtol == pytest.approx(1e-5)
    assert dataclasses.replace(settings, rtol=5e-5, single=False).with_shorter_steps.rtol == pytest.approx(5e-7)
