"""Programs for GPUs, made without one: the machine's own processor has no part in them, and steps launch little."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import diffrax
import jax
import jax.numpy as jnp
import pytest
from jax.flatten_util import ravel_pytree

import difmbs as mbs
from difmbs.identification.identify import checked_setup
from difmbs.search import levenberg_marquardt

from ..zoo import fits, models, static_systems

RUNGE_KUTTA = dict(solver=mbs.RungeKutta4(), dt=5e-3)
NEWMARK = dict(solver=mbs.GeneralizedAlpha(), dt=5e-3)
METHODS = {
    "RK4": RUNGE_KUTTA,
    "Tsit5": dict(solver=diffrax.Tsit5(), max_steps=200),
    "generalized-alpha": NEWMARK,
    "generalized-alpha, adaptive": dict(solver=mbs.GeneralizedAlpha(), rtol=1e-5, atol=1e-6, max_steps=200),
    "trapezoidal": dict(solver=mbs.TrapezoidalIndex2(), dt=5e-3),
    "Kvaerno5": dict(solver=diffrax.Kvaerno5(), max_steps=200),
    "implicit Euler": dict(solver=diffrax.ImplicitEuler(), dt=5e-3),
}
MODELS = {
    "oscillator": (models.oscillator, "RK4"),
    "stars": (models.stars, "RK4"),
    "stone": (models.stone, "Tsit5"),
    "rods": (models.rods, "generalized-alpha"),
    "four-bar": (models.four_bar, "generalized-alpha"),
    "top": (models.top, "generalized-alpha"),
    "winch": (models.winch, "generalized-alpha"),
    "gears": (models.gears, "generalized-alpha, adaptive"),
    "side by side": (models.side_by_side, "trapezoidal"),
    "balls": (models.elastic_balls, "RK4"),
    "cut loose": (models.cut_loose, "RK4"),
    "taut rope": (models.taut_rope, "RK4"),
    "Andrews": (models.andrews, "RK4"),
}
"""Each with the method that the default test takes."""
KINDS = {"value": lambda f: f, "backwards": jax.grad, "forwards": jax.jacfwd}
BESIDES = re.compile(r"callback|stablehlo\.(send|recv|infeed|outfeed|all_|reduce_scatter|collective)")
"""What would leave the GPU."""


def assert_stays_on_gpu(function, shape):
    x = jax.ShapeDtypeStruct(shape, jnp.float64)
    text = jax.jit(function).trace(x).lower(lowering_platforms=("cuda",)).as_text()
    assert "stablehlo" in text
    found = BESIDES.search(text)
    assert not found, found


def loss_of(build, method, times=(0.03,)):
    """A number that a run gives, as a function of all numbers of the model, and how many these are."""
    system = build()
    at, params = ravel_pytree(system.params())

    def loss(x):
        options = dict(t1=0.03, saveat=times, params=params(x), throw=False)
        return jnp.sum(mbs.simulate(system, **options, **METHODS[method]).q)

    return loss, at.size


@pytest.mark.parametrize("model", MODELS)
def test_gradients_of_batches_stay_on_the_gpu(model):
    loss, size = loss_of(*MODELS[model])
    assert_stays_on_gpu(jax.vmap(jax.grad(loss)), (3, size))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_all_methods_alone_and_in_batches_stay_on_the_gpu(model, method, kind):
    loss, size = loss_of(MODELS[model][0], method, times=(0.012, 0.03))
    function = KINDS[kind](loss)
    assert_stays_on_gpu(function, (size,))
    assert_stays_on_gpu(jax.vmap(function), (3, size))


def test_stiff_methods_of_diffrax_stay_on_the_gpu():
    loss, size = loss_of(models.oscillator, "Kvaerno5")
    assert_stays_on_gpu(jax.vmap(jax.grad(loss)), (3, size))


def frequencies(x):
    system = static_systems.pendulum()
    return jnp.sum(mbs.modes(system, params={"bob": {"mass": x}}, throw=False).frequencies)


def equilibrium(x):
    return jnp.sum(mbs.static_equilibrium(fits.cantilever(), params={"load": {"load": x}}, throw=False).q)


@pytest.mark.parametrize("analysis", [frequencies, equilibrium])
def test_analyses_stay_on_the_gpu(analysis):
    assert_stays_on_gpu(jax.vmap(jax.grad(analysis)), (3,))


def test_an_iteration_of_a_fit_stays_on_the_gpu():
    """Of static tests, frequencies and motions together."""
    wanted = {"first.stiffness": mbs.Positive(1000.0), "second.stiffness": mbs.Positive(500.0)}
    tests = list(fits.three_tests().values())
    setup = checked_setup(fits.cantilever(), tests, wanted, fits.DT, None, None, None, 1000)
    problem = setup.problem(setup.first_noise())
    free = jnp.ones(len(setup.start), bool)
    begun = lambda z: levenberg_marquardt.begin(problem, z)
    assert_stays_on_gpu(lambda z: levenberg_marquardt.iterate(problem, begun(z), free).trial, (len(setup.start),))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_steps_launch_little():
    """Of programs that are compiled for an H100; docs/devices.md says how often, tests/benchmarks/launches.py how."""
    packages = os.environ.get("DIFMBS_CUDA_PACKAGES")
    if packages is None:
        pytest.skip("DIFMBS_CUDA_PACKAGES does not name a folder with what tests/benchmarks/launches.py needs")
    script = Path(__file__).parents[1] / "benchmarks" / "launches.py"
    environment = {**os.environ, "PYTHONPATH": packages}
    found = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    lines = list(map(json.loads, found.stdout.splitlines()))
    assert len(lines) == 16
    assert not [line for line in lines if not 0 < line["sum"] <= line["most"]]
