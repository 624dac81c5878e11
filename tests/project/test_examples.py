"""The examples find what their data were made with, as surely as theory allows, and name what cannot be told."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import difmbs as mbs
from difmbs.files.model_files import read_model

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    """Imports a file of an example."""

    def load(path):
        monkeypatch.syspath_prepend(EXAMPLES / path.partition("/")[0])
        spec = importlib.util.spec_from_file_location(path.replace("/", "_"), EXAMPLES / f"{path}.py")
        module = importlib.util.module_from_spec(spec)
        before = set(sys.modules)
        spec.loader.exec_module(module)
        for name in set(sys.modules) - before:
            # Other examples have files of the same names.
            if "." not in name and (EXAMPLES / path).with_name(f"{name}.py").exists():
                del sys.modules[name]
        return module

    return load


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """No fit of an example asks anything about its data, neither on the way nor at its end."""
    said = []
    monkeypatch.setattr("difmbs.search.progress.Lines.say", lambda _, text: said.append(text))
    yield
    assert not [text for text in said if text.startswith("hint")]


def test_all_examples_are_here():
    folders = {path.name for path in EXAMPLES.iterdir() if any(path.glob("*.toml")) or any(path.glob("*.py"))}
    assert {name for name in folders if f"test_{name}" not in globals()} == set()


def test_governor():
    """The steady angle of a conical pendulum, for both balls; then the drive has nothing to do."""
    described = read_model(EXAMPLES / "governor" / "model.toml")
    solution = mbs.simulate(described.assemble(), **described.simulation.arguments())
    out = np.linalg.norm(solution["centres"][-1][:, :2], axis=1)
    np.testing.assert_allclose(out, 0.5 * np.sqrt(1 - (9.81 / (6.0**2 * 0.5)) ** 2), rtol=1e-5)
    np.testing.assert_allclose(solution["drive.torque"][-1], 0, atol=1e-3)


def test_hydraulic_arm():
    """Lifted while the valves are open; then the oil carries the weight: the moments about the hinge are in balance."""
    described = read_model(EXAMPLES / "hydraulic_arm" / "model.toml")
    solution = mbs.simulate(described.assemble(), **described.simulation.arguments())
    angle = np.asarray(solution["hinge.angle"])
    assert angle[-1] > 0.02
    assert np.ptp(angle[-20:]) < 1e-4
    arm = np.array([np.cos(angle[-1]), np.sin(angle[-1])])
    force = np.asarray(solution["cylinder.force"][-1])[:2]
    # The force on marker 1 is the opposite of that on marker 0.
    moment = 0.3 * (arm[0] * -force[1] - arm[1] * -force[0])
    np.testing.assert_allclose(moment, 120.0 * 9.81 * 0.5 * arm[0], rtol=2e-3)


def test_bump_stop():
    found = mbs.load_fit(EXAMPLES / "bump_stop" / "fit.toml").run()
    assert (found.status, found.hints, found.verdict.level) == ("converged", (), "good")
    off = found.numbers - [18e3, 1200.0, 60.0, 150e3]
    assert np.all(np.abs(off) < 3 * np.array(list(found.standard_errors.values())))
    assert all(0.9 < r.rms < 1.1 for r in found.residuals)


@pytest.mark.parametrize("name", ["bump_stop", "robot_arm"])
def test_data_are_those_of_their_programs(example, name):
    table = {"bump_stop": "ride", "robot_arm": "swings"}[name]
    written = np.loadtxt(EXAMPLES / name / f"{table}.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(written, example(f"{name}/make_data").record(), atol=0.6e-4)


def test_robot_arm(example):
    found = example("robot_arm/fit").fit()
    assert (found.status, found.hints, found.verdict.level) == ("converged", (), "good")
    off = found.numbers - [0.3, 0.8, 0.15, 0.4]
    assert np.all(np.abs(off) < 3 * np.array(list(found.standard_errors.values())))


def test_spatial_slider_crank():
    """The rod keeps its length, the start meets the constraints, and the slider turns back after each half turn."""
    described = read_model(EXAMPLES / "spatial_slider_crank" / "model.toml")
    solution = mbs.simulate(described.assemble(), **described.simulation.arguments())
    assert solution.stats["start_moved"] < 1e-8
    assert solution.stats["start_turned"] < 1e-6
    angle, end = solution["crank angle"], solution["slider.position"]
    pin = 0.3 * np.stack([0 * angle, -np.sin(angle), np.cos(angle)], axis=-1)
    np.testing.assert_allclose(np.linalg.norm(end - pin, axis=1), 1.0, atol=1e-9)
    assert np.ptp(solution["stroke"]) > 0.05


def test_from_exudyn(example):
    pytest.importorskip("exudyn")
    differences, slope = example("from_exudyn/compare").main()
    assert max(differences.values()) < 1e-9
    assert abs(slope) > 0.01


def test_pendulum():
    """Energy: the speed at the lowest point, where the rod carries three times the weight."""
    described = read_model(EXAMPLES / "pendulum" / "model.toml")
    solution = mbs.simulate(described.assemble(), **described.simulation.arguments())
    place = np.asarray(solution["place"])
    np.testing.assert_allclose(np.hypot(place[:, 0], place[:, 1]), 0.8, rtol=1e-9)
    # T = m (v^2 / l - g y / l), with v^2 = -2 g y.
    np.testing.assert_allclose(solution["tension"], -3 * 1.2 * 9.81 * place[:, 1] / 0.8, atol=1e-5)
    assert np.max(solution["tension"]) > 0.99 * 3 * 1.2 * 9.81


def test_drop_test():
    found = mbs.load_fit(EXAMPLES / "drop_test" / "fit.toml").run()
    assert (found.status, found.verdict.level) == ("converged", "good")
    off = found.numbers - [800.0, 8.0]
    assert np.all(np.abs(off) < 3 * np.array(list(found.standard_errors.values())))


def test_quarter_car():
    found = mbs.load_fit(EXAMPLES / "quarter_car" / "fit.toml").run()
    assert (found.status, found.hints, found.verdict.level) == ("converged", (), "good")
    off = found.numbers - [18e3, 1200.0, 180e3, 1.5e-3 - 0.8]
    assert np.all(np.abs(off) < 3 * np.array(list(found.standard_errors.values())))
    assert all(0.9 < r.rms < 1.1 for r in (*found.residuals, *found.validation))
    rigid = mbs.load_fit(EXAMPLES / "quarter_car" / "rigid_tyre_fit.toml").run()
    assert rigid.verdict.level == "bad"
    assert rigid.validation[1].rms > 10


def test_data_of_the_quarter_car_are_those_of_its_program(example):
    made = example("quarter_car/make_data")
    logger = dict(delimiter=";", decimal=",", units_row=True, time="time")
    for name, seed, dialect, of_time in (("ride", 3, logger, 1e3), ("second_ride", 2, dict(time="t"), 1.0)):
        table = mbs.read_table(EXAMPLES / "quarter_car" / f"{name}.csv", **dialect)
        times, *measured = made.record(seed)
        np.testing.assert_allclose(table.column(dialect["time"]), of_time * times, rtol=1e-12)
        for column, values, digit in zip(("road", "height", "acceleration"), measured, (0.01, 0.01, 1e-4), strict=True):
            # Rounded; on another machine the last digit may be another one.
            np.testing.assert_allclose(table.column(column), values, atol=0.51 * digit)


SQUEEZER = {"spring.stiffness": 4530.0, "spring.reference_length": 0.07785, "drive.load_vector[2]": 0.033}
CRAMER_RAO = np.array([8.9e-4, 2.7e-4, 1.1e-4])
"""Relative standard deviations for 1 mrad of noise, from sensitivities by finite differences of another simulation."""


def test_squeezer(example):
    squeezer = example("squeezer/fit")
    found = squeezer.fit()
    assert found.status == "converged"
    assert (found.hints, found.verdict.level) == ((), "good")
    truth = np.array([SQUEEZER[name] for name in found.names])
    errors = np.array(list(found.standard_errors.values()))
    np.testing.assert_allclose(errors / truth, CRAMER_RAO, rtol=0.05)
    assert np.all(np.abs(found.numbers - truth) < 3 * errors)
    assert all(0.9 < r.rms < 1.1 for r in found.residuals)
    more = squeezer.fit(**{"bars.mass[2]": mbs.Positive(0.02), "bars.inertia[2]": mbs.Positive(5e-6)})
    # They act by m (sa^2 + sb^2) + I.
    (direction,) = more.identifiability.directions
    assert set(direction.names) == {"bars.mass[2]", "bars.inertia[2]"}
    factor = re.search(r"([\d.]+) \* bars.inertia", str(direction))
    assert float(factor[1]) == pytest.approx(1 / (0.01874**2 + 0.01043**2), rel=1e-4)


def test_three_tests(example):
    three = example("three_tests/fit")
    for test, rank in zip(three.tests(), (1, 2, 4), strict=True):
        alone = three.fit([test])
        assert alone.identifiability.rank == rank < len(alone.names)
    together = three.fit(three.tests())
    assert together.hints == ()
    assert together.identifiability.full
    truth = np.array([1200.0, 400.0, 2.0, 1.3, 2.0])
    assert np.all(np.abs(together.numbers - truth) < 3 * np.array(list(together.standard_errors.values())))


def test_slider_crank(example):
    design = example("slider_crank/balance").balance()
    assert design.status == "converged"
    np.testing.assert_allclose(design.numbers, [-0.075, -0.15], atol=1e-6)
    assert design.evaluations <= 60


def test_outer_planets(example):
    planets = example("outer_planets/fit")
    found = planets.fit()
    assert found.status == "converged"
    assert found.values["gravitation.gravitational_constant"] == pytest.approx(planets.DE421, rel=1e-6)
    masses = {"jupiter": 1047.3486, "saturn": 3497.898, "uranus": 22902.98, "neptune": 19412.24}
    for name, inverse in masses.items():
        assert 1 / found.values[f"{name}.mass"] == pytest.approx(inverse, rel=2e-3)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_intervals_of_the_squeezer_hold(example):
    """100 draws of noise: the spread is the Cramer-Rao bound, and the intervals hold the truth."""
    squeezer = example("squeezer/squeezer")
    times = np.linspace(0, 0.03, 301)
    clean = np.asarray(mbs.simulate(squeezer.squeezer(), t1=0.03, saveat=times)["angles"])
    rng = np.random.default_rng(0)
    noisy = lambda: {"angles": clean + 1e-3 * rng.normal(size=clean.shape)}
    runs = [mbs.Experiment(times, noisy(), {"angles": mbs.Channel(noise=1e-3)}, name=str(i)) for i in range(100)]
    fits = mbs.identify_each(
        squeezer.squeezer(), runs, {name: mbs.Positive(1.05 * value) for name, value in SQUEEZER.items()}
    )
    assert np.all(fits.status == "converged")
    truth = np.array([SQUEEZER[name] for name in fits.names])
    off = fits.numbers / truth - 1
    ratio = np.sqrt(np.mean(off**2, axis=0)) / CRAMER_RAO
    held = np.mean(np.abs(off) <= 1.96 * fits.errors / truth, axis=0)
    assert np.all((ratio >= 0.85) & (ratio <= 1.15)), ratio
    assert np.all(held >= 0.89), held
