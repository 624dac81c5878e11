"""Derivatives of constrained motion with respect to every number of a model: forwards, backwards, by differences.

The start follows where geometry changes, because it is projected onto the constraints.
"""

import os
import subprocess
import sys

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import difmbs as mbs

from ..oracles.differences import quotients
from ..zoo import models

BETWEEN = dict(dt=4.9e-3, saveat=[0.0, 0.123, 0.2, 0.2001, 0.3])
ON_STEPS = dict(dt=5e-3, saveat=[0.15, 0.3])
RUNS = {
    "index 1": dict(solver=mbs.RungeKutta4(), **BETWEEN),
    "index 1, on steps": dict(solver=mbs.RungeKutta4(), **ON_STEPS),
    "index 1, adaptive": dict(solver=diffrax.Tsit5(), max_steps=200, saveat=[0.0, 0.123, 0.3]),
    "generalized-alpha": dict(solver=mbs.GeneralizedAlpha(), **BETWEEN),
    "generalized-alpha, on steps": dict(solver=mbs.GeneralizedAlpha(), **ON_STEPS),
    "generalized-alpha, adaptive": dict(
        solver=mbs.GeneralizedAlpha(), rtol=1e-5, atol=1e-6, max_steps=400, saveat=[0.0, 0.123, 0.3]
    ),
    "trapezoidal": dict(solver=mbs.TrapezoidalIndex2(), **ON_STEPS),
}
MODELS = {
    "winch": (models.winch, "rod", "link"),
    "four-bar": (models.four_bar, "A", "C"),
    "gears": (models.gears, "mesh", "belt"),
    "top": (models.top, "joint"),
}
"""Each with the constraints whose multipliers are looked at."""

CASES = [
    ("winch", "index 1"),
    ("winch", "generalized-alpha"),
    ("gears", "index 1, adaptive"),
    ("gears", "generalized-alpha, adaptive"),
]
"""The rest of the table takes minutes to compile. By default derivatives of closed loops are tested in
`test_motion_problems`, of spatial bodies in `test_motion_references`, of the trapezoidal rule in `test_redundant`."""

LONG = [(name, run) for name in MODELS for run in RUNS if (name, run) not in CASES]


@pytest.mark.parametrize(("name", "run"), [*CASES, *(pytest.param(*x, marks=pytest.mark.slow) for x in LONG)])
def test_gradients_forwards_backwards_and_by_differences(name, run):
    build, *constraints = MODELS[name]
    system = build()
    at, unravel = ravel_pytree(system.params())

    def loss(x):
        """Of all coordinates and velocities at the outputs, and of multipliers there."""
        solution = mbs.simulate(system, t1=0.3, params=unravel(x), **RUNS[run])
        state = jnp.concatenate([jnp.ravel(solution.q), jnp.ravel(solution.v)])
        forces = [jnp.sum(solution[f"{constraint}.force"] ** 2) for constraint in constraints]
        return jnp.sum(jnp.cos(jnp.arange(state.size)) * state) + 1e-2 * sum(forces)

    forwards = jax.jit(lambda x: jax.vmap(lambda e: jax.jvp(loss, (x,), (e,))[1])(jnp.eye(x.size)))(at)
    backwards = np.asarray(jax.jit(jax.grad(loss))(at))
    scale = np.abs(backwards).max()
    assert np.all(np.isfinite(backwards))
    assert np.abs(forwards - backwards).max() <= 1e-12 * scale
    # The steps of an adaptive run change with the parameters, which its derivative leaves out.
    if "adaptive" not in run:
        assert np.abs(quotients(loss, at, 1e-4 * np.maximum(1, np.abs(at))) - backwards).max() <= 1e-7 * scale


@pytest.mark.parametrize("solver", [diffrax.Tsit5(), diffrax.Dopri8()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_derivatives_at_rest_with_adaptive_steps(solver, derivative):
    """Where nothing moves there is no error, and still a disturbance must vibrate instead of grow."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    model.add("spring", mbs.SpringDamper(1.0, 400.0, 2.0), between=(model.ground.at(-1, 0, 0), mass))
    system, times = model.assemble(), np.linspace(0, 2, 41)
    run = lambda v: mbs.simulate(system, t1=2.0, saveat=times, solver=solver, params={"mass": {"velocity": v}})[
        "mass.position.x"
    ]
    frequency = np.sqrt(400.0 - 1.0)
    exact = np.exp(-times) * np.sin(frequency * times) / frequency
    np.testing.assert_allclose(derivative(run)(0.0), exact, atol=0.02 * np.abs(exact).max())


@pytest.mark.parametrize(("solver", "error"), [(diffrax.Tsit5(), 1e-5), (mbs.GeneralizedAlpha(), 1e-3)], ids=str)
def test_a_short_pulse_after_rest_is_not_missed(solver, error):
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    model.add("push", mbs.CoordinateLoad(mbs.Piecewise((1.0, 1.001, 1.002), (0, 50.0, 0))), on=mass.coordinate(0))
    solution = mbs.simulate(model.assemble(), t1=2.0, saveat=[2.0], solver=solver, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(solution["mass.velocity.x"], [0.05], rtol=error)


def test_outputs_at_ends_of_steps_have_the_derivative_of_their_values_among_others_that_are_inside():
    """Where rounding takes an output at the end of a step to one side, its derivative stays on that side."""
    system, times = models.rods(2), np.linspace(0, 1.2, 49)
    motion = lambda size: mbs.simulate(system, t1=1.2, dt=0.05, saveat=times, params={"rod": {"distance": size}}).q
    lengths = np.asarray(system.params()["rod"]["distance"])
    slopes = jax.jacfwd(motion)(lengths)
    expected = np.moveaxis(quotients(motion, lengths, 1e-4 * np.ones(2)), 0, -1)
    assert np.abs(slopes - expected).max() <= 1e-9 * np.abs(expected).max()


OPTIMIZED = """
import diffrax, jax, numpy as np
jax.config.update("jax_enable_x64", True)
import difmbs as mbs

model, random = mbs.Model(), np.random.default_rng(0)
state = dict(position=random.normal(size=(3, 3)), velocity=0.1 * random.normal(size=(3, 3)))
stars = model.add("star", mbs.MassPoint(np.ones(3)), **state)
model.add("attraction", mbs.AllPairsGravity(1.0), on=stars)
system = model.assemble()
for options in (dict(dt=1e-2), dict(solver=diffrax.Dopri8(), max_steps=1000)):
    params = {"attraction": {"gravitational_constant": 1.0}}
    end = lambda p: mbs.simulate(system, t1=0.5, saveat=[0.1, 0.5], params=p, **options).q[-1, 0]
    ahead, back = jax.jacfwd(end)(params), jax.grad(end)(params)
    np.testing.assert_allclose(*(x["attraction"]["gravitational_constant"] for x in (ahead, back)), rtol=1e-7)

model = mbs.Model(gravity=(0, -9.81, 0))
beads = model.add("bead", mbs.MassPoint(np.full(10, 0.3)), position=0.1 * np.arange(1, 11)[:, None] * [[1, 0, 0]])
model.add("spring", mbs.SpringDamper(0.1, np.full(10, 50.0), 0.1), between=([model.ground, beads[:-1]], beads))
system = model.assemble()
for of in (lambda f: f, jax.jit):
    stiffness = np.full(10, 50.0)
    end = lambda k: mbs.simulate(system, t1=0.1, dt=1e-3, saveat=[0.1], params={"spring": {"stiffness": k}}).q[0, 1]
    stiff = lambda k: (mbs.linearize(system, params={"spring": {"stiffness": k}}).K ** 2).sum()
    for function in (end, stiff):
        ahead, back = (of(derivative(function))(stiffness)[:3] for derivative in (jax.jacfwd, jax.grad))
        np.testing.assert_allclose(ahead, back, rtol=1e-7)
"""


def test_optimized_programs_have_the_same_derivatives_forwards_and_backwards():
    """All other tests compile without optimization, which takes half of the time; users do not."""
    plain = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", OPTIMIZED], env=plain, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
