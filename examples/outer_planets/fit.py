"""The mass of the Sun from the motion of the outer planets, 1980 to 2020: real data, 41 unknowns.

Reads planets.csv (positions of the ephemeris DE421, see make_data.py) and model.toml, prints what is found and writes
report.html. The masses of the model are in units of the Sun's, so the constant of gravitation is G times its mass.
"""

from pathlib import Path

import diffrax
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent
DE421 = 2.959122082855911e-4  # G times the mass of the Sun, au^3/day^2
MODEL_ERROR = 1e-7  # au: the inner planets are one body with the Sun; no asteroids, no relativity


def fit() -> mbs.Fit:
    system = mbs.load(HERE / "model.toml").assemble()
    table = mbs.read_table(HERE / "planets.csv", time="day")
    params = system.params()
    bodies = ["sun", "jupiter", "saturn", "uranus", "neptune", "pluto"]
    data = {f"{body}.position": np.stack([table.column(f"{body}.{x}") for x in "xyz"], axis=1) for body in bodies}
    record = mbs.Experiment(
        table.column("day"), data, {name: mbs.Channel(noise=MODEL_ERROR) for name in data}, name="DE421"
    )
    unknowns: dict = {"gravitation.gravitational_constant": mbs.Positive(2.96e-4)}
    for body in bodies:
        unknowns[f"{body}.position"] = mbs.Free(params[body]["position"])
        unknowns[f"{body}.velocity"] = mbs.Free(params[body]["velocity"])
    # In 40 years Pluto moves nothing by more than the error of the model.
    for body in bodies[1:5]:
        unknowns[f"{body}.mass"] = mbs.Positive(params[body]["mass"])
    return mbs.identify(system, record, unknowns, solver=diffrax.Dopri8(), rtol=1e-10, atol=1e-13)


if __name__ == "__main__":
    found = fit()
    GM = found.values["gravitation.gravitational_constant"]
    print(f"G times the mass of the Sun: {GM:.10g} au^3/day^2, relative to DE421 {GM / DE421 - 1:+.1e}")
    for body in ("jupiter", "saturn", "uranus", "neptune"):
        print(f"the Sun's mass over that of {body}: {1 / found.values[f'{body}.mass']:.6g}")
    worst = max(found.residuals, key=lambda r: r.rms)
    print(f"residuals: {worst.rms * MODEL_ERROR:.1e} au at most ({worst.channel})")
    mbs.report(found, "report.html", force=True)
