"""Random mechanisms against a dense solution in numpy, and against themselves. Thousands of them:
`python -m tests.random_mechanisms`."""

import json

import jax
import numpy as np
import pytest

from . import checks, plans, sweep
from .yards import Yard, draw_yard


@pytest.fixture(scope="module")
def yard() -> Yard:
    # Bodies in the plane, hinges and rods, springs: quick to compile, and the same wherever they are.
    return draw_yard(55, size=3, sets=2)


@pytest.fixture
def report():
    return checks.Report()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_forces_and_accelerations_are_those_of_the_oracle(yard, report, rng):
    checks.forces_are_those_of_the_oracle(yard, report, rng)
    assert report.failures == []
    assert report.counts["acceleration"] > 0
    assert report.counts["force"] > 0
    assert report.counts["multiplier"] > 0


def test_forces_do_not_depend_on_place_and_units(yard, report, rng):
    checks.forces_do_not_depend_on_the_place(yard, report, rng)
    checks.forces_do_not_depend_on_units(yard, report, rng)
    assert report.failures == []
    assert report.counts["turned about z"] > 0
    assert report.counts["units"] > 0


def test_forces_have_derivatives(yard, report, rng):
    checks.forces_have_derivatives(yard, report, rng)
    assert report.failures == []
    assert report.counts["derivative"] > 0
    assert report.counts["no silent zero"] > 0


@pytest.mark.slow
def test_motions_keep_energy_and_constraints_and_have_derivatives(report, rng):
    yard = draw_yard(55, size=2, sets=2)
    program = checks.forwards(yard, "RungeKutta4")
    motions = checks.motions(yard, report, program, rng)
    checks.motions_keep_constraints_and_energy(yard, report, motions)
    checks.derivatives_are_those_of_differences(yard, report, "RungeKutta4", program, motions)
    assert report.failures == []
    assert report.counts["energy"] == 2
    assert report.counts["derivative"] > 0
    assert report.counts["no silent zero"] > 0


def test_a_wrong_number_is_found(yard, report, rng, monkeypatch):
    """Masses of the model a millionth larger than those of the oracle."""
    wrong = {name: x | ({"mass": x["mass"] * (1 + 1e-6)} if "mass" in x else {}) for name, x in yard.sets[0].items()}
    honest = yard.evaluated
    other = Yard(yard.plans, yard.system, yard.sets[:1])
    monkeypatch.setattr(other, "evaluated", lambda params, t, q, v: honest(wrong, t, q, v))
    checks.forces_are_those_of_the_oracle(other, report, rng, near=0)
    assert any(sentence.startswith("acceleration") for sentence in report.failures)


def test_a_derivative_that_is_silently_zero_is_found(yard, report):
    def forwards(x, d):
        """Of a motion that is seen to depend on the parameters by its values only."""
        size = yard.system.structure
        end = np.full((1, size.coordinate_count), np.sum(x)), np.full((1, size.velocity_count), np.sum(x))
        forces = {name: np.zeros(1) for plan in yard.plans for name in plan.constraints}
        return (*end, forces), jax.tree.map(np.zeros_like, (*end, forces))

    owned = [yard.owned(plan) for plan in yard.plans]
    checks._look_for_silent_zeros(yard, report, "here", yard.flat(yard.sets[0]), owned, forwards, yard.of)
    assert len(report.failures) == report.counts["no silent zero"] > 0


def test_nan_fails_every_check(report):
    report.expect("anything", "here", np.nan, 1.0)
    assert report.failures == ["anything: here: nan > 1"]


def test_palettes_cover_all_bodies_and_connectors():
    found = {kind for seed in range(40) for kind in _kinds(plans.draw_palette(seed))}
    assert found == {*plans.VELOCITIES, *plans.DRAWN}


def _kinds(palette):
    return (*palette.bodies, *palette.constraints, *palette.forces)


def test_a_sweep_goes_on_where_it_stopped(tmp_path, capsys):
    record = tmp_path / "record.jsonl"
    known = dict(
        yard=0, counts={"models": 3}, largest={"energy": 0.5}, failures=["energy: here: 2 > 1"], topologies=["x"]
    )
    record.write_text(json.dumps(known) + "\n")
    # Nothing is left to do, and what was found before counts.
    assert sweep.sweep(0, 1, record) == 1
    total = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert total["counts"]["models"] == 3
    assert total["topologies"] == 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("number", range(8))
def test_all_that_holds(number):
    found = sweep.examined(number, size=8, sets=3, moving=4)
    assert found["failures"] == []
