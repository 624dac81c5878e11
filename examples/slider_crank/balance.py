"""Balancing a slider-crank on an elastic frame: where should the centres of mass be, so that the frame moves least?

Reads model.toml, prints the design and writes report.html; `difmbs optimize design.toml` does the same.
Exact answer: -0.075 and -0.15 m, where the mechanism's centre of mass rests.
"""

from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent


def slider_crank() -> mbs.System:
    return mbs.load(HERE / "model.toml").assemble()


def balance() -> mbs.Design:
    return mbs.optimize(
        slider_crank(),
        [mbs.LargestSize("frame.position.x"), mbs.LargestSize("frame.position.y")],
        {
            "crank.center_of_mass[0]": mbs.Interval(-0.02, -0.1, 0.1),
            "rod.center_of_mass[0]": mbs.Interval(0.05, -0.3, 0.3),
        },
        t1=3.0,
        saveat=np.linspace(0, 3, 301),
        rtol=1e-6,
        atol=1e-8,
    )


if __name__ == "__main__":
    design = balance()
    print(design)
    mbs.report(design, "report.html", force=True)
