"""Makes drop_test.csv: a mass dropped on a spring and damper, its height measured with 1 mm of noise."""

from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402


def drop_test() -> mbs.System:
    """2 kg, released 0.3 m above a support to which a spring-damper of free length 0.3 m leads."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    mass = model.add("mass", mbs.MassPoint(mass=2.0), position=(0, 0, 0.3))
    law = mbs.SpringDamper(reference_length=0.3, stiffness=500.0, damping=5.0)
    model.add("spring", law, between=(model.ground, mass))
    model.sense("height", lambda t, outputs: outputs["mass.position"][2])
    return model.assemble()


if __name__ == "__main__":
    times = np.linspace(0, 1.5, 151)
    truth = {"spring": {"stiffness": 800.0, "damping": 8.0}}
    height = mbs.simulate(drop_test(), t1=1.5, saveat=times, params=truth)["height"]
    measured = np.asarray(height) + np.random.default_rng(1).normal(scale=1e-3, size=times.size)
    table = np.stack([times, measured], axis=1)
    np.savetxt(Path(__file__).with_name("drop_test.csv"), table, "%.6f", ",", header="t,height", comments="")
