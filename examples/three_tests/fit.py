"""One fit of three kinds of tests, none of which would do alone: a static one, two frequencies, and a motion.

A beam of two masses on springs: stiffness of both springs, damping, and the outer mass. Reads loads.csv and motion.csv,
prints what each test determines by itself and what all of them do, and writes report.html.
"""

from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent
FREQUENCIES = (2.2701, 4.7866)  # Hz, measured to 0.01 Hz


def beam() -> mbs.System:
    model = mbs.Model()
    inner = model.add("inner", mbs.Mass1D(2.0), position=1.0)
    outer = model.add("outer", mbs.Mass1D(1.0), position=2.0)
    model.add("first", mbs.SpringDamper(1.0, 1000.0, 4.0), between=(model.ground, inner))
    model.add("second", mbs.SpringDamper(1.0, 500.0, 1.0), between=(inner, outer))
    model.add("load", mbs.CoordinateLoad(0.0), on=outer.coordinate(0))
    model.sense("tip", lambda t, outputs: outputs["outer.position"][0])
    return model.assemble()


UNKNOWNS = {
    "first.stiffness": mbs.Positive(1000.0),
    "second.stiffness": mbs.Positive(500.0),
    "second.damping": mbs.Positive(1.0),
    "outer.mass": mbs.Positive(1.0),
}


def tests() -> list:
    loads = mbs.read_table(HERE / "loads.csv")
    static = mbs.StaticTest(
        {"tip": loads.column("tip")}, {"tip": mbs.Channel(noise=1e-4)}, loads={"load.load": loads.column("force")}
    )
    modal = mbs.ModalTest({"frequency": FREQUENCIES}, {"frequency": mbs.Channel(noise=0.01)}, loaded=False)
    motion = mbs.read_table(HERE / "motion.csv", time="t")
    record = mbs.Experiment(
        motion.column("t"),
        {"tip": motion.column("tip")},
        {"tip": mbs.Channel(noise=5e-3)},
        params={"outer.position": 2.1},
        name="motion",
    )
    return [static, modal, record]


def fit() -> mbs.Fit:
    return mbs.identify(beam(), tests(), UNKNOWNS, dt=2e-3)


if __name__ == "__main__":
    static, modal, _ = tests()
    for test, names in ((static, ["first.stiffness", "second.stiffness"]), (modal, [n for n in UNKNOWNS if "damp" not in n])):
        alone = mbs.identify(beam(), test, {name: UNKNOWNS[name] for name in names})
        print(f"{test.name} alone: {alone.identifiability}\n")
    found = fit()
    print(found)
    mbs.report(found, "report.html", force=True)
