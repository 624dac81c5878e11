"""Fits and designs in files, and results that become solutions again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..zoo import fits, models


def test_fits_are_kept_by_name(tmp_path):
    fit = fits.identify([fits.experiment(fits.noisy())], fits.unknowns())
    mbs.save_result(fit, tmp_path / "fit.npz")
    kept = mbs.load_result(tmp_path / "fit.npz")
    assert isinstance(kept, mbs.SavedFit)
    assert (kept.values, kept.start, kept.standard_errors) == (fit.values, fit.start, fit.standard_errors)
    np.testing.assert_array_equal(kept.covariance, fit.covariance)
    assert (kept.status, kept.chi2, kept.degrees_of_freedom) == (fit.status, fit.chi2, fit.degrees_of_freedom)
    assert (kept.verdict, str(kept), kept[fit.names[0]]) == (fit.verdict.level, str(fit), fit.values[fit.names[0]])
    assert kept.fingerprint == mbs.fingerprint(fit.setup.system.with_params(kept.params))
    with pytest.raises(mbs.ParameterError, match="there is no unknown 'k'"):
        kept["k"]
    with pytest.raises(mbs.FileError, match="exists already"):
        mbs.save_result(fit, tmp_path / "fit.npz")


def test_designs_are_kept_by_name(tmp_path):
    system = models.oscillator()
    goal = mbs.MeanSquare("mass.position.z")
    design = mbs.optimize(
        system, goal, {"spring.damping": mbs.Interval(0.5, lower=0.1, upper=5.0)}, t1=0.5, dt=1e-2, max_iterations=3
    )
    mbs.save_result(design, tmp_path / "design.npz")
    kept = mbs.load_result(tmp_path / "design.npz")
    assert isinstance(kept, mbs.SavedDesign)
    assert (kept.values, dict(kept.objectives), str(kept)) == (design.values, design.objectives, str(design))
    assert kept.fingerprint == mbs.fingerprint(design.system)


def test_batches_of_turning_bodies_are_kept(tmp_path):
    model = mbs.Model()
    bar = model.add("bar", mbs.RigidBody2D(1.0, 1.0))
    model.add("spring", mbs.SpringDamper(0.2, 1.0), between=(model.ground.at(0, 1, 0), bar.at(0.1)))
    system = model.assemble()
    run = lambda k: mbs.simulate(system, t1=0.1, dt=1e-2, params={"spring": {"stiffness": k}})
    batch = jax.vmap(run)(jnp.array([1.0, 2.0]))
    mbs.save_result(batch, tmp_path / "batch.npz")
    kept = mbs.load_result(tmp_path / "batch.npz")
    np.testing.assert_array_equal(kept["bar.rotation"], batch["bar.rotation"])
    assert "spring.force" in batch.names


def test_results_that_say_what_they_are_not_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    solution = mbs.simulate(models.oscillator(), t1=0.1, dt=1e-2)
    mbs.save_result(solution, path)
    known = dict(np.load(path))
    for change in ({"kind": "fit"}, {"kind": "x"}, {"t": known["t"][:3]}, {"status": "zzz"}):
        np.savez(path, allow_pickle=False, **{**known, **change})
        with pytest.raises(mbs.FileError, match="is not a result of difmbs, or is damaged"):
            mbs.load_result(path)


@pytest.mark.parametrize("make", [models.four_bar, models.taut_rope], ids=lambda f: f.__name__)
def test_results_become_solutions_again(tmp_path, make):
    system = make()
    solution = mbs.simulate(system, t1=0.1, dt=2e-3)
    mbs.save_result(solution, tmp_path / "run.npz")
    result = mbs.load_result(tmp_path / "run.npz")
    again = result.solution(system)
    assert again.status == solution.status
    assert list(result.names) == list(solution.names)
    for name in solution.names[::7]:
        np.testing.assert_allclose(again[name], solution[name], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(result[name], solution[name], rtol=1e-12, atol=1e-12)
    for event, moment in solution.events.items():
        np.testing.assert_array_equal(again.events[event], moment)
    with pytest.raises(mbs.FileError, match="belongs to another system"):
        result.solution(models.oscillator())


def test_a_result_is_a_table_of_pandas(tmp_path):
    pytest.importorskip("pandas")
    solution = mbs.simulate(models.four_bar(), t1=0.02, dt=2e-3)
    mbs.save_result(solution, tmp_path / "run.npz")
    frame = mbs.load_result(tmp_path / "run.npz").to_pandas("crank.position")
    assert [c.rpartition(".")[2] for c in frame.columns] == ["x", "y", "z"]
    assert frame.shape == (solution.t.size, 3)
