"""What constrained motion has to keep over many steps: the constraints, and energy."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.dynamics.projection import onto_constraints, settle
from difmbs.dynamics.projection import violations as violations_of
from difmbs.simulation.simulate import time_loop_of
from difmbs.solvers.solver_steps import plain_step_of

from ..zoo import models


def violations(system, solution):
    """Of the rods at each output, in m and m/s, from the positions and velocities of the masses alone."""
    ends = [np.asarray(solution[f"mass.{x}"])[..., :2] for x in ("position", "velocity")]
    along, apart = (np.diff(x, axis=1, prepend=0) for x in ends)
    length = np.linalg.norm(along, axis=-1)
    stretch = length - np.asarray(system.params()["rod"]["distance"])
    return np.abs(stretch).max(axis=1), np.abs(np.sum(along * apart, axis=-1) / length).max(axis=1)


def test_constraints_are_met_over_1e5_steps():
    system, dt, steps, between = models.rods(3), 5e-3, 100_000, 100
    solution = mbs.simulate(system, t1=dt * steps, dt=dt, saveat=dt * np.arange(between, steps + 1, between))
    assert solution.stats["steps"] == steps
    for violation, bound in zip(violations(system, solution), (1e-10, 1e-9), strict=True):
        assert violation.max() <= bound
        # No growth: the slope over four decades of steps. Outputs may meet a constraint exactly.
        rounded = np.log(np.maximum(violation, np.finfo(float).eps))
        assert np.polyfit(np.log(solution.t), rounded, 1)[0] <= 0.1


@pytest.mark.parametrize("build", [models.four_bar, models.top])
def test_what_settles_meets_constraints_on_both_levels(build):
    """Of positions that violate them by about e what is left is of second order, of velocities, linear, nothing."""
    system, rng = build(), np.random.default_rng(0)
    q, v = onto_constraints(system, 0.0, *system.initial_state())
    dq, dv = jnp.asarray(rng.normal(size=(2, v.size)))
    for e in (1e-3, 1e-4):
        settled = settle(system, 0.0, system.retract(q, e * dq), v + e * dv)
        position, velocity = violations_of(system, 0.0, *settled)
        assert position.max() <= e**2
        assert velocity.max() <= 1e-14 * jnp.abs(v).max()


def test_starts_far_off_are_brought_onto_constraints():
    """A linkage whose rocker was turned by 0.4 rad: no single correction does that."""
    system = models.four_bar()
    turned = {"rocker": {"angle": system.params()["rocker"]["angle"] + 0.2}}
    turned["rocker"]["angle"] += 0.2
    with pytest.warns(
        UserWarning, match=r"moved the start of 'rocker' by 0.3\d+, and the size of the mechanism is 2.1"
    ):
        start = mbs.simulate(system, t1=1e-3, dt=1e-3, saveat=[0.0], params=turned)
    assert start.stats["start_moved"] > 0.2
    for violation in violations_of(system, 0.0, start.q[0], start.v[0]):
        assert violation.max() <= 1e-14 * jnp.abs(start.v[0]).max()


@pytest.mark.parametrize("level", [0, 1], ids=["positions", "velocities"])
def test_long_steps_are_solved_to_rounding(level):
    """On the level that the method holds, after steps that take three to four iterations."""
    solver, system = (mbs.GeneralizedAlpha(), mbs.TrapezoidalIndex2())[level], models.rods(3)
    solution = mbs.simulate(system, t1=1.0, dt=2e-2, solver=solver, saveat=2e-2 * np.arange(1, 51))
    assert solution.stats["iterations"] > 120
    assert violations(system, solution)[level].max() <= 1e-9


def test_a_chain_of_ten_keeps_its_energy_for_10_s():
    system = models.rods(10)
    solution = mbs.simulate(system, t1=10.0, solver=diffrax.Dopri8(), rtol=1e-10, atol=1e-10)
    energy = jax.vmap(lambda q, v: system.kinetic_energy(q, v) + system.potential_energy(0.0, q))(
        solution.q, solution.v
    )
    assert np.abs(energy / energy[0] - 1).max() <= 1e-8


def test_looking_around_on_the_way_to_a_start_finds_what_it_finds_alone():
    """At rest only that keeps steps within the fastest vibration; the second mass moves, so both cases are in it."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    held = model.add("held", mbs.MassPoint2D(mass=1.0), position=(0.0, -1.0))
    free = model.add("free", mbs.MassPoint2D(mass=0.1), position=(0.0, -2.0), velocity=(0.5, 0.0))
    model.add("rod", mbs.DistanceConstraint(distance=1.0), between=(model.ground, held))
    model.add("spring", mbs.SpringDamper(0.99, stiffness=1e3), between=(held, free))
    system = model.assemble()
    method = time_loop_of(
        plain_step_of(diffrax.Tsit5(), True, 1e-2, None, True), (0.0, 1.0, None), True, (1.0,), (1e-2, 1e-2), 4096
    )
    begin, y0 = jnp.asarray(0.0), jnp.concatenate(system.initial_state())
    outputs, _, alone, _ = jax.jit(lambda: method.run(system, begin, y0, record=False))()
    whole = mbs.simulate(system, t1=1.0, saveat=[1.0], rtol=1e-2, atol=1e-2)
    assert int(whole.stats["steps"]) == int(alone.steps) > 30
    np.testing.assert_allclose(whole.q[0], outputs[0][:4], rtol=1e-3)
