"""Designs whose best is known: by calculus, at kinks, at bounds and limits; the best of many; what is refused."""

import functools

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..helpers.interrupts import interrupted_at

DAMPER = {"spring.damping": mbs.Interval(1.0, 0.1, 100.0)}
TIMES = np.linspace(0, 2, 101)


@functools.cache
def oscillator():
    """1 kg on a spring of 100 N/m, let go at 0.1 m; and a free mass that moves with 1 m/s."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=0.1)
    model.add("spring", mbs.SpringDamper(1.0, 100.0, 1.0), between=(model.ground.at(-1, 0, 0), mass))
    model.add("free", mbs.Mass1D(1.0), velocity=1.0)
    model.sense("x", lambda t, outputs: outputs["mass.position"][0])
    model.sense("place", lambda t, outputs: outputs["free.position"][0])
    return model.assemble()


def optimize(objective, unknowns=DAMPER, **options):
    options = {"t1": 2.0, "dt": 0.01, "saveat": TIMES, "progress": False, **options}
    return mbs.optimize(oscillator(), objective, unknowns, **options)


PLACE = {"free.position": mbs.Interval(3.0, -5.0, 5.0)}


def test_the_damper_that_brings_a_mass_to_rest_soonest():
    """The integral of x^2 over all times is least for d = sqrt(k m)."""
    design = optimize(squares, t1=5.0, saveat=np.linspace(0, 5, 501))
    assert design.status == "converged"
    assert design.values["spring.damping"] == pytest.approx(10.0, rel=1e-3)
    assert design.evaluations <= 30
    assert design.system.params()["spring"]["damping"] == pytest.approx(design.values["spring.damping"])
    again = mbs.simulate(oscillator(), t1=5.0, dt=0.01, saveat=np.linspace(0, 5, 501), params=design.params)
    assert squares(again) == pytest.approx(design.objective, rel=1e-12)


def squares(solution):
    x = solution["x"]
    return jnp.sum(0.5 * jnp.diff(solution.t) * (x[1:] ** 2 + x[:-1] ** 2))


QUANTITIES = {
    mbs.Final: lambda t, x: x[-1],
    mbs.Mean: lambda t, x: np.trapezoid(x, t) / 2,
    mbs.Integral: lambda t, x: np.trapezoid(x, t),
    mbs.MeanSquare: lambda t, x: np.trapezoid(x**2, t) / 2,
    mbs.RootMeanSquare: lambda t, x: np.sqrt(np.trapezoid(x**2, t) / 2),
    mbs.Maximum: lambda t, x: x.max(),
    mbs.LargestSize: lambda t, x: np.abs(x).max(),
    mbs.SmoothMaximum: lambda t, x: 0.01 * np.log(np.sum(np.exp(x / 0.01))),
}


@pytest.mark.parametrize("weight", [1.0, -2.0])
@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda q: q.__name__)
def test_quantities(quantity, weight):
    solution = mbs.simulate(oscillator(), t1=2.0, dt=0.01, saveat=TIMES)
    for output, component in (("mass.position", 0), ("x", None), ("mass.velocity.x", None)):
        found = jnp.max(quantity(output, component, weight=weight).read(solution, joined=True))
        numbers = np.asarray(solution["mass.velocity" if "velocity" in output else "mass.position"])[:, 0]
        assert found == pytest.approx(weight * QUANTITIES[quantity](TIMES, numbers), rel=1e-12)


@functools.cache
def two_flying():
    model = mbs.Model()
    model.add("two", mbs.MassPoint(mass=1.0), position=[[3, 2, 1], [-1, 0, 4]], velocity=[[1, 0, -2], [0, 1, 0]])
    return mbs.simulate(model.assemble(), t1=2.0, dt=0.5, saveat=TIMES[::25])


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda q: q.__name__)
def test_of_an_output_with_many_entries_a_limit_sees_each(quantity):
    """The places of two bodies, with three entries each; as an objective a largest value is that of both bodies."""
    solution = two_flying()
    system = solution.system
    places = np.asarray(solution["two.position"]).reshape(5, 6)
    rows = quantity("two.position").read(solution, joined=False)
    names = quantity("two.position").names(system)
    if quantity in (mbs.MeanSquare, mbs.RootMeanSquare):
        square = np.trapezoid(np.sum(places**2, axis=1), TIMES[::25]) / 2
        assert rows.item() == pytest.approx(square if quantity is mbs.MeanSquare else np.sqrt(square))
        assert names == [f"{quantity.__name__}(two.position)"]
        return
    each = [QUANTITIES[quantity](TIMES[::25], column) for column in places.T]
    np.testing.assert_allclose(jnp.max(rows, axis=1), each, rtol=1e-12)
    assert names == [f"{quantity.__name__}(two.position[{i}].{c})" for i in (0, 1) for c in "xyz"]
    picked = quantity("two.position", (1, 2))
    np.testing.assert_allclose(jnp.max(picked.read(solution, joined=False)), each[5], rtol=1e-12)
    assert picked.names(system) == names[5:]
    largest = (mbs.Maximum, mbs.LargestSize, mbs.SmoothMaximum)
    below = quantity("two.position.z", weight=-1.0).read(solution, joined=True)
    assert below.shape == ((1, 1) if quantity in largest else (2, 1))
    if quantity in largest:
        assert below.item() == pytest.approx(-QUANTITIES[quantity](TIMES, np.ravel(places[:, [2, 5]])), rel=1e-12)


def test_an_optimum_at_a_kink():
    """x0 + t between 0 and 2 s is largest in size at both ends for x0 = -1."""
    design = optimize(mbs.LargestSize("place"), PLACE)
    assert design.status == "converged"
    assert design.values["free.position"] == pytest.approx(-1.0, abs=1e-8)
    assert design.objective == pytest.approx(1.0, abs=1e-8)


def test_the_sum_of_two_kinks():
    """max(|x0 + t|) + 3 |x(0) - 1| is least where the second one is zero."""
    near = mbs.LargestSize("place")
    far = lambda solution: 3 * (solution["place"][0] - 1) ** 2
    design = optimize([near, far], PLACE)
    # |x0 + 2| + 3 (x0 - 1)^2 has slope 0 at 1 - 1/6.
    assert design.values["free.position"] == pytest.approx(1 - 1 / 6, abs=1e-6)
    assert len(design.objectives) == 2
    assert design.objective == pytest.approx(sum(design.objectives.values()))


def test_the_largest_is_made_large_with_a_negative_weight():
    design = optimize(mbs.Maximum("place", weight=-1.0), PLACE)
    assert design.values["free.position"] == pytest.approx(5.0)
    assert design.objective == pytest.approx(-7.0)
    assert "(at the bound)" in str(design)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (mbs.Limit(mbs.Maximum("place"), upper=4.0), 2.0),
        (mbs.Limit(mbs.Maximum("place"), upper=4.0, lower=3.0), 2.0),
        (mbs.Limit(lambda solution: solution["place"][0] ** 2, upper=1.0), 1.0),
        (mbs.Limit(lambda solution: solution["place"][0] ** 2 - 1, upper=0.0), 1.0),
    ],
    ids=["upper", "both", "function", "zero"],
)
def test_limits_hold(limit, expected):
    design = optimize(mbs.Final("place", weight=-1.0), PLACE, limits=[limit])
    assert design.status == "converged"
    assert design.values["free.position"] == pytest.approx(expected, abs=1e-6)
    assert design.limits[0] == pytest.approx(limit.upper, abs=1e-6)
    assert f"at most {limit.upper:g}" in str(design)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_limits_of_any_size_hold(size):
    """x0 at most 1, of a start at 3: no violation of a tiny bound is rounding, rounding of a huge one is none."""
    of = lambda solution: size * solution["place"][0]
    more = lambda solution: size * (solution["place"][0] - 1)
    for limit in (mbs.Limit(of, upper=size), mbs.Limit(more, upper=0.0)):
        design = optimize(mbs.Final("place", weight=-1.0), PLACE, limits=[limit])
        assert design.values["free.position"] == pytest.approx(1.0, abs=1e-6)
        assert design.met == (True,)
        assert "does not meet" not in str(design)
    both = [mbs.Limit(of, upper=size), mbs.Limit(of, lower=2 * size)]
    design = optimize(mbs.Final("place"), PLACE, limits=both, max_iterations=5)
    assert not all(design.met)
    assert "does not meet" in str(design)


def test_lower_limits_hold():
    design = optimize(mbs.Final("place"), PLACE, limits=[mbs.Limit(mbs.Maximum("place"), lower=1.5)])
    assert design.values["free.position"] == pytest.approx(-0.5, abs=1e-6)
    assert "at least 1.5" in str(design)


def test_limits_on_vectors_hold_for_each_entry():
    """Of a body that moves along x, y and z are 0: at least -1 holds for x too, at least 0.5 for none of them."""
    lower = mbs.Limit(mbs.Final("free.position"), lower=-1.0)
    design = optimize(mbs.Final("place"), PLACE, limits=[lower])
    assert design.values["free.position"] == pytest.approx(-3.0, abs=1e-6)
    assert (design.limits[0], design.met) == (pytest.approx(-1.0, abs=1e-6), (True,))
    assert "Final(free.position.x): -1 (at least -1)" in str(design)
    never = mbs.Limit(mbs.Final("free.position"), lower=0.5, upper=5.0)
    design = optimize(mbs.Final("place", weight=-1.0), PLACE, limits=[never], max_iterations=3)
    assert (design.limits, design.met) == ((0.0,), (False,))
    assert design.limited[0] in ("Final(free.position.y)", "Final(free.position.z)")
    assert "0 (at least 0.5 and at most 5, which it does not meet)" in str(design)


@pytest.mark.parametrize("kind", [mbs.Final, mbs.Maximum])
def test_lower_limits_hold_for_entries_behind_the_first(kind):
    """A free mass moves along y from -2 m on, at 1 m/s for 2 s; along x and z it rests at 0."""
    model = mbs.Model()
    model.add("free", mbs.MassPoint(1.0), position=(0, -2, 0), velocity=(0, 1, 0))
    limit, unknown = mbs.Limit(kind("free.position"), lower=-1.0), {"free.position[1]": mbs.Interval(-2.0, -9.0, 0.0)}
    options = dict(t1=2.0, dt=0.1, limits=[limit], progress=False)
    design = mbs.optimize(model.assemble(), mbs.Final("free.position.y"), unknown, **options)
    assert design.values["free.position[1]"] == pytest.approx(-3.0, abs=1e-6)


def test_an_objective_that_is_zero_at_the_start():
    """x0 + t is 0 after 2 s for x0 = -2, but for rounding; x0 + 2 is exactly 0."""
    for objective in (mbs.Final("place"), lambda solution: solution["place"][0] + 2):
        design = optimize(objective, {"free.position": mbs.Interval(-2.0, -5.0, 5.0)})
        assert design.status == "converged"
        assert design.values["free.position"] == pytest.approx(-5.0)


def wavy(solution):
    """Many local minima; the least of them, of all in the range, is at 1.5 + pi / 10."""
    x = solution["place"][0] - 1.5
    return jnp.sin(5 * x - jnp.pi) + 0.1 * (x - jnp.pi / 10) ** 2


def test_several_starts_find_the_best_of_many_optima():
    assert optimize(wavy, PLACE).values["free.position"] > 2.5
    design = optimize(wavy, PLACE, starts=60, seed=1)
    assert design.values["free.position"] == pytest.approx(1.5 + np.pi / 10, abs=1e-5)


def only_left(solution):
    """Not a number on the right, as where a simulation fails."""
    x = solution["place"][0]
    return jnp.where(x < 0, (x + 1) ** 2, jnp.nan)


def test_starts_that_cannot_be_simulated_are_left_out():
    design = optimize(only_left, PLACE, starts=4, seed=1)
    assert design.values["free.position"] == pytest.approx(-1.0, abs=1e-6)
    with pytest.raises(mbs.SimulationError, match="none of the 3 starts could be simulated"):
        optimize(only_left, {"free.position": mbs.Interval(3.0, 1.0, 5.0)}, starts=3)


def test_the_status_is_that_of_the_search_that_found_the_best(monkeypatch):
    from difmbs.design.optimize import DesignSearch

    ends = {"converged": 3.0, "stalled": 1.0, "max_iterations": 2.0}

    def ended(self, z):
        status, objective = next(pair for pair in ends.items() if pair[1] == z[0])
        if self.best is None or objective < self.best[1]:
            self.best = (0.0, objective, z)
        return status

    monkeypatch.setattr(DesignSearch, "_starts", lambda *_: [np.array([x]) for x in ends.values()])
    monkeypatch.setattr(DesignSearch, "_from", ended)
    assert optimize(mbs.Final("place"), PLACE).status == "stalled"


def test_ties_fixed_values_and_shared_unknowns():
    tied = {
        "free.position": mbs.Interval(3.0, -5.0, 5.0),
        "mass.position": mbs.Tied("free.position", factor=2.0, offset=0.5),
        "spring.stiffness": mbs.Fixed(0.0),
        "spring.damping": mbs.Fixed(0.0),
    }
    # The mass rests where it is put: 2 x0 + 0.5; the other one is at x0 + 2 in the end.
    difference = lambda solution: (solution["x"][-1] - solution["place"][-1]) ** 2
    design = optimize(difference, tied)
    assert design.values == pytest.approx({"free.position": 1.5}, abs=1e-5)
    assert design.params["mass"]["position"] == pytest.approx(3.5, abs=1e-5)


def test_an_interrupted_search_goes_on_to_the_same_result(tmp_path):
    objective = mbs.MeanSquare("x")
    whole = optimize(objective, folder=tmp_path / "whole")
    part = optimize(objective, folder=tmp_path / "part", progress=interrupted_at(3))
    assert part.status == "interrupted"
    assert part.evaluations < whole.evaluations
    again = optimize(objective, folder=tmp_path / "part", resume=True)
    assert np.array_equal(whole.numbers, again.numbers)
    assert again.evaluations == whole.evaluations
    with pytest.raises(mbs.FileError, match="belongs to another task"):
        optimize(mbs.MeanSquare("mass.velocity"), folder=tmp_path / "part", resume=True)
    with pytest.raises(mbs.FileError, match="nothing to resume"):
        optimize(objective, folder=tmp_path / "none", resume=True)
    with pytest.raises(mbs.FileError, match="needs the folder"):
        optimize(objective, resume=True)


def scaled(factor):
    return lambda solution: factor * solution["x"][-1]


def test_tasks_that_differ_in_anything_are_told_apart():
    from difmbs.design.evaluation_log import fingerprint_of_design
    from difmbs.design.optimize import set_up_design

    def of(objective, saveat=TIMES, unknowns=DAMPER):
        options = dict(t0=0.0, t1=2.0, dt=0.01, solver=None, saveat=saveat, rtol=1e-8, atol=1e-10, max_steps=4096)
        search = set_up_design(oscillator(), objective, unknowns, [mbs.Limit(objective, upper=1.0)], **options)
        return fingerprint_of_design(search.task, search.unknowns)

    quantities = [mbs.SmoothMaximum("x"), mbs.SmoothMaximum("x", width=0.02), mbs.Final("x", weight=1 + 1e-9)]
    # The same name, other code, constants, names or closures.
    functions = [scaled(1.0), scaled(2.0), scaled(np.ones(2000)), scaled(np.linspace(0, 1, 2000))]
    functions += [lambda s: s["x"][0], lambda s: s["x"][1], lambda s: jnp.sin(s["x"][0]), lambda s: jnp.cos(s["x"][0])]
    found = [of(quantity) for quantity in (mbs.Final("x"), *quantities, *functions)]
    found += [of(mbs.Final("x"), times) for times in (TIMES**2 / 2, TIMES[1:])]
    ranges = [(1.5, 0.1, 100.0), (1.0, 0.2, 100.0), (1.0, 0.1, 200.0)]
    found += [of(mbs.Final("x"), unknowns={"spring.damping": mbs.Interval(*x)}) for x in ranges]
    assert len(set(found)) == len(found)
    assert of(scaled(2.0)) == of(scaled(2.0))


def broken(solution):
    raise ValueError("no")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(objective=3), r"objective must be a quantity such as mbs\.LargestSize"),
        (dict(objective=mbs.Maximum), r"objective must be a quantity such as"),
        (dict(objective=mbs.Maximum("mas.position")), r"no sensor or element 'mas'. Did you mean 'mass'"),
        (dict(objective=mbs.Maximum("mass.position", 4)), r"'mass.position' has no component 4; its shape is \(3,\)"),
        (dict(objective=mbs.Maximum("x", 0)), r"'x' has no component 0; its shape is \(\)"),
        (
            dict(objective=mbs.Final("mass.position")),
            r"Final\(mass.position\) would be 3 numbers, but an objective is one. Choose one of them: "
            r"'mass.position.x', 'mass.position.y' or 'mass.position.z'. MeanSquare",
        ),
        (dict(objective=[mbs.Final("x"), mbs.LargestSize("mass.velocity")]), r"LargestSize\(mass.velocity\) would be"),
        (dict(limits=[mbs.Limit(mbs.Final("mass.position", 3), upper=1.0)]), r"'mass.position' has no component 3"),
        (dict(objective=mbs.Maximum("x", weight=0.0)), r"Maximum\(x\): weight must be a finite number"),
        (dict(objective=mbs.SmoothMaximum("x", width=0.0)), r"SmoothMaximum\(x\): width must be > 0"),
        (dict(objective=broken), r"broken, a function of the solution, fails: ValueError: no"),
        (dict(objective=lambda s: s["x"]), r"must return one number"),
        (dict(limits=[3]), r"limits must be a list of mbs\.Limit"),
        (dict(limits=[mbs.Limit(3, upper=1.0)]), r"a limit must be a quantity"),
        (dict(unknowns={"spring.dampin": mbs.Positive(1.0)}), r"Did you mean 'spring.damping'"),
        (dict(unknowns={}), r"unknown"),
        (dict(starts=0), r"starts"),
        (dict(tolerance=0.0), r"tolerance must be > 0, got 0.0"),
        (dict(unknowns={"spring.damping": mbs.Positive(1.0, prior=(1.0, 1.0))}), r"'spring.damping': a prior counts"),
        (dict(unknowns={"spring.damping": mbs.Positive(1.0, own=True)}), r"'spring.damping': own=True is for exp"),
        (dict(dt=-1.0), r"dt = -1.0 must be > 0"),
        (dict(t1=0.0, saveat=None), r"t1"),
        (dict(saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES))), "at given times: pass them as saveat, for example"),
        (dict(saveat=diffrax.SaveAt(steps=True)), "instead of a diffrax.SaveAt"),
        (dict(saveat="all"), "saveat must be a list of times"),
        (dict(saveat=[0.0, 3.0]), "saveat reaches from 0.0 to 3.0, outside of"),
    ],
)
def test_wrong_tasks_are_refused(change, message):
    with pytest.raises((mbs.ParameterError, mbs.SimulationError), match=message):
        optimize(**{"objective": mbs.MeanSquare("x"), **change})


def test_of_many_instances_one_is_chosen_unless_the_largest_counts():
    from difmbs.design.objectives import check_objective

    model = mbs.Model()
    beads = model.add("beads", mbs.RigidBody(mass=[1.0, 1.0], inertia=np.eye(3)))
    model.sense("places", mbs.Position(beads))
    model.add("links", mbs.SpringDamper(1.0), between=(model.ground.at(1, 0, 0), beads))
    system = model.assemble()
    check = lambda quantity: check_objective(quantity, system)
    for sound in (
        *(mbs.Maximum("links.force_local"), mbs.LargestSize("places.x"), mbs.SmoothMaximum("beads.position.y")),
        *(mbs.Final("links.force_local", 1), mbs.Mean("beads.rotation", (0, 1, 1)), mbs.MeanSquare("beads.rotation")),
    ):
        check(sound)
    for wrong, message in (
        (mbs.Final("links.force_local"), r"would be 2 numbers, .* Choose one of them with component, for example 0\."),
        (mbs.Integral("places"), r"would be 6 numbers, .* 'places.x', 'places.y' or 'places.z', and the instance with"),
        (mbs.Maximum("places"), r"would be 6 numbers"),
        (mbs.Maximum("beads.rotation", 0), r"would be 9 numbers, .* with component, for example \(0, 0, 0\)"),
    ):
        with pytest.raises(mbs.ParameterError, match=message):
            check(wrong)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mbs.Limit(mbs.Final("x")), r"Limit\(Final\(x\)\) needs upper=, lower= or both"),
        (lambda: mbs.Limit(mbs.Final("x"), upper=1.0, lower=2.0), r"lower = 2.0 is above upper = 1.0"),
    ],
)
def test_wrong_limits_are_refused(make, message):
    with pytest.raises(mbs.ParameterError, match=message):
        make()


def test_a_start_that_cannot_be_simulated_is_named():
    message = "the motion of the start cannot be simulated to its end: it stopped at t = .*: the forces are not finite"
    with pytest.raises(mbs.SimulationError, match=message):
        optimize(mbs.MeanSquare("x"), {"spring.stiffness": mbs.Interval(1e14, 1.0, 1e15)})
    with pytest.raises(mbs.SimulationError, match="has an objective or a limit that is not a finite number"):
        optimize(only_left, PLACE)


def test_the_error_of_the_time_steps_is_looked_at():
    """Steps of a third of the period are too long, of a sixtieth not; a solver's own are as its tolerances say."""
    search = functools.partial(optimize, mbs.RootMeanSquare("x"), {"spring.damping": mbs.Interval(1.0, 0.1, 2.0)})
    coarse, fine = (search(dt=dt, saveat=TIMES[::10]) for dt in (0.2, 0.01))
    there = mbs.simulate(oscillator(), t1=2.0, dt=0.1, saveat=TIMES[::10], params=coarse.params)
    changed = float(QUANTITIES[mbs.RootMeanSquare](TIMES[::10], np.asarray(there["x"])))
    assert coarse.step_error == pytest.approx(abs(changed - coarse.objective) / coarse.history[0].value)
    assert "with dt = 0.1 s instead of dt = 0.2 s objective or limits change by 37 %" in repr(coarse)
    assert 0 < fine.step_error < 1e-5
    assert "too long" not in repr(fine)
    # It is the limit that changes here.
    limits = [mbs.Limit(mbs.Final("x"), upper=0.2)]
    limited = optimize(mbs.Final("place"), PLACE, dt=0.2, saveat=TIMES[::10], limits=limits)
    assert limited.step_error > 0.05
    assert search(dt=None).step_error == 0


def test_an_objective_that_is_zero_at_start_and_optimum():
    model = mbs.Model()
    model.add("body", mbs.Mass1D(1.0))
    wanted = {"body.position": mbs.Interval(0.0, 0.0, 1.0)}
    found = mbs.optimize(model.assemble(), mbs.Final("body.position.x"), wanted, t1=0.1, dt=0.01)
    assert found.objective == 0
    assert found.step_error == 0
