"""Long simulations in pieces: the same result as at once, whatever stops them on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import diffrax
import jax
import numpy as np
import pytest

import difmbs as mbs
from difmbs.files.long_simulation import RunFolder
from difmbs.simulation.simulate import run_in_pieces

from ..helpers.commands import run as command
from ..zoo import models

ROOT = Path(__file__).parents[2]
RUNS = {
    "fixed steps": (models.rods, dict(t1=0.5, dt=1e-3)),
    "off the grid": (models.rods, dict(t1=0.2, dt=3.3e-3, saveat=np.linspace(0, 0.2, 17))),
    "implicit": (models.four_bar, dict(t1=0.05, dt=1e-3, solver=mbs.GeneralizedAlpha())),
    "adaptive": (models.oscillator, dict(t1=2.0)),
    "events": (models.taut_rope, dict(t1=1.0, solver=diffrax.Dopri8())),
}
LONG = """schema = 1
gravity = [0, -9.81, 0]
[[mass_point_2d]]
name = "bob"
mass = 1.0
position = [1, 0]
[[distance_constraint]]
name = "rod"
between = ["ground", "bob"]
distance = 1.0
[simulation]
t_end = 200.0
dt = 1e-4
save_dt = 0.01
"""
SHORT = LONG.replace("t_end = 200.0", "t_end = 20.0")
FILES = ("manifest.json", "sensors.csv", "solution.npz")


@pytest.mark.parametrize("name", RUNS)
def test_pieces_are_the_whole(name):
    make, arguments = RUNS[name]
    system = make()
    whole = mbs.simulate(system, **arguments)
    run, pieces = run_in_pieces(system, **arguments), 0
    while not run.finished:
        run.advance(steps=7)
        pieces += 1
    solution = run.solution()
    assert pieces > 2
    assert solution.status == whole.status
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(solution), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_what_is_not_finite_any_more_is_missing_in_both():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    system = model.assemble()
    arguments = dict(t1=20.0, dt=0.7, throw=False)
    whole, pieces = mbs.simulate(system, **arguments), mbs.simulate_in_pieces(system, **arguments)
    assert whole.status == pieces.status
    there = [np.all(np.isfinite(solution.q), axis=1) for solution in (whole, pieces)]
    # Of numbers of 1e24 the two programs may lose the last one an output earlier.
    assert abs(np.sum(there[0]) - np.sum(there[1])) <= 1
    assert all(np.all(x[: np.sum(x)]) for x in there)


def test_a_stop_says_what_the_whole_run_says():
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint(1.0), position=(1, 0, 0), velocity=(-1, 0, 0))
    law = mbs.SpringDamper(stiffness=1e9, spring_force_user_function=lambda t, x, v, k, d, f: -k * x * t**9)
    model.add("spring", law, between=(model.ground, bob))
    system = model.assemble()
    statuses = []
    for simulate in (mbs.simulate, mbs.simulate_in_pieces):
        with pytest.raises(mbs.SimulationError) as error:
            simulate(system, t1=50.0, dt=0.05)
        statuses.append(str(error.value))
    assert statuses[0] == statuses[1]


@pytest.mark.parametrize("name", ["fixed steps", "events"])
def test_a_resumed_run_is_the_same_in_every_bit(name, tmp_path):
    make, arguments = RUNS[name]
    system = make()
    run = run_in_pieces(system, **arguments)
    kept = RunFolder(tmp_path, run)
    for _ in range(2):
        run.advance(steps=9)
    kept.save()
    run.advance(steps=9)
    with_more = run.passed
    kept.save()
    again = mbs.simulate_in_pieces(system, folder=tmp_path, resume=True, progress=False, **arguments)
    whole = mbs.simulate_in_pieces(system, **arguments)
    assert with_more > 0
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(again), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_what_is_not_its_own_is_refused(tmp_path):
    system = models.rods()
    run = run_in_pieces(system, t1=0.5, dt=1e-3)
    run.advance()
    RunFolder(tmp_path, run).save()
    other = dict(folder=tmp_path, resume=True, dt=1e-3)
    with pytest.raises(mbs.FileError, match="whose model or settings were changed"):
        mbs.simulate_in_pieces(system, t1=0.6, **other)
    with pytest.raises(mbs.FileError, match="whose model or settings were changed"):
        mbs.simulate_in_pieces(system.with_params({"mass": {"mass": np.ones(2)}}), t1=0.5, **other)
    (tmp_path / "rows-000000.npz").write_bytes(b"noise")
    with pytest.raises(mbs.FileError, match=r"rows-000000\.npz cannot be read"):
        mbs.simulate_in_pieces(system, t1=0.5, **other)
    mine = tmp_path / "rows-of-mine.npz"
    mine.write_bytes(b"mine")
    with pytest.raises(mbs.FileError, match="is not empty"):
        mbs.simulate_in_pieces(system, t1=0.5, **{**other, "resume": False})
    mbs.simulate_in_pieces(system, t1=0.5, force=True, **{**other, "resume": False})
    assert mine.read_bytes() == b"mine"
    with pytest.raises(mbs.ParameterError, match="simulate_in_pieces has no argument 'adjoint'"):
        mbs.simulate_in_pieces(system, t1=0.5, adjoint=None)


def test_it_shows_where_it_is(capsys):
    mbs.simulate_in_pieces(models.rods(), t1=0.05, dt=1e-3, progress=True)
    shown = capsys.readouterr().err
    assert "100 %" in shown
    assert "50 steps" in shown


@pytest.fixture
def started(tmp_path):
    """Starts the command in a folder of its own, as a shell does."""
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    begin = [sys.executable, "-c", f"{listening}; from difmbs.command import main; main()", "simulate", "m.toml"]
    settings = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    processes = []

    def start(*options, limit=None):
        words, pipes = [*begin, *options], dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if limit is not None:
            small = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
            words = [
                sys.executable,
                "-c",
                f"import os, resource, sys; {small}; os.execv(sys.argv[1], sys.argv[1:])",
                *words,
            ]
        process = subprocess.Popen(words, cwd=tmp_path, env=settings, **pipes)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def until(path, process, patience=60):
    end = time.monotonic() + patience
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_command_goes_on_from_what_was_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(SHORT.replace("t_end = 20.0", "t_end = 1.0"))
    command("simulate", "m.toml", "--out", "whole")
    described = mbs.read_model("m.toml")
    run = run_in_pieces(described.assemble(), **described.simulation.arguments())
    run.advance(steps=3000)
    Path("run").mkdir()
    RunFolder("run", run).save()
    assert (
        "there is nothing in other to go on from" in command("simulate", "m.toml", "--out", "other", "--resume").stdout
    )
    command("simulate", "m.toml", "--resume", "--t-end", "2", code=6)
    command("simulate", "m.toml", "--resume")
    for name in FILES:
        contents = [Path(folder, name).read_bytes() for folder in ("run", "other", "whole")]
        # Not made in pieces, the last digits may differ.
        assert contents[0] == contents[1]
    assert np.allclose(*(mbs.load_result(f"{x}/solution.npz").q for x in ("run", "whole")), rtol=1e-13, atol=1e-13)


def test_commands_stop_with_partial_results_and_go_on(tmp_path, started, monkeypatch):
    (tmp_path / "m.toml").write_text(LONG)
    for number, options in ((signal.SIGKILL, []), (signal.SIGINT, ["--resume"]), (signal.SIGTERM, ["--resume"])):
        process = started(*options)
        if options:
            time.sleep(4)
        else:
            until(tmp_path / "run" / "pieces.npz", process)
        process.send_signal(number)
        said = process.communicate(timeout=30)[1]
        if number == signal.SIGKILL:
            assert process.returncode == -9
            continue
        assert process.returncode == 128 + number
        assert f"stopped by {number.name} at t = " in said
        assert said.endswith("resume: difmbs simulate m.toml --resume\n")
        result = mbs.load_result(tmp_path / "run" / "solution.npz")
        assert result.status == "interrupted"
        reached = np.isfinite(result["bob.position.x"])
        assert 100 < np.sum(reached) < len(reached)
    process = started("--resume", "-q")
    assert process.wait(timeout=100) == 0
    monkeypatch.chdir(tmp_path)
    command("simulate", "m.toml", "--out", "whole", "-q")
    for name in FILES:
        assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()
    assert sorted(p.name for p in Path("run").iterdir()) == sorted([".lock", *FILES])


def test_a_full_disk_loses_nothing(tmp_path, started, monkeypatch):
    (tmp_path / "m.toml").write_text(SHORT)
    process = started("--in-pieces", limit=60_000)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert "cannot be written: File too large" in said
    process = started("--resume", "--json", *([] if (tmp_path / "run" / "pieces.npz").exists() else ["--force"]))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["status"] == "ok"
    monkeypatch.chdir(tmp_path)
    command("simulate", "m.toml", "--out", "whole", "-q")
    for name in FILES:
        assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()
