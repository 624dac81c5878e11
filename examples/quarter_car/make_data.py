"""Makes ride.csv and second_ride.csv: a quarter car on two roads, without difmbs.

Body 400 kg, wheel 40 kg, suspension 18 kN/m and 1200 N s/m, tyre 180 kN/m; all of it linear, so scipy's `lsim`, which
is exact for roads that are straight between samples, gives the motion. Noise: 0.2 mm and 0.003 g.
"""

from pathlib import Path

import numpy as np
from scipy import signal

HERE = Path(__file__).parent
BODY, WHEEL, STIFFNESS, DAMPING, TYRE = 400.0, 40.0, 18e3, 1200.0, 180e3
GRAVITY = 9.80665
ZERO = 1.5
"""What the displacement sensor shows at rest [mm]."""


def road(rng, times):
    """Its height [mm] in whole hundredths, as the rig has recorded it; flat for the first 0.2 s."""
    roughness = signal.lfilter(*signal.butter(2, 12.0, fs=500.0), rng.normal(size=times.size))
    height = signal.lfilter(*signal.butter(1, 0.3, "highpass", fs=500.0), np.cumsum(roughness))
    return np.round(1.5 * height * np.clip(times - 0.2, 0, 1), 2) + 0.0


def motion(times, height):
    """Displacement [m] and acceleration [m/s^2] of the body on a road [m]."""
    forces = [[-STIFFNESS, STIFFNESS, -DAMPING, DAMPING], [STIFFNESS, -STIFFNESS - TYRE, DAMPING, -DAMPING]]
    accelerations = np.array(forces) / [[BODY], [WHEEL]]
    states = np.block([[np.zeros((2, 2)), np.eye(2)], [accelerations]])
    measured = np.stack([[1, 0, 0, 0], accelerations[0]])
    drive = np.array([[0.0], [0.0], [0.0], [TYRE / WHEEL]])
    return signal.lsim((states, drive, measured, np.zeros((2, 1))), height, times)[1].T


def record(seed):
    """Time [s], road [mm], displacement [mm] and acceleration [g], 4 s of them, with noise."""
    rng, times = np.random.default_rng(seed), np.arange(2001) / 500
    height = road(rng, times)
    displacement, acceleration = motion(times, 1e-3 * height)
    displacement = 1e3 * displacement + ZERO + 0.2 * rng.normal(size=times.size)
    return times, height, displacement, acceleration / GRAVITY + 3e-3 * rng.normal(size=times.size)


def write(name, table, header, delimiter):
    forms = ["%g", "%.2f", "%.2f", "%.4f"]
    np.savetxt(HERE / name, np.stack(table, axis=1), forms, delimiter, header=header, comments="")


if __name__ == "__main__":
    times, *measured = record(3)
    write("ride.csv", [1e3 * times, *measured], "time;road;height;acceleration\nms;mm;mm;g", ";")
    (HERE / "ride.csv").write_text((HERE / "ride.csv").read_text().replace(".", ","))
    write("second_ride.csv", record(2), "t,road,height,acceleration", ",")
