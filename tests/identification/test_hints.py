"""Questions about data with the mistakes that are made with units, zeros and times; and none without a mistake."""

import functools
import re

import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.identification.hints import Row, before, of_start, texts
from difmbs.identification.identify import checked_setup
from difmbs.identification.recorded_inputs import with_inputs

TIMES = np.linspace(0, 4, 201)
ROAD = np.convolve(np.random.default_rng(0).normal(size=241), np.ones(41) / 41, "valid") * 0.05
UNKNOWNS = {"spring.stiffness": mbs.Positive(5000.0), "spring.damping": mbs.Positive(100.0)}
OUTPUTS = {"height": "mass.position.z", "shaking": "mass.acceleration.z"}
NOISE = {"height": 1e-4, "shaking": 1e-2}


@functools.cache
def car():
    """A mass half a metre above a road."""
    model = mbs.Model()
    road = model.add("road", mbs.Mass1D(1.0, axis=(0, 0, 1)))
    mass = model.add("mass", mbs.Mass1D(50.0, axis=(0, 0, 1)), position=0.5)
    spring = mbs.SpringDamper(stiffness=5000.0, damping=100.0, reference_length=0.5)
    model.add("spring", spring, between=(road, mass))
    offset = mbs.CoordinateConstraint(offset=mbs.Piecewise((0, 1), (0, 0)))
    model.add("profile", offset, between=(model.ground, road.coordinate(0)))
    return model.assemble()


@functools.cache
def predicted(stiffness=5000.0, damping=100.0, road=1.0):
    system, points = with_inputs("", car(), {"profile.offset": mbs.Piecewise(TIMES, road * ROAD)})
    system = system.with_values({path: jnp.asarray(x) for path, x in points.items()})
    params = {"spring": {"stiffness": stiffness, "damping": damping}}
    solution = mbs.simulate(system, t1=4.0, dt=0.02, saveat=TIMES, params=params, throw=False)
    return {name: np.asarray(solution[output]) for name, output in OUTPUTS.items()}


def measured():
    rng = np.random.default_rng(1)
    return {name: x + NOISE[name] * rng.normal(size=x.size) for name, x in predicted().items()}


def ride(data=None, seconds=1.0, road=1.0, inputs=True, **channel):
    data = measured() if data is None else data
    channels = {name: mbs.Channel(OUTPUTS[name], noise=NOISE[name]) for name in data}
    if "height" in data:
        channels["height"] = mbs.Channel(OUTPUTS["height"], **{"noise": NOISE["height"], **channel})
    given = {"profile.offset": (seconds * TIMES, road * ROAD)} if inputs else {}
    return mbs.Experiment(seconds * TIMES, data, channels, inputs=given, name="ride")


def pose(experiment, **more):
    return checked_setup(car(), experiment, UNKNOWNS | more, 0.02, None, 1e-8, 1e-10, 4096)


def asked(experiment, start=(4000.0, 150.0), road=1.0, **more):
    """What is asked with start values that are somewhat wrong; `road`: what the input was multiplied by."""
    found = predicted(*start, road)
    two = lambda name: (experiment.data[name][:, None], found[name][:, None])
    return texts(of_start([Row(experiment, name, *two(name)) for name in experiment.data], pose(experiment, **more)))


@pytest.mark.parametrize("stiffness", [1500.0, 5000.0, 15000.0])
@pytest.mark.parametrize("damping", [30.0, 300.0])
def test_start_values_that_are_wrong_raise_no_question(stiffness, damping):
    assert asked(ride(), (stiffness, damping)) == ()


def test_another_zero():
    resting = measured() | {"height": measured()["height"] - 0.5}
    (said,) = asked(ride(resting))
    found = (
        r"ride, 'height': measured is 0.5\d* less than predicted, nearly constant \(-0.5\d* \+- 0.00\d+\): a bias, or "
    )
    assert re.match(rf"{found}another zero\? Then the channel needs bias = -0.5", said)
    assert "or an unknown 'height.bias'. Or does the model rest elsewhere" in said
    assert asked(ride(resting, bias=-0.5)) != ()  # the predictions here know nothing of it
    assert asked(ride(resting), **{"height.bias": mbs.Free(0.0)}) == ()


def test_channels_in_other_units():
    (said,) = asked(ride({"height": 1e3 * measured()["height"]}))
    assert 'in millimetres or the like? Then the channel needs scale = 0.001, or unit = "mm"' in said
    (said,) = asked(ride({"height": 57.3 * measured()["height"]}))
    assert "in degrees? Then the channel needs scale = 0.0174533" in said
    (said,) = asked(ride({"height": measured()["height"]}, scale=1e3))
    assert "Then the channel needs scale = 1. Or are lengths or masses" in said
    _, said = asked(ride({"height": measured()["height"]}, unit="mm"))
    assert "Then the channel needs neither unit nor scale. Or are lengths or masses" in said
    (said,) = asked(ride({"height": measured()["height"]}, unit="km", inputs=False))
    assert "Then the channel needs neither unit nor scale. Or are lengths or masses" in said


def test_an_input_in_other_units_comes_before_the_channels_and_is_named():
    (said,) = asked(ride(road=1e3), road=1e3)
    assert said.startswith("ride: what varies is 0.00")
    least, most = 1e3 * ROAD.min(), 1e3 * ROAD.max()
    assert f", in all channels: is input 'profile.offset', from {least:.4g} to {most:.4g} in SI units, in milli" in said
    assert said.endswith('Then it has to be multiplied by 0.001, with scale or unit = "mm"')
    # Of one channel, too.
    said, *_ = asked(ride({"height": measured()["height"]}, road=1e3), road=1e3)
    assert "is input 'profile.offset'" in said
    # That of an input in kilometres is that of a channel in millimetres, if there is one only.
    (said,) = asked(ride(road=1e-3), road=1e-3)
    assert "is input 'profile.offset'" in said
    assert "in thousands of the SI unit? Then it has to be multiplied by 1000, with scale" in said


def test_an_acceleration_in_g():
    (said,) = asked(ride({"shaking": measured()["shaking"] / 9.80665}))
    assert 'in g? Then the channel needs scale = 9.80665, or unit = "g"' in said
    # What varies by as much less for another reason is not.
    assert "in g?" not in " ".join(asked(ride({"height": measured()["height"] / 9.80665})))


def test_a_sensor_that_counts_in_the_other_direction():
    mean = np.mean(measured()["height"])
    (said,) = asked(ride({"height": 2 * mean - measured()["height"]}))
    assert said.startswith("ride, 'height': measured is the opposite of what the start values predict")
    assert "Then the channel needs scale = -1" in said
    (said,) = asked(ride({"height": measured()["height"], "shaking": -measured()["shaking"]}))
    assert said.startswith("ride, 'shaking'")


def test_an_input_that_counts_in_the_other_direction():
    """Which is seen by all channels together; of one alone it may be the sensor's."""
    (said,) = asked(ride(road=-1.0), road=-1.0)
    assert "does input 'profile.offset' count in the other direction? Then it needs scale = -1" in said
    (said,) = asked(ride({"shaking": measured()["shaking"]}, road=-1.0), road=-1.0)
    assert "Then the channel needs scale = -1, or an input does" in said


@pytest.mark.parametrize("late", [7, -7])
def test_a_record_that_comes_late(late):
    moved = {name: np.roll(x, late) for name, x in measured().items()}
    found = asked(ride(moved))
    assert [said.split(":")[0] for said in found] == ["ride, 'height'", "ride, 'shaking'"]
    later = "later" if late > 0 else "earlier"
    assert f"measured comes 0.14 s {later} than what the start values predict, and is alike otherwise" in found[1]
    ends = "0, 0.28" if late > 0 else "-0.28, 0"
    assert f"or an unknown 'shaking.delay' such as mbs.Interval({0.02 * late:g}, {ends})" in found[1]
    assert asked(ride({"height": moved["height"]}), **{"height.delay": mbs.Interval(0.0, -0.5, 0.5)}) == ()


def test_a_model_that_is_not_at_rest_where_the_measured_thing_is():
    """Its mass falls onto the spring first, because gravity was forgotten in the free length of it."""
    rests = np.where(TIMES < 1.0, 0.5, 0.5 + 0.02 * np.sin(8 * (TIMES - 1.0)))
    falls = 0.5 - 0.1 * (1 - np.cos(10 * TIMES) * np.exp(-TIMES))
    experiment = ride({"height": rests + 1e-4 * np.random.default_rng(2).normal(size=TIMES.size)})
    row = Row(experiment, "height", experiment.data["height"][:, None], falls[:, None])
    (said,) = texts(of_start([row], pose(experiment)))
    assert "rests in the beginning, and the model moves at once: is it in equilibrium at its start?" in said


@pytest.mark.parametrize(
    ("seconds", "question"),
    [
        (1.0, None),
        (1e3, "samples are 20 s apart, and the slowest vibration of the model has a period of 0.628"),
        (1e-3, "all samples are within 0.004 s, and the fastest vibration of the model has a period of 0.628"),
    ],
)
def test_times_that_are_far_from_the_models(seconds, question):
    setup = pose(ride(seconds=seconds))
    said = texts(before(setup, jnp.asarray([5000.0, 100.0])))
    assert len(said) == (question is not None)
    if question is not None:
        assert said[0].startswith(f"ride: {question}")


def test_noise_in_other_units():
    (said,) = texts(before(pose(ride(noise=0.1)), jnp.asarray([5000.0, 100.0])))
    assert said.startswith("ride, 'height': the noise, 0.1, is larger than the whole range of the data, 0.0")


def test_questions_are_asked_when_they_arise_and_are_in_the_fit():
    resting = measured() | {"height": measured()["height"] - 0.5}
    lines = []
    fit = mbs.identify(car(), ride(resting), UNKNOWNS, dt=0.02, max_iterations=2, progress=lines.append)
    (question,) = fit.hints
    assert "another zero?" in question
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("0 "))
    assert lines[first + 1] == f"hint: {question}"
    assert lines[first + 2].lstrip().startswith("1")
    assert f"hint: {question}" in str(fit)
    assert (fit.verdict.level, "questions about the data" in fit.verdict.text) == ("bad", True)


def test_a_validation_that_cannot_be_predicted_is_no_success():
    """Its times are in milliseconds, which is asked before anything is simulated; the verdict is bad all the same."""
    free = mbs.Model()
    mass = free.add("mass", mbs.Mass1D(1.0), position=0.1)
    free.add("spring", mbs.SpringDamper(1.0, 400.0, 2.0), between=(free.ground.at(-1.0, 0, 0), mass))
    system, times = free.assemble(), np.linspace(0.0, 2.0, 101)
    position = np.asarray(mbs.simulate(system, t1=2.0, saveat=times)["mass.position.x"])
    channel = mbs.Channel("mass.position.x", noise=1e-3)
    noisy = position + 1e-3 * np.random.default_rng(0).normal(size=times.size)
    records = [
        mbs.Experiment(scale * times, {"x": noisy}, {"x": channel}, name=name, validation=name == "held")
        for name, scale in (("run", 1.0), ("held", 1000.0))
    ]
    said: list[str] = []
    unknowns = {"spring.stiffness": mbs.Positive(350.0)}
    fit = mbs.identify(system, records, unknowns, rtol=1e-6, atol=1e-8, max_steps=500, progress=said.append)
    assert fit.status == "converged"
    assert np.isnan(fit.validation[0].rms)
    assert (fit.verdict.level, "cannot be predicted" in fit.verdict.text) == ("bad", True)
    assert [line for line in said if "held" in line and "milliseconds" in line]
