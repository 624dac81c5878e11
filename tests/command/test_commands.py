"""The command line: what it prints and writes, and the exit code of every ending."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import difmbs as mbs
from difmbs.command import main
from difmbs.command.shell import plain

from ..helpers import commands

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/model.toml"))

FALLING = """schema = 1
gravity = [0, -9.81, 0]
[[mass_1d]]
name = "m"
mass = 2
axis = [0, 1, 0]
velocity = 1
[[sensor]]
name = "place"
of = "m"
quantity = "position"
[[sensor]]
name = "turn"
of = "m"
quantity = "velocity.y"
[simulation]
t_end = 0.2
dt = 0.1
save_times = [0, 0.1, 0.2]
"""
ENDLESS = (
    FALLING.replace("t_end = 0.2", "t_end = 90")
    .replace("dt = 0.1", 'dt = 1e-3\nmethod = "generalized_alpha"')
    .replace("save_times = [0, 0.1, 0.2]", "save_dt = 45")
    .replace("mass = 2", f"mass = {[1.0] * 2000}")
)
REDUNDANT = """schema = 1
[[mass_point_2d]]
name = "bob"
mass = 1
position = [1, 0]
[[distance_constraint]]
name = "rods"
between = [["ground", "ground"], ["bob", "bob"]]
distance = 1
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return commands.run


@pytest.fixture
def falling(file):
    return file(FALLING, "model.toml")


def test_help_comes_at_once_and_without_jax():
    code = "import sys, difmbs.command as c; c.main(['--help'], standalone_mode=False); assert 'jax' not in sys.modules"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Differentiable multibody simulation" in done.stdout
    # Less than a tenth where nothing else runs.
    assert time.perf_counter() - start < 1.0


def test_the_sentences_of_the_help_are_whole(run):
    for command in ((), ("examples",)):
        said = run(*command, "--help").output.partition("Commands:\n")[2].splitlines()
        assert said
        assert all(line.endswith(".") and not line.endswith("...") for line in said)


def test_the_package_is_the_command(tmp_path):
    command = [sys.executable, "-m", "difmbs", "examples", "lst"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "difmbs examples: No such command 'lst'. Did you mean 'list'?\n"


@pytest.mark.parametrize("unread", ["stdout", "stderr"])
def test_nobody_reads_on(unread):
    """As in `difmbs check model.toml | head -1`: it ends like a program that SIGPIPE ends, and says nothing."""
    arguments = ["examples", "list"] if unread == "stdout" else ["check", "none.toml"]
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from difmbs.command import main; main()", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, unread: writing}
    try:
        done = subprocess.run(command, cwd=ROOT, **pipes, text=True, check=False)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert (done.stdout or "", done.stderr or "") == ("", "")


@pytest.mark.parametrize(
    "command",
    ["check", "simulate", "identify", "optimize", "report", "doctor", "examples", "examples list", "examples copy"],
)
def test_every_command_explains_itself(run, command):
    said = run(*command.split(), "--help").output
    assert "Usage:" in said
    if command != "examples":
        assert all(option in said for option in ("--json", "--quiet", "--debug"))


def test_simulate_writes_what_it_found(run, falling):
    said = run("simulate", falling).output
    for part in (
        "ok at t = 0.2 s",
        "energy:",
        "constraints, position: 0",
        "steps: 2",
        "compiling",
        "3 of 3 output times",
    ):
        assert part in said
    assert sorted(path.name for path in Path("run").iterdir()) == [
        ".lock",
        "manifest.json",
        "sensors.csv",
        "solution.npz",
    ]
    table = mbs.read_table("run/sensors.csv", time="t")
    assert list(table.columns) == ["t", "place.x", "place.y", "place.z", "turn"]
    t = np.array([0, 0.1, 0.2])
    np.testing.assert_allclose(table.column("place.y"), t - 9.81 / 2 * t**2, atol=1e-14)
    result = mbs.load_result("run/solution.npz")
    np.testing.assert_array_equal(result["place"][:, 1], table.column("place.y"))
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["status"] == "ok"
    assert manifest["stats"]["steps"] == 2
    assert manifest["versions"]["jax"].startswith("0.")
    assert manifest["settings"] == {"t_end": 0.2, "dt": 0.1, "save_times": [0, 0.1, 0.2]}


def test_the_same_command_writes_the_same_bytes(run, falling):
    for out in ("a", "b"):
        run("simulate", falling, "--out", out, "-q")
    for name in ("manifest.json", "sensors.csv", "solution.npz"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()


def test_parameters_and_the_end_are_changed_on_the_command_line(run, falling):
    changed = ("--set", "m.velocity=0", "--set", "gravity.acceleration=[0, -1, 0]")
    said = json.loads(run("simulate", falling, "--json", *changed).output)
    assert said["exit_code"] == 0
    assert said["outputs"] == 3
    np.testing.assert_allclose(mbs.read_table("run/sensors.csv").column("turn"), [0, -0.1, -0.2])
    text = falling.read_text().replace("save_times = [0, 0.1, 0.2]\n", "")
    falling.write_text(text)
    said = json.loads(run("simulate", falling, "--json", "--force", "--t-end", 0.3).output)
    assert said["stats"]["time"] == pytest.approx(0.3)
    falling.write_text(text.partition("[simulation]")[0])
    assert "has no table [simulation]. Add one with t_end, or pass --t-end" in run("simulate", falling, code=3).output
    assert run("simulate", falling, "--force", "--t-end", 0.1, "-q").output == ""


def test_negative_values_are_warned_of_as_in_a_file(run, file):
    spring = '[[spring_damper]]\nname = "spring"\nbetween = ["ground", "m"]\nstiffness = 1\n'
    path = file(FALLING.replace("[[sensor]]", f"{spring}[[sensor]]", 1), "spring.toml")
    result = run("simulate", path, "--set", "spring.stiffness=-4", "--json")
    assert result.stderr == "warning: 'spring': stiffness is negative.\n"
    assert json.loads(result.stdout)["warnings"] == ["'spring': stiffness is negative."]
    path.write_text(path.read_text().replace("stiffness = 1", "stiffness = -4"))
    assert run("check", path).stderr == result.stderr


def test_without_sensors_all_outputs_are_written(run, file, monkeypatch):
    planar = '[[rigid_body_2d]]\nname = "disc"\nmass = [1, 1]\ninertia = 1\nangular_velocity = 1\n[simulation]'
    path = file((FALLING.partition("[[sensor]]")[0] + planar + FALLING.partition("[simulation]")[2]), "bare.toml")
    result = run("simulate", path)
    assert "the model names no sensor: sensors.csv has all outputs of its bodies and connectors\n" in result.stdout
    table = mbs.read_table("run/sensors.csv", time="t")
    vectors = lambda name, *which: [f"{name}{i}.{c}" for i in which for c in "xyz"]
    motions, turning, both = ("position", "velocity", "acceleration"), "angular_velocity", ("[0]", "[1]")
    assert list(table.columns) == [
        "t",
        *(column for x in motions for column in vectors(f"m.{x}", "")),
        *(column for x in motions for column in vectors(f"disc.{x}", *both)),
        "disc.rotation[0]",
        "disc.rotation[1]",
        *vectors(f"disc.{turning}", *both),
    ]
    np.testing.assert_allclose(table.column("m.position.y"), [0, 0.1 - 9.81 / 200, 0.2 - 9.81 / 50], atol=1e-14)
    np.testing.assert_allclose(table.column("disc.rotation[1]"), [0, 0.1, 0.2], atol=1e-14)
    monkeypatch.setattr("difmbs.command.simulate_command._MOST_COLUMNS", 4)
    result = run("simulate", path, "--force", "--json")
    assert list(mbs.read_table("run/sensors.csv").columns) == list(table.columns)[:5]
    said = "sensors.csv has the first 4 of 35 numbers; name sensors to choose others."
    assert json.loads(result.stdout)["warnings"] == [said]


def test_columns_of_many_instances_and_of_matrices(run, file):
    inertia = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"
    bodies = f"[[rigid_body]]\nname = 'b'\nmass = [1, 1]\ninertia = {inertia}\n"
    sensors = "".join(f"[[sensor]]\nname = '{q}'\nof = 'b'\nquantity = '{q}'\n" for q in ("position", "rotation"))
    run("simulate", file(f"schema = 1\n{bodies}{sensors}[simulation]\nt_end = 0.1\ndt = 0.1\n"), "-q")
    names = list(mbs.read_table("run/sensors.csv").columns)
    assert names[1:7] == [f"position[{i}].{c}" for i in (0, 1) for c in "xyz"]
    assert names[7:10] == ["rotation[0][0][0]", "rotation[0][0][1]", "rotation[0][0][2]"]
    assert len(names) == 1 + 6 + 18


def test_an_early_stop_keeps_what_was_reached(run, file):
    path = file(FALLING.replace("dt = 0.1\n", "max_steps = 1\n"), "model.toml")
    said = json.loads(run("simulate", path, "--json", code=4).stdout)
    assert said["status"] == "max_steps"
    assert "the number of steps reached max_steps" in said["error"]
    assert 1 <= said["outputs"] < 3
    table = mbs.read_table("run/sensors.csv")
    assert len(table.column("t")) == said["outputs"]
    assert mbs.load_result("run/solution.npz").status == "max_steps"


def test_check_counts_and_warns(run, file, falling):
    said = run("check", falling).output
    for part in (
        "is a model file: bodies: 1",
        "1 coordinate, 1 velocity coordinate\n",
        "1 degree of freedom\n",
        "sensors: place, turn",
        "t_end = 0.2, dt = 0.1",
    ):
        assert part in said
    path = file(REDUNDANT, "redundant.toml")
    result = run("check", path, code=6)
    assert "redundant constraints: 'rods[1]' repeats what 'rods[0]'" in result.stderr
    assert "2 equations of constraints of rank 1" in result.stdout
    assert "1 degree of freedom\n" in result.stdout
    assert "assemble" not in result.output
    assert 'the line redundant = "min_norm" above the tables of the file. If only' in result.stderr
    assert f'write redundant = "min_norm" into {path}.' in result.stderr
    found = json.loads(run("check", path, "--json", code=6).stdout)
    assert (found["equations"], found["rank"], found["degrees_of_freedom"]) == (2, 1, 1)
    assert len(found["warnings"]) == 1
    assert found["error"].startswith("constraints are redundant")
    path.write_text('redundant = "min_norm"\n' + REDUNDANT)
    assert run("check", path).stderr == ""
    path.write_text('redundant = "error"\n' + REDUNDANT)
    said = run("check", path, code=3).output
    assert "'rods[1]' repeats" in said
    assert 'or allow them with the line redundant = "min_norm"' in said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["chek", "m.toml"], 2, "No such command 'chek'"),
        (["check"], 2, "Missing argument 'FILE'"),
        (["check", "none.toml"], 3, "none.toml cannot be read: No such file"),
        (["check", "."], 3, ". is a folder"),
        (["check", "bad.toml"], 3, "bad.toml: mass_1d 'm': mass = -2.0 must be > 0. (item 1, line 3)"),
        (["simulate", "bad.toml"], 3, "mass = -2.0 must be > 0"),
        (["simulate", "m.toml", "--t-end", "x"], 2, "'x' is not a valid float"),
        (["simulate", "m.toml", "--t-end", "-1"], 3, "t_end = -1.0 must be after"),
        (["simulate", "m.toml", "--set", "m.velocity"], 2, "--set takes NAME=VALUE"),
        (["simulate", "m.toml", "--set", "velocity=1"], 2, "--set takes NAME=VALUE"),
        (["simulate", "m.toml", "--set", "m.velocity=__import__('os')"], 2, "--set takes NAME=VALUE"),
        (["simulate", "m.toml", "--set", "m.velocty=1"], 2, "has no parameter 'velocty'. Did you mean 'velocity'"),
        (["simulate", "m.toml", "--set", "m.mass=-1"], 2, "mass = -1.0 must be > 0"),
        (["simulate", "m.toml", "--set", "m.mass=1", "--set", "m.mass.x=1"], 2, "--set"),
        (["simulate", "m.toml", "--out", "full"], 2, "full is not empty. Choose another folder, or"),
        (["simulate", "m.toml", "--out", "m.toml"], 2, "m.toml cannot be written: File exists"),
        (["simulate", "m.toml", "--out", "m.toml/x"], 2, "cannot be written: Not a directory"),
        (["simulate", "step.toml"], 3, "RungeKutta4 has no error estimate: pass dt"),
        (["simulate", "fit.toml"], 3, "fit.toml: this is a fit file, and a model file is needed: difmbs identify and"),
        (["simulate", "design.toml"], 3, "this is a design file, and a model file is needed: difmbs optimize and mbs"),
        (["identify", "m.toml"], 3, "m.toml: this is a model file, and a fit file is needed: difmbs simulate and mbs"),
        (["identify", "design.toml"], 3, "this is a design file, and a fit file is needed"),
        (["optimize", "m.toml"], 3, "this is a model file, and a design file is needed"),
        (["optimize", "fit.toml"], 3, "this is a fit file, and a design file is needed"),
        (["simulate", "parameters.toml"], 3, "this is a result file, and a model file is needed: the model with the"),
        (["report", "m.toml"], 2, "'m.toml' is a file. Pass the folder that difmbs identify or optimize wrote."),
        (["examples", "copy", "pendulm"], 2, "there is no example 'pendulm'. Did you mean 'pendulum'"),
    ],
)  # fmt: skip
def test_exit_codes(run, arguments, code, message):
    Path("m.toml").write_text(FALLING)
    Path("bad.toml").write_text(FALLING.replace("mass = 2", "mass = -2"))
    Path("step.toml").write_text(FALLING.replace("dt = 0.1", 'method = "runge_kutta_4"'))
    for kind, keys in {"fit": "experiment = []", "design": "limit = []", "parameters": "parameter = {}"}.items():
        Path(f"{kind}.toml").write_text(f"schema = 1\n{keys}\n")
    Path("full").mkdir()
    Path("full", "mine").write_text("mine")
    result = run(*arguments, code=code)
    assert message in result.stderr
    assert result.stdout == ""
    assert Path("full", "mine").read_text() == "mine"
    said = json.loads(run(*arguments, "--json", code=code).stdout)
    assert said["exit_code"] == code
    assert message in said["error"]


def test_a_fault_of_difmbs_is_one_sentence_and_shown_on_demand(run, falling, monkeypatch):
    def broken(system):
        raise ZeroDivisionError("division by zero\nand so on")

    monkeypatch.setattr("difmbs.command.check_command._counts", broken)
    said = run("check", falling, code=1).stderr
    assert said == "unexpected ZeroDivisionError: division by zero This is a fault of difmbs; --debug shows where.\n"
    result = CliRunner().invoke(main, ["check", str(falling), "--debug"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_a_full_disk(run, falling, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert "solution.npz cannot be written: No space left on device." in run("simulate", falling, code=2).stderr
    assert [path.name for path in Path("run").iterdir()] == [".lock"]


@pytest.mark.parametrize("name", ["with spaces", "überall 機構", "x" * 200, "-dash"])
def test_odd_paths(run, name):
    Path(name).mkdir()
    Path(name, "m.toml").write_text(FALLING)
    run("check", "--", f"{name}/m.toml")
    run("simulate", "-q", f"--out={name}/run", "--", f"{name}/m.toml")
    assert Path(name, "run", "solution.npz").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_compiled_program_at_once(tmp_path, number):
    (tmp_path / "m.toml").write_text(ENDLESS)
    # A shell lets what runs in the background, and all that it starts, ignore Ctrl-C.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{listening}; from difmbs.command import main; main()", "simulate", "m.toml"]
    settings = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=settings, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "run" / ".lock").exists():
            assert process.poll() is None
            time.sleep(0.1)
        time.sleep(3)
        process.send_signal(number)
        _, said = process.communicate(timeout=3)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 128 + number
    assert said == f"stopped by {number.name}; nothing is left half written.\n"
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def test_examples_are_listed_and_copied(run):
    assert EXAMPLES
    said = run("examples", "list").output
    assert all(name in said for name in EXAMPLES)
    assert "schema" not in said  # each has a line that says what it is
    assert "Try: difmbs identify drop_test/fit.toml" in run("examples", "copy", "drop_test").output
    run("examples", "copy", "pendulum")
    assert "is not empty" in run("examples", "copy", "pendulum", code=2).stderr
    run("examples", "copy", "pendulum", "--force")
    run("examples", "copy", "pendulum", "--out", "mine")
    assert Path("mine", "model.toml").read_bytes() == (ROOT / "examples" / "pendulum" / "model.toml").read_bytes()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(run, name):
    run("examples", "copy", name)
    run("check", f"{name}/model.toml")
    run("simulate", f"{name}/model.toml", "-q")


def test_doctor(run):
    found = json.loads(run("doctor", "--json").output)
    assert found["double_precision"] is True
    assert found["packages"]["jax"].startswith("0.")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(found["extras"]) == set(project["optional-dependencies"])
    assert found["extras"]["test"]["pytest"] == pytest.__version__
    assert "jax-cuda13-plugin" in found["extras"]["cuda"]
    assert "devices:" in run("doctor").output
    assert found["cache"] != "none"


def test_json_has_no_nan():
    assert plain({"a": np.array([1.0, np.nan]), 1: (np.float64(np.inf), True, None, "x")}) == {
        "a": [1.0, None],
        "1": [None, True, None, "x"],
    }
