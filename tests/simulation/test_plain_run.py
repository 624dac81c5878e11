"""`simulate` against the plain run: values, tangents, cotangents and batches, over a zoo of mechanisms and methods."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import difmbs as mbs
from difmbs.dynamics.accelerations import accelerations
from difmbs.simulation import trajectory
from difmbs.simulation.simulate import time_loop_of
from difmbs.solvers.solver_steps import step_of

from ..oracles.plain_run import plain_run
from ..zoo import models

END, MOST = 0.03, 200
OUTPUTS = (0.0, 0.012, END)
"""The start, inside of a fixed step, and at the end of one."""
TOLERANCES = dict(rtol=1e-6, atol=1e-8)
METHODS = {
    "RK4": dict(solver=mbs.RungeKutta4(), dt=5e-3),
    "Tsit5": dict(solver=diffrax.Tsit5(), **TOLERANCES),
    "generalized-alpha": dict(solver=mbs.GeneralizedAlpha(), dt=5e-3),
    "generalized-alpha, adaptive": dict(solver=mbs.GeneralizedAlpha(), **TOLERANCES),
    "trapezoidal": dict(solver=mbs.TrapezoidalIndex2(), dt=5e-3),
}
MODELS = {
    "oscillator": models.oscillator,
    "stars": models.stars,
    "stone": models.stone,
    "rods": lambda: models.rods(3),
    "four-bar": models.four_bar,
    "top": models.top,
    "winch": models.winch,
    "gears": models.gears,
    "side by side": models.side_by_side,
    "balls": models.elastic_balls,
    "cut loose": models.cut_loose,
    "taut rope": models.taut_rope,
}
QUICK = [("oscillator", "Tsit5"), ("rods", "RK4"), ("winch", "generalized-alpha"), ("cut loose", "trapezoidal")]
ALL = [(model, method) for model in MODELS for method in METHODS]
CLOSE = 1e-12
"""Of the largest number: rounding, in equations solved in different ways."""
SOLVED = 2e-11
"""The same where equations of steps are iterated: velocities are left when they change by 1e-11."""
SHORT = 3e-9
"""The same with a first step h of 2e-5 s: accelerations follow from positions, whose rounding is divided by h^2."""


def accepted_steps(system, solver, dt=None, rtol=1e-8, atol=1e-10):
    """Time, size and event of the steps that `simulate` makes."""
    varying = dt is None or bool(system.structure.events)
    step = step_of(solver, system, rtol, dt, varying)
    time_loop = time_loop_of(step, (0.0, END, dt), varying, OUTPUTS, (rtol, atol), MOST)

    @jax.jit
    def recorded(system):
        shown = system.constrained and not system.redundant
        arguments = time_loop, system, jnp.asarray(0.0), *system.initial_state()
        return trajectory._run(arguments, shown, record=True)[1][0]

    steps = recorded(system)
    events = np.full(len(steps.t), -1) if steps.event is None else steps.event
    sizes = np.diff(steps.t) if steps.h is None else steps.h
    rows = zip(steps.t.tolist(), sizes.tolist(), events.tolist(), strict=False)
    return list(rows)[: int(steps.steps)], varying


def both(model, method):
    """The results of `simulate` and of the plain run as functions of all numbers of the model, and these."""
    system, options = MODELS[model](), METHODS[method]
    steps, settles = accepted_steps(system, **options)
    at, params = ravel_pytree(system.params())
    dt = options.get("dt", 0.0)

    def fast(x):
        run = mbs.simulate(system, t1=END, saveat=OUTPUTS, params=params(x), throw=False, max_steps=MOST, **options)
        known = run.accelerations
        if known is None:
            known = jax.vmap(lambda *x: accelerations(run.system, *x))(run.t, run.q, run.v)
        rows = [known[1][number].reshape(len(OUTPUTS), -1) for number in sorted(known[1])]
        moments = jnp.zeros(0) if run.moments is None else run.moments
        return jnp.concatenate([run.q, run.v, *(rows if system.constrained else [])], axis=1), moments

    def plain(x):
        own = system.with_params(params(x))
        q, v, u, moments = plain_run(own, options["solver"], steps, OUTPUTS, dt, settles)
        rows = jnp.concatenate([q, v, u[:, v.shape[1] :]], axis=1)
        return rows, jnp.asarray([moments.get(i, jnp.nan) for i in range(len(system.structure.events))])

    return fast, plain, at, params


def assert_close(a, b, method):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        tolerance = CLOSE if method in ("RK4", "Tsit5") else SHORT if method.endswith("adaptive") else SOLVED
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1, np.max(np.abs(y), initial=0)))


@pytest.mark.parametrize(
    ("model", "method"), [*QUICK, *(pytest.param(*x, marks=pytest.mark.slow) for x in ALL if x not in QUICK)]
)
def test_simulate_is_the_plain_run(model, method):
    fast, plain, at, params = both(model, method)
    random = np.random.default_rng(0)
    # Numbers that are zero stay near zero: inertias and masses stay possible.
    directions = jnp.asarray(0.1 * random.normal(size=(2, at.size)) * np.maximum(np.abs(at), 0.1))
    if model == "side by side":
        # Rods of other lengths would contradict each other.
        alike = lambda tree: ravel_pytree({**tree, "again": tree["rod"]})[0]
        directions = jnp.stack([alike(params(direction)) for direction in directions])
    tangents = lambda f: jnp.stack(
        [jnp.concatenate([jnp.ravel(y) for y in jax.jvp(f, (at,), (d,))[1]]) for d in directions]
    )
    values = fast(at)
    assert_close(values, plain(at), method)
    expected = tangents(plain)
    assert_close(jax.jit(tangents, static_argnums=0)(fast), expected, method)
    weights = jax.tree.map(lambda y: jnp.cos(jnp.arange(y.size)).reshape(y.shape), values)
    # Where a constraint is redundant, only along directions in which none contradict each other.
    along = directions if model == "side by side" else jnp.eye(at.size)
    pulled = lambda f: along @ jax.vjp(f, at)[1](weights)[0]
    expected = pulled(plain)
    assert_close(jax.jit(pulled, static_argnums=0)(fast), expected, method)
    # Batches with steps of their own would be other discrete solutions.
    if "dt" in METHODS[method] and model not in ("balls", "cut loose", "taut rope"):
        # All numbers in proportion: inertias stay symmetric, and what fits together does so.
        nearby = jnp.stack([at, 1.0005 * at])
        batch = jax.jit(jax.vmap(fast))(nearby)
        assert_close(batch, jax.tree.map(lambda *y: jnp.stack(y), *map(plain, nearby)), method)
        of_batch = jax.jit(jax.vmap(lambda x: along @ jax.vjp(fast, x)[1](weights)[0]))(nearby)
        assert_close(of_batch[0], expected, method)
