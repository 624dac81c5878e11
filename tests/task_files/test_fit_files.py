"""Fit and design files: what they say is what Python gets, and every mistake is refused in one sentence."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ..helpers.commands import run
from ..helpers.mutations import assert_read_or_refused
from ..helpers.unhooked import mbs

MODEL = """schema = 1
[[mass_1d]]
name = "mass"
mass = 1.6
[[spring_damper]]
name = "spring"
between = [{ body = "ground", at = [-1, 0] }, "mass"]
stiffness = 4000
damping = 8
reference_length = 1
[[coordinate_load]]
name = "drive"
on = { body = "mass", coordinate = 0 }
load = { times = [0, 1], values = [0, 0] }
[[sensor]]
name = "place"
of = "mass"
quantity = "position"
[simulation]
t_end = 0.2
dt = 0.01
"""
FIT = """schema = 1
model = "model.toml"
[unknown."spring.stiffness"]
start = 3000
lower = 100
upper = 1e5
[unknown."spring.damping"]
start = 3
positive = true
prior = [8, 4]
[unknown."mass.velocity"]
start = 0
own = true
[unknown."mass.mass"]
value = 1.7
[[experiment]]
name = "run"
file = "run.csv"
time = "time"
t0 = -0.5
weight = 2
params = { "mass.position" = 0.1 }
[experiment.channels]
x = { output = "mass.position.x", column = "x_mm", scale = 1e-3, noise = 1e-3, missing = true }
place = { column = ["force", "y", "y"], noise = 0.1 }
[experiment.inputs]
"drive.load" = { column = "force", scale = 2, smooth = true }
[[static_test]]
file = "loads.csv"
channels = { "mass.position.x" = { column = "u" } }
loads = { "drive.load.values[0]" = "f" }
[[modal_test]]
channels = { frequency = { values = [7.9], noise = 0.1 } }
loaded = false
validation = true
[simulation]
dt = 0.02
[search]
starts = 3
seed = 1
loss = "huber"
max_iterations = 7
"""
DESIGN = """schema = 1
model = "model.toml"
[unknown."spring.damping"]
start = 3
lower = 0
[unknown."spring.stiffness"]
follows = "spring.damping"
factor = 500
[[objective]]
quantity = "mean_square"
output = "place"
component = 0
weight = 2
[[limit]]
quantity = "smooth_maximum"
output = "mass.velocity.x"
width = 0.1
upper = 3
[search]
tolerance = 1e-6
"""
RUN = "time,x_mm,y,force\n0,1,0,5\n0.1,,0,6\n0.2,3,0,7\n"
LOADS = "f,u\n-10,-1\n10,1\n"


FILES = {"model.toml": MODEL, "fit.toml": FIT, "design.toml": DESIGN, "run.csv": RUN, "loads.csv": LOADS}


@pytest.fixture
def folder(tmp_path):
    """A folder with all files, some of them with another content."""

    def write(**others):
        for name, text in (FILES | {name.replace("_", "."): text for name, text in others.items()}).items():
            (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return write


def test_a_fit_file_says_what_python_would(folder):
    fit = mbs.load_fit(folder() / "fit.toml")
    assert fit.unknowns == {
        "spring.stiffness": mbs.Interval(3000, 100, 1e5),
        "spring.damping": mbs.Positive(3, prior=(8, 4)),
        "mass.velocity": mbs.Free(0, own=True),
        "mass.mass": mbs.Fixed(1.7),
    }
    run, static, modal = fit.experiments
    assert (run.name, run.t0, run.weight, run.validation) == ("run", -0.5, 2.0, False)
    np.testing.assert_array_equal(run.times, [0, 0.1, 0.2])
    np.testing.assert_array_equal(run.data["x"], [1e-3, np.nan, 3e-3])
    assert run.channels["x"].output == "mass.position.x"
    assert run.params == {"mass.position": 0.1}
    np.testing.assert_array_equal(run.inputs["drive.load"].values, [10, 12, 14])
    assert run.inputs["drive.load"].smooth
    np.testing.assert_array_equal(static.loads["drive.load.values[0]"], [-10, 10])
    assert (static.name, modal.name, modal.loaded, modal.validation) == ("loads", "modal test", False, True)
    assert fit.simulation == dict(dt=0.02, solver=None, rtol=None, atol=None, max_steps=100_000)
    assert fit.search == dict(starts=3, seed=1, loss="huber", max_iterations=7)


def as_logger(text):
    """A table as loggers write them."""
    names, *rows = text.replace(",", ";").replace(".", ",").splitlines()
    return "Test 7\n\n" + "\n".join([names, "[ms];mm;;kN", *rows]) + "\n"


AS_LOGGER = 'delimiter = ";"\ndecimal = ","\nskip = 2\nunits_row = true\nencoding = "latin-1"\n'
OF_PYTHON = dict(delimiter=";", decimal=",", skip=2, units_row=True, encoding="latin-1")


def test_units_and_tables_of_loggers(folder):
    run = "time,x_mm,y,force\n0,1,0,5\n100,,0,6\n200,3.5,0,7\n"
    said = FIT.replace('time = "time"\n', f'time = "time"\n{AS_LOGGER}')
    # The table says the units itself.
    said = said.replace('column = "x_mm", scale = 1e-3', 'column = "x_mm"').replace(
        '["force", "y", "y"]', '["force", "y", "y"], unit = "mm"'
    )
    text = FIT.replace('"time"\n', '"time"\ntime_unit = "ms"\n').replace("scale = 1e-3,", 'unit = "mm",')
    text = text.replace("scale = 2,", 'scale = 2, unit = "kN",').replace('"y", "y"]', '"y", "y"], unit = "mm"')
    one, other = (
        mbs.load_fit(folder(fit_toml=fit, run_csv=table) / "fit.toml").experiments[0]
        for fit, table in ((text, run), (said.replace("scale = 2,", ""), as_logger(run)))
    )
    np.testing.assert_allclose(one.times, [0, 0.1, 0.2])
    np.testing.assert_allclose(one.data["x"], [1e-3, np.nan, 3.5e-3])
    np.testing.assert_allclose(one.data["place"][:, 0], [5e-3, 6e-3, 7e-3])
    np.testing.assert_allclose(one.inputs["drive.load"].values, [1e4, 1.2e4, 1.4e4])
    np.testing.assert_array_equal(other.inputs["drive.load"].values, [5e3, 6e3, 7e3])
    path = folder(run_csv=as_logger(run)) / "run.csv"
    channels = {"x": mbs.Channel(column="x_mm", missing=True), "place": mbs.Channel(column=("force",) * 3, unit="mm")}
    inputs = {"drive.load": mbs.Column("force", smooth=True)}
    third = mbs.Experiment.from_csv(path, channels, time="time", inputs=inputs, **OF_PYTHON)
    for read in (other, third):
        np.testing.assert_array_equal(read.times, one.times)
        np.testing.assert_array_equal(read.data["x"], one.data["x"])
        assert read.channels["x"].unit == "mm"
        np.testing.assert_array_equal(read.inputs["drive.load"].times, one.times)
    np.testing.assert_array_equal(third.inputs["drive.load"].values, [5e3, 6e3, 7e3])
    scaled = {"drive.load": mbs.Column("force", scale=2, unit="N")}
    read = mbs.Experiment.from_csv(path, channels, time="time", time_unit="s", inputs=scaled, **OF_PYTHON)
    np.testing.assert_array_equal(read.inputs["drive.load"].values, [10, 12, 14])
    np.testing.assert_array_equal(read.times, [0, 100, 200])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"x_mm"', '"x_mm", unit = "furlong"', "there is no unit 'furlong'. Known: m, mm, cm, .*; s, ms.* give scale"),
        ('"time"\n', '"time"\ntime_unit = "mm"\n', "the times of column 'time' cannot be in mm"),
        ('"force", scale = 2', '"force", scale = 0', "scale must be a number other than 0, got 0"),
        ('"mass.position.x", column', '"mass.velocity.x", unit = "mm", column', "mm is a unit of m, .* is in m/s"),
        ('"force", scale = 2', '"force", delimiter = ";"', "input 'drive.load': there is no 'delimiter'"),
        ('"time"\n', '"time"\nskip = 9\n', " is empty"),
        ('"time"\n', '"time"\ndelimiter = "x"\n', "delimiter must be one of"),
        ('"time"\n', '"time"\nfrom = 0.15\n', "1 samples are from 0.15 to inf s, two are needed. .* from 0 to 0.2 s"),
    ],
)
def test_units_and_windows_that_are_refused(folder, old, new, message):
    assert old in FIT
    with pytest.raises(mbs.FileError, match=f"(fit.toml: experiment 'run'|run.csv).*{message}"):
        mbs.load_fit(folder(fit_toml=FIT.replace(old, new, 1)) / "fit.toml")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ((";mm;", ";V;"), "column 'x_mm' is in 'V' by the row of units: there is no unit 'V'.*Give that column a unit"),
        ((";mm;", ";m;"), "column 'x_mm' is in 'm' by the row of units. Give a unit, too, because there is a scale"),
        (("[ms]", "mm"), "the times of column 'time' cannot be in mm"),
    ],
)
def test_rows_of_units_that_do_not_fit(folder, changed, message):
    table = as_logger(RUN).replace(*changed)
    text = FIT.replace('time = "time"\n', f'time = "time"\n{AS_LOGGER}')
    if changed[1] != ";m;":
        text = text.replace("scale = 1e-3, ", "").replace("scale = 2, ", "")
    with pytest.raises(mbs.FileError, match=message):
        mbs.load_fit(folder(fit_toml=text, run_csv=table) / "fit.toml")


def test_a_part_of_a_record(folder):
    text = FIT.replace('"time"\n', '"time"\nfrom = 0.05\nto = 0.2\n').replace("missing = true", "missing = true")
    read = mbs.load_fit(folder(fit_toml=text) / "fit.toml").experiments[0]
    np.testing.assert_array_equal(read.times, [0.1, 0.2])
    np.testing.assert_array_equal(read.data["x"], [np.nan, 3e-3])
    # What drives the motion is needed from its start on.
    np.testing.assert_array_equal(read.inputs["drive.load"].times, [0, 0.1, 0.2])
    noise = mbs.Channel(noise=[1.0, 2.0, 3.0])
    some = mbs.Experiment([-1, 0, 1], {"x": [1, 2, 3]}, {"x": noise}, window=(0, None))
    np.testing.assert_array_equal(some.noise("x"), [2, 3])
    np.testing.assert_array_equal(some.times, [0, 1])
    with pytest.raises(mbs.ParameterError, match="window must be two times"):
        mbs.Experiment([0, 1], {"x": [1, 2]}, window=(0, "end"))
    with pytest.raises(mbs.ParameterError, match=r"the first time -1.0 is before .* window=\(t0, None\)"):
        mbs.Experiment([-1, 0, 1], {"x": [1, 2, 3]})


def test_times_in_milliseconds(folder):
    pushes = "s,ms,push\n0,0,1\n0.5,500,2\n"
    text = FIT.replace("t0 = -0.5", "time_scale = 1e-3").replace(
        '"force", scale = 2', '"push", file = "push.csv", time = "ms"'
    )
    own = text.replace('time = "ms"', 'time = "s", time_scale = 1')
    # A unit of its own takes the place of the scale of the experiment, too.
    by_unit = text.replace('time = "ms"', 'time = "s", time_unit = "s"')
    run = "time,x_mm,y,force\n0,1,0,5\n100,,0,6\n200,3,0,7\n"
    for changed in (text, own, by_unit):
        fit = mbs.load_fit(folder(fit_toml=changed, run_csv=run, push_csv=pushes) / "fit.toml")
        np.testing.assert_allclose(fit.experiments[0].times, [0, 0.1, 0.2])
        np.testing.assert_allclose(fit.experiments[0].inputs["drive.load"].times, [0, 0.5])
    path = folder(run_csv=run) / "run.csv"
    options = dict(time="time", inputs={"drive.load": "force"})
    read = mbs.Experiment.from_csv(path, {"y": mbs.Channel()}, time_scale=1e-3, **options)
    for times in (read.times, read.inputs["drive.load"].times):
        np.testing.assert_allclose(times, [0, 0.1, 0.2])
    for wrong in (0, -1.0, "ms", np.nan):
        with pytest.raises(mbs.ParameterError, match="experiment 'run': time_scale must be > 0, got"):
            mbs.Experiment.from_csv(path, {"y": mbs.Channel()}, time_scale=wrong, **options)


def test_what_is_left_out_is_as_in_python_and_as_the_model_says(folder):
    text = FIT.partition("[[static_test]]")[0].replace('name = "run"\n', "").replace("t0 = -0.5\n", "")
    fit = mbs.load_fit(folder(fit_toml=text) / "fit.toml")
    assert [(e.name, e.t0) for e in fit.experiments] == [("run", 0.0)]
    assert fit.simulation["dt"] == 0.01
    assert fit.search == {}


def test_a_design_file_says_what_python_would(folder):
    design = mbs.load_design(folder() / "design.toml")
    assert design.unknowns == {"spring.damping": mbs.Positive(3), "spring.stiffness": mbs.Tied("spring.damping", 500)}
    assert design.objectives == (mbs.MeanSquare("place", 0, weight=2.0),)
    assert design.limits == (mbs.Limit(mbs.SmoothMaximum("mass.velocity.x", width=0.1), upper=3.0),)
    assert (design.simulation.t_end, design.simulation.dt) == (0.2, 0.01)
    assert design.search == {"tolerance": 1e-6}
    limited = DESIGN.replace('"mass.velocity.x"\nwidth = 0.1', '"place"\ncomponent = [1]')
    (limit,) = mbs.load_design(folder(design_toml=limited) / "design.toml").limits
    assert limit == mbs.Limit(mbs.SmoothMaximum("place", (1,)), upper=3.0)
    text = DESIGN + "[simulation]\nt_end = 1\n"
    assert mbs.load_design(folder(design_toml=text) / "design.toml").simulation == mbs.SimulationSettings(1.0)


def test_an_experiment_from_csv_in_one_call(folder):
    path = folder() / "run.csv"
    channels = {"x": mbs.Channel("mass.position.x", column="x_mm", scale=1e-3, missing=True), "y": mbs.Channel()}
    read = mbs.Experiment.from_csv(path, channels, time="time", inputs={"drive.load": "force"}, weight=2.0)
    assert (read.name, read.weight, list(read.data)) == ("run", 2.0, ["x", "y"])
    np.testing.assert_array_equal(read.data["x"], [1e-3, np.nan, 3e-3])
    np.testing.assert_array_equal(read.inputs["drive.load"].values, [5, 6, 7])
    with pytest.raises(mbs.FileError, match=r"row 3, column 'x_mm': the number is missing. Allow that with missing"):
        mbs.Experiment.from_csv(path, {"x_mm": mbs.Channel()}, time="time")
    with pytest.raises(mbs.FileError, match=r"there is no column 't'. Known: time, x_mm"):
        mbs.Experiment.from_csv(path, channels)


def fit(old, new):
    assert old in FIT
    return {"fit_toml": FIT.replace(old, new, 1)}


def design(old, new):
    assert old in DESIGN
    return {"design_toml": DESIGN.replace(old, new, 1)}


BAD_FITS = {
    "empty": ({"fit_toml": ""}, "the line 'schema = 1' is missing"),
    "not TOML": (fit("start = 3000", "start = "), r"Invalid value \(at line 4, column 9\)"),
    "not UTF-8": ({"fit_toml": FIT.encode() + b"\n# \xff"}, "is not UTF-8 text"),
    "newer": (fit("schema = 1", "schema = 2"), "schema = 2 is newer than what this difmbs reads"),
    "unknown table": (fit("[[experiment]]", "[[experimnt]]"), "there is no 'experiment|there is no 'experimnt'"),
    "no model": (fit('model = "model.toml"', ""), "model is missing"),
    "model of number": (fit('"model.toml"', "1"), "model must be the name of a file, got 1"),
    "other model": (fit('"model.toml"', '"mdl.toml"'), "mdl.toml cannot be read: No such file"),
    "model outside": (fit('"model.toml"', '"../model.toml"'), "'../model.toml' is outside of the file's folder"),
    "absolute": (fit('"run.csv"', '"/etc/passwd"'), "'/etc/passwd' is outside of the file's folder"),
    "bad model": ({"model_toml": MODEL.replace("1.6", "-1")}, r"model.toml: mass_1d 'mass': mass = -1.0 must be > 0"),
    "nothing unknown": ({"fit_toml": 'schema = 1\nmodel = "model.toml"'}, "nothing is unknown. Add a table"),
    "unknown of text": ({"fit_toml": 'schema = 1\nmodel = "model.toml"\nunknown = 1'}, "write 'unknown' as tables"),
    "all fixed": (
        {
            "fit_toml": "schema = 1\nmodel = 'model.toml'\n[unknown.'mass.mass']\nvalue = 1\n"
            + FIT[FIT.index("[[exp") :]
        },
        "everything is fixed",
    ),
    "no quotes": (fit('."spring.stiffness"', ".spring.stiffness"), r"write \[unknown.\"spring.stiffness\"\]"),
    "no parameter": (
        fit('"spring.stiffness"', '"spring.stifness"'),
        r"no parameter 'spring.stifness'. Did you mean 'spring.stiffness'\?.*\(line 3\)",
    ),
    "field of unknown": (
        fit("start = 3000", "strt = 3000"),
        r"unknown 'spring.stiffness': there is no 'strt'. Did you mean 'start'.*\(line 3\)",
    ),
    "start of text": (fit("start = 3000", 'start = "3000"'), "start must be a number or a list of numbers, got '3000'"),
    "start outside": (
        fit("start = 3000", "start = 3"),
        r"'spring.stiffness': the start 3 is outside of 100.0 to.*line 3",
    ),
    "start infinite": (fit("start = 3000", "start = inf"), "start must be a number or a list of numbers, got inf"),
    "start negative": (fit("start = 3\n", "start = -3\n"), r"'spring.damping': the start -3 is outside of 0.0 to inf"),
    "no start": (fit("start = 3\n", ""), "'spring.damping': give a start, a value, or what it follows"),
    "bounds": (fit("lower = 100", "lower = 1e6"), "lower = 1e[+]06 must be less than upper"),
    "both bounds": (fit("lower = 100", "positive = true"), "give positive = true, or lower and upper, not both"),
    "prior": (fit("[8, 4]", "[8, 0]"), "prior must be a mean and a standard deviation > 0"),
    "long prior": (fit("[8, 4]", "[8, 1, 2]"), "prior must be two numbers"),
    "own": (fit("own = true", "own = 1"), "own must be true or false, got 1"),
    "value and start": (fit("value = 1.7", "value = 1.7\nstart = 1"), "there is no 'start'. Known: value"),
    "follows nobody": (fit("value = 1.7", 'follows = "mass.x"'), "is tied to 'mass.x', which is not an unknown"),
    "factor alone": (fit("start = 0\n", "start = 0\nfactor = 2\n"), "factor is for what follows another unknown"),
    "given twice": (fit("value = 1.7", "value = 1.7\n[unknown.'mass.ma*']\nstart = 1"), "given by .* and by"),
    "no experiment": ({"fit_toml": FIT[: FIT.index("[[experiment]]")]}, "there is no experiment"),
    "only validation": (
        {"fit_toml": FIT.partition("[[static_test]]")[0].replace("weight = 2", "validation = true")},
        "there is no experiment to fit",
    ),
    "field of experiment": (
        fit("weight = 2", "wieght = 2"),
        r"experiment 'run': there is no 'wieght'. Did you mean 'weight'.*\(item 1, line 16\)",
    ),
    "no file": (fit('file = "run.csv"\n', ""), "experiment 'run': file is missing"),
    "no channels": (
        fit("[experiment.channels]", "[experiment.chanels]"),
        "there is no 'chanels'. Did you mean 'channels'",
    ),
    "weight": (fit("weight = 2", "weight = -2"), "weight must be a number > 0, got -2"),
    "validation": (fit("weight = 2", 'validation = "yes"'), "validation must be true or false, got 'yes'"),
    "scale of times": (fit("t0 = -0.5", "time_scale = 0"), "time_scale must be a number > 0, got 0"),
    "t0": (fit("t0 = -0.5", "t0 = 0.5"), "the first time 0.0 is before the start t0 = 0.5"),
    "t0 of text": (fit("t0 = -0.5", "t0 = '1'"), "t0 must be a number, got '1'"),
    "time": (fit('time = "time"', 'time = "tim"'), r"run.csv: there is no column 'tim'. Did you mean 'time'"),
    "column": (fit('"x_mm", sc', '"x_m", sc'), "run.csv: there is no column 'x_m'. Did you mean 'x_mm'"),
    "channel of number": (fit("x = {", "z = 1\nx = {"), r"channel 'z': expected a table such as \{ ... \}, got 1"),
    "field of channel": (fit("noise = 1e-3", "nois = 1e-3"), "channel 'x': there is no 'nois'. Did you mean 'noise'"),
    "noise": (fit("noise = 1e-3", "noise = 0"), r"experiment 'run': noise of 'x' must be a number > 0, .*line 16"),
    "noises": (fit("noise = 1e-3", "noise = [1, 2]"), "or one for each sample"),
    "scale": (fit("scale = 1e-3", "scale = '1'"), "scale must be a number, got '1'"),
    "output": (
        fit('"mass.position.x", c', '"mass.positon.x", c'),
        r"channel 'x': 'mass' has no output 'positon'. Did.*line 16",
    ),
    "no output": (fit('x = { output = "mass.position.x", ', "x = {"), "there is no sensor or element 'x'"),
    "component": (fit("missing = true", "component = 2, missing = true"), "has no component 2"),
    "shape": (fit('["force", "y", "y"]', '"y"'), r"have shape \(3,\), what it measures has shape \(3, 3\)"),
    "missing": (fit(", missing = true", ""), "run.csv: row 3, column 'x_mm': the number is missing. Allow that"),
    "params": (fit('"mass.position" = 0.1', '"mass.positon" = 0.1'), "there is no parameter 'mass.positon'. Did you"),
    "params of text": (fit('position" = 0.1', 'position" = "0.1"'), "params: mass.position must be a number or a list"),
    "params that are unknown": (
        fit('"mass.position" = 0.1', '"mass.velocity" = 1'),
        "'mass.velocity' is given, but is also",
    ),
    "input": (fit('"drive.load" = {', '"drive.lod" = {'), "'drive.lod' is not a function given by points"),
    "input of number": (fit('"drive.load" = {', '"a.b" = 1\n"drive.load" = {'), "input 'a.b': expected a table"),
    "input without": (fit('column = "force", scale = 2', "times = [0, 1]"), "input 'drive.load': values is missing"),
    "input both": (fit('"force", scale', '"force", times = [1], scale'), "input 'drive.load': there is no 'times'"),
    "input file": (fit('"force", sc', '"f", file = "loads.csv", sc'), "loads.csv: there is no column 'time'"),
    "input outside": (fit('"force", sc', '"f", file = "../a", sc'), "'../a' is outside of the file's folder"),
    "loads": (fit('[0]" = "f"', '[0]" = "g"'), "loads.csv: there is no column 'g'"),
    "count of loads": (fit('[0]" = "f"', '[0]" = [1, 2, 3]'), "needs a value for each of the 2 cases"),
    "static without": (
        fit('file = "loads.csv"\n', ""),
        "static_test 'static test': 'mass.position.x' needs values, or a",
    ),
    "modal": (fit("{ frequency", "{ frequncy"), r"modal_test 'modal test': a modal test has no 'frequncy'.*item 1"),
    "modes": (fit("loaded = false", "numbers = [0, 1]"), "give one number for each of the 2 modes"),
    "number of mode": (fit("loaded = false", "numbers = [-1]"), "numbers must be a list of whole numbers from 0 on"),
    "same name": (fit('file = "loads.csv"', 'file = "loads.csv"\nname = "run"'), "there are 2 experiments 'run'"),
    "simulation": (fit("dt = 0.02", "dt = 0"), r"\[simulation\]: dt = 0.0 must be > 0"),
    "time of simulation": (fit("dt = 0.02", "t_end = 1"), r"\[simulation\]: there is no 't_end'. Known: dt"),
    "method": (fit("dt = 0.02", "method = 'euler'"), "there is no method 'euler'"),
    "search": (fit("starts = 3", "stats = 3"), r"\[search\]: there is no 'stats'. Did you mean 'starts'"),
    "starts": (fit("starts = 3", "starts = 0"), "starts must be a whole number from 1 on, got 0"),
    "seed": (fit("seed = 1", "seed = -1"), "seed must be a whole number from 0 on, got -1"),
    "loss": (fit('"huber"', '"hubert"'), "there is no loss 'hubert'. Did you mean 'huber'"),
    "no search": ({"fit_toml": "search = 1\n" + FIT.partition("[search]")[0]}, r"\[search\]: expected a table"),
}

BAD_TABLES = {
    "empty": ("", "run.csv is empty"),
    "header only": ("time,x_mm,y,force\n", "has no numbers, only the names of columns"),
    "one row": ("time,x_mm,y,force\n0,1,2,3\n", "has one row of numbers"),
    "no header": ("0,1,0,5\n1,2,3,4\n", "row 1 has numbers; it must name the columns"),
    "semicolons": ("time;x_mm;y;force\n0;1;0;5\n", "columns are separated by ';'"),
    "tabs": ("time\tx_mm\ty\n0\t1\t0\n", "columns are separated by '.t'"),
    "decimal commas": (RUN.replace("0.1,", "0,1,"), "row 3 has 5 cells, but there are 4 columns"),
    "short row": (RUN.replace("0.2,3,0,7", "0.2,3,0"), "row 4 has 3 cells"),
    "text": (RUN.replace("3,0,7", "three,0,7"), "row 4, column 'x_mm': 'three' is not a number"),
    "infinite": (RUN.replace("3,0,7", "inf,0,7"), "row 4, column 'x_mm': 'inf' is not a number"),
    "too large": (RUN.replace("3,0,7", "1e400,0,7"), "row 4, column 'x_mm': the number is too large"),
    "hexadecimal": (RUN.replace("3,0,7", "0x3,0,7"), "'0x3' is not a number"),
    "underscore": (RUN.replace("3,0,7", "1_0,0,7"), "'1_0' is not a number"),
    "missing": (RUN.replace("0,5", ",5"), "row 2, column 'y': the number is missing"),
    "all missing": (RUN.replace("0,1,", "0,,").replace("3,0,7", ",0,7"), "has no sample that is not missing"),
    "no time": (RUN.replace("0.1,", ","), "row 3: the time is missing"),
    "time back": (RUN.replace("0.2,", "0.05,"), "row 4: time 0.05 after 0.1: times must increase"),
    "time twice": (RUN.replace("0.2,", "0.1,"), "row 4: time 0.1 after 0.1"),
    "before the start": (RUN.replace("\n0,1,", "\n-1,1,"), "the first time -1.0 is before the start t0 = -0.5"),
    "column twice": (RUN.replace("force", "y"), "there are two columns 'y'"),
    "NUL": (RUN.replace("3,0,7", "3,\0,7"), "row 4 has a NUL character in it"),
    "UTF-8": (RUN.encode().replace(b"3,0,7", b"3,\xff,7"), "row 4 is not UTF-8 text"),
    "quotes": (RUN.replace("3,0,7", '"3,0,7'), "row 4: a quoted cell or the row does not end properly"),
    "hole": (RUN.replace("0.1,", "\n0.1,"), "row 3 is empty"),
}

BAD_DESIGNS = {
    "unknown table": (design("[[objective]]", "[[objectiv]]"), "there is no 'objectiv'. Did you mean 'objective'"),
    "no objective": ({"design_toml": DESIGN.partition("[[objective]]")[0]}, "nothing is to be made small"),
    "one bracket": (design("[[limit]]", "[limit]"), "write 'limit' as tables"),
    "prior": (design("lower = 0", "prior = [1, 1]"), "unknown 'spring.damping': there is no 'prior'"),
    "no parameter": (design('"spring.damping"]', '"spring.dampin"]'), r"no parameter 'spring.dampin'. Did you.*line 3"),
    "quantity": (
        design('"mean_square"', '"mean_squares"'),
        r"objective: there is no quantity 'mean_squares'. Did you mean 'mean_square'.*\(item 1, line 9\)",
    ),
    "no quantity": (design('quantity = "mean_square"\n', ""), "quantity is missing"),
    "output": (design('"place"', '"plase"'), "there is no sensor or element 'plase'. Did you mean 'place'"),
    "component": (design("component = 0", "component = 3"), r"'place' has no component 3; its shape is \(3,\)"),
    "vector": (
        design('quantity = "mean_square"\noutput = "place"\ncomponent = 0', 'quantity = "final"\noutput = "place"'),
        r"objective: 2 \* Final\(place\) would be 3 numbers, .* 'place.x', 'place.y' or 'place.z'.*\(item 1, line 9\)",
    ),
    "component of number": (design("component = 0", "component = 'x'"), "component must be whole numbers from 0 on"),
    "weight": (design("weight = 2", "weight = nan"), "weight must be a number, got nan"),
    "width": (design("weight = 2", "width = 2"), "width is for quantity = 'smooth_maximum' only"),
    "no bound": (
        design("upper = 3\n", ""),
        r"limit: Limit\(SmoothMaximum\(mass.velocity.x\)\) needs upper=.*\(item 1, line 14\)",
    ),
    "bounds": (design("upper = 3", "upper = 3\nlower = 4"), "lower = 4.0 is above upper = 3.0"),
    "weight of limit": (design("upper = 3", "upper = 3\nweight = 4"), "there is no 'weight'"),
    "tolerance": (design("tolerance = 1e-6", "tolerance = 0"), "tolerance must be a number > 0, got 0"),
    "loss": (design("tolerance = 1e-6", "loss = 'huber'"), r"\[search\]: there is no 'loss'"),
    "no simulation": ({"model_toml": MODEL.partition("[simulation]")[0]}, r"has a table \[simulation\]"),
    "settings": (design("[search]", "[simulation]\ndt = 1\n[search]"), r"\[simulation\]: t_end is missing"),
}


@pytest.mark.parametrize(("others", "message"), BAD_FITS.values(), ids=list(BAD_FITS))
def test_bad_fits(folder, others, message):
    with pytest.raises(mbs.FileError, match=message) as caught:
        mbs.load_fit(folder(**others) / "fit.toml")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(("content", "message"), BAD_TABLES.values(), ids=list(BAD_TABLES))
def test_bad_tables(folder, content, message):
    with pytest.raises(mbs.FileError, match=message):
        mbs.load_fit(folder(run_csv=content) / "fit.toml")


@pytest.mark.parametrize(("others", "message"), BAD_DESIGNS.values(), ids=list(BAD_DESIGNS))
def test_bad_designs(folder, others, message):
    with pytest.raises(mbs.FileError, match=message) as caught:
        mbs.load_design(folder(**others) / "design.toml")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("command", "others", "message"),
    [
        ("identify", *BAD_FITS["field of unknown"]),
        ("identify", *BAD_FITS["column"]),
        ("identify", *BAD_FITS["output"]),
        ("identify", {"run_csv": BAD_TABLES["time back"][0]}, BAD_TABLES["time back"][1]),
        ("optimize", *BAD_DESIGNS["quantity"]),
        ("optimize", *BAD_DESIGNS["no parameter"]),
    ],
)
def test_commands_say_it_in_one_line(folder, monkeypatch, command, others, message):
    monkeypatch.chdir(folder(**others))
    file = "fit.toml" if command == "identify" else "design.toml"
    result = run(command, file, "--json", code=3)
    assert result.stderr.count("\n") == 1
    said = json.loads(result.stdout)
    assert (said["exit_code"], said["error"]) == (3, result.stderr.strip())
    assert not Path("fit").exists()
    assert re.search(message, said["error"])


def test_files_outside_are_read_where_that_is_allowed(folder):
    path = folder()
    inner = path / "inner"
    inner.mkdir()
    moved = FIT.replace('"model.toml"', '"../model.toml"').replace('file = "', 'file = "../')
    (inner / "fit.toml").write_text(moved)
    with pytest.raises(mbs.FileError, match="is outside of the file's folder"):
        mbs.load_fit(inner / "fit.toml")
    assert len(mbs.load_fit(inner / "fit.toml", allow_outside=True).experiments) == 3
    (path / "linked.csv").symlink_to("/etc/hostname")
    with pytest.raises(mbs.FileError, match=r"'linked.csv' is outside of the file's folder"):
        mbs.load_fit(folder(**fit('"run.csv"', '"linked.csv"')) / "fit.toml")


@pytest.mark.filterwarnings("ignore:.* is negative")
@pytest.mark.parametrize("examples", [50, pytest.param(5_000, marks=pytest.mark.slow)])
def test_changed_bytes_are_read_or_refused(folder, examples):
    path = folder()

    def read(data):
        load = mbs.load_design if b"[[objective]]" in data else mbs.load_fit
        (path / "changed.toml").write_bytes(data)
        load(path / "changed.toml")

    assert_read_or_refused(read, mbs.FileError, examples, FIT.encode(), DESIGN.encode())
