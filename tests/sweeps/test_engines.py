"""Sweeps on engines of other packages, whose workers may be killed."""

import multiprocessing
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import difmbs as mbs
from difmbs.sweeps import sweep_run

from ..zoo import fits

pytestmark = pytest.mark.slow

TRACES = "DIFMBS_TESTS_TRACES"
COUNT = 4000


def noted(solution):
    """An output that notes, for each process, how often it is traced."""
    with Path(os.environ[TRACES]).open("a") as file:
        file.write(f"{os.getpid()}\n")
    return solution["mass.position.z"][-1]


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv(TRACES, str(tmp_path / "traces"))
    model = mbs.Model(gravity=(0, 0, -9.81))
    mass = model.add("mass", mbs.MassPoint(mass=2.0), position=(0, 0, 0.35))
    spring = mbs.SpringDamper(reference_length=0.3, stiffness=500.0, damping=5.0)
    model.add("spring", spring, between=(model.ground, mass))
    samples = mbs.random_samples({"spring.stiffness": (400, 600)}, COUNT, seed=1)
    arguments = dict(t1=0.5, dt=1e-4, chunk=50, progress=False)
    outputs = {"end": noted, "lowest": mbs.LargestSize("mass.velocity")}
    return lambda **more: mbs.sweep(model.assemble(), samples, outputs, **arguments, **more)


def kill_after(count, kill, monkeypatch):
    taken, put = [], sweep_run.SweepRun._put

    def counted(run, numbers, results):
        put(run, numbers, results)
        taken.append(numbers)
        if len(taken) == count:
            kill()

    monkeypatch.setattr(sweep_run.SweepRun, "_put", counted)


def check_traces(tmp_path):
    """Each process has traced it as often as one program takes, which this one shows."""
    traces = Counter((tmp_path / "traces").read_text().split())
    assert len(traces) >= 3
    most = traces.pop(str(os.getpid()))
    assert max(traces.values()) <= most


def test_spawned_processes_of_which_one_is_killed(work, tmp_path, monkeypatch):
    expected = work()
    pools = []

    def pool():
        pools.append(ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")))
        return pools[-1]

    kill_after(3, lambda: next(iter(pools[0]._processes.values())).kill(), monkeypatch)
    result = work(executor=pool)
    assert len(pools) == 2
    assert set(result.status) == {"ok"}
    for name in ("end", "lowest"):
        np.testing.assert_array_equal(result[name], expected[name])
    check_traces(tmp_path)


def test_a_killed_process_of_a_pool_that_is_given_loses_nothing_that_is_saved(work, tmp_path, monkeypatch):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        kill_after(3, lambda: next(iter(pool._processes.values())).kill(), monkeypatch)
        with pytest.raises(mbs.SimulationError, match=r"a worker ended before its work.*resume=True"):
            work(executor=pool, folder=tmp_path / "a")
    monkeypatch.undo()
    monkeypatch.setenv(TRACES, str(tmp_path / "traces"))
    work(folder=tmp_path / "a", resume=True)
    work(folder=tmp_path / "b")
    assert (tmp_path / "a/sweep.npz").read_bytes() == (tmp_path / "b/sweep.npz").read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_dask_with_a_worker_that_is_killed(work, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    expected = work()
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path))
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        kill_after(3, lambda: next(iter(cluster.workers.values())).process.process.kill(), monkeypatch)
        result = work(executor=client.get_executor())
    assert set(result.status) == {"ok"}
    for name in ("end", "lowest"):
        np.testing.assert_array_equal(result[name], expected[name])
    check_traces(tmp_path)


def spring():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6), position=-0.08, velocity=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 4000.0, 8.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("load", mbs.CoordinateLoad(80.0), on=mass.coordinate(0))
    return model.assemble()


def test_fits_by_spawned_processes():
    channels = {"u": mbs.Channel("mass.position", component=0, noise=fits.NOISE)}
    runs = [mbs.Experiment(fits.TIMES, {"u": fits.noisy(i)}, channels, name=f"{i}") for i in range(5)]
    options = dict(dt=fits.DT, progress=False, chunk=2)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = mbs.identify_each(spring(), runs, fits.unknowns(), executor=pool, **options)
    expected = mbs.identify_each(spring(), runs, fits.unknowns(), **options)
    np.testing.assert_array_equal(found.numbers, expected.numbers)
