"""What was recorded drives a model: in fits, in model files, on the command line; and which time step it asks for."""

import functools
import json
from pathlib import Path

import diffrax
import numpy as np
import pytest

import difmbs as mbs
from difmbs.identification.failures import remedied
from difmbs.identification.identify import checked_setup
from difmbs.identification.time_scale import fastest, refined, step_of

from ..helpers.commands import run

SAMPLING = 0.0125
POINTS = np.arange(81) * SAMPLING
FORCE = np.round(np.random.default_rng(0).normal(size=81), 3)
TABLE = "t,F\n" + "".join(f"{1e3 * t:g},{1e-3 * f:.6f}\n" for t, f in zip(POINTS, FORCE, strict=True))
"""In milliseconds and kilonewtons."""
MODEL = """schema = 1
[[mass_1d]]
name = "mass"
mass = 2
[[spring_damper]]
name = "spring"
between = [{ body = "ground", at = [-1, 0] }, "mass"]
stiffness = 70
damping = 2
reference_length = 1
[[coordinate_load]]
name = "drive"
on = { body = "mass", coordinate = 0 }
load = { times = [0, 1], values = [0, 0] }
[[sensor]]
name = "u"
of = "mass"
quantity = "position.x"
[simulation]
t_end = 1
"""


@functools.cache
def driven(stiffness=70.0, by_record=False):
    drive = mbs.Piecewise(POINTS, FORCE) if by_record else mbs.Piecewise((0, 1), (0, 0))
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(2.0))
    model.add("spring", mbs.SpringDamper(1.0, stiffness, 2.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("drive", mbs.CoordinateLoad(drive), on=mass.coordinate(0))
    return model.assemble()


def record(inputs=(POINTS, FORCE), name="run", **rest):
    times = np.linspace(0, 1, 51)
    data = mbs.simulate(driven(by_record=True), t1=1.0, dt=SAMPLING, saveat=times)["mass.position.x"]
    channels = {"u": mbs.Channel("mass.position.x", noise=1e-4)}
    return mbs.Experiment(times, {"u": data}, channels, inputs={"drive.load": inputs}, name=name, **rest)


def test_without_a_time_step_it_is_the_sampling_of_the_inputs():
    wanted = {"spring.stiffness": mbs.Positive(50.0)}
    lines = []
    chosen = mbs.identify(driven(50.0), record(), wanted, progress=lines.append)
    given = mbs.identify(driven(50.0), record(), wanted, dt=SAMPLING, progress=False)
    assert chosen.values == given.values
    assert chosen.values["spring.stiffness"] == pytest.approx(70.0, rel=1e-6)
    remark = "run: dt = 0.0125 s, the sampling of 'drive.load'; give dt for another one"
    assert lines[0] == remark
    assert remark in str(chosen)
    assert "sampling" not in str(given)


def program_of(experiments, **options):
    options = dict(dt=None, solver=None, rtol=None, atol=None, max_steps=100_000) | options
    setup = checked_setup(driven(), experiments, {"spring.stiffness": mbs.Positive(50.0)}, **options)
    return setup.groups[0].program


def dt_of(experiments, **options):
    return program_of(experiments, **options).settings.dt


def test_what_is_given_counts_and_what_is_no_record_leaves_adaptive_steps():
    assert dt_of(record()) == pytest.approx(SAMPLING, rel=1e-12)
    assert dt_of([record(), record(name="other", validation=True)]) == pytest.approx(SAMPLING, rel=1e-12)
    assert dt_of(record(), dt=0.02) == 0.02
    assert dt_of(record(), rtol=1e-6) is None
    assert dt_of(record(), solver=diffrax.Tsit5()) is None
    few, irregular = (POINTS[::8], FORCE[::8]), (POINTS**2, FORCE)
    for inputs in (few, irregular):
        assert dt_of(record(inputs)) is None


def test_a_fast_vibration_divides_the_sampling():
    functions = {"drive.load": mbs.Piecewise(POINTS, FORCE)}
    step = step_of(functions, 0.0, 1.0)
    rate = fastest(driven(2e4), 0.0)
    assert rate == pytest.approx(np.sqrt(2e4 / 2.0), rel=1e-9)
    parts = refined(step, rate)
    assert parts.parts == 5
    assert parts.dt == pytest.approx(SAMPLING / 5)
    assert "dt = 0.0025 s, a part of the sampling of 'drive.load' (0.0125 s), because the fastest vib" in str(parts)
    assert refined(step, 1e5) is None
    assert refined(step, None).dt == step.sampling
    gaps = mbs.Piecewise(np.delete(POINTS, [20, 21]), np.delete(FORCE, [20, 21]))
    assert step_of({"drive.load": gaps}, 0.0, 1.0).sampling == pytest.approx(SAMPLING)
    # A motion that is prescribed does not vibrate.
    model = mbs.Model()
    road, wheel = (model.add(name, mbs.Mass1D(2.0)) for name in ("road", "wheel"))
    offset = mbs.CoordinateConstraint(offset=mbs.Piecewise((0, 1), (0, 0)))
    model.add("profile", offset, between=(model.ground, road.coordinate(0)))
    model.add("tyre", mbs.SpringDamper(stiffness=5000.0, reference_length=1.0), between=(road.at(-1, 0, 0), wheel))
    assert fastest(model.assemble(), 0.0) == pytest.approx(50.0, rel=1e-9)


def test_errors_name_the_remedy_that_fits():
    run = record()
    said = lambda status, **options: remedied(
        "It stopped.", mbs.SimulationError("", status, 0.2), program_of(run, **options), run
    )
    assert said("max_steps", rtol=1e-9) == (
        "the simulation stopped at t = 0.2: the number of steps reached max_steps, because adaptive steps begin anew "
        "at each of the 81 points of 'drive.load'. Give dt, the size of fixed steps, for example 0.0125."
    )
    assert said("non_finite") == "It stopped. With dt = 0.0125 the steps may be too large: give a smaller dt."
    assert said("non_finite", rtol=1e-9) == said("singular") == "It stopped."


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("push.csv").write_text(TABLE)
    Path("model.toml").write_text(MODEL)
    named = '{ file = "push.csv", column = "F", unit = "kN", time_unit = "ms" }'
    Path("named.toml").write_text(MODEL.replace("{ times = [0, 1], values = [0, 0] }", named))
    return tmp_path


def test_a_model_file_names_a_table(folder):
    model = mbs.load("named.toml")
    load = model.assemble().params()["drive"]["load"]
    np.testing.assert_allclose(load["times"], POINTS, atol=1e-15)
    np.testing.assert_allclose(load["values"], FORCE, atol=1e-12)
    mbs.save(model, "saved.toml")
    Path("push.csv").unlink()
    again = mbs.load("saved.toml").assemble().params()["drive"]["load"]
    np.testing.assert_array_equal(again["values"], load["values"])
    Path("inner").mkdir()
    Path("push.csv").write_text(TABLE)
    Path("inner/model.toml").write_text(Path("named.toml").read_text().replace('"push.csv"', '"../push.csv"'))
    with pytest.raises(mbs.FileError, match=r"push.csv' is outside of the file's folder"):
        mbs.load("inner/model.toml")
    mbs.load("inner/model.toml", allow_outside=True)
    assert "bodies: 1" in run("check", "inner/model.toml", "--allow-outside").stdout
    assert "is outside" in run("simulate", "inner/model.toml", code=3).stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('column = "F"', 'column = "f"', "push.csv: there is no column 'f'. Known: t, F"),
        ('column = "F", ', "", "coordinate_load 'drive': load: column is missing. .item 1, line 11."),
        ('file = "push.csv", ', "", "load: file is missing"),
        ('"kN"', '"kn"', "load: there is no unit 'kn'|there is no unit 'kn'"),
        ('"ms"', '"kN"', "the times of column 't' cannot be in kN"),
        ('"push.csv"', '"pull.csv"', "pull.csv cannot be read: No such file"),
        ('"kN"', '"kN", delimter = ";"', "load: there is no 'delimter'. Did you mean 'delimiter'"),
    ],
)
def test_tables_of_model_files_that_are_wrong(folder, old, new, message):
    text = Path("named.toml").read_text()
    assert old in text
    Path("named.toml").write_text(text.replace(old, new))
    with pytest.raises(mbs.FileError, match=message):
        mbs.load("named.toml")


def test_simulate_with_an_input(folder):
    table = '{ file = "push.csv", column = "F", unit = "kN", time_unit = "ms" }'
    said = run("simulate", "model.toml", "--input", f"drive.load={table}").stdout
    assert said.startswith("dt = 0.0125 s, the sampling of 'drive.load'; give dt in [simulation] for another one\n")
    saved = mbs.load_result("run/solution.npz")
    # Where nothing is said, what is saved is where the record has its points.
    times = np.linspace(0, 1, 81)
    np.testing.assert_allclose(saved.t, times, atol=1e-12)
    expected = mbs.simulate(driven(by_record=True), t1=1.0, dt=SAMPLING, saveat=times)["mass.position.x"]
    np.testing.assert_allclose(saved["u"], expected, atol=1e-12)
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["inputs"] == [f"drive.load={table}"]
    assert manifest["settings"]["dt"] == pytest.approx(SAMPLING)
    Path("push.csv").write_text("t,F\n" + "".join(f"{t:g},{f:.6f}\n" for t, f in zip(POINTS, FORCE, strict=True)))
    run("simulate", "model.toml", "--input", "drive.load=push.csv:F:N", "--out", "short")
    np.testing.assert_allclose(mbs.load_result("short/solution.npz")["u"], saved["u"], atol=1e-12)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("drive.load", 2, "--input takes NAME=FILE:COLUMN or NAME=FILE:COLUMN:UNIT"),
        ("drive.load=push.csv", 2, "--input takes NAME=FILE:COLUMN"),
        ("drive.load=push.csv:f", 3, "push.csv: there is no column 'f'. Known: t, F"),
        ("drive.load=push.csv:F:x", 2, "--input drive.load: there is no unit 'x'. Known: m, mm"),
        ("drive.lod=push.csv:F", 2, "--input: 'drive.lod' is not a function given by points"),
        ("drive.load={ file = 1 }", 2, "--input drive.load: file must be a text, got 1"),
        ("drive.load={ file = ", 2, "--input 'drive.load={ file = '"),
        ("drive.load=none.csv:F", 3, "none.csv cannot be read"),
    ],
)
def test_inputs_that_are_refused(folder, given, code, message):
    result = run("simulate", "model.toml", "--input", given, code=code)
    assert message in result.stderr
    assert not Path("run").exists()
