"""Makes planets.csv and model.toml from the ephemeris DE421 of the Jet Propulsion Laboratory.

Needs `pip install de421 jplephem`. Positions in au, times in days from 1980-01-01 12:00 (TDB), equatorial axes of the
year 2000, origin at the barycentre of the solar system. "sun" is the barycentre of the Sun and the four inner planets.
"""

from pathlib import Path

import de421
import jax
import numpy as np
from jplephem import Ephemeris

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402
from difmbs.files.model_files import model_text  # noqa: E402

HERE = Path(__file__).parent
TITLE = "# The Sun and the outer planets from 1980 on, in au and days; fit.py finds the mass of the Sun"
START, STEP, COUNT = 2444240.0, 40.0, 367  # 40 years
OUTER = {"jupiter": "GM5", "saturn": "GM6", "uranus": "GM7", "neptune": "GM8", "pluto": "GM9"}
INNER = {"mercury": "GM1", "venus": "GM2", "earthmoon": "GMB", "mars": "GM4"}


def positions(ephemeris: Ephemeris, days: np.ndarray) -> dict[str, np.ndarray]:
    """In au, by body."""
    of = lambda name: ephemeris.position(name, days).T / ephemeris.AU
    inner = sum(getattr(ephemeris, gm) * of(name) for name, gm in INNER.items())
    total = ephemeris.GMS + sum(getattr(ephemeris, gm) for gm in INNER.values())
    sun = (ephemeris.GMS * of("sun") + inner) / total
    return {"sun": sun, **{name: of(name) for name in OUTER}}


def main() -> None:
    ephemeris = Ephemeris(de421)
    days = STEP * np.arange(COUNT)
    found = positions(ephemeris, START + days)
    columns = {"day": days}
    for name, place in found.items():
        columns |= {f"{name}.{axis}": place[:, i] for i, axis in enumerate("xyz")}
    table = np.stack(list(columns.values()), axis=1)
    np.savetxt(HERE / "planets.csv", table, "%.12g", ",", header=",".join(columns), comments="")

    # The start of the fit: masses to three digits, velocities from differences of positions.
    total = ephemeris.GMS + sum(getattr(ephemeris, gm) for gm in INNER.values())
    model = mbs.Model()
    bodies = []
    for name, place in found.items():
        ratio = total / ephemeris.GMS if name == "sun" else getattr(ephemeris, OUTER[name]) / ephemeris.GMS
        mass = ratio if name == "sun" else float(f"{ratio:.3g}")
        velocity = (-3 * place[0] + 4 * place[1] - place[2]) / (2 * STEP)
        body = mbs.MassPoint(mass)
        bodies.append(model.add(name, body, position=place[0].round(5), velocity=velocity.round(7)))
    model.add("gravitation", mbs.AllPairsGravity(gravitational_constant=2.96e-4), on=bodies)
    settings = mbs.SimulationSettings(14610.0, method="dopri8", rtol=1e-10, atol=1e-13, save_dt=30.0)
    (HERE / "model.toml").write_text(f"{TITLE}\n\n{model_text(model, settings)}")
    print(f"GM of the Sun in DE421: {ephemeris.GMS!r} au^3/day^2, with the inner planets {total!r}")


if __name__ == "__main__":
    main()
