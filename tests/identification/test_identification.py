"""Fits of data whose parameters are known: what is found, how sure it is, what cannot be told, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize

import difmbs as mbs
from difmbs.identification.recorded_inputs import with_inputs

from ..helpers.interrupts import interrupted_at
from ..zoo.fits import (
    DT,
    NOISE,
    TIMES,
    TRUTH,
    assert_found,
    cantilever,
    clean,
    experiment,
    identify,
    noisy,
    oscillator,
    three_tests,
    unknowns,
)


@pytest.mark.parametrize("start", [(3.0, 2000.0, 40.0), (5.5, 5050.0, 125.0)])
def test_data_without_noise_give_the_parameters(start):
    fit = identify(experiment(), unknowns(*start))
    assert_found(fit)
    assert fit.evaluations <= 40


def test_adaptive_steps_give_them_too():
    times = np.linspace(0, 1, 501)
    data = mbs.simulate(oscillator(), t1=1.0, saveat=times)["u"]
    fit = identify(mbs.Experiment(times, {"u": data}, {"u": mbs.Channel(noise=NOISE)}), unknowns(), dt=None)
    assert_found(fit)
    assert fit.evaluations <= 40


def test_the_optimum_and_standard_errors_are_those_of_scipy():
    data = noisy()
    fit = identify(experiment(data), unknowns())

    @jax.jit
    def residuals(values):
        params = {"mass": {"mass": values[0]}, "spring": {"stiffness": values[1]}, "load": {"load": values[2]}}
        return (mbs.simulate(oscillator(), t1=1.0, dt=DT, saveat=TIMES, params=params)["u"] - data) / NOISE

    start = np.array(list(TRUTH.values()))
    other = scipy.optimize.least_squares(
        residuals, start, jac=jax.jit(jax.jacfwd(residuals)), method="lm", x_scale=start, xtol=1e-14, ftol=1e-14
    )
    # The search ends a ten-thousandth of a standard error from the optimum.
    np.testing.assert_allclose(fit.numbers, other.x, atol=3e-4 * np.sqrt(np.diag(fit.covariance)).min())
    assert fit.chi2 <= 2 * other.cost * (1 + 1e-6)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(other.jac.T @ other.jac), rtol=1e-3)


def test_bounds_hold_and_are_named():
    fit = identify(experiment(), unknowns() | {"mass.mass": mbs.Interval(2.5, 2.0, 4.0)})
    assert fit.values["mass.mass"] == 2.0
    assert fit.at_bounds == {"mass.mass": "lower"}
    assert fit.standard_errors["mass.mass"] == 0
    assert "at its lower bound" in str(fit)


@pytest.mark.parametrize("start", [1.0, 4.0], ids=["lower", "upper"])
def test_an_unknown_that_starts_at_a_bound_leaves_it_for_a_better_place(start):
    fit = identify(experiment(), unknowns(*TRUTH.values()) | {"mass.mass": mbs.Interval(start, 1.0, 4.0)})
    assert fit.at_bounds == {}
    assert fit.values["spring.stiffness"] / fit.values["mass.mass"] == pytest.approx(2500.0, rel=1e-6)


def test_what_tells_something_is_counted_and_what_follows_from_it_is_taken_off():
    """Degrees of freedom: samples and priors, less the combinations of unknowns that they determine."""
    samples = TIMES.size
    assert identify(experiment(noisy()), unknowns()).degrees_of_freedom == samples - 3
    prior = {"mass.mass": mbs.Positive(1.7, prior=(1.7, 0.1))}
    assert identify(experiment(noisy()), unknowns() | prior).degrees_of_freedom == samples + 1 - 3
    held = {"mass.mass": mbs.Interval(2.5, 2.0, 4.0)}
    assert identify(experiment(noisy()), unknowns() | held).degrees_of_freedom == samples - 2


def test_priors_pull():
    # So sure of the mass beforehand that it does not move.
    fit = identify(experiment(noisy()), unknowns() | {"mass.mass": mbs.Positive(1.7, prior=(1.7, 1e-9))})
    assert fit.values["mass.mass"] == pytest.approx(1.7, abs=1e-6)
    # And the ratio is what the data determine.
    assert fit.values["spring.stiffness"] / 1.7 == pytest.approx(2500.0, rel=1e-2)


def test_ties_and_fixed_values():
    given = {
        "spring.stiffness": mbs.Positive(3000.0),
        "load.load": mbs.Tied("spring.stiffness", factor=0.0175, offset=10.0),
        "mass.mass": mbs.Fixed(1.6),
    }
    fit = identify(experiment(), given)
    assert_found(fit, {"spring.stiffness": 4000.0})
    assert fit.params["load"]["load"] == pytest.approx(80.0)
    assert fit.params["mass"]["mass"] == 1.6
    assert fit.system.params()["spring"]["stiffness"] == pytest.approx(4000.0)


def test_the_system_of_a_fit_moves_as_the_fit_predicts():
    given = {
        "spring.stiffness": mbs.Positive(3000.0),
        "load.load": mbs.Tied("spring.stiffness", factor=0.0175, offset=10.0),
        "mass.mass": mbs.Fixed(1.6),
    }
    fit = identify(experiment(noisy()), given)
    alone = mbs.simulate(fit.system, t1=1.0, dt=DT, saveat=TIMES)["u"]
    np.testing.assert_allclose(alone, fit.predicted[0]["u"], atol=1e-12)
    again = mbs.simulate(oscillator(), t1=1.0, dt=DT, saveat=TIMES, params=fit.params)["u"]
    np.testing.assert_allclose(again, alone, atol=1e-12)


def test_several_experiments_with_shared_and_own_unknowns():
    runs = []
    for i, velocity in enumerate((1.0, -0.5, 0.3)):
        params = {"mass": {"velocity": velocity}}
        data = mbs.simulate(oscillator(), t1=1.0, dt=DT, saveat=TIMES, params=params)["u"]
        # What the velocity was is not known.
        runs.append(experiment(data, name=f"run {i}", validation=i == 2, params=params if i == 2 else None))
    fit = identify(runs, unknowns() | {"mass.velocity": mbs.Free(0.1, own=True)})
    assert_found(fit)
    assert fit.values["run 0: mass.velocity"] == pytest.approx(1.0)
    assert fit.values["run 1: mass.velocity"] == pytest.approx(-0.5)
    assert [r.experiment for r in fit.validation] == ["run 2"]
    assert fit.validation[0].rms < 1e-3
    assert "velocity" not in fit.params.get("mass", {})


def test_irregular_and_missing_samples_at_other_times():
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(0.01, 1.0, 60))
    data = np.array(mbs.simulate(oscillator(), t1=float(times[-1]), dt=DT, saveat=times)["u"])
    data[rng.integers(0, 60, 20)] = np.nan
    ragged = mbs.Experiment(times, {"u": data}, {"u": mbs.Channel(noise=NOISE, missing=True)})
    fit = identify([ragged, experiment(name="regular")], unknowns())
    assert_found(fit, tolerance=1e-8)
    assert fit.residuals[0].count == np.isfinite(data).sum()


def test_gain_bias_and_delay_of_the_sensor():
    late = np.asarray(mbs.simulate(oscillator(), t1=1.0, dt=1e-4, saveat=np.clip(TIMES - 0.0123, 0, 1))["u"])
    channel = mbs.Channel(noise=NOISE)
    data = 1.1 * late + 0.02
    given = unknowns() | {
        "mass.mass": mbs.Fixed(1.6),
        "u.gain": mbs.Positive(1.0),
        "u.bias": mbs.Free(0.0),
        "u.delay": mbs.Interval(0.01, 0.0, 0.03),
    }
    # The bias of the sensor and the constant load cannot be told apart.
    del given["load.load"]
    fit = identify(mbs.Experiment(TIMES, {"u": data}, {"u": channel}), given)
    truth = {"spring.stiffness": 4000.0, "u.gain": 1.1, "u.bias": 0.02, "u.delay": 0.0123}
    assert_found(fit, truth, tolerance=1e-5)
    # Samples that began before the motion did do not count.
    assert fit.residuals[0].count == np.sum(TIMES >= 0.03)


def test_recorded_inputs():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(2.0))
    model.add("spring", mbs.SpringDamper(1.0, 50.0, 1.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("drive", mbs.CoordinateLoad(mbs.Piecewise((0, 1), (0, 0))), on=mass.coordinate(0))
    model.sense("u", lambda t, outputs: outputs["mass.position"][0])
    system = model.assemble()
    runs = []
    for i in range(2):
        # Longer than the two points of the model.
        force = np.random.default_rng(i).normal(size=41)
        points = np.linspace(0, 1, 41)
        copy = mbs.Model()
        body = copy.add("mass", mbs.Mass1D(2.0))
        copy.add("spring", mbs.SpringDamper(1.0, 70.0, 2.0), between=(copy.ground.at(-1, 0, 0), body))
        copy.add("drive", mbs.CoordinateLoad(mbs.Piecewise(points, force)), on=body.coordinate(0))
        data = np.asarray(mbs.simulate(copy.assemble(), t1=1.0, dt=0.0125, saveat=TIMES)["mass.position"][:, 0])
        inputs = {"drive.load": (points, force)}
        runs.append(mbs.Experiment(TIMES, {"u": data}, {"u": mbs.Channel(noise=1e-5)}, inputs=inputs, name=f"run {i}"))
    wanted = {"spring.stiffness": mbs.Positive(50.0), "spring.damping": mbs.Positive(1.0)}
    fit = mbs.identify(system, runs, wanted, dt=0.0125, progress=False)
    assert_found(fit, {"spring.stiffness": 70.0, "spring.damping": 2.0}, tolerance=1e-8)


def test_a_recorded_input_may_be_smooth_where_the_models_function_is_not():
    models = []
    for function in (mbs.Piecewise((0, 1), (0, 0)), mbs.Piecewise((0, 0.3, 1), (0, 2, 3), smooth=True)):
        model = mbs.Model()
        mass = model.add("mass", mbs.Mass1D(2.0))
        model.add("other", mbs.CoordinateLoad(1.0), on=mass.coordinate(0))
        model.add("drive", mbs.CoordinateLoad(function), on=mass.coordinate(0))
        models.append(model.assemble())
    smooth = mbs.Piecewise((0, 0.3, 1), (0, 2, 3), smooth=True)
    system, points = with_inputs("", models[0], {"drive.load": smooth})
    driven = system.with_values({path: jnp.asarray(x) for path, x in points.items()})
    ends = [mbs.simulate(s, t1=1.0, dt=0.1)["mass.position"][-1, 0] for s in (driven, models[1])]
    assert ends[0] == ends[1]
    linear, _ = with_inputs("", models[0], {"drive.load": mbs.Piecewise((0, 1), (0, 0))})
    assert linear.structure == models[0].structure != system.structure


def test_noise_is_estimated():
    fit = identify(experiment(noisy(), noise=None), unknowns())
    given = identify(experiment(noisy(), noise=fit.noise["u"]), unknowns())
    assert fit.noise["u"] == pytest.approx(NOISE, rel=0.2)
    assert fit.chi2 == pytest.approx(fit.degrees_of_freedom, rel=1e-3)
    np.testing.assert_allclose(fit.covariance, given.covariance, rtol=1e-3)
    # Student's intervals are a little wider.
    assert fit.quantile(0.95) > given.quantile(0.95)


def test_what_counts_twice_is_as_noisy_as_before():
    once, twice = (identify(experiment(noisy(), noise=None, weight=w), unknowns()) for w in (1.0, 2.0))
    assert twice.noise["u"] == pytest.approx(once.noise["u"], rel=1e-3)
    assert twice.residuals[0].rms == pytest.approx(once.residuals[0].rms, rel=1e-3)
    assert twice.standard_errors["mass.mass"] == pytest.approx(once.standard_errors["mass.mass"] / np.sqrt(2), rel=1e-3)


def test_robust_losses_ignore_outliers():
    data = noisy()
    data[::10] += 0.05
    plain = identify(experiment(data), unknowns())
    for loss in ("huber", "soft_l1", "cauchy"):
        robust = identify(experiment(data), unknowns(*TRUTH.values()), loss=loss)
        error = abs(robust.values["spring.stiffness"] / 4000 - 1)
        assert error < 0.1 * abs(plain.values["spring.stiffness"] / 4000 - 1)
        assert error < 3e-3


def test_several_starts_find_the_optimum_that_one_misses():
    ranges = dict(zip(TRUTH, ((1.0, 10.0), (100.0, 1e4), (1.0, 250.0)), strict=True))
    given = {name: mbs.Interval(low, low, high) for name, (low, high) in ranges.items()}
    fit = identify(experiment(), given, starts=16)
    assert_found(fit)
    assert 1 <= fit.tried.agreeing <= 16
    assert np.all(np.diff(fit.tried.chi2) >= 0)


def test_an_optimizer_of_optax_comes_close():
    fit = identify(experiment(noisy()), unknowns(1.62, 3950.0, 78.0), optimizer=optax.adam(2e-3), max_iterations=400)
    assert fit.status == "finished"
    assert_close = {n: fit.values[n] == pytest.approx(v, rel=2e-2) for n, v in TRUTH.items()}
    assert all(assert_close.values())
    assert fit.chi2 < 1e-3 * fit.history[0].value


def test_profiles_agree_with_the_linearization_where_it_holds():
    fit = identify(experiment(noisy()), unknowns())
    for name in fit.names:
        np.testing.assert_allclose(fit.profile(name), fit.interval()[name], rtol=1e-3)
    assert fit.check_gradient() < 1e-6


# What cannot be told


def test_an_unknown_without_influence_is_named():
    with pytest.raises(mbs.ParameterError, match=r"no sample depends on 'mass\.origin\[1\]'"):
        identify(experiment(), unknowns() | {"mass.origin[1]": mbs.Free(0.0)})


def test_a_common_factor_is_named():
    fit = identify(experiment(noisy()), unknowns() | {"spring.damping": mbs.Positive(5.0)})
    (direction,) = fit.identifiability.directions
    assert direction.kind == "product"
    assert set(direction.names) == {*TRUTH, "spring.damping"}
    assert "spring.stiffness / mass.mass" in str(direction)
    assert fit.identifiability.rank == 3
    assert np.all(np.isinf(list(fit.standard_errors.values())))
    assert "not determined" in str(fit)


def test_of_five_constants_of_a_spring_three_are_determined():
    starts = dict(stiffness=3900.0, damping=7.0, reference_length=1.0, force=1.0, velocity_offset=0.1)
    fit = identify(experiment(noisy()), {f"spring.{name}": mbs.Free(start) for name, start in starts.items()})
    assert fit.identifiability.rank == 3
    assert len(fit.identifiability.directions) == 2
    assert {d.kind for d in fit.identifiability.directions} == {"sum"}
    lost = {name for d in fit.identifiability.directions for name in d.names}
    assert lost == {"spring.reference_length", "spring.force", "spring.velocity_offset"}
    assert np.isfinite(fit.standard_errors["spring.stiffness"])
    assert np.isfinite(fit.standard_errors["spring.damping"])


# Statics, vibrations, all together


def test_static_and_modal_tests_and_a_motion_together():
    wanted = {
        "first.stiffness": mbs.Positive(1000.0),
        "second.stiffness": mbs.Positive(500.0),
        "second.damping": mbs.Positive(1.0),
        "outer.mass": mbs.Positive(1.0),
    }
    fit = mbs.identify(cantilever(), list(three_tests().values()), wanted, dt=DT, progress=False)
    assert_found(fit, {"first.stiffness": 1200.0, "second.stiffness": 400.0, "second.damping": 2.0, "outer.mass": 1.3})
    assert fit.identifiability.full


def test_a_static_test_alone_tells_the_sum_of_compliances():
    wanted = {"first.stiffness": mbs.Positive(1000.0), "second.stiffness": mbs.Positive(500.0)}
    fit = mbs.identify(cantilever(), three_tests()["static"], wanted, progress=False)
    assert fit.identifiability.rank == 1
    (direction,) = fit.identifiability.directions
    assert direction.kind == "sum"


# What little data or other knowledge leave


def test_samples_take_up_less_where_priors_are_firm():
    times = np.linspace(0, 1, 11)
    data = np.asarray(mbs.simulate(oscillator(), t1=1.0, dt=DT, saveat=times)["u"])
    firm = {name: mbs.Positive(value, prior=(value, 1e-9 * value)) for name, value in TRUTH.items()}
    free = {name: mbs.Positive(value) for name, value in TRUTH.items()}
    off = NOISE * np.random.default_rng(0).normal(size=11)
    record = mbs.Experiment(times, {"u": data + off}, {"u": mbs.Channel()})
    assert identify(record, firm).noise["u"] == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-3)
    fit = identify(record, free)
    assert fit.noise["u"] == pytest.approx(np.sqrt(fit.residuals[0].chi2 / 8) * fit.noise["u"], rel=1e-3)
    assert fit.degrees_of_freedom == 8


def test_the_noise_cannot_be_told_from_as_many_samples_as_unknowns():
    times = np.array([0.2, 0.5, 0.9])
    record = mbs.Experiment(times, {"u": clean()[[20, 50, 90]]}, {"u": mbs.Channel()})
    for fit in (identify, lambda *rest: mbs.identify_each(oscillator(), [rest[0]], rest[1], dt=DT)):
        with pytest.raises(
            mbs.ParameterError, match="3 samples for 3 unknowns leave nothing that would tell the noise"
        ):
            fit(record, unknowns())


def test_outliers_are_not_taken_for_noise():
    data = noisy()
    data[::10] += 0.05
    fit = identify(experiment(data, noise=None), unknowns(*TRUTH.values()), loss="huber")
    assert fit.noise["u"] == pytest.approx(NOISE, rel=0.5)
    assert fit.values["spring.stiffness"] == pytest.approx(4000.0, rel=3e-3)


def test_without_outliers_robust_losses_find_the_same_noise():
    """A median tells the deviation of 101 normal numbers to some 12 %."""
    fit = identify(experiment(noisy(), noise=None), unknowns(*TRUTH.values()), loss="huber")
    assert fit.noise["u"] == pytest.approx(NOISE, rel=0.3)


def test_an_early_end_knows_the_noise_too():
    few = identify(experiment(noisy(), noise=None), unknowns(*TRUTH.values()), max_iterations=2)
    assert few.status != "converged"
    assert few.noise["u"] == pytest.approx(NOISE, rel=0.3)
    slow = identify(
        experiment(noisy(), noise=None), unknowns(*TRUTH.values()), optimizer=optax.adam(1e-4), max_iterations=3
    )
    assert slow.noise["u"] == pytest.approx(NOISE, rel=0.3)
    assert slow.chi2 == pytest.approx(slow.degrees_of_freedom, rel=0.1)


def test_ctrl_c_leaves_the_best_of_an_optimizer(tmp_path):
    fit = identify(
        experiment(noisy()), unknowns(1.62, 3950.0, 78.0), optimizer=optax.adam(2e-3), progress=interrupted_at(4)
    )
    assert fit.status == "interrupted"
    assert fit.chi2 == pytest.approx(min(line.value for line in fit.history), rel=1e-6)
    with pytest.raises(mbs.ParameterError, match="nothing is kept on the disk"):
        identify(experiment(), unknowns(), optimizer=optax.adam(2e-3), folder=tmp_path)


def test_a_profile_ends_at_a_bound_or_where_it_must():
    free = identify(experiment(noisy()), unknowns())
    best, deviation = free.values["mass.mass"], free.standard_errors["mass.mass"]
    lower = best + 0.5 * deviation
    near = unknowns(1.6, 4000.0, 80.0) | {"mass.mass": mbs.Interval(lower + deviation, lower, 4.0)}
    fit = identify(experiment(noisy()), near)
    assert fit.at_bounds == {"mass.mass": "lower"}
    low, high = fit.profile("mass.mass")
    assert low == pytest.approx(lower, rel=1e-12)
    # chi^2 is larger by 0.5^2 at the bound, and by 1.96^2 more at the other end.
    assert high == pytest.approx(best + np.sqrt(0.5**2 + 1.96**2) * deviation, abs=0.01 * deviation)
    everything = identify(experiment(noisy()), unknowns() | {"spring.damping": mbs.Interval(5.0, 1.0, 20.0)})
    assert everything.profile("spring.damping") == pytest.approx((1.0, 20.0))


def test_many_fits_know_what_is_not_determined_and_what_is_at_a_bound():
    runs = [experiment(noisy(seed), name=f"run {seed}") for seed in range(3)]
    everything = unknowns() | {"spring.damping": mbs.Positive(5.0)}
    fits = mbs.identify_each(oscillator(), runs, everything, dt=DT)
    assert np.all(np.isinf(fits.errors))
    assert np.all(fits.degrees_of_freedom == 101 - 3)
    bounded = unknowns(1.6, 4000.0, 80.0) | {"mass.mass": mbs.Interval(1.63, 1.61, 4.0)}
    fits = mbs.identify_each(oscillator(), runs, bounded, dt=DT)
    alone = identify(runs[0], bounded)
    assert np.all(fits["mass.mass"] == 1.61)
    np.testing.assert_allclose(fits.errors[0], list(alone.standard_errors.values()), rtol=1e-3)
    for change in (dict(loss="huber"), dict(unknowns=unknowns() | {"mass.mass": mbs.Positive(1.6, prior=(1.6, 0.1))})):
        with pytest.raises(mbs.ParameterError, match="needs the noise of the Channel"):
            mbs.identify_each(oscillator(), [experiment(noise=None)], **{"unknowns": unknowns(), "dt": DT, **change})


def test_fixed_and_given_gains_and_tied_delays():
    record = experiment(3 * clean())
    assert_found(identify(record, unknowns() | {"u.gain": mbs.Fixed(3.0)}), tolerance=1e-8)
    assert_found(identify(experiment(3 * clean(), params={"u.gain": 3.0}), unknowns()), tolerance=1e-8)
    late = np.asarray(mbs.simulate(oscillator(), t1=1.0, dt=1e-4, saveat=np.clip(TIMES - 0.025, 0, 1))["u"])
    both = mbs.Experiment(
        TIMES, {"u": late, "w": late}, {n: mbs.Channel("u", noise=NOISE) for n in ("u", "w")}, name="both"
    )
    given = {
        "spring.stiffness": mbs.Positive(3900.0),
        "u.delay": mbs.Interval(0.02, 0.0, 0.05),
        "w.delay": mbs.Tied("u.delay", factor=-1.0, offset=0.05),
    }
    fit = identify(both, given)
    assert fit.values["u.delay"] == pytest.approx(0.025, rel=1e-4)
    # What the sensor shows before the motion has begun is not predicted.
    assert [r.count for r in fit.residuals] == [int(np.sum(TIMES >= 0.05))] * 2
    assert np.array_equal(np.isnan(fit.predicted[0]["w"]), TIMES < 0.05)


def test_two_samples_of_a_late_sensor():
    times = np.array([0.3, 0.31])
    late = mbs.simulate(oscillator(), t1=0.31, dt=1e-4, saveat=times - 0.004)["u"]
    record = mbs.Experiment(times, {"u": late}, {"u": mbs.Channel(noise=NOISE, delay=0.004)})
    fit = identify(record, {"spring.stiffness": mbs.Positive(3990.0)}, dt=1e-4)
    assert_found(fit, {"spring.stiffness": 4000.0}, tolerance=1e-6)


def test_loads_of_static_tests_leave_other_entries_alone():
    model = mbs.Model()
    body = model.add("body", mbs.MassPoint(1.0))
    for axis in np.eye(3):
        model.add(f"spring {axis.argmax()}", mbs.SpringDamper(1.0, 100.0), between=(model.ground.at(*-axis), body))
    model.add("load", mbs.Force((0.0, 0.0, 0.0)), on=body)
    system = model.assemble()
    loads = {"load.load_vector[2]": [1.0, 2.0]}
    at_rest = lambda z: mbs.static_equilibrium(system, params={"load": {"load_vector": [5.0, 0.0, z]}})["body.position"]
    data = np.stack([at_rest(1.0), at_rest(2.0)])
    channels = {"body.position": mbs.Channel(noise=1e-4)}
    given = mbs.StaticTest({"body.position": data}, channels, loads=loads, params={"load.load_vector[0]": 5.0})
    fit = mbs.identify(system, given, {"spring 0.stiffness": mbs.Positive(80.0)}, progress=False)
    assert fit.chi2 < 1e-10
    unknown = {"load.load_vector[0]": mbs.Free(1.0)}
    fit = mbs.identify(system, mbs.StaticTest({"body.position": data}, channels, loads=loads), unknown, progress=False)
    assert_found(fit, {"load.load_vector[0]": 5.0})


# What is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spring.stifness": mbs.Positive(1.0)}, r"no parameter 'spring.stifness'. Did you mean 'spring.stiffness'"),
        ({"mass.mass": 3.0}, r"'mass.mass': expected mbs.Positive\(start\)"),
        ({"mass.mass": mbs.Positive(-1.0)}, r"'mass.mass': the start -1.0 is outside of 0.0 to inf"),
        ({"mass.mass": mbs.Positive(float("nan"))}, r"'mass.mass': the start must be finite"),
        ({"mass.mass": mbs.Interval(3.0, 4.0, 2.0)}, r"lower = 4.0 must be less than upper = 2.0"),
        ({"mass.mass": mbs.Positive(3.0, prior=(1.0, 0.0))}, r"prior must be a mean and a standard deviation > 0"),
        ({"mass.*": mbs.Positive(3.0)}, r"mass.mass is given by 'mass.mass' and by 'mass.\*'"),
        ({"load.load": mbs.Tied("mass.mass", factor=np.inf)}, r"factor and offset must be finite"),
        ({"load.load": mbs.Tied("nothing")}, r"'load.load' is tied to 'nothing', which is not an unknown"),
        ({"mass.origin[3]": mbs.Free(0.0)}, r"'mass.origin\[3\]': the parameter has shape \(3,\)"),
        ({"mass.origin[a]": mbs.Free(0.0)}, r"is not the name of a parameter"),
        ({"u.delay": mbs.Free(0.0)}, r"give a delay as mbs.Interval"),
    ],
)
def test_wrong_unknowns_are_refused(change, message):
    with pytest.raises(mbs.ParameterError, match=message):
        identify(experiment(), unknowns() | change)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mbs.Experiment(TIMES[::-1], {"u": clean()}), "times must be two or more in ascending order"),
        (lambda: mbs.Experiment(TIMES, {"u": clean()[:5]}), "channel 'u' has 5 samples at 101 times"),
        (lambda: mbs.Experiment(TIMES, {"u": np.full(101, np.nan)}), r"sample \[0\] is not a finite number"),
        (lambda: mbs.Experiment(TIMES, {"u": clean()}, {"v": mbs.Channel()}), "no data of channel 'v'"),
        (lambda: mbs.Experiment(TIMES - 1, {"u": clean()}), "the first time -1.0 is before the start"),
        (lambda: mbs.Experiment(TIMES, {"w": clean()}), "there is no sensor or element 'w'"),
        (lambda: mbs.Experiment(TIMES, {"mass.position": clean()}), r"have shape \(101,\), what it measures"),
        (lambda: experiment(noise=-1.0), "noise of 'u' must be a number > 0"),
        (lambda: experiment(params={"mass.mas": 1.0}), "no parameter 'mass.mas'"),
        (lambda: experiment(params={"mass.mass": 1.0}), "'mass.mass' is given, but is also an unknown"),
        (lambda: experiment(inputs={"load.load": (TIMES, clean())}), "is not a function given by points"),
        (lambda: experiment(validation=True), "there is no experiment to fit"),
        (lambda: [experiment(), experiment()], "there are 2 experiments 'experiment'"),
        (lambda: experiment(weight=0.0), "weight must be > 0"),
        (
            lambda: mbs.Experiment(
                np.array([0.0, 1e-9, 1.0]), {"u": np.zeros(3)}, {"u": mbs.Channel(noise=1, delay=0.1)}
            ),
            "two samples are only 1e-09 s apart",
        ),
        (lambda: mbs.StaticTest({"u": [0.0]}, {"u": mbs.Channel(delay=0.1)}), "where nothing moves there is no delay"),
        (lambda: mbs.ModalTest({"frequency": [1.0]}, {"frequency": mbs.Channel(component=0)}), "leave out component"),
        (lambda: mbs.ModalTest({"freqency": [1.0]}), "a modal test has no 'freqency'. Did you mean 'frequency'"),
    ],
)
def test_wrong_experiments_are_refused(make, message):
    with pytest.raises(mbs.ParameterError, match=message):
        identify(make(), unknowns())


def test_a_start_that_cannot_be_simulated_is_named():
    far = unknowns(stiffness=1e12)
    where = "experiment 'experiment' cannot be predicted from sample"
    with pytest.raises(mbs.SimulationError, match=f"{where}.* on: the simulation stopped at t = .* are not finite"):
        identify(experiment(), far)


EMPTY = {"u": np.zeros(TIMES.size)}


def stiff(stiffness):
    return mbs.Experiment(TIMES, EMPTY, params={"spring.stiffness": stiffness}, name=f"with {stiffness:g} N/m")


def stopped(t, outputs):
    """Half a second after the start, not a number."""
    return jnp.where(t < 0.5, outputs["mass.position"][0], jnp.nan)


@pytest.mark.parametrize(
    ("tests", "change", "message"),
    [
        ([stiff(4e3), stiff(1e12)], {}, r"'with 1e\+12 N/m' .* on: the simulation stopped at .* forces are not finite"),
        (
            mbs.StaticTest({"u": [0.0, 0.0]}, loads={"spring.stiffness": [4e3, 0.0]}),
            {},
            "of 'u' on: there is no equilibrium: 'mass' moves away without end. Hold it, or balance the loads",
        ),
        (
            mbs.Experiment(TIMES, EMPTY),
            {"stop": mbs.Event(0.505, stop=True)},
            "sample 51 of 'u' on: an event of the model ends the simulation at t = 0.505",
        ),
        (mbs.Experiment(TIMES, EMPTY), {"u": stopped}, "sample 50 of 'u' on: it is not a finite number there"),
    ],
    ids=["one of two", "static", "event", "sensor"],
)
def test_why_a_start_cannot_be_simulated(tests, change, message):
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6))
    model.add("spring", mbs.SpringDamper(1.0, 4000.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("load", mbs.CoordinateLoad(80.0), on=mass.coordinate(0))
    model.sense("u", change.get("u", lambda t, outputs: outputs["mass.position"][0]))
    if "stop" in change:
        model.add("stop", change["stop"])
    with pytest.raises(mbs.SimulationError, match=message):
        mbs.identify(model.assemble(), tests, {"mass.mass": mbs.Positive(1.0)}, dt=DT, progress=False)


def test_frequencies_that_are_the_same_at_the_start_are_named():
    model = mbs.Model()
    for name in ("left", "right"):
        mass = model.add(name, mbs.Mass1D(1.0))
        model.add(f"{name} spring", mbs.SpringDamper(1.0, 100.0), between=(model.ground.at(-1, 0, 0), mass))
    test = mbs.ModalTest({"frequency": [1.5, 1.7]}, {"frequency": mbs.Channel(noise=0.01)})
    with pytest.raises(mbs.SimulationError, match="two natural frequencies are the same"):
        mbs.identify(model.assemble(), test, {"left spring.stiffness": mbs.Positive(100.0)}, progress=False)
    apart = {f"{name} spring.stiffness": mbs.Positive(x) for name, x in (("left", 90.0), ("right", 110.0))}
    fit = mbs.identify(model.assemble(), test, apart, progress=False)
    np.testing.assert_allclose(np.sqrt(fit.numbers) / (2 * np.pi), [1.5, 1.7], rtol=1e-8)


def test_an_interrupted_fit_goes_on_to_the_same_result(tmp_path):
    whole = identify(experiment(noisy()), unknowns(), folder=tmp_path / "whole")
    identify(experiment(noisy()), unknowns(), folder=tmp_path / "part", max_iterations=7)
    again = identify(experiment(noisy()), unknowns(), folder=tmp_path / "part", resume=True)
    assert np.array_equal(whole.numbers, again.numbers)
    assert np.array_equal(whole.covariance, again.covariance)
    assert [line.value for line in whole.history] == [line.value for line in again.history]
    with pytest.raises(mbs.FileError, match="belongs to another fit"):
        identify(experiment(noisy(1)), unknowns(), folder=tmp_path / "part", resume=True)
    with pytest.raises(mbs.FileError, match="nothing to resume"):
        identify(experiment(noisy()), unknowns(), folder=tmp_path / "none", resume=True)


def test_a_resumed_fit_knows_what_several_starts_led_to(tmp_path):
    options = dict(starts=3, folder=tmp_path, max_iterations=5)
    begun = identify(experiment(noisy()), unknowns(), **options)
    again = identify(experiment(noisy()), unknowns(), **options, resume=True)
    for name in ("starts", "values", "chi2"):
        assert np.array_equal(getattr(begun.tried, name), getattr(again.tried, name))


def test_fits_that_differ_in_anything_are_told_apart():
    from difmbs.identification.fit_checkpoint import fingerprint_of_fit
    from difmbs.identification.identify import checked_setup

    many = np.full(2001, NOISE)
    one_larger = many.copy()
    one_larger[1000] *= 1.5
    times = np.linspace(0, 1, 2001)

    def of(noise=many, held_out=0.0, lower=0.0, **rest):
        channel = {"u": mbs.Channel(noise=noise)}
        fitted = mbs.Experiment(times, {"u": np.zeros(2001)}, channel, **rest)
        shown = experiment(np.full(TIMES.size, held_out), name="shown", validation=True)
        unknown = {"spring.stiffness": mbs.Interval(4000.0, lower, 5000.0)}
        setup = checked_setup(oscillator(), [fitted, shown], unknown, DT, None, 1e-8, 1e-10, 4096)
        return fingerprint_of_fit(setup)

    others = [of(), of(weight=2.0), of(one_larger), of(None), of(held_out=1.0), of(lower=1e-300)]
    assert len(set(others)) == len(others)
    assert of() == others[0]


def test_ctrl_c_leaves_the_best_so_far():
    fit = identify(experiment(), unknowns(), progress=interrupted_at(4))
    assert fit.status == "interrupted"
    assert 0 < fit.evaluations < 10
    assert fit.chi2 == min(line.value for line in fit.history)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_intervals_hold_as_often_as_they_say(known):
    """2000 draws of noise: the spread is the Cramer-Rao bound, and 95 % of the intervals hold the truth."""
    noise = NOISE if known else None
    times = np.linspace(0, 1, 501)
    data = np.asarray(mbs.simulate(oscillator(), t1=1.0, dt=DT, saveat=times)["u"])
    rng = np.random.default_rng(0)
    runs = [
        mbs.Experiment(times, {"u": data + NOISE * rng.normal(size=501)}, {"u": mbs.Channel(noise=noise)}, name=str(i))
        for i in range(2000)
    ]
    fits = mbs.identify_each(oscillator(), runs, unknowns(), dt=DT)
    assert np.all(fits.status == "converged")
    off = fits.numbers - np.array([TRUTH[n] for n in fits.names])
    bound = np.median(fits.errors, axis=0)
    assert np.all(np.sqrt(np.mean(off**2, axis=0)) / bound <= 1.04)
    quantile = 1.96 if known else scipy.stats.t.ppf(0.975, 498)
    held = np.mean(np.abs(off) <= quantile * fits.errors, axis=0)
    assert np.all((held >= 0.94) & (held <= 0.96)), jnp.asarray(held)
