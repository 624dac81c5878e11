"""Many fits at once: those one by one, in batches that can be stopped, under the names of a single fit."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import difmbs as mbs

from ..zoo.fits import DT, TRUTH, experiment, identify, noisy, oscillator, unknowns


def runs(count=5):
    return [experiment(noisy(seed), name=f"run {seed}") for seed in range(count)]


def each(experiments=None, wanted=None, **options):
    # So that a few fits are several chunks, the last of which is filled up.
    options = {"dt": DT, "progress": False, "chunk": 2, **options}
    return mbs.identify_each(oscillator(), experiments or runs(), wanted or unknowns(), **options)


def test_many_fits_at_once_are_those_one_by_one():
    fits = each()
    assert list(fits.status) == ["converged"] * 5
    for i, run in enumerate(runs()):
        alone = identify(run, unknowns())
        errors = np.sqrt(np.diag(alone.covariance))
        np.testing.assert_allclose(fits.numbers[i], alone.numbers, atol=1e-3 * errors.min())
        np.testing.assert_allclose(fits.errors[i], errors, rtol=1e-5)
        for name, error in alone.standard_errors.items():
            assert fits.values[name][i] == fits[name][i] == fits.numbers[i, fits.names.index(name)]
            assert fits.standard_errors[name][i] == pytest.approx(error, rel=1e-5)
    assert (fits.names, fits.start, fits.experiments[-1]) == (alone.names, alone.start, "run 4")
    assert "5 of 5 fits converged" in str(fits)
    each_chi2 = fits.chi2 / fits.degrees_of_freedom
    assert f"at most {each_chi2.max():.3g} (run {np.argmax(each_chi2)})" in str(fits)
    with pytest.raises(mbs.ParameterError, match=r"there is no unknown 'spring.stifness'. Did you mean"):
        fits["spring.stifness"]


def test_one_bad_set_of_data_does_not_spoil_the_others():
    fits = each([experiment(noisy(0), name="good"), experiment(np.full(101, 1e200), name="bad")])
    assert fits.status[0] == "converged"
    np.testing.assert_allclose(fits.numbers[0], list(TRUTH.values()), rtol=1e-2)
    assert fits.status[1] != "converged"
    assert f"not converged: bad ({fits.status[1]})" in str(fits)


@functools.cache
def two_springs():
    model = mbs.Model()
    masses = model.add("b", mbs.Mass1D(np.ones(2), origin=[[1.0, 0, 0], [2.0, 0, 0]]), velocity=[0.0, 1.0])
    springs = mbs.SpringDamper(stiffness=np.full(2, 90.0), damping=0.3, reference_length=1.0)
    model.add("k", springs, between=([model.ground, masses[0]], masses))
    model.sense("x", lambda t, outputs: outputs["b.position"][:, 0])
    return model.assemble()


def test_vectors_and_numbers_are_unknown_together():
    times = np.linspace(0, 2, 51)
    records = []
    for i, k in enumerate(([100.0, 120.0], [80.0, 110.0])):
        truth = {"k": {"stiffness": np.array(k), "damping": 0.5}}
        x = np.asarray(mbs.simulate(two_springs(), t1=2.0, dt=0.02, saveat=times, params=truth)["x"])
        records.append(mbs.Experiment(times, {"x": x}, {"x": mbs.Channel(noise=1e-3)}, name=f"record {i}"))
    wanted = {"k.stiffness": mbs.Positive([90.0, 90.0]), "k.damping": mbs.Positive(0.3)}
    fits = mbs.identify_each(two_springs(), records, wanted, dt=0.02, progress=False)
    assert fits.names == ("k.stiffness[0]", "k.stiffness[1]", "k.damping")
    np.testing.assert_allclose(fits["k.stiffness"], [[100, 120], [80, 110]], rtol=1e-6)
    np.testing.assert_allclose(fits["k.stiffness[1]"], [120, 110], rtol=1e-6)
    np.testing.assert_allclose(fits.values["k.damping"], 0.5, rtol=1e-6)


def stopped_after(fits):
    """For `progress`: Ctrl-C after so many fits."""

    def show(line):
        if line.lstrip().startswith(f"{fits} of "):
            raise KeyboardInterrupt

    return show


def same(one, other):
    for name in ("numbers", "errors", "chi2", "status", "iterations"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_ctrl_c_keeps_what_is_done_and_it_goes_on_to_the_same_numbers(tmp_path):
    lines = []
    with ThreadPoolExecutor(1) as pool:
        whole = each(folder=tmp_path / "whole", progress=lines.append, executor=pool)
        assert [line.split()[:3] for line in lines] == [[str(n), "of", "5"] for n in (2, 4, 5)]
        part = each(folder=tmp_path / "part", progress=stopped_after(2), executor=pool)
    # The chunk that was begun is finished.
    made = int(np.sum(part.status == "converged"))
    assert 2 <= made < 5
    assert list(part.status) == ["converged"] * made + ["interrupted"] * (5 - made)
    np.testing.assert_array_equal(part.numbers[:made], whole.numbers[:made])
    assert np.all(np.isnan(part.numbers[made:]))
    assert f"{5 - made} of them were not made: interrupted" in str(part)
    same(each(folder=tmp_path / "part", resume=True), whole)
    # All is done: nothing is made again.
    same(each(folder=tmp_path / "part", resume=True, progress=stopped_after(2)), whole)
    with pytest.raises(mbs.FileError, match="belongs to another fit"):
        each(runs(4), folder=tmp_path / "part", resume=True)
    with pytest.raises(mbs.FileError, match="nothing to resume"):
        each(folder=tmp_path / "none", resume=True)
    with pytest.raises(mbs.FileError, match="resume needs the folder"):
        each(resume=True)
    identify(runs()[0], unknowns(), folder=tmp_path / "one", max_iterations=1)
    with pytest.raises(mbs.FileError, match="belongs to another fit"):
        each(runs(1), folder=tmp_path / "one", resume=True)


def test_fits_that_were_cut_off_go_on_with_more_iterations(tmp_path):
    few = each(folder=tmp_path, max_iterations=3)
    assert list(few.status) == ["max_iterations"] * 5
    assert np.all(np.isfinite(few.numbers))
    same(each(folder=tmp_path, resume=True), each())
