"""What objects show of themselves in a notebook: a few lines, numbers while there are few, never an address."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.core.reprs import MOST_LINES, limited

from ..zoo.models import mixture

MANY = np.linspace(0.0, 1.0, 1000)


@pytest.fixture(scope="module")
def solution():
    """Many outputs of a system with several kinds of elements."""
    return mbs.simulate(mixture(), t1=0.5, dt=0.05, saveat=np.linspace(0, 0.5, 400))


@pytest.fixture(scope="module")
def shown(solution, tmp_path_factory):
    """Of each public kind that holds numbers one with many of them, and the line that it should show."""
    folder = tmp_path_factory.mktemp("shown")
    mbs.save_result(solution, folder / "run.npz")
    (folder / "t.csv").write_text("t,x\n" + "".join(f"{t},{t}\n" for t in MANY))
    model = mbs.Model(gravity=(0, -9.81, 0))
    row = model.add("row", mbs.MassPoint(np.ones(1000)), position=np.ones((1000, 3)))
    channel = mbs.Channel("row.position.x", noise=MANY + 1)
    found = [
        (model, "Model(bodies row)"),
        (row, "BodyHandle('row', MassPoint, 1000 instances)"),
        (row[3], "BodyHandle('row', MassPoint)"),
        (model.ground.at(MANY[2:3], 1, 0), "Place('ground', at [0.002002002002002002, 1.0, 0.0])"),
        (mbs.SpringDamper(stiffness=MANY, damping=2), "SpringDamper(stiffness=array of shape (1000,), damping=2.0)"),
        (mbs.RigidBody2D(1.5, 0.2, (0.1, 0)), "RigidBody2D(mass=1.5, inertia=0.2, center_of_mass=[0.1, 0.0])"),
        (mbs.CoordinateLoad(mbs.Piecewise(MANY, MANY)), "CoordinateLoad(load=Piecewise(times=array of shape (1000,),"),
        (mbs.Piecewise([0, 1], [0, 2]), "Piecewise(times=[0.0, 1.0], values=[0.0, 2.0], smooth=False)"),
        (mbs.Event(0.5, stop=True), "Event(when=0.5, stop=True)"),
        (channel, "Channel(output='row.position.x', noise=array of shape (1000,))"),
        (mbs.Free(MANY, own=True), "Free(start=array of shape (1000,), own=True)"),
        (mbs.Interval(1.0, 0.5, 2.0), "Interval(start=1.0, lower=0.5, upper=2.0)"),
        (mbs.Fixed(MANY), "Fixed(value=array of shape (1000,))"),
        (mbs.SimulationSettings(1.0, save_times=MANY), "SimulationSettings(t_end=1.0, save_times=1000 items from "),
        (
            mbs.Experiment(MANY, {"x": MANY}, {"x": channel}, name="run", inputs={"push.load": (MANY, MANY)}),
            "Experiment('run': 1000 times from 0 to 1 s, channels x, inputs push.load)",
        ),
        (mbs.StaticTest({"x": 0.5}, validation=True), "StaticTest('static test': 1 case, channels x, only predicted)"),
        (mbs.ModalTest({"frequency": [1.0, 2.0]}), "ModalTest('modal test': 2 modes, channels frequency)"),
        (mbs.read_table(folder / "t.csv"), f"Table('{folder}/t.csv': 1000 rows; t, x)"),
        (mbs.load_result(folder / "run.npz"), "Result(status=ok, 400 times from 0 to 0.5 s; "),
        (solution, "Solution(status=ok, 400 times from 0 to 0.5 s, of System(bodies bob, row, plate; forces"),
        (solution.outputs(0), "Outputs(t=0.0, of System(bodies bob"),
    ]  # fmt: skip
    return found


def test_each_shows_itself_in_a_line(shown):
    for thing, expected in shown:
        said = repr(thing)
        assert said.startswith(expected)
        assert said == expected or expected[-1] != ")"
        assert "\n" not in said
        assert len(said) < 300


def test_no_public_class_shows_an_address():
    classes = [c for c in (getattr(mbs, name) for name in mbs.__all__) if inspect.isclass(c)]
    assert len(classes) > 50
    assert [c.__name__ for c in classes if c.__repr__ is object.__repr__] == []


def test_tables_of_results_are_cut_in_the_middle():
    assert limited("a\nb") == "a\nb"
    whole = "\n".join(str(i) for i in range(MOST_LINES))
    assert limited(whole) == whole
    cut = limited("\n".join(str(i) for i in range(100))).splitlines()
    assert len(cut) == MOST_LINES
    assert (cut[0], cut[-1]) == ("0", "99")
    (gap,) = (line for line in cut if line.startswith("..."))
    assert gap == "... 71 lines more: print it to see all of them ..."


def test_health_shows_its_table(solution):
    health = mbs.check(solution)
    assert repr(health) == str(health)


def test_matrices_are_shown_as_far_as_there_is_room():
    few, many = (np.arange(float(n * n)).reshape(n, n) for n in (2, 20))
    small = repr(mbs.Linearization(few, few, few, few))
    assert "K =\n[[0. 1.]\n [2. 3.]]" in small
    large = repr(mbs.Linearization(many, many, many, many[:0]))
    assert "K: array of shape (20, 20)\n" in large
    levels = repr(mbs.ConstraintLevels((1, 1), None, few[0], few, few[0]))
    assert "jacobian =\n[[0. 1.]\n [2. 3.]]" in levels
    jax.eval_shape(lambda x: (repr(mbs.Linearization(x, x, x, x)), x)[1], few)


def test_what_is_traced_is_shown_as_such():
    said = []

    def trace(x):
        said.append(repr(mbs.MassPoint(x)))
        return x

    jax.eval_shape(trace, jnp.ones(3))
    assert said == ["MassPoint(mass=traced float64[3])"]
