"""What constrained motion has to keep over many steps: the constraints, and energy."""

import diffrax
import jax
import numpy as np

import difmbs as mbs

from . import models


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


def test_a_chain_of_ten_keeps_its_energy_for_10_s():
    system = models.rods(10)
    solution = mbs.simulate(system, t1=10.0, solver=diffrax.Dopri8(), rtol=1e-10, atol=1e-10)
    energy = jax.vmap(lambda q, v: system.kinetic_energy(q, v) + system.potential_energy(0.0, q))(
        solution.q, solution.v
    )
    assert np.abs(energy / energy[0] - 1).max() <= 1e-8
