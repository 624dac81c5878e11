"""Friction in the joints of a robot arm from encoders and known torques; prints the fit and writes report.html.

base o  shoulder         arm.urdf has links and joints, and first guesses of the friction;
      \\                  swings.csv the torques of both motors and the angles of both joints.
       \\  upper
        o  elbow
        |  lower
"""

from pathlib import Path

import jax
import numpy as np

import difmbs as mbs

jax.config.update("jax_enable_x64", True)
HERE = Path(__file__).parent
AXIS = (0, 1, 0)


def arm() -> mbs.System:
    model = mbs.from_urdf(HERE / "arm.urdf", friction_velocity=0.05)
    for joint, ends in (("shoulder", (model.ground, "upper")), ("elbow", ("upper", "lower"))):
        # What the motors give is recorded, and put in here.
        torque = mbs.Piecewise((0.0, 5.0), (0.0, 0.0))
        model.add(f"{joint} motor", mbs.Actuator(torque, axis=AXIS), between=ends)
    return model.assemble()


def fit() -> mbs.Fit:
    table = mbs.read_table(HERE / "swings.csv", time="t")
    times = table.column("t")
    data = {f"{joint}.angle": table.column(joint) for joint in ("shoulder", "elbow")}
    record = mbs.Experiment(
        times,
        data,
        {name: mbs.Channel(noise=1e-3) for name in data},
        inputs={f"{j} motor.force": (times, table.column(f"{j}_torque")) for j in ("shoulder", "elbow")},
    )
    unknowns = {
        f"{joint} friction.{name}": mbs.Positive(start)
        for joint, starts in (("shoulder", (0.1, 0.5)), ("elbow", (0.1, 0.2)))
        for name, start in zip(("viscous", "coulomb"), starts, strict=True)
    }
    return mbs.identify(arm(), record, unknowns, dt=2.5e-3)


if __name__ == "__main__":
    found = fit()
    print(found)
    print("true values:", np.array([0.3, 0.8, 0.15, 0.4]))
    mbs.report(found, "report.html", force=True)
