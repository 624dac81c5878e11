"""difmbs sweep and difmbs merge, and sweep files."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import difmbs as mbs

from ..helpers.commands import run as command

ROOT = Path(__file__).parents[2]
MODEL = """schema = 1
gravity = [0, 0, -9.81]
[[mass_point]]
name = "mass"
mass = 2.0
position = [0, 0, 0.35]
[[spring_damper]]
name = "spring"
between = ["ground", "mass"]
reference_length = 0.3
stiffness = 500.0
damping = 5.0
[simulation]
t_end = 0.2
dt = 0.01
save_dt = 0.02
"""
SWEEP = """schema = 1
model = "m.toml"
[sweep]
plan = "latin_hypercube"
count = 23
seed = 1
chunk = 5
derivatives = ["spring.stiffness"]
[sample."spring.stiffness"]
lower = 400
upper = 600
[sample."spring.damping"]
mean = 5
deviation = 0.5
[[output]]
name = "force"
quantity = "maximum"
output = "mass.velocity"
component = 2
[[output]]
output = "mass.position.z"
"""
FILES = ("sweep.npz", "runs.csv", "sweep.svg", "manifest.json")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MODEL)
    Path("s.toml").write_text(SWEEP)
    return tmp_path


def test_a_sweep_file_is_what_sweep_takes(files):
    command("sweep", "s.toml", "-q")
    import scipy.stats

    samples = mbs.latin_hypercube_samples(
        {"spring.stiffness": (400, 600), "spring.damping": scipy.stats.norm(5, 0.5)}, 23, seed=1
    )
    outputs = {"force": mbs.Maximum("mass.velocity", 2), "mass.position.z": "mass.position.z"}
    described = mbs.read_model("m.toml")
    arguments = dict(derivatives=["spring.stiffness"], chunk=5, **described.simulation.arguments())
    expected = mbs.sweep(described.assemble(), samples, outputs, **arguments)
    found = mbs.load_result("sweep/sweep.npz")
    for name in outputs:
        np.testing.assert_array_equal(found[name], expected[name])
    assert found.fingerprint == expected.fingerprint
    table = mbs.read_table("sweep/runs.csv")
    np.testing.assert_array_equal(table.column("force"), expected["force"])
    assert list(table.columns) == ["run", "code", "time reached", "spring.stiffness", "spring.damping", "force"]
    assert json.loads(Path("sweep/manifest.json").read_text())["status"] == {"ok": 23}
    assert Path("sweep/sweep.svg").read_text().count("mass.position.z") == 1
    assert "SweepFile('s.toml': 23 runs, 2 sampled parameters" in repr(mbs.load_sweep("s.toml"))
    assert "s.toml is a sweep file: 23 runs" in command("check", "s.toml").stdout


def test_parts_merge_to_the_whole(files):
    whole = json.loads(command("sweep", "s.toml", "--json").stdout)
    assert whole["outputs"]["force"]["median"] == pytest.approx(
        mbs.load_result("sweep/sweep.npz").quantile("force", 0.5)
    )
    for i in range(3):
        command("sweep", "s.toml", "--part", f"{i}/3", "-q")
    result = command("merge", "sweep-0", "sweep-2", "--out", "some", code=4)
    assert "merge: 8 of 23 runs are in none of these parts." in result.stderr
    command("merge", "sweep-2", "sweep-0", "sweep-1", "--out", "merged")
    for name in ("sweep.npz", "runs.csv", "sweep.svg"):
        assert Path("merged", name).read_bytes() == Path("sweep", name).read_bytes()
    command("merge", "sweep-2", "sweep-0", "sweep-1", "--out", "merged", code=2)
    Path("other.toml").write_text(SWEEP.replace("upper = 600", "upper = 700"))
    command("sweep", "other.toml", "--out", "other", "-q")
    assert "other belongs to another sweep" in command("merge", "sweep-0", "other", "--out", "x", code=6).output
    assert "is not empty" in command("sweep", "s.toml", code=2).output
    command("sweep", "s.toml", "--resume", "-q")
    command("sweep", "other.toml", "--resume", code=6)
    command("sweep", "other.toml", "--force", "-q")


def test_grids_tables_and_failed_runs(files):
    grid = SWEEP.replace('"latin_hypercube"\ncount = 23\nseed = 1', '"grid"').replace(
        "mean = 5\ndeviation = 0.5", "values = [4, 5, 6]"
    )
    Path("grid.toml").write_text(grid.replace("lower = 400\nupper = 600", "values = [400, 1e9]"))
    said = command("sweep", "grid.toml", "--out", "grid").stdout
    assert "6 runs, 3 of them arrived" in said
    assert "non_finite: 3, 4, 5" in said
    result = mbs.load_result("grid/sweep.npz")
    assert result["spring.damping"].tolist() == [4, 5, 6, 4, 5, 6]
    table = SWEEP.split("[sample")[0].replace('plan = "latin_hypercube"\ncount = 23\nseed = 1', 'file = "draws.csv"')
    Path("table.toml").write_text(table + SWEEP[SWEEP.index("[[output]]") :] + "[again]\ndt = 0.002\n")
    mbs.write_table("draws.csv", {"spring.stiffness": [400.0, 1e9], "spring.damping": [4.0, 4.0]})
    command("sweep", "table.toml", "--out", "table", "-q")
    np.testing.assert_array_equal(mbs.load_result("table/sweep.npz")["force"], result["force"][[0, 3]])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seed = 1\n", "", "plan = 'latin_hypercube' needs seed"),
        ('"latin_hypercube"', '"sobol"', "there is no plan 'sobol'"),
        ('"latin_hypercube"', '"table"', "count is for plan = 'random'"),
        ("upper = 600\n", "", "sample 'spring.stiffness': needs lower and upper, or mean and deviation"),
        ("upper = 600", "upper = 300", "lower = 400 is not below upper = 300"),
        ("deviation = 0.5", "deviation = -1", "deviation must be > 0"),
        ("spring.stiffness", "spring.stifness", "stifness"),
        ('quantity = "maximum"\n', "", "component and width are for quantities"),
        ('"maximum"', '"maximun"', "maximun"),
        ('"mass.position.z"', '"mass.positon"', "positon"),
        ("[[output]]", "[[outputs]]", "there is no 'outputs'"),
        ('output = "mass.position.z"', 'output = "mass.position.z"\nname = "force"', "two outputs 'force'"),
        ("chunk = 5", "chunk = 0", "chunk"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(files, old, new, said):
    Path("s.toml").write_text(SWEEP.replace(old, new))
    result = command("check", "s.toml", code=3)
    assert said in result.output
    assert "s.toml" in result.output


def test_other_files_are_told_apart(files):
    assert "difmbs sweep and mbs.load_sweep take it" in command("optimize", "s.toml", code=3).output
    assert "difmbs simulate and mbs.load take it" in command("sweep", "m.toml", code=3).output
    assert "--part takes I/N" in command("sweep", "s.toml", "--part", "3/3", code=2).output
    command("sweep", "s.toml", "-q")
    assert "holds" in command("plot", "sweep", code=3).output


LONG = SWEEP.replace("count = 23", "count = 300000").replace("chunk = 5", "chunk = 100")


@pytest.mark.slow
def test_whatever_stops_it_the_bytes_are_the_same(files):
    """Killed at 25 random times, stopped by Ctrl-C and SIGTERM, and a full disk."""
    Path("m.toml").write_text(MODEL.replace("t_end = 0.2\ndt = 0.01", "t_end = 1.0\ndt = 0.002"))
    Path("s.toml").write_text(LONG.split('[[output]]\noutput = "mass')[0])

    def start(*options, limit=""):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": ""}
        line = f"{limit} exec {sys.executable} -m difmbs sweep s.toml --out a {' '.join(options)}"
        return subprocess.Popen(["bash", "-c", line], env=environment, stderr=subprocess.PIPE, text=True)

    draw, killed = random.Random(7), 0
    whole = start()
    whole.communicate()
    assert whole.returncode == 0
    Path("a").rename("whole")
    for _ in range(25):
        process = start("--resume", "-q")
        time.sleep(draw.uniform(2.0, 6.0))
        if process.poll() is None:
            killed += 1
        process.kill()
        process.communicate()
        if Path("a/manifest.json").exists():
            command("sweep", "s.toml", "--out", "a", "--resume", "-q")
            assert Path("a/sweep.npz").read_bytes() == Path("whole/sweep.npz").read_bytes()
            for path in Path("a").iterdir():
                path.unlink()
    assert killed >= 12
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start("--force", "-q")
        time.sleep(4)
        process.send_signal(number)
        begun = time.monotonic()
        said = process.communicate(timeout=30)[1]
        assert process.returncode == 128 + number
        assert time.monotonic() - begun < 3
        assert "resume: difmbs sweep s.toml --resume --out a" in said
    process = start("--force", "-q", limit="ulimit -f 3000;")
    said = process.communicate()[1]
    assert process.returncode == 2
    assert "cannot be written" in said
    process = start("--resume", "-q")
    process.communicate()
    assert process.returncode == 0
    for name in FILES:
        assert Path("a", name).read_bytes() == Path("whole", name).read_bytes()
