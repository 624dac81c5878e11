"""Fits of problems whose standard errors are known from elsewhere."""

import functools

import diffrax
import jax
import lmfit
import numpy as np
import pytest

import difmbs as mbs

from ..zoo import fits as oscillator

# The outer solar system: au, days, solar masses; the Sun is with the inner planets.
G = 2.95912208286e-4
PLANETS = {
    "sun": (1.00000597682, (0, 0, 0), (0, 0, 0)),
    "jupiter": (0.000954786104043, (-3.5023653, -3.8169847, -1.5507963), (0.00565429, -0.00412490, -0.00190589)),
    "saturn": (0.000285583733151, (9.0755314, -3.0458353, -1.6483708), (0.00168318, 0.00483525, 0.00192462)),
    "uranus": (0.0000437273164546, (8.3101420, -16.2901086, -7.2521278), (0.00354178, 0.00137102, 0.00055029)),
    "neptune": (0.0000517759138449, (11.4707666, -25.7294829, -10.8169456), (0.00288930, 0.00114527, 0.00039677)),
    "pluto": (1 / 1.3e8, (-15.5387357, -25.2225594, -3.1902382), (0.00276725, -0.00170702, -0.00136504)),
}
DAYS = np.linspace(0, 12998, 201)
SIGMA = 1e-6


@functools.cache
def solar_system():
    model = mbs.Model()
    bodies = [model.add(n, mbs.MassPoint(m), position=x, velocity=v) for n, (m, x, v) in PLANETS.items()]
    model.add("gravitation", mbs.AllPairsGravity(gravitational_constant=G), on=bodies)
    return model.assemble()


def fit_of_planets(**more):
    solver = dict(solver=diffrax.Dopri8(), rtol=1e-10, atol=1e-13)
    found = mbs.simulate(solar_system(), t1=DAYS[-1], saveat=DAYS, **solver)
    rng = np.random.default_rng(0)
    names = [f"{planet}.position" for planet in PLANETS if planet != "sun"]
    data = {n: np.asarray(found[n]) + SIGMA * rng.normal(size=(201, 3)) for n in names}
    record = mbs.Experiment(DAYS, data, {n: mbs.Channel(noise=SIGMA) for n in names})
    unknowns = {"gravitation.gravitational_constant": mbs.Positive(2.9e-4)} | more
    return mbs.identify(solar_system(), record, unknowns, progress=False, **solver)


@pytest.mark.parametrize(("free", "expected"), [((), 5.0e-10), (("jupiter", "saturn"), 7.6e-10)])
def test_the_constant_of_gravitation(free, expected):
    fit = fit_of_planets(**{f"{planet}.mass": mbs.Positive(1.02 * PLANETS[planet][0]) for planet in free})
    relative = fit.standard_errors["gravitation.gravitational_constant"] / G
    assert relative == pytest.approx(expected, rel=0.05)
    assert abs(fit.values["gravitation.gravitational_constant"] / G - 1) < 3 * relative
    assert fit.identifiability.full


def test_only_products_of_gravitation_and_masses_are_determined():
    masses = {f"{planet}.mass": mbs.Positive(1.02 * PLANETS[planet][0]) for planet in PLANETS}
    fit = fit_of_planets(**masses)
    (direction,) = fit.identifiability.directions
    assert direction.kind == "product"
    assert set(direction.names) == {"gravitation.gravitational_constant", *masses}
    for planet in PLANETS:
        assert f"gravitation.gravitational_constant * {planet}.mass" in str(direction)


def test_standard_errors_and_correlations_are_those_of_lmfit():
    data = oscillator.noisy()
    fit = oscillator.identify(oscillator.experiment(data), oscillator.unknowns())

    @jax.jit
    def predicted(mass, stiffness, load):
        params = {"mass": {"mass": mass}, "spring": {"stiffness": stiffness}, "load": {"load": load}}
        system = oscillator.oscillator()
        return mbs.simulate(system, t1=1.0, dt=oscillator.DT, saveat=oscillator.TIMES, params=params)["u"]

    params = lmfit.Parameters()
    for name, value in fit.values.items():
        params.add(name.replace(".", "_"), value=1.01 * value)
    residuals = lambda p: (np.asarray(predicted(*p.valuesdict().values())) - data) / oscillator.NOISE
    # Its difference quotients need steps above the rounding errors.
    other = lmfit.minimize(residuals, params, scale_covar=False, epsfcn=1e-12, xtol=1e-12, ftol=1e-12)
    for i, name in enumerate(fit.names):
        theirs = other.params[name.replace(".", "_")]
        assert fit.standard_errors[name] == pytest.approx(theirs.stderr, rel=1e-3)
        for j, second in enumerate(fit.names):
            if i != j:
                assert fit.correlation[i, j] == pytest.approx(theirs.correl[second.replace(".", "_")], abs=1e-3)
