"""Makes angles.csv: the seven angles with a noise of 1 mrad."""

from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from squeezer import ANGLES, squeezer  # noqa: E402

import difmbs as mbs  # noqa: E402

if __name__ == "__main__":
    times = np.linspace(0, 0.03, 301)
    clean = np.asarray(mbs.simulate(squeezer(), t1=0.03, saveat=times)["angles"])
    measured = clean + 1e-3 * np.random.default_rng(0).normal(size=clean.shape)
    table = np.column_stack([times, measured])
    header = ",".join(["t", *ANGLES])
    np.savetxt(Path(__file__).with_name("angles.csv"), table, "%.6f", ",", header=header, comments="")
