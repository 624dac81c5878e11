"""Spring and drive of a mechanism with closed loops, from records of its angles; and what cannot be told from them.

Reads angles.csv, prints what is found and writes report.html.
"""

from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from squeezer import ANGLES, squeezer  # noqa: E402

import difmbs as mbs  # noqa: E402

TABLE = Path(__file__).with_name("angles.csv")


def fit(**more: mbs.Positive) -> mbs.Fit:
    table = mbs.read_table(TABLE, time="t")
    data = np.stack([table.column(name) for name in ANGLES], axis=1)
    record = mbs.Experiment(table.column("t"), {"angles": data}, {"angles": mbs.Channel(noise=1e-3)}, name="angles.csv")
    unknowns = {
        "spring.stiffness": mbs.Positive(4000.0),
        "spring.reference_length": mbs.Positive(0.08),
        "drive.load_vector[2]": mbs.Positive(0.03),
    }
    return mbs.identify(squeezer(), record, unknowns | more)


if __name__ == "__main__":
    found = fit()
    print(found)
    print("\nWith mass and inertia of the third bar:\n")
    print(fit(**{"bars.mass[2]": mbs.Positive(0.02), "bars.inertia[2]": mbs.Positive(5e-6)}).identifiability)
    mbs.report(found, "report.html", force=True)
