"""Makes ride.csv: a quarter car with dry friction and a bump stop on a rough road, without difmbs, by SciPy.

Body 400 kg, wheel 40 kg, tyre 180 kN/m; suspension 18 kN/m and 1200 N s/m, friction of 60 N that is smooth below
0.01 m/s, a bump stop of 150 kN/m beyond 30 mm of compression. Noise: 0.2 mm.
"""

from pathlib import Path

import numpy as np
from scipy import signal
from scipy.integrate import solve_ivp

HERE = Path(__file__).parent
BODY, WHEEL, TYRE, STIFFNESS, DAMPING = 400.0, 40.0, 180e3, 18e3, 1200.0
FRICTION, CREEP, STOP, TRAVEL = 60.0, 0.01, 150e3, 0.03


def road(rng, times):
    """Its height [m] in whole hundredths of a millimetre; flat for the first 0.2 s, with a step up after 2 s."""
    roughness = signal.lfilter(*signal.butter(2, 6.0, fs=500.0), np.cumsum(rng.normal(size=times.size)))
    rough = 6e-4 * (roughness - roughness[0]) * np.clip(times - 0.2, 0, 1)
    bump = 0.06 * np.clip((times - 2.0) / 0.05, 0, 1)
    return np.round(rough + bump, 5) + 0.0


def motion(times, height):
    """Heights [m] of body and wheel above rest on this road, straight between samples."""

    def rates(t, y):
        body, wheel, body_speed, wheel_speed = y
        x, v = body - wheel, body_speed - wheel_speed
        force = STIFFNESS * x + DAMPING * v + FRICTION * np.tanh(v / CREEP) - STOP * max(-x - TRAVEL, 0.0)
        tyre = TYRE * (wheel - np.interp(t, times, height))
        return [body_speed, wheel_speed, -force / BODY, (force - tyre) / WHEEL]

    span = (times[0], times[-1])
    found = solve_ivp(rates, span, np.zeros(4), "DOP853", times, rtol=1e-8, atol=1e-10, max_step=1e-3)
    return found.y[:2]


def record():
    rng, times = np.random.default_rng(1), np.arange(2001) / 500
    height = road(rng, times)
    body, wheel = motion(times, height)
    noise = 2e-4 * rng.normal(size=(2, times.size))
    return np.stack([times, height, body + noise[0], body - wheel + noise[1]], axis=1)


if __name__ == "__main__":
    form = ["%.3f", "%.5f", "%.5f", "%.5f"]
    np.savetxt(HERE / "ride.csv", record(), form, ",", header="t,road,height,travel", comments="")
