"""Makes drop_test.csv: a mass dropped onto a spring and damper, its height measured with 1 mm of noise."""

from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent
TRUTH = {"spring": {"stiffness": 800.0, "damping": 8.0}}


if __name__ == "__main__":
    times = np.linspace(0, 1.5, 151)
    system = mbs.load(HERE / "model.toml").assemble()
    height = mbs.simulate(system, t1=1.5, saveat=times, params=TRUTH)["mass.position.z"]
    measured = np.asarray(height) + np.random.default_rng(1).normal(scale=1e-3, size=times.size)
    table = np.stack([times, measured], axis=1)
    np.savetxt(HERE / "drop_test.csv", table, "%.6f", ",", header="t,height", comments="")
