"""Fits whose parameters are known: of an oscillator, and of a cantilever in three kinds of tests."""

import functools

import numpy as np
import pytest

import difmbs as mbs

TRUTH = {"mass.mass": 1.6, "spring.stiffness": 4000.0, "load.load": 80.0}


TIMES = np.linspace(0, 1, 101)


DT = 2e-3


NOISE = 1e-4


@functools.cache
def oscillator():
    """Mass, spring, damper and a constant force (problem P2 of Exudyn's example for optimization)."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6), position=-0.08, velocity=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 4000.0, 8.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("load", mbs.CoordinateLoad(80.0), on=mass.coordinate(0))
    model.sense("u", lambda t, outputs: outputs["mass.position"][0])
    return model.assemble()


@functools.cache
def clean():
    return np.asarray(mbs.simulate(oscillator(), t1=1.0, dt=DT, saveat=TIMES)["u"])


def noisy(seed=0, scale=NOISE):
    return clean() + scale * np.random.default_rng(seed).normal(size=TIMES.size)


def experiment(data=None, noise=NOISE, **rest):
    return mbs.Experiment(TIMES, {"u": clean() if data is None else data}, {"u": mbs.Channel(noise=noise)}, **rest)


def unknowns(mass=3.0, stiffness=2000.0, load=40.0):
    starts = {"mass.mass": mass, "spring.stiffness": stiffness, "load.load": load}
    return {name: mbs.Positive(start) for name, start in starts.items()}


def identify(experiments, unknowns, **options):
    return mbs.identify(oscillator(), experiments, unknowns, **{"dt": DT, "progress": False, **options})


def assert_found(fit, truth=TRUTH, tolerance=1e-10):
    assert fit.status == "converged"
    for name, value in truth.items():
        assert fit.values[name] == pytest.approx(value, rel=tolerance)


@functools.cache
def cantilever():
    """Two masses on springs in a row, with a load on the outer one."""
    model = mbs.Model()
    inner = model.add("inner", mbs.Mass1D(2.0), position=1.0)
    outer = model.add("outer", mbs.Mass1D(1.0), position=2.0)
    model.add("first", mbs.SpringDamper(1.0, 1000.0, 4.0), between=(model.ground, inner))
    model.add("second", mbs.SpringDamper(1.0, 500.0, 1.0), between=(inner, outer))
    model.add("load", mbs.CoordinateLoad(0.0), on=outer.coordinate(0))
    model.sense("x", lambda t, outputs: outputs["outer.position"][0])
    return model.assemble()


def three_tests():
    truth = {"first": {"stiffness": 1200.0}, "second": {"stiffness": 400.0, "damping": 2.0}, "outer": {"mass": 1.3}}
    system = cantilever().with_params(truth)
    loads = np.array([-5.0, 10.0])
    static = mbs.StaticTest(
        {"x": 2.0 + loads * (1 / 1200 + 1 / 400)},
        {"x": mbs.Channel(noise=1e-5)},
        loads={"load.load": loads},
    )
    found = mbs.modes(system)
    modal = mbs.ModalTest(
        {"frequency": np.asarray(found.frequencies[:2])}, {"frequency": mbs.Channel(noise=1e-3)}, loaded=False
    )
    params = {"outer": {"position": 2.1}}
    data = mbs.simulate(system, t1=1.0, dt=DT, saveat=TIMES, params=params)["x"]
    motion = mbs.Experiment(TIMES, {"x": data}, {"x": mbs.Channel(noise=1e-4)}, params=params, name="motion")
    return {"static": static, "modal": modal, "motion": motion}
