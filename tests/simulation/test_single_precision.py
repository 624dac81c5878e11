"""Where JAX computes in single precision everything runs with its defaults, and says so once."""

import diffrax
import jax
import numpy as np
import pytest

import difmbs as mbs
from difmbs.simulation.arguments import warn_of_single_precision

MASS, STIFFNESS, DAMPING = 2.0, 80.0, 0.4
TIMES = np.linspace(0, 2, 41)


@pytest.fixture
def system():
    """A mass on a spring, in single precision."""
    with jax.enable_x64(False):
        model = mbs.Model()
        mass = model.add("mass", mbs.Mass1D(MASS), position=0.3, velocity=0.5)
        model.add("spring", mbs.SpringDamper(1.0, STIFFNESS, DAMPING), between=(model.ground.at(-1), mass))
        yield model.assemble()


@pytest.fixture(autouse=True)
def said():
    """One warning, whatever is called first."""
    warn_of_single_precision.cache_clear()
    with pytest.warns(UserWarning, match="computing in single precision, .* rtol=1e-5 and atol=1e-6") as said:
        yield
    assert len(said) == 1


def motion(t, stiffness=STIFFNESS):
    decay = DAMPING / (2 * MASS)
    omega = np.sqrt(stiffness / MASS - decay**2)
    return np.exp(-decay * t) * (0.3 * np.cos(omega * t) + (0.5 + decay * 0.3) / omega * np.sin(omega * t))


def place(system, stiffness=STIFFNESS, **run):
    return mbs.simulate(system, t1=2.0, saveat=TIMES, params={"spring": {"stiffness": stiffness}}, **run).q[:, 0]


@pytest.mark.parametrize("solver", [None, diffrax.Kvaerno5()], ids=["explicit", "implicit"])
def test_motions_and_gradients_are_as_right_as_the_warning_says(system, solver):
    found = place(system, solver=solver)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, motion(TIMES), atol=1e-4)
    slope = jax.jacfwd(lambda k: place(system, k, solver=solver))(STIFFNESS)
    exact = (motion(TIMES, STIFFNESS + 1e-4) - motion(TIMES, STIFFNESS - 1e-4)) / 2e-4
    np.testing.assert_allclose(slope, exact, atol=1e-3 * np.abs(exact).max())


def test_tolerances_that_cannot_be_reached_are_refused(system):
    place(system, rtol=1e-6)
    with pytest.raises(mbs.SimulationError, match=r"rtol = 1e-08 cannot be reached in single precision"):
        place(system, rtol=1e-8)


def test_what_rounding_may_have_stopped_says_so(system):
    with pytest.raises(mbs.SimulationError, match=r"reached max_steps.*; single precision may be too coarse for it"):
        place(system, max_steps=5)


def test_searches_run(system):
    measured = motion(TIMES) + 1e-3 * np.random.default_rng(0).normal(size=TIMES.size)
    record = mbs.Experiment(TIMES, {"x": measured}, {"x": mbs.Channel("mass.position.x", noise=1e-3)})
    unknowns = {"spring.stiffness": mbs.Positive(60.0), "spring.damping": mbs.Positive(1.0)}
    fit = mbs.identify(system, record, unknowns, progress=False)
    assert fit.status == "converged"
    for name, value in {"spring.stiffness": STIFFNESS, "spring.damping": DAMPING}.items():
        assert abs(fit.values[name] - value) < 3 * fit.standard_errors[name]
    assert fit.check_gradient() < 1e-2
    each = mbs.identify_each(system, [record], unknowns)
    np.testing.assert_allclose(each.numbers[0], fit.numbers, rtol=1e-3)
    objective, damping = mbs.MeanSquare("mass.position.x"), {"spring.damping": mbs.Interval(1.0, 0.1, 200.0)}
    assert mbs.optimize(system, objective, damping, t1=2.0, progress=False).status in ("converged", "stalled")


def test_analyses_run(system):
    settings = mbs.SimulationSettings(t_end=2.0).arguments()
    np.testing.assert_allclose(mbs.simulate(system, **settings)["mass.position"][-1, 0], motion(2.0), atol=1e-4)
    np.testing.assert_allclose(mbs.static_equilibrium(system).q, [0.0], atol=1e-6)
    np.testing.assert_allclose(mbs.modes(system).angular_frequencies, np.sqrt(STIFFNESS / MASS), rtol=1e-5)
    certificate = mbs.certify(lambda k: place(system, k, dt=0.02), STIFFNESS)
    assert certificate.adjoint < 1e-4
    assert certificate.difference < 1e-3
    assert mbs.check(mbs.simulate(system, t1=2.0)).balance < 1e-3
