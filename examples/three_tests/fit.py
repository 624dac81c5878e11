"""One fit of three kinds of tests, none of which would do alone: a static one, two frequencies, and a motion.

Two masses on springs in a row: both masses, both stiffnesses and the damping are to be found. Reads loads.csv and
motion.csv, prints what each test determines by itself and what all of them do, and writes report.html.
"""

from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent
FREQUENCIES = (2.272, 4.783)  # Hz, measured to 0.01 Hz

UNKNOWNS = {
    "first.stiffness": mbs.Positive(1000.0),
    "second.stiffness": mbs.Positive(500.0),
    "inner.mass": mbs.Positive(2.5),
    "outer.mass": mbs.Positive(1.0),
    "second.damping": mbs.Positive(1.0),
}
ACTING = {"static test": 2, "modal test": 4, "motion": 5}
"""So many of the unknowns have an influence on each test."""


def two_masses() -> mbs.System:
    model = mbs.Model()
    inner = model.add("inner", mbs.Mass1D(2.0), position=1.0)
    outer = model.add("outer", mbs.Mass1D(1.0), position=2.0)
    model.add("first", mbs.SpringDamper(1.0, 1000.0), between=(model.ground, inner))
    model.add("second", mbs.SpringDamper(1.0, 500.0, 1.0), between=(inner, outer))
    model.add("load", mbs.CoordinateLoad(0.0), on=outer.coordinate(0))
    model.sense("tip", lambda t, outputs: outputs["outer.position"][0])
    return model.assemble()


def tests() -> list:
    loads = mbs.read_table(HERE / "loads.csv")
    static = mbs.StaticTest(
        {"tip": loads.column("tip")}, {"tip": mbs.Channel(noise=2e-5)}, loads={"load.load": loads.column("force")}
    )
    modal = mbs.ModalTest({"frequency": FREQUENCIES}, {"frequency": mbs.Channel(noise=0.01)}, loaded=False)
    table = mbs.read_table(HERE / "motion.csv", time="t")
    # The outer mass was pulled out by 0.1 m and let go.
    motion = mbs.Experiment(
        table.column("t"),
        {"tip": table.column("tip")},
        {"tip": mbs.Channel(noise=1e-3)},
        params={"outer.position": 2.1},
        name="motion",
    )
    return [static, modal, motion]


def fit(experiments: list) -> mbs.Fit:
    """Of the unknowns that act on the experiments."""
    acting = max(ACTING[experiment.name] for experiment in experiments)
    return mbs.identify(two_masses(), experiments, dict(list(UNKNOWNS.items())[:acting]), dt=2e-3)


if __name__ == "__main__":
    for test in tests():
        print(f"{test.name} alone: {fit([test]).identifiability}\n")
    found = fit(tests())
    print(found)
    mbs.report(found, "report.html", force=True)
