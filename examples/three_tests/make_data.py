"""Makes loads.csv and motion.csv, and prints the frequencies of fit.py."""

from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from fit import two_masses  # noqa: E402

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent
TRUTH = {"first": {"stiffness": 1200.0}, "second": {"stiffness": 400.0, "damping": 2.0}, "outer": {"mass": 1.3}}

if __name__ == "__main__":
    rng, system = np.random.default_rng(0), two_masses().with_params(TRUTH)
    force = np.array([-10.0, -5.0, 5.0, 10.0])
    tip = [float(mbs.static_equilibrium(system, params={"load": {"load": f}})["tip"]) for f in force]
    table = np.column_stack([force, tip + 2e-5 * rng.normal(size=4)])
    np.savetxt(HERE / "loads.csv", table, "%.7g", ",", header="force,tip", comments="")
    print("frequencies:", np.asarray(mbs.modes(system).frequencies[:2]) + 0.01 * rng.normal(size=2))
    times = np.linspace(0, 2, 101)
    motion = mbs.simulate(system, t1=2.0, saveat=times, params={"outer": {"position": 2.1}})["tip"]
    table = np.column_stack([times, np.asarray(motion) + 1e-3 * rng.normal(size=101)])
    np.savetxt(HERE / "motion.csv", table, "%.7g", ",", header="t,tip", comments="")
