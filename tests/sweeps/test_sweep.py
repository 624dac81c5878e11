"""Sweeps: each run is that of `simulate`, whatever happens to the others, and whoever makes it."""

import _thread
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
import scipy.stats

import difmbs as mbs
from difmbs.core.errors import MismatchError
from difmbs.simulation.arguments import warn_of_single_precision
from difmbs.sweeps import sweep_run

from ..zoo import models

matplotlib.use("Agg")

TIMES = dict(t1=0.2, dt=0.01, saveat=np.linspace(0, 0.2, 11))


@pytest.fixture(scope="module")
def system():
    model = mbs.Model(gravity=(0, 0, -9.81))
    mass = model.add("mass", mbs.MassPoint(mass=2.0), position=(0, 0, 0.35))
    spring = mbs.SpringDamper(reference_length=0.3, stiffness=500.0, damping=5.0)
    model.add("spring", spring, between=(model.ground, mass))
    return model.assemble()


@pytest.fixture(scope="module")
def samples():
    return mbs.latin_hypercube_samples({"spring.stiffness": (400, 600), "spring.damping": (3, 8)}, 23, seed=1)


OUTPUTS = {"lowest": mbs.Maximum("mass.position.z", weight=-1.0), "force": mbs.RootMeanSquare("spring.force")}


def swept(system, samples, outputs=OUTPUTS, **options):
    return mbs.sweep(system, samples, outputs, **{**TIMES, "chunk": 5, "progress": False, **options})


def end(solution):
    return solution["mass.position"][-1]


def test_each_run_is_that_of_simulate(system, samples):
    outputs = {**OUTPUTS, "z": "mass.position.z", "end": end, "size": mbs.LargestSize("mass.position")}
    result = swept(system, samples, outputs, derivatives=["spring.stiffness", "mass.mass"])
    assert len(result) == 23
    assert set(result.status) == {"ok"}
    for i in (0, 7, 22):
        params = {"spring": {"stiffness": samples["spring.stiffness"][i], "damping": samples["spring.damping"][i]}}

        def run(more, params=params):
            changed = {**params, "mass": {"mass": 2.0 + more["mass"]}}
            changed["spring"] = {**params["spring"], "stiffness": params["spring"]["stiffness"] + more["stiffness"]}
            return mbs.simulate(system, params=changed, **TIMES)

        solution = run({"stiffness": 0.0, "mass": 0.0})
        z = solution["mass.position.z"]
        force = solution["spring.force"]
        expected = {
            "lowest": -np.max(z),
            "force": np.sqrt(np.sum(np.trapezoid(force**2, solution.t, axis=0)) / 0.2),
            "z": z,
            "end": end(solution),
            "size": np.max(np.abs(solution["mass.position"]), axis=0),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(result[name][i], value, rtol=1e-12, atol=1e-14)
        slopes = jax.jacfwd(lambda more: end(run(more)))({"stiffness": 0.0, "mass": 0.0})
        for by, name in (("spring.stiffness", "stiffness"), ("mass.mass", "mass")):
            np.testing.assert_allclose(result.derivatives["end"][by][i], slopes[name], rtol=1e-9, atol=1e-15)
    assert result.units == {"lowest": "m", "force": "N", "z": "m", "end": "", "size": "m"}


def test_samples_are_a_part_of_the_parameter_tree(system, samples):
    tree = {"spring": {"stiffness": samples["spring.stiffness"], "damping": samples["spring.damping"]}}
    entry = {"mass.position[2]": np.full(23, 0.35)}
    for given in (tree, {**samples, **entry}):
        np.testing.assert_array_equal(swept(system, given)["force"], swept(system, samples)["force"])
    assert set(swept(system, tree).samples) == set(samples)


def test_constrained_systems():
    system = models.four_bar()
    count = 7
    samples = {"crank.mass": np.linspace(0.5, 1.5, count)}
    arguments = dict(t1=0.05, dt=1e-3, solver=mbs.GeneralizedAlpha())
    result = mbs.sweep(system, samples, {"end": mbs.Final("crank.rotation")}, chunk=3, progress=False, **arguments)
    alone = mbs.simulate(system, params={"crank": {"mass": 1.5}}, **arguments)
    np.testing.assert_allclose(result["end"][-1], alone["crank.rotation"][-1], rtol=1e-12)


def test_a_bad_run_costs_itself_and_nobody_else(system, samples):
    bad = {name: x.copy() for name, x in samples.items()}
    bad["spring.stiffness"][[3, 11]] = np.nan, 1e9
    outputs = {**OUTPUTS, "z": "mass.position.z"}
    whole, result = swept(system, samples, outputs), swept(system, bad, outputs)
    assert result.failed.tolist() == [3, 11]
    assert set(result.status[[3, 11]]) == {"non_finite"}
    others = np.setdiff1d(np.arange(23), [3, 11])
    for name in outputs:
        np.testing.assert_array_equal(result[name][others], whole[name][others])
        assert np.all(np.isnan(result[name][[3, 11]][..., -1] if name == "z" else result[name][[3, 11]]))
    np.testing.assert_allclose(result.mean("force"), np.mean(whole["force"][others]), rtol=1e-12)
    assert "non_finite: 3, 11" in str(result)


def test_failed_runs_are_made_again(system, samples):
    stiff = {name: x.copy() for name, x in samples.items()}
    stiff["spring.stiffness"][[4, 9]] *= 1e4
    options = dict(dt=None, max_steps=60, rtol=1e-6)
    assert swept(system, stiff, **options).failed.tolist() == [4, 9]
    result = swept(system, stiff, again=dict(max_steps=3000), **options)
    assert len(result.failed) == 0
    alone = mbs.simulate(
        system,
        params={"spring": {"stiffness": stiff["spring.stiffness"][4], "damping": stiff["spring.damping"][4]}},
        **{**TIMES, **options, "max_steps": 3000},
    )
    np.testing.assert_allclose(result["lowest"][4], -np.max(alone["mass.position.z"]), rtol=1e-12)


def test_runs_of_many_steps_do_not_let_the_others_wait(system, samples, monkeypatch):
    stiff = {name: x.copy() for name, x in samples.items()}
    stiff["spring.stiffness"][[4, 9]] *= 1e4
    options = dict(dt=None, rtol=1e-6, derivatives=["spring.damping"])
    expected = swept(system, stiff, **options)
    monkeypatch.setattr("difmbs.sweeps.sweep._FEW_STEPS", 60)
    result = swept(system, stiff, **options)
    assert set(result.status) == {"ok"}
    np.testing.assert_allclose(result["force"], expected["force"], rtol=1e-6)
    assert swept(system, stiff, max_steps=70, **options).failed.tolist() == [4, 9]


def test_functions_of_one_name_are_not_taken_for_each_other(system, samples, tmp_path):
    scaled = lambda factor: lambda solution: factor * solution["mass.position.z"][-1]
    first, second = (swept(system, samples, {"z": scaled(k)}, folder=tmp_path / f"{k}") for k in (1.0, 10.0))
    np.testing.assert_allclose(second["z"], 10 * first["z"], rtol=1e-14)
    with pytest.raises(MismatchError):
        swept(system, samples, {"z": scaled(3.0)}, folder=tmp_path / "1.0", resume=True)
    with pytest.raises(MismatchError):
        mbs.merge_sweeps([first, second])


def test_events_that_end_runs():
    model = mbs.Model(gravity=(0, 0, -9.81))
    model.add("stone", mbs.MassPoint(1.0), position=(0, 0, 1.0))
    model.add("floor", mbs.Event(lambda t, outputs: outputs["stone.position"][2], stop=True))
    system = model.assemble()
    heights = np.array([0.5, 1.0, 50.0])
    samples = {"stone.position[2]": heights}
    outputs = {
        "end": mbs.Final("stone.position.z"),
        "fall": mbs.Maximum("stone.velocity.z", weight=-1.0),
        "mean": mbs.Mean("stone.position.z"),
        "time": lambda solution: solution.stats["time"],
    }
    outputs["moment"] = outputs.pop("time")
    times = np.linspace(0, 1, 1001)
    result = mbs.sweep(system, samples, outputs, t1=1.0, saveat=times, progress=False)
    assert result.status.tolist() == ["event", "event", "ok"]
    fallen = np.minimum(np.sqrt(2 * heights / 9.81), 1.0)
    np.testing.assert_allclose(result["moment"], fallen, rtol=1e-9)
    last = np.floor(fallen * 1000 + 1e-9) / 1000
    np.testing.assert_allclose(result["end"], heights - 9.81 * last**2 / 2, atol=1e-9)
    np.testing.assert_allclose(result["fall"], 0.0, atol=1e-12)
    np.testing.assert_allclose(result["mean"], heights - 9.81 * last**2 / 6, rtol=1e-5)
    assert np.isfinite(result.mean("end"))
    result.plot("end")


def test_what_is_no_number_is_left_out_of_statistics(system, samples):
    middle = swept(system, samples, {"z": mbs.Final("mass.position.z")}).quantile("z", 0.4)
    root = lambda solution: jnp.sqrt(solution["mass.position.z"][-1] - middle)
    result = swept(system, samples, {"root": root})
    lacking = np.isnan(result["root"])
    assert 0 < np.sum(lacking) < 23
    assert result.mean("root") == pytest.approx(np.mean(result["root"][~lacking]))
    assert f"root: no finite number in {np.sum(lacking)} runs that arrived, left out" in str(result)
    result.plot("root", against="spring.stiffness")


def test_single_precision_by_a_context(system, samples):
    warn_of_single_precision.cache_clear()
    with jax.enable_x64(False):
        single = mbs.Model(gravity=(0, 0, -9.81))
        mass = single.add("mass", mbs.MassPoint(mass=2.0), position=(0, 0, 0.35))
        spring = mbs.SpringDamper(reference_length=0.3, stiffness=500.0, damping=5.0)
        single.add("spring", spring, between=(single.ground, mass))
        with pytest.warns(UserWarning, match="single precision"):
            result = swept(single.assemble(), samples)
    assert result["force"].dtype == np.float32
    np.testing.assert_allclose(result["force"], swept(system, samples)["force"], rtol=1e-4)


# Parts, folders, stops


def test_parts_are_the_whole(system, samples, tmp_path):
    whole = swept(system, samples, derivatives=["spring.stiffness"], folder=tmp_path / "whole")
    for i in range(3):
        swept(system, samples, derivatives=["spring.stiffness"], part=(i, 3), folder=tmp_path / f"{i}")
    merged = mbs.merge_sweeps([tmp_path / "2", tmp_path / "0" / "sweep.npz", mbs.load_result(tmp_path / "1/sweep.npz")])
    mbs.save_result(merged, tmp_path / "merged.npz")
    assert (tmp_path / "merged.npz").read_bytes() == (tmp_path / "whole/sweep.npz").read_bytes()
    part = mbs.merge_sweeps([tmp_path / "2"])
    assert f"{len(part)} of 23 runs" in str(part)
    np.testing.assert_array_equal(part["force"], whole["force"][part.rows])
    with pytest.raises(mbs.ParameterError, match="run 0 is in two of the parts"):
        mbs.merge_sweeps([tmp_path / "0", merged])
    other = swept(system, {**samples, "spring.damping": samples["spring.damping"] + 1})
    with pytest.raises(MismatchError, match="belongs to another sweep"):
        mbs.merge_sweeps([whole, other])


def stopped_after(count, monkeypatch):
    """Ctrl-C while results are taken."""
    taken = []
    put = sweep_run.SweepRun._put

    def counted(run, numbers, results):
        put(run, numbers, results)
        taken.append(numbers)
        if len(taken) == count:
            _thread.interrupt_main()

    monkeypatch.setattr(sweep_run.SweepRun, "_put", counted)


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on_to_the_same_bytes(system, samples, tmp_path, monkeypatch):
    swept(system, samples, folder=tmp_path / "whole")
    with monkeypatch.context() as patch:
        stopped_after(2, patch)
        stopped = swept(system, samples, folder=tmp_path / "a", executor=ThreadPoolExecutor(1))
    missing = stopped.status == "interrupted"
    assert 0 < np.sum(missing) < 23
    assert np.all(np.isnan(stopped["force"][missing]))
    assert len(stopped.failed) == 0
    assert not (tmp_path / "a/sweep.npz").exists()
    with pytest.raises(MismatchError, match="belongs to a sweep whose model"):
        swept(system, samples, {"other": end}, folder=tmp_path / "a", resume=True)
    made = []
    resumed = swept(
        system, samples, folder=tmp_path / "a", resume=True, executor=lambda: Counting(made, ThreadPoolExecutor(1))
    )
    assert len(made) < 5
    assert set(resumed.status) == {"ok"}
    assert (tmp_path / "a/sweep.npz").read_bytes() == (tmp_path / "whole/sweep.npz").read_bytes()
    # Nothing is left to do.
    again = swept(system, samples, folder=tmp_path / "a", resume=True, executor=lambda: pytest.fail("work"))
    np.testing.assert_array_equal(again["force"], resumed["force"])
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".lock", "sweep.npz"]
    with pytest.raises(mbs.FileError, match="not empty"):
        swept(system, samples, folder=tmp_path / "a")
    swept(system, samples, folder=tmp_path / "a", force=True)


def test_a_full_disk_loses_nothing_that_was_saved(system, samples, tmp_path, monkeypatch):
    from difmbs.sweeps import sweep_folder

    monkeypatch.setattr(sweep_folder, "_PAUSE", 0.0)
    monkeypatch.setattr(sweep_folder, "_SHARE", 0.0)
    write, written = sweep_folder.write_checkpoint, []

    def full(path, *arguments):
        if len(written) == 2:
            raise mbs.FileError(f"{path} cannot be written: No space left on device.", output=True)
        write(path, *arguments)
        written.append(path)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_folder, "write_checkpoint", full)
        with pytest.raises(mbs.FileError, match="No space left"):
            swept(system, samples, folder=tmp_path / "a")
    assert len(list((tmp_path / "a").glob("block-*.npz"))) == 2
    swept(system, samples, folder=tmp_path / "a", resume=True)
    swept(system, samples, folder=tmp_path / "b")
    assert (tmp_path / "a/sweep.npz").read_bytes() == (tmp_path / "b/sweep.npz").read_bytes()


# Who does the work


class Counting(Executor):
    """Passes work on, and notes it."""

    def __init__(self, made, inner):
        self.made, self.inner = made, inner

    def submit(self, function, *arguments):
        self.made.append(arguments)
        return self.inner.submit(function, *arguments)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.inner.shutdown(wait, cancel_futures=cancel_futures)


class Breaking(Executor):
    """Breaks after some work, as process pools do when a process is killed."""

    def __init__(self, after):
        self.after, self.done, self.broken = after, 0, False

    def submit(self, function, *arguments):
        if self.broken:
            raise BrokenExecutor("a child process terminated abruptly")
        future = Future()
        future.set_running_or_notify_cancel()
        self.done += 1
        if self.done > self.after:
            self.broken = True
            future.set_exception(BrokenExecutor("a child process terminated abruptly"))
        else:
            future.set_result(function(*arguments))
        return future


def test_a_broken_executor_is_made_anew_and_its_chunks_again(system, samples):
    made = []

    def executor():
        made.append(Breaking(2 if len(made) < 2 else 100))
        return made[-1]

    result = swept(system, samples, executor=executor)
    assert len(made) == 3
    np.testing.assert_array_equal(result["force"], swept(system, samples)["force"])


def test_a_broken_executor_that_cannot_be_made_anew_is_told(system, samples, tmp_path):
    with pytest.raises(mbs.SimulationError, match=r"a worker ended before its work; \d chunks? of it missing.*resume"):
        swept(system, samples, executor=Breaking(2), folder=tmp_path / "a")
    result = swept(system, samples, folder=tmp_path / "a", resume=True)
    np.testing.assert_array_equal(result["force"], swept(system, samples)["force"])


def test_workers_that_are_lost_again_and_again_are_told(system, samples):
    with pytest.raises(mbs.SimulationError, match=r"Chunk \d has lost 4 workers\. Is there not enough memory"):
        swept(system, samples, executor=lambda: Breaking(0))


def test_what_a_worker_raises_is_raised_here(system, samples):
    def wrong(solution):
        raise ValueError("not this way")

    with pytest.raises(mbs.ParameterError, match=r"wrong, a function of the solution, fails: .*not this way"):
        swept(system, samples, [wrong])


def test_functions_that_cannot_be_sent_are_told(system, samples):
    with ProcessPoolExecutor(1) as pool, pytest.raises(mbs.ParameterError, match="cannot be sent to another process"):
        swept(system, samples, {"end": lambda solution: end(solution)}, executor=pool)


def test_threads_of_the_user_and_of_the_sweep_agree(system, samples):
    names = set()

    def init():
        names.add(threading.current_thread().name)

    with ThreadPoolExecutor(2, initializer=init) as pool:
        given = swept(system, samples, executor=pool)
        assert pool.submit(lambda: 1).result() == 1, "it is left open"
    assert names
    np.testing.assert_array_equal(given["force"], swept(system, samples)["force"])


# Statistics and what is shown


def test_derivatives_of_means_and_quantiles_are_those_of_difference_quotients(system, samples):
    result = swept(system, samples, {"end": mbs.Final("mass.position.z")}, derivatives=["spring.stiffness"])
    h = 1e-2
    up, down = (
        swept(
            system,
            {**samples, "spring.stiffness": samples["spring.stiffness"] + s},
            {"end": mbs.Final("mass.position.z")},
        )
        for s in (h, -h)
    )
    mean = (up.mean("end") - down.mean("end")) / (2 * h)
    np.testing.assert_allclose(result.mean_derivatives("end")["spring.stiffness"], mean, rtol=1e-6)
    for share in (0.0, 0.31, 0.5, 1.0):
        slope = (up.quantile("end", share) - down.quantile("end", share)) / (2 * h)
        found = result.quantile_derivatives("end", share)["spring.stiffness"]
        np.testing.assert_allclose(found, slope, rtol=1e-5)
    assert result.standard_error("end") == pytest.approx(np.std(result["end"], ddof=1) / np.sqrt(23))


def test_results_are_shown(system, samples):
    result = swept(system, samples, {**OUTPUTS, "z": "mass.position.z", "end": end})
    lines = str(result).splitlines()
    assert lines[0] == "23 runs, 23 of them arrived"
    assert lines[-1] == "end: 3 numbers each"
    assert [line.split()[0] for line in lines[1:4]] == ["output", "lowest", "force"]
    assert "<svg" in result._repr_html_()
    names = ["time reached", "spring.stiffness", "spring.damping", "lowest", "force", "end[0]", "end[1]", "end[2]"]
    assert list(result.columns()) == names
    axes = result.plot("force")
    assert axes.get_xlabel() == "force [N]"
    counts, *_ = axes.patches[0].get_data()
    assert np.sum(counts) == 23
    assert result.plot("force", against="spring.damping").get_xlabel() == "spring.damping"
    np.testing.assert_allclose(result.plot("z").get_lines()[0].get_ydata(), np.median(result["z"], axis=0))
    for names in (["end"], ["z", "force"], []):
        if names:
            with pytest.raises(mbs.ParameterError, match="plot"):
                result.plot(*names)
    matplotlib.pyplot.close("all")


def test_results_are_tables_of_pandas(system, samples):
    pytest.importorskip("pandas")
    table = swept(system, samples).to_pandas()
    assert list(table.columns) == ["time reached", "spring.stiffness", "spring.damping", "lowest", "force", "status"]
    assert table.index.name == "run"


def test_sweeps_in_files(system, samples, tmp_path):
    result = swept(system, samples, {**OUTPUTS, "z": "mass.position.z"}, derivatives=["mass.mass"])
    mbs.save_result(result, tmp_path / "a.npz")
    read = mbs.load_result(tmp_path / "a.npz")
    assert isinstance(read, mbs.SweepResult)
    assert str(read) == str(result)
    np.testing.assert_array_equal(read.derivatives["force"]["mass.mass"], result.derivatives["force"]["mass.mass"])
    arrays = dict(np.load(tmp_path / "a.npz"))
    for name, wrong in (("code", arrays["code"] + 90), ("outputs:force", arrays["outputs:force"][1:])):
        np.savez(tmp_path / "b.npz", **{**arrays, name: wrong})
        with pytest.raises(mbs.FileError, match="damaged"):
            mbs.load_result(tmp_path / "b.npz")


# Samples


def test_samples_are_drawn_from_what_they_say():
    grid = mbs.grid_samples({"a.x": [1, 2], "b.y": [3.0, 4.0, 5.0]})
    assert grid["a.x"].tolist() == [1, 1, 1, 2, 2, 2]
    assert grid["b.y"].tolist() == [3, 4, 5, 3, 4, 5]
    given = {"a.x": (2.0, 4.0), "b.y": scipy.stats.norm(500, 25)}
    for draw in (mbs.random_samples, mbs.latin_hypercube_samples):
        drawn = draw(given, 4000, seed=3)
        assert all(
            np.array_equal(x, y) for x, y in zip(drawn.values(), draw(given, 4000, seed=3).values(), strict=True)
        )
        assert not np.array_equal(drawn["a.x"], draw(given, 4000, seed=4)["a.x"])
        for name, of in (("a.x", scipy.stats.uniform(2, 2)), ("b.y", given["b.y"])):
            assert scipy.stats.kstest(drawn[name], of.cdf).pvalue > 1e-3
    ranks = np.floor((mbs.latin_hypercube_samples(given, 50, seed=0)["a.x"] - 2.0) * 25)
    assert sorted(ranks) == list(range(50))


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([1.0], "samples must be a dictionary"),
        ({}, "samples must be a dictionary"),
        ({"spring.stifness": np.ones(3)}, "stiffness"),
        ({"spring.stiffness": 3.0}, "needs an array with a value for each run"),
        (
            {"spring.stiffness": np.ones(3), "spring.damping": np.ones(4)},
            "same number of values, got 3 .* and 4|, 4 for",
        ),
        ({"spring.stiffness": np.ones((3, 2))}, "needs one value for each run"),
        ({"mass.mass": np.array([1.0, -2.0, np.nan])}, "'mass.mass' of run 1 = -2.0 .*1 of 3 runs"),
        ({"mass.position": np.zeros((3, 3)), "mass.position[1]": np.zeros(3)}, "about the same number"),
    ],
)
def test_samples_that_cannot_be(system, samples, said):
    with pytest.raises(mbs.ParameterError, match=said):
        swept(system, samples)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (dict(outputs=[]), "outputs must be a list"),
        (dict(outputs={"time": end}), "'time' is taken"),
        (dict(outputs=[3.0]), "must be a quantity"),
        (dict(outputs=["mass.positon"]), "positon"),
        (dict(derivatives=["spring.nothing"]), "nothing"),
        (dict(derivatives=["mass.position[0]"]), "whole parameter"),
        (dict(derivatives=3), "derivatives must be a list"),
        (dict(part=(2, 2)), "part must be"),
        (dict(part=1), "part must be"),
        (dict(chunk=0), "chunk"),
        (dict(executor=3), "executor must be an Executor"),
        (dict(executor=lambda: 3), "executor must make an Executor"),
        (dict(again=dict(saveat=3)), "again takes arguments"),
        (dict(again=dict(rtol=1e-3)), "the runs would be the same again"),
        (dict(again=dict(dt=-1.0)), "dt"),
        (dict(resume=True), "resume needs the folder"),
        (dict(folder=3), "folder must be a path"),
        (dict(outputs={"run": end}), "'run' is taken"),
        (dict(outputs={"spring.damping": end}), "'spring.damping' is taken"),
        (dict(part=(9, 10)), "empty: there are 5 chunks of 5 runs"),
        (dict(max_memory=100.0), "max_memory is 1e-07 GB"),
    ],
)
def test_arguments_that_cannot_be(system, samples, change, said):
    with pytest.raises((mbs.ParameterError, mbs.SimulationError), match=said):
        swept(system, samples, **change)


def test_wrong_distributions():
    for given, said in (({}, "dictionary"), ({"a": 3.0}, "'a' needs"), ({"a": (2.0, 1.0)}, "'a' needs")):
        with pytest.raises(mbs.ParameterError, match=said):
            mbs.random_samples(given, 3, seed=0)
    with pytest.raises(mbs.ParameterError, match="seed"):
        mbs.random_samples({"a": (0, 1)}, 3, seed=-1)
    with pytest.raises(mbs.ParameterError, match="'a' needs a list"):
        mbs.grid_samples({"a": 3.0})
    with pytest.raises(mbs.ParameterError, match="there is no output 'x'"):
        mbs.merge_sweeps([_result()])["x"]


def _result():
    none = np.zeros(0)
    return mbs.SweepResult({}, {"y": none}, {}, {}, none, none.astype(int), none, none.astype(int), 0, (), "")
