"""Programs for GPUs are others than those for CPUs, and compute the same."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import difmbs as mbs
from difmbs.jaxtools.platforms import as_if_on_gpu, of_platforms, on_gpu

from ..zoo import models


def loss_of(build, options, times=(0.012, 0.03)):
    """A number that a run gives, as a function of all numbers of the model, and these."""
    system = build()
    at, params = ravel_pytree(system.params())

    def loss(x):
        run = mbs.simulate(system, t1=0.03, saveat=times, params=params(x), throw=False, **options)
        return jnp.sum(jnp.cos(jnp.arange(run.q.size)) * run.q.reshape(-1)) + jnp.sum(run.v**2)

    return loss, at


RUNS = {
    "rods": (models.rods, dict(solver=mbs.RungeKutta4(), dt=5e-3)),
    "12 rods": (lambda: models.rods(12), dict(solver=mbs.GeneralizedAlpha(), dt=5e-3)),
    "oscillator": (models.oscillator, dict(solver=diffrax.Tsit5(), max_steps=200)),
    "four-bar": (models.four_bar, dict(solver=mbs.GeneralizedAlpha(), dt=5e-3)),
    "taut rope": (models.taut_rope, dict(solver=diffrax.Tsit5(), max_steps=200)),
    "top": (models.top, dict(solver=mbs.RungeKutta4(), dt=5e-3)),
}


def assert_same_on_gpus(results, at):
    expected = jax.jit(results)(at)
    with as_if_on_gpu():
        found = jax.jit(results)(at)
    for a, b in zip(found, expected, strict=True):
        # Rounding in another order; equations of steps are solved to 1e-11.
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * max(1, np.abs(b).max()))


def test_gradients_of_pendulums_are_the_same_on_gpus():
    loss, at = loss_of(lambda: models.rods(1), dict(solver=mbs.RungeKutta4(), dt=3e-2), times=[0.03])
    assert_same_on_gpus(lambda x: jax.vmap(jax.value_and_grad(loss))(jnp.stack([x, 1.0005 * x])), at)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_values_and_derivatives_are_the_same_on_gpus(run):
    loss, at = loss_of(*RUNS[run])
    direction = 0.1 * np.random.default_rng(0).normal(size=at.size) * np.abs(at)

    def results(x):
        value, slope = jax.vmap(jax.value_and_grad(loss))(jnp.stack([x, 1.0005 * x]))
        return value, slope, jax.grad(loss)(x), jax.jvp(loss, (x,), (direction,))[1]

    assert_same_on_gpus(results, at)


def loops_in(program):
    return program.as_text().count("stablehlo.while")


def test_each_machine_gets_its_own_program():
    """In one process, in any order; also a function that was compiled for a CPU before."""
    loss, at = loss_of(*RUNS["rods"])
    traced = jax.jit(loss).trace(at)
    here, gpu, again = (traced.lower(lowering_platforms=(name,)) for name in ("cpu", "cuda", "cpu"))
    assert loops_in(gpu) < loops_in(here) == loops_in(again)
    with as_if_on_gpu():
        assert loops_in(jax.jit(loss).trace(at).lower()) == loops_in(gpu)


def test_what_was_said_before_counts():
    assert not on_gpu()
    assert of_platforms(("cuda",), on_gpu)
    assert not of_platforms(("cpu", "cuda"), on_gpu)
    with as_if_on_gpu():
        assert of_platforms(("cpu",), on_gpu)
    assert not on_gpu()
