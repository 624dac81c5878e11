"""What goes wrong with constraints is said, by name, and nothing wrong is returned as right."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs


class Growing(eqx.Module):
    """A length that grows at 1 m/s."""

    length: jax.Array

    def __call__(self, t):
        return self.length + t


def stretched():
    """A mass between a fixed rod and one that grows until both are in line, 0.5 s from the start."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1.0, 0.0))
    model.add("fixed", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    growing = mbs.DistanceConstraint(Growing(jnp.asarray(1.5)))
    model.add("growing", growing, between=(model.ground.at(1.0, 1.5), bob))
    return model.assemble()


END = np.hypot(1.0, 1.5) + 1.0 - 1.5
"""When the two rods are in line."""

SOLVERS = {
    "Runge-Kutta": (mbs.RungeKutta4(), "constraint_drift|non_finite|singular"),
    "Kvaerno": (diffrax.Kvaerno3(), "newton_failed|constraint_drift|non_finite|singular"),
    "generalized-alpha": (mbs.GeneralizedAlpha(), "newton_failed|singular|non_finite"),
    "trapezoidal": (mbs.TrapezoidalIndex2(), "newton_failed|singular|non_finite|constraint_drift"),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_rods_that_are_pulled_apart_end_the_motion(name):
    solver, statuses = SOLVERS[name]
    times = np.linspace(0, 2.0, 41)
    solution = mbs.simulate(stretched(), t1=2.0, dt=1e-2, saveat=times, solver=solver, throw=False)
    assert str(solution.status) in statuses.split("|")
    assert 0.9 * END < solution.stats["time"] < END + 0.1
    # Nothing that was computed before is lost.
    assert np.all(np.isfinite(solution.q[times < 0.9 * END]))
    if solution.status == "constraint_drift":
        with pytest.raises(mbs.SimulationError, match=r"leaves the constraints.*Farthest off: '(fixed|growing)', by"):
            mbs.simulate(stretched(), t1=2.0, dt=1e-2, saveat=times, solver=solver)


class Departing(eqx.Module):
    """A length that stays for a while, and then does not."""

    length: jax.Array

    def __call__(self, t):
        return self.length + jnp.maximum(t - 0.3, 0) ** 3


def contradicting():
    """Two rods between the same points, one of which leaves the other's length after 0.3 s."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1.0, 0.0))
    model.add("fixed", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("departing", mbs.DistanceConstraint(Departing(jnp.asarray(1.0))), between=(model.ground, bob))
    return model.assemble(redundant="min_norm")


@pytest.mark.parametrize("options", [dict(dt=1e-2), dict(rtol=1e-6, atol=1e-8)], ids=["fixed", "adaptive"])
def test_redundant_constraints_that_come_to_contradict_each_other(options):
    """Half of the difference stays on each: 1e-4 m of 1 m is reached 0.06 s after 0.3 s."""
    run = dict(t1=0.6, saveat=np.linspace(0, 0.6, 61), **options)
    solution = mbs.simulate(contradicting(), throw=False, **run)
    assert solution.status == "constraint_drift"
    assert 0.3 < solution.stats["time"] < 0.45
    with pytest.raises(mbs.SimulationError, match=r"leaves the constraints.*Farthest off: '(fixed|departing)', by"):
        mbs.simulate(contradicting(), **run)


def pendulum():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    return model.assemble()


@pytest.mark.parametrize("solver", [mbs.RungeKutta4(), mbs.GeneralizedAlpha()])
def test_what_rests_does_not_drift(solver):
    """Where nothing moves, rounding is not taken for drift."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    body = model.add("body", mbs.RigidBody2D(2.0, 0.1))
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground.at(0.0, 0.3), body.at(0.0, 0.3)))
    assert mbs.simulate(model.assemble(), t1=1.0, dt=1e-2, solver=solver).status == "ok"


def test_batches_keep_their_good_members():
    system = pendulum()
    run = lambda g: mbs.simulate(
        system, t1=2.0, dt=0.05, params={"gravity": {"acceleration": g * jnp.array([0.0, -1.0, 0.0])}}, throw=False
    )
    batch = jax.vmap(run)(jnp.array([9.81, 1e5]))
    assert list(batch.status == "ok") == [True, False]
    np.testing.assert_allclose(batch.q[0], run(9.81).q, rtol=1e-12)


@pytest.mark.parametrize("what", [dict(saveat=diffrax.SaveAt(steps=True)), dict(adjoint=diffrax.DirectAdjoint())])
@pytest.mark.parametrize("solver", [None, mbs.GeneralizedAlpha()])
def test_the_loop_of_diffrax_is_refused(what, solver):
    with pytest.raises(mbs.SimulationError, match=r"diffrax' own loop, which cannot run (a system with|Generalized)"):
        mbs.simulate(pendulum(), t1=1.0, dt=0.1, solver=solver, **what)


WAYS = {
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "forward over reverse": lambda f: jax.jacfwd(jax.jacrev(f)),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f)),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f)),
}


@pytest.mark.parametrize("inside_jit", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives_of_multipliers_are_refused(way, inside_jit):
    system = pendulum()
    q, v = system.initial_state()
    force = lambda mass: mbs.Outputs(system.with_params({"bob": {"mass": mass}}), 0.0, q, v + 1.0)["rod.force"]
    with pytest.raises(TypeError, match="first derivatives only"):
        WAYS[way](jax.jit(force) if inside_jit else force)(2.0)


def test_an_overdamped_start_is_not_thrown():
    """1 kg at 1 m/s on a damper that stops it within 1e-4 s: a step of 0.01 s is off by no more than it would glide."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=1.2, velocity=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 1e3, 1e4), between=(model.ground, mass))
    system = model.assemble()
    for radius in (0.0, 0.5, 0.8, 1.0):
        solution = mbs.simulate(system, t1=0.2, dt=0.01, solver=mbs.GeneralizedAlpha(radius))
        np.testing.assert_allclose(solution.q[:, 0], 1 + 0.2 * np.exp(-0.1 * solution.t), atol=0.01)


@pytest.mark.parametrize(("times", "steps"), [([0.05, 0.5], 50), ([0.055, 0.495], 50)], ids=["on steps", "between"])
def test_steps_are_counted_with_and_without_derivatives(times, steps):
    system = pendulum()

    def count(length):
        run = mbs.simulate(system, t1=1.0, dt=1e-2, saveat=times, params={"rod": {"distance": length}})
        return run.stats["steps"]

    assert count(1.0) == steps
    assert jax.jvp(count, (1.0,), (1.0,))[0] == steps


def test_steps_of_a_failed_run_are_those_it_made():
    solution = mbs.simulate(stretched(), t1=2.0, dt=1e-2, solver=mbs.GeneralizedAlpha(), throw=False)
    assert solution.stats["steps"] == pytest.approx(100 * float(solution.stats["time"]), abs=2)


def spring_pendulum():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1.0, 0.0))
    model.add("spring", mbs.SpringDamper(1.0, 1e3), between=(model.ground, bob))
    return model.assemble()


@pytest.mark.parametrize("build", [pendulum, spring_pendulum])
def test_equations_of_implicit_steps_that_are_not_solved(build):
    system = build()
    solution = mbs.simulate(system, t1=2.0, dt=1.0, solver=diffrax.Kvaerno3(), throw=False)
    assert solution.status == "newton_failed"
    assert solution.stats["time"] < 2.0
    assert mbs.simulate(system, t1=2.0, dt=5e-3, solver=diffrax.Kvaerno3()).status == "ok"


def test_the_loop_of_diffrax_says_so_too():
    options = dict(t1=2.0, dt=1.0, solver=diffrax.Kvaerno3(), adjoint=diffrax.DirectAdjoint(), throw=False)
    assert mbs.simulate(spring_pendulum(), **options).status == "newton_failed"


@pytest.mark.parametrize("solver", [mbs.TrapezoidalIndex2(), mbs.GeneralizedAlpha()])
def test_outputs_inside_of_steps_are_on_the_constraints_too(solver):
    """Interpolated, they would be off by more than a motion may be."""
    times = np.linspace(0, 1.5, 151)
    inside = mbs.simulate(pendulum(), t1=1.5, dt=0.1, saveat=times, solver=solver)
    at_ends = mbs.simulate(pendulum(), t1=1.5, dt=0.1, saveat=times[::10], solver=solver)
    np.testing.assert_allclose(inside.q[::10], at_ends.q, atol=1e-12)
    length, speed = (np.abs(x) for x in (np.linalg.norm(inside.q, axis=1) - 1, np.sum(inside.q * inside.v, axis=1)))
    assert (speed if solver == mbs.TrapezoidalIndex2() else length).max() < 1e-4


@pytest.mark.parametrize(
    ("solver", "status"), [(diffrax.Tsit5(), "dt_min"), (mbs.GeneralizedAlpha(), "newton_failed")], ids=["RK", "alpha"]
)
def test_adaptive_steps_end_where_the_rods_are_in_line(solver, status):
    times = np.linspace(0, 2.0, 41)
    with pytest.raises(mbs.SimulationError, match=r"stopped at t = 1\.30.*'bob'") as caught:
        mbs.simulate(stretched(), t1=2.0, saveat=times, solver=solver, rtol=1e-6, atol=1e-6)
    assert caught.value.status == status
    np.testing.assert_allclose(caught.value.time, END, rtol=1e-6)
    assert np.all(np.isfinite(caught.value.solution.q[times < END]))
    assert np.all(np.isnan(caught.value.solution.q[times > END]))


def test_starts_that_cannot_be_are_refused_by_name():
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(0.6, 0.8), velocity=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("slide", mbs.CoordinateConstraint(offset=2.0), between=(model.ground, bob.coordinate(0)))
    with pytest.raises(mbs.SimulationError, match=r"at t = 0: no start near .*Farthest off: '(rod|slide)', by .* m "):
        mbs.simulate(model.assemble(), t1=0.1, dt=0.01)

    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0))
    for name, speed in (("slow", 0.5), ("fast", 0.7)):
        drive = mbs.CoordinateConstraint(1.0, speed, velocity_level=True)
        model.add(name, drive, between=(model.ground, mass.coordinate(0)))
    with pytest.raises(mbs.SimulationError, match=r"Farthest off: '(slow|fast)', by 0\.1 m/s") as caught:
        mbs.simulate(model.assemble(redundant="min_norm"), t1=0.1, dt=0.01)
    assert caught.value.status == "inconsistent_start"


@pytest.mark.parametrize(("apart", "possible"), [(1e-9, True), (1e-6, False)])
def test_starts_are_met_to_more_than_single_precision(apart, possible):
    """Two rods between the same points: in the middle each is off by half of what their lengths differ by."""
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(0.6, 0.8))
    model.add("rods", mbs.DistanceConstraint([1.0, 1.0 + apart]), between=(model.ground, bob))
    run = mbs.simulate(model.assemble(redundant="min_norm"), t1=0.1, dt=0.1, throw=False)
    assert (run.status == "inconsistent_start") != possible


def test_a_start_that_cannot_be_harms_no_other_member_of_a_batch():
    system = pendulum()
    run = lambda length: mbs.simulate(system, t1=0.1, dt=0.01, params={"rod": {"distance": length}}, throw=False)
    batch = jax.vmap(run)(jnp.array([1.0, -1.0]))
    assert list(batch.status) == ["ok", "inconsistent_start"]
    np.testing.assert_allclose(batch.q[0], run(1.0).q, rtol=1e-12)
    assert np.all(np.isnan(batch.q[1]))
