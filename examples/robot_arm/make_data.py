"""Makes swings.csv: a two-link arm, driven by known torques, with friction in its joints; by SciPy, without difmbs.

Viscous 0.3 and 0.15 N m s/rad, dry 0.8 and 0.4 N m, smooth below 0.05 rad/s. Noise of the encoders: 1 mrad.
"""

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

VISCOUS, DRY, CREEP = np.array([0.3, 0.15]), np.array([0.8, 0.4]), 0.05
MASS, CENTER, INERTIA, SIZE = np.array([3.0, 1.5]), np.array([0.2, 0.15]), np.array([0.05, 0.02]), 0.4


def torques(t):
    return np.array([4.0 * np.sin(3.0 * t) + 2.0 * np.sin(7.1 * t), 1.5 * np.sin(4.3 * t + 1.0)])


def accelerations(angles, rates, driven):
    """Of both joints: angles from hanging down, the second one relative to the first."""
    (m1, m2), (c1, c2), (j1, j2) = MASS, CENTER, INERTIA
    cosine, sine = np.cos(angles[1]), np.sin(angles[1])
    own, coupling = j2 + m2 * c2**2, m2 * SIZE * c2
    inertia = np.array(
        [
            [j1 + m1 * c1**2 + m2 * SIZE**2 + own + 2 * coupling * cosine, own + coupling * cosine],
            [own + coupling * cosine, own],
        ]
    )
    swirl = coupling * sine * np.array([-(2 * rates[0] + rates[1]) * rates[1], rates[0] ** 2])
    lower = m2 * c2 * 9.81 * np.sin(angles[0] + angles[1])
    weight = np.array([(m1 * c1 + m2 * SIZE) * 9.81 * np.sin(angles[0]) + lower, lower])
    friction = VISCOUS * rates + DRY * np.tanh(rates / CREEP)
    return np.linalg.solve(inertia, driven - swirl - weight - friction)


def record():
    times = np.arange(1001) / 200
    rates = lambda t, y: np.append(y[2:], accelerations(y[:2], y[2:], torques(t)))
    y = solve_ivp(rates, (0, 5), np.zeros(4), "DOP853", times, rtol=1e-9, atol=1e-11, max_step=2e-3).y
    noise = 1e-3 * np.random.default_rng(0).normal(size=(2, times.size))
    return np.stack([times, *torques(times), *(y[:2] + noise)], axis=1)


if __name__ == "__main__":
    path = Path(__file__).with_name("swings.csv")
    header = "t,shoulder_torque,elbow_torque,shoulder,elbow"
    np.savetxt(path, record(), ["%.3f", "%.5f", "%.5f", "%.4f", "%.4f"], ",", header=header, comments="")
