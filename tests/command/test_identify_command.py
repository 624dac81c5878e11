"""difmbs identify and optimize from end to end: what they write, how they end, and that nothing is lost on the way."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import Future
from pathlib import Path

import jax
import numpy as np
import pytest

import difmbs as mbs
from difmbs.command.shell import in_background

from ..helpers.commands import run

ROOT = Path(__file__).parents[2]
DROP = ROOT / "examples" / "drop_test"
NUMERIC = ("parameters.toml", "model.toml", "covariance.csv", "predictions-drop_test.csv", "manifest.json")
DESIGN = """schema = 1
model = "model.toml"
[unknown."spring.damping"]
start = 5
lower = 1
upper = 100
[[objective]]
quantity = "mean_square"
output = "mass.velocity.z"
[[limit]]
quantity = "largest_size"
output = "spring.force_local"
upper = 60
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The drop test in the current folder, and a design of its model; steps of fixed size compile faster."""
    for name in ("model.toml", "fit.toml", "drop_test.csv"):
        (tmp_path / name).write_bytes((DROP / name).read_bytes())
    model = (tmp_path / "model.toml").read_text()
    (tmp_path / "model.toml").write_text(model.replace("[simulation]", "[simulation]\ndt = 0.005"))
    (tmp_path / "design.toml").write_text(DESIGN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def numeric(folder, names=NUMERIC):
    return {name: Path(folder, name).read_bytes() for name in names}


def test_identify(folder):
    result = run("identify", "fit.toml")
    for part in (
        "2 unknowns, 1 experiment, 151 samples",
        "spring.stiffness",
        "converged after",
        "written: fit/state.npz",
        "R^2 98.60 %",
    ):
        assert part in result.stdout
    number = r"[\d.]+ s"
    took = rf"^{number}: search {number}, checks and report {number}; {number} of it compiling$"
    assert re.search(took, result.stdout, re.MULTILINE)
    verdict = "The numbers can be believed: nothing speaks against the model, the data or the search."
    assert result.stdout.splitlines()[-1] == verdict
    assert f'verdict = "good"\nverdict_sentence = "{verdict}"\n' in Path("fit/parameters.toml").read_text()
    assert verdict in Path("fit/report.html").read_text()
    assert sorted(p.name for p in Path("fit").iterdir()) == sorted([*NUMERIC, ".lock", "report.html", "state.npz"])
    # Truth: 800 and 8.
    table = mbs.read_table("fit/covariance.csv")
    errors = {name: np.sqrt(column[i]) for i, (name, column) in enumerate(table.columns.items())}
    fitted = mbs.load("fit/model.toml").assemble().params()["spring"]
    assert abs(fitted["stiffness"] - 800) < 3 * errors["spring.stiffness"] < 8
    assert abs(fitted["damping"] - 8) < 3 * errors["spring.damping"] < 0.6
    predictions = mbs.read_table("fit/predictions-drop_test.csv", time="t")
    residuals = predictions.column("height measured") - predictions.column("height predicted")
    assert 0.8e-3 < np.std(residuals) < 1.2e-3
    manifest = json.loads(Path("fit/manifest.json").read_text())
    assert manifest["status"] == "converged"
    hashes = {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest()
        for name in ("fit.toml", "model.toml", "drop_test.csv")
    }
    assert manifest["files"] == hashes
    assert [f for f in manifest["written"] if not Path("fit", f).exists()] == []

    before = numeric("fit")
    assert (
        "fit is not empty. Choose another folder, or replace files with --force"
        in run("identify", "fit.toml", code=2).stderr
    )
    assert numeric("fit") == before
    begun = time.perf_counter()
    said = json.loads(run("identify", "fit.toml", "--json", "--force", "--check-gradient").stdout)
    assert said["exit_code"] == 0
    assert said["values"]["spring.stiffness"] == float(fitted["stiffness"])
    assert said["standard_errors"]["spring.damping"] == pytest.approx(errors["spring.damping"], rel=1e-12)
    assert said["gradient_error"] < 1e-5
    seconds = said["seconds"]
    assert seconds["search"] + seconds["after"] <= seconds["all"] <= time.perf_counter() - begun
    assert 0 <= seconds["compile"] <= seconds["search"] + seconds["after"]
    assert (said["verdict"], said["verdict_sentence"], said["error_factor"]) == ("good", verdict, 1)
    measured = predictions.column("height measured")
    explained = 1 - np.sum(residuals**2) / np.sum((measured - np.mean(measured)) ** 2)
    assert said["residuals"][0]["r_squared"] == pytest.approx(explained, rel=1e-12)
    assert said["residuals"][0]["r_squared"] == pytest.approx(0.9860, abs=1e-4)
    same = [name for name in NUMERIC if name != "manifest.json"]
    assert numeric("fit", same) == {name: before[name] for name in same}
    assert run("identify", "fit.toml", "--resume", "-q").output == ""
    assert numeric("fit", same) == {name: before[name] for name in same}

    Path("fit/report.html").unlink()
    assert run("report", "fit").stdout == f"written: fit/report.html (converged)\n{verdict}\n"
    assert Path("fit/report.html").exists()
    for file, old, new in (
        ("drop_test.csv", ",0.267535", ",0.267536"),
        ("model.toml", "mass = 2.0", "mass = 2.5"),
    ):
        text = Path(file).read_text()
        assert old in text
        Path(file).write_text(text.replace(old, new))
        for command in (("identify", "fit.toml", "--resume"), ("report", "fit")):
            assert "fit/state.npz belongs to another fit: model, experiments" in run(*command, code=6).stderr
        Path(file).write_text(text)
    assert numeric("fit", same) == {name: before[name] for name in same}


def test_check_says_what_kind_of_file_it_is(folder):
    fit, design = run("check", "fit.toml").stdout, run("check", "design.toml").stdout
    assert fit.startswith(
        "fit.toml is a fit file: 2 unknowns, 1 experiment, 151 samples\n"
        "drop_test: 151 times from 0 to 1.5 s, 0.01 s apart\n"
        "  'height': 151 samples from 0.2576 to 0.3003 m, predicted from 0.2302 to 0.3\n"
        "the model vibrates about the start at 2.516 Hz\n"
        "model.toml is a model file: "
    )
    assert "hint" not in fit
    assert design.startswith("design.toml is a design file: 1 unknown, 1 objective, 1 limit\nmodel.toml is a model f")
    assert "3 degrees of freedom" in fit
    head, first, *rest = Path("drop_test.csv").read_text().splitlines(keepends=True)
    Path("holes.csv").write_text(head + first.partition(",")[0] + ",\n" + "".join(rest))
    holes = Path("fit.toml").read_text().replace("drop_test.csv", "holes.csv") + "missing = true\n"
    Path("holes.toml").write_text(holes)
    assert ", 150 samples\n" in run("check", "holes.toml").stdout
    said = json.loads(run("check", "fit.toml", "--json").stdout)
    assert (said["kind"], said["file"], said["model"]) == ("fit", "fit.toml", "model.toml")
    assert said["unknowns"] == {"spring.stiffness": 500, "spring.damping": 5}
    (height,) = said["data"]["extents"]
    assert (height["experiment"], height["name"], height["samples"], height["unit"]) == (
        "drop_test",
        "height",
        151,
        "m",
    )
    assert height["predicted_most"] == pytest.approx(0.3)
    assert said["data"]["times"][0]["apart"] == pytest.approx(0.01)
    assert (said["data"]["hints"], said["data"]["failures"]) == ([], [])
    text = Path("fit.toml").read_text()
    Path("fit.toml").write_text(text.replace("column", "colum"))
    assert "there is no 'colum'. Did you mean 'column'" in run("check", "fit.toml", code=3).stderr
    Path("inner").mkdir()
    Path("inner/fit.toml").write_text(text.replace('"model.toml"', '"../model.toml"').replace("drop_t", "../drop_t"))
    assert "is outside of the file's folder" in run("check", "inner/fit.toml", code=3).stderr
    run("check", "inner/fit.toml", "--allow-outside")


def test_check_finds_mistakes_in_data_without_a_search(folder):
    text = Path("fit.toml").read_text()
    Path("late.toml").write_text(text.replace('time = "t"', 'time = "t"\ntime_scale = 1e3'))
    begun = time.perf_counter()
    said = run("check", "late.toml").stdout
    assert time.perf_counter() - begun < 20
    assert "'height': 151 samples from 0.2576 to 0.3003 m, not predicted\n" in said
    assert "not simulated, because the times and the model do not fit together" in said
    hint = (
        "hint: drop_test: samples are 10 s apart, and the slowest vibration of the model has a period of 0.3974 s: are "
    )
    assert f'{hint}the times in milliseconds? Then they need time_unit = "ms"\n' in said
    Path("short.toml").write_text(text.replace('time = "t"', 'time = "t"\ntime_unit = "ms"'))
    said = json.loads(run("check", "short.toml", "--json").stdout)
    assert "all samples are within 0.0015 s, and the fastest" in said["data"]["hints"][0]
    Path("mm.toml").write_text(text + "scale = 1e3\n")
    assert "hint: drop_test, 'height': measured is 1055 times" in run("check", "mm.toml").stdout
    Path("model.toml").write_text(Path("model.toml").read_text().replace("dt = 0.005", "max_steps = 2"))
    failed = json.loads(run("check", "fit.toml", "--json").stdout)["data"]
    assert failed["failures"][0].startswith(
        "drop_test cannot be predicted from sample 1 of 'height' on: the simulation s"
    )


def test_several_starts_are_in_the_report_of_a_resumed_fit(folder):
    run("identify", "fit.toml", "--starts", "3", "-q")
    page = Path("fit/report.html").read_bytes()
    assert b"Several starts" in page
    for command in (("identify", "fit.toml", "--starts", "3", "--resume", "-q"), ("report", "fit")):
        Path("fit/report.html").unlink()
        run(*command)
        assert Path("fit/report.html").read_bytes() == page


def test_force_leaves_nothing_of_a_search_before(folder, monkeypatch):
    monkeypatch.setattr("difmbs.reports.report.report", lambda *_, **__: None)
    run("identify", "fit.toml", "--out", "out", "-q")
    manifest = json.loads(Path("out/manifest.json").read_text())
    manifest["written"] += ["../fit.toml", "mine.csv", 3]
    Path("out/manifest.json").write_text(json.dumps(manifest))
    Path("out/mine.csv").write_text("x\n")
    run("optimize", "design.toml", "--out", "out", "--force", "-q")
    names = {".lock", "evaluations.npz", "manifest.json", "mine.csv", "model.toml", "parameters.toml"}
    assert {p.name for p in Path("out").iterdir()} == names
    assert Path("fit.toml").exists()
    assert "(converged)" in run("report", "out").stdout


def test_what_does_not_converge_is_saved_and_goes_on(folder, monkeypatch):
    # Pages are not what this is about, and take time.
    monkeypatch.setattr("difmbs.reports.report.report", lambda *_, **__: None)
    run("identify", "fit.toml", "--out", "whole", "-q")
    text = Path("fit.toml").read_text()
    Path("fit.toml").write_text(text + "[search]\nmax_iterations = 3\n")
    result = run("identify", "fit.toml", code=5)
    assert "not converged (max_iterations); the best values so far are saved" in result.stderr
    assert "resume: difmbs identify fit.toml --resume" in result.stderr
    assert 'status = "max_iterations"' in Path("fit/parameters.toml").read_text()
    assert run("report", "fit").exit_code == 0
    Path("fit.toml").write_text(text)
    run("identify", "fit.toml", "--resume", "-q")
    assert numeric("fit", NUMERIC[:4]) == numeric("whole", NUMERIC[:4])


@pytest.mark.parametrize(
    ("scale", "asked"),
    [
        (
            1e3,
            "is 1055 times what the start values predict: in millimetres or the like? Then the channel needs scale = 1",
        ),
        (1e-3, "predict: in thousands of the SI unit? Then the channel needs scale = 1"),
        (57.0, "predict: in degrees? Then the channel needs scale = 0.99"),
        (
            10.0,
            "is 2.495 more than predicted, nearly constant (2.495 +- 0.069): a bias, or another zero? Then",
        ),
    ],
    ids=["millimetres", "kilo", "degrees", "ten"],
)
def test_data_in_other_units(folder, monkeypatch, scale, asked):
    if scale != 1e3:
        monkeypatch.setattr("difmbs.reports.report.report", lambda *_, **__: None)
    text = Path("fit.toml").read_text()
    Path("fit.toml").write_text(f"{text}scale = {scale}\n[search]\nmax_iterations = 2\n")
    said = json.loads(run("identify", "fit.toml", "--json", code=5).stdout)
    # In kilometres the noise is larger than the data, too.
    assert len(said["hints"]) == (2 if scale == 1e-3 else 1)
    assert asked in said["hints"][-1]
    written = tomllib.loads(Path("fit/parameters.toml").read_text())
    assert said["verdict"] == written["verdict"] == "bad"
    assert "the search was cut off" in said["verdict_sentence"]
    found = written["parameter"]["spring.stiffness"]
    ratio = np.sqrt(said["chi2"] / said["degrees_of_freedom"])
    assert found["scaled_standard_error"] == pytest.approx(ratio * found["standard_error"])
    assert said["scaled_standard_errors"]["spring.stiffness"] == found["scaled_standard_error"]
    if scale == 1e3:
        assert "in millimetres or the like?" in Path("fit/report.html").read_text()
        assert asked in run("identify", "fit.toml", "--force", code=5).stdout


def test_optimize(folder):
    result = run("optimize", "design.toml", "--check-gradient")
    for part in ("1 unknown, 1 objective, 1 limit", "spring.damping", "converged after", "derivatives differ by"):
        assert part in result.stdout
    before = numeric("design", ("parameters.toml", "model.toml"))
    damping = mbs.load("design/model.toml").assemble().params()["spring"]["damping"]
    assert float(damping) > 5.1
    said = json.loads(run("optimize", "design.toml", "--json", "--resume").stdout)
    assert (said["exit_code"], said["values"]["spring.damping"]) == (0, float(damping))
    assert said["limits"][0] <= 60 + 1e-6
    assert numeric("design", before) == before
    assert "(converged)" in run("report", "design").stdout
    Path("loose.toml").write_text(DESIGN + "[search]\ntolerance = 1e-2\n")
    run("optimize", "loose.toml", "--out", "loose", "-q")
    assert "(converged)" in run("report", "loose").stdout
    Path("design.toml").write_text(DESIGN.replace("upper = 60", "upper = 50"))
    assert "belongs to another task" in run("optimize", "design.toml", "--resume", code=6).stderr
    Path("design.toml").write_text(DESIGN.replace("start = 5", "start = 90") + "[search]\nmax_iterations = 1\n")
    assert (
        "resume: difmbs optimize design.toml --resume --out other"
        in run("optimize", "design.toml", "--out", "other", code=5).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["identify"], "identify: Missing argument 'FIT'."),
        (["identify", "fit.toml", "--starts", "0"], "0 is not in the range x>=1"),
        (["identify", "fit.toml", "--start", "2"], "No such option"),
        (["report", "nowhere"], "there is no folder 'nowhere'"),
        (["reprt"], "No such command 'reprt'"),
    ],
)
def test_wrong_usage_is_one_sentence_and_json_on_demand(folder, arguments, message):
    result = run(*arguments, code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    said = json.loads(run(*arguments, "--json", code=2).stdout)
    assert said["exit_code"] == 2
    assert message in said["error"]


def test_folders_of_something_else(folder):
    assert "there is no parameters.toml in it" in run("report", ".", code=3).stderr
    Path("fit").mkdir()
    Path("fit/parameters.toml").write_text("schema = 1\n")
    assert "it does not say which file it is of" in run("report", "fit", code=3).stderr
    assert "fit is not empty" in run("identify", "fit.toml", "--resume", code=2).stderr
    Path("fit/state.npz").write_bytes(b"PK")
    assert "fit/state.npz cannot be read" in run("identify", "fit.toml", "--resume", code=3).stderr


def test_unknowns_that_no_sample_depends_on_and_starts_that_cannot_be_simulated(folder):
    text = Path("fit.toml").read_text()
    Path("fit.toml").write_text(text + '[unknown."height.gain"]\nstart = 1\n[unknown."mass.velocity[0]"]\nstart = 0\n')
    said = run("identify", "fit.toml", code=3).stderr
    assert said.startswith("fit.toml: no sample depends on 'mass.velocity[0]'.")
    assert said.endswith("(line 24)\n")
    Path("model.toml").write_text(Path("model.toml").read_text().replace("dt = 0.005", "max_steps = 2"))
    said = run("identify", "fit.toml", "--force", code=3).stderr
    assert said.startswith("fit.toml: with the start values, experiment 'drop_test' cannot be predicted from sample 1 ")
    assert "of 'height' on: the simulation stopped at t = " in said
    assert ": the number of steps reached max_steps; loosen rtol and atol, use a stiff solver, or raise it." in said


SLOW = "dt = 0.00002"
"""Some tenths of a second for an iteration."""


@pytest.fixture
def begin(folder):
    """Starts a command in another process."""
    text = Path("model.toml").read_text()
    Path("model.toml").write_text(text.replace("dt = 0.005", SLOW))
    cache = jax.config.jax_compilation_cache_dir
    running = []

    def start(*arguments, cache=cache):
        # A shell lets what runs in the background, and all that it starts, ignore Ctrl-C.
        listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        code = f"{listening}; from difmbs.command import main; main(prog_name='difmbs')"
        settings = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": str(cache)}
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(subprocess.Popen([sys.executable, "-c", code, *arguments], env=settings, **pipes))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def wait_for_iteration(process, file):
    """Until a file is written anew, or the process has ended."""
    changed = lambda: file.stat().st_mtime_ns if file.exists() else 0
    before = changed()
    while changed() == before and process.poll() is None:
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("command", "out", "state", "number"),
    [
        ("identify fit.toml", "fit", "state.npz", signal.SIGINT),
        ("optimize design.toml", "design", "evaluations.npz", signal.SIGTERM),
    ],
    ids=["identify", "optimize"],
)
def test_signals_end_a_search_with_the_best_so_far(begin, command, out, state, number):
    process = begin(*command.split(), "--json")
    wait_for_iteration(process, Path(out, "parameters.toml"))
    time.sleep(0.1)
    process.send_signal(number)
    start = time.perf_counter()
    printed, said = process.communicate(timeout=60)
    assert time.perf_counter() - start < 2
    assert process.returncode == 128 + number, said
    assert said.startswith(f"stopped by {number.name} after ")
    assert said.endswith(f"resume: difmbs {command} --resume\n")
    assert json.loads(printed)["resume"] == f"difmbs {command} --resume"
    assert 'status = "interrupted"' in Path(out, "parameters.toml").read_text()
    assert sorted(p.name for p in Path(out).iterdir()) == sorted([".lock", "parameters.toml", state])
    assert "(interrupted)" in run("report", out).stdout


def test_a_signal_while_compiling(begin, tmp_path):
    process = begin("identify", "fit.toml", cache=tmp_path / "cache")
    while not Path("fit/.lock").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    start = time.perf_counter()
    _, said = process.communicate(timeout=60)
    assert time.perf_counter() - start < 2
    assert process.returncode == 130
    assert said.endswith("stopped by SIGINT before the first iteration was finished.\n")
    assert [p.name for p in Path("fit").iterdir()] == [".lock"]


class Late(Future):
    """Finished just after it has been waited for too long."""

    def result(self, timeout=None):
        found = super().result()
        if timeout is not None:
            raise TimeoutError
        return found


def test_work_that_is_finished_at_the_last_moment(monkeypatch):
    def fails():
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work"):
        in_background(fails)
    monkeypatch.setattr("difmbs.command.shell.Future", Late)
    assert in_background(lambda: 3) == 3


def test_what_takes_long_is_said_once(monkeypatch):
    monkeypatch.setattr("difmbs.command.shell._PATIENCE", 0.05)
    said = []
    assert in_background(lambda: time.sleep(0.5) or 3, lambda: said.append("checking")) == 3
    assert in_background(lambda: 4, lambda: said.append("nothing")) == 4
    assert said == ["checking"]


@pytest.mark.parametrize("kills", [2, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", ["identify fit.toml", "optimize design.toml"])
def test_killed_at_any_time_it_goes_on_to_the_same_result(begin, command, kills):
    names, state = (
        (NUMERIC, "state.npz") if "identify" in command else (("parameters.toml", "model.toml"), "evaluations.npz")
    )
    whole = begin(*command.split(), "--out", "whole", "-q")
    assert whole.wait(timeout=120) == 0
    rng = random.Random(kills)
    for _ in range(kills):
        process = begin(*command.split(), "--out", "killed", "--resume", "-q")
        wait_for_iteration(process, Path("killed", state))
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert not [p for p in Path("killed").glob("*.csv") if not p.read_bytes().endswith(b"\n")]
    assert begin(*command.split(), "--out", "killed", "--resume", "-q").wait(timeout=120) == 0
    assert numeric("killed", names) == numeric("whole", names)
    assert not list(Path("killed").glob(".*.part"))
