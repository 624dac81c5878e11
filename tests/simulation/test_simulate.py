"""Time integration: outputs, order, all derivatives of the same call, early stops."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
import pytest

import difmbs as mbs
from difmbs.simulation.fixed_steps import FixedSteps
from difmbs.simulation.simulate import _simulate
from difmbs.solvers.solver_steps import plain_step_of


def chain(n=3, **spring):
    """n masses hanging from ground in a row of springs, all under one name."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    position = np.zeros((n, 3))
    position[:, 0] = 0.1 * np.arange(1, n + 1)
    masses = model.add("mass", mbs.MassPoint(mass=np.full(n, 0.3)), position=position)
    law = mbs.SpringDamper(0.1, np.full(n, 50.0), np.full(n, 0.1), **spring)
    model.add("spring", law, between=([model.ground, masses[:-1]], masses))
    model.sense("tip", mbs.Position(masses[n - 1]))
    return model.assemble()


SYSTEM = chain()
THETA = {"spring": {"stiffness": jnp.full(3, 50.0), "damping": jnp.full(3, 0.1)}, "mass": {"mass": jnp.full(3, 0.3)}}
RUNS = {
    "fixed": dict(dt=5e-3),
    "fixed, outputs between steps": dict(dt=4.9e-3, saveat=[0.0, 0.1234, 0.3, 0.3001, 0.3002, 0.5]),
    "adaptive": dict(saveat=np.linspace(0, 0.5, 7)),
    "adaptive, many outputs in a step": dict(rtol=1e-5, saveat=np.linspace(0, 0.5, 200)),
    "Dopri8": dict(solver=diffrax.Dopri8(), saveat=[0.25, 0.5]),
    "Kvaerno5": dict(solver=diffrax.Kvaerno5(), saveat=[0.25, 0.5], rtol=1e-6, atol=1e-8),
    "Kvaerno3, fixed": dict(solver=diffrax.Kvaerno3(), dt=1e-2, saveat=[0.25, 0.5]),
    "Euler, fixed": dict(solver=diffrax.Euler(), dt=5e-3, saveat=[0.25, 0.4]),
    "ImplicitEuler": dict(solver=diffrax.ImplicitEuler(), rtol=1e-4, atol=1e-5, saveat=[0.25, 0.5]),
}


def misfit(theta, **run):
    solution = mbs.simulate(SYSTEM, t1=0.5, params=theta, **run)
    return jnp.sum(solution["tip"] ** 2) + jnp.sum(solution["spring.force_local"] ** 2)


def assert_close(a, b, tolerance):
    a, b = (np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)]) for tree in (a, b))
    assert np.all(np.isfinite(a))
    assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize("run", RUNS)
def test_gradients_forwards_backwards_and_by_differences(run):
    options = RUNS[run]
    loss = jax.jit(lambda theta: misfit(theta, **options))
    backwards = jax.jit(jax.grad(loss))(THETA)
    assert_close(jax.jacfwd(loss)(THETA), backwards, 1e-12)
    if "fixed" in run:
        flat, unravel = jax.flatten_util.ravel_pytree(THETA)
        h = 1e-5 * np.maximum(1, np.abs(flat))
        along = lambda x: float(loss(unravel(jnp.asarray(x))))
        quotient = [(along(flat + h[i] * e) - along(flat - h[i] * e)) / (2 * h[i]) for i, e in enumerate(np.eye(9))]
        assert_close(quotient, jax.flatten_util.ravel_pytree(backwards)[0], 1e-7)


def test_every_transformation_applies_to_the_same_call():
    loss = lambda theta: misfit(theta, saveat=[0.2, 0.5])
    expected = jax.grad(loss)(THETA)
    assert_close(jax.jit(jax.grad(loss))(THETA), expected, 1e-12)
    value, tangent = jax.jvp(loss, (THETA,), (jax.tree.map(jnp.ones_like, THETA),))
    assert_close(tangent, sum(jnp.sum(x) for x in jax.tree.leaves(expected)), 1e-12)
    assert_close(value, loss(THETA), 1e-12)
    batch = jax.tree.map(lambda x: jnp.stack([x, 1.1 * x, 0.9 * x]), THETA)
    gradients = jax.vmap(jax.grad(loss))(batch)
    assert_close(jax.tree.map(lambda x: x[0], gradients), expected, 1e-10)
    one = jax.grad(loss)(jax.tree.map(lambda x: 1.1 * x, THETA))
    assert_close(jax.tree.map(lambda x: x[1], gradients), one, 1e-10)
    assert_close(jax.jacrev(loss)(THETA), expected, 1e-12)


def test_gradient_of_the_initial_state_and_of_gravity():
    theta = {
        "mass": {"position": SYSTEM.params()["mass"]["position"]},
        "gravity": {"acceleration": jnp.array([0, -9.81, 0.0])},
    }
    loss = lambda theta: misfit(theta, dt=5e-3)
    backwards = jax.grad(loss)(theta)
    assert_close(jax.jacfwd(loss)(theta), backwards, 1e-12)
    step = jax.tree.map(lambda x: 1e-6 * jnp.ones_like(x), theta)
    up, down = (loss(jax.tree.map(lambda x, h, s=s: x + s * h, theta, step)) for s in (1, -1))
    assert_close((up - down) / 2e-6, sum(jnp.sum(x) for x in jax.tree.leaves(backwards)), 1e-7)


@pytest.mark.parametrize("run", ["fixed, outputs between steps", "adaptive, many outputs in a step"])
def test_the_value_does_not_depend_on_being_differentiated(run):
    options = RUNS[run]
    value, _ = jax.value_and_grad(lambda theta: misfit(theta, **options))(THETA)
    assert_close(value, misfit(THETA, **options), 1e-12)


@pytest.mark.parametrize("adjoint", [diffrax.RecursiveCheckpointAdjoint(), diffrax.DirectAdjoint()])
def test_diffrax_adjoints_give_the_same_gradient(adjoint):
    options = dict(saveat=[0.25, 0.5], rtol=1e-9, atol=1e-11)
    ours = jax.grad(lambda theta: misfit(theta, **options))(THETA)
    theirs = jax.grad(lambda theta: misfit(theta, adjoint=adjoint, **options))(THETA)
    assert_close(theirs, ours, 1e-6)


def test_second_derivatives_are_refused_with_a_sentence():
    with pytest.raises(TypeError, match="first derivatives only"):
        jax.hessian(lambda k: misfit({"spring": {"stiffness": k * jnp.ones(3)}}, dt=1e-2))(jnp.asarray(50.0))


def test_derivatives_with_respect_to_the_solver_are_refused_instead_of_zero():
    def end(tolerance):
        solver = diffrax.Kvaerno3(root_finder=optimistix.Newton(rtol=tolerance, atol=1e-8))
        return mbs.simulate(SYSTEM, t1=0.1, dt=5e-2, solver=solver, saveat=[0.1]).q[0, 0]

    with pytest.raises(TypeError, match="with respect to its start time or numbers of its solver"):
        jax.grad(end)(1e-6)


def test_a_root_finder_with_tolerances_of_its_own_keeps_them():
    def end(**own):
        solver = diffrax.Kvaerno3(**own)
        return mbs.simulate(SYSTEM, t1=0.1, dt=5e-2, solver=solver, rtol=1e-6, saveat=[0.1]).q[0]

    same = end(root_finder=diffrax.VeryChord(rtol=1e-7, atol=1e-7))
    np.testing.assert_array_equal(end(), same)
    loose = end(root_finder=diffrax.VeryChord(rtol=1e-1, atol=1e-1))
    assert 1e-6 < np.abs(loose - same).max() < 1e-3


@pytest.mark.parametrize("solver", [diffrax.Kvaerno3(), diffrax.Kvaerno5(), diffrax.ImplicitEuler()])
def test_implicit_steps_are_iterated_as_long_as_they_converge(solver):
    """With dampers that hardly let the masses fall, for which explicit methods need 8000 steps."""
    stiff = {"spring": {"damping": jnp.full(3, 1e3)}}
    run = mbs.simulate(SYSTEM, t1=1.0, solver=solver, rtol=1e-3, atol=1e-4, saveat=[1.0], params=stiff)
    assert run.stats["steps"] + run.stats["rejected"] <= 600


@pytest.mark.parametrize("options", [dict(dt=1e-2), dict(rtol=1e-6, atol=1e-8)])
def test_implicit_methods_give_the_same_in_the_loop_of_diffrax(options):
    options = dict(solver=diffrax.Kvaerno3(), saveat=[0.1], t1=0.1, **options)
    theirs = mbs.simulate(SYSTEM, adjoint=diffrax.RecursiveCheckpointAdjoint(), **options)
    np.testing.assert_allclose(theirs.q, mbs.simulate(SYSTEM, **options).q, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("solver", "order"),
    [
        (mbs.RungeKutta4(), 4),
        (diffrax.Heun(), 2),
        (diffrax.Tsit5(), 5),
        (diffrax.Euler(), 1),
        (diffrax.ImplicitEuler(), 1),
    ],
)
def test_order_of_convergence(solver, order):
    exact = mbs.simulate(SYSTEM, t1=0.4, dt=2.5e-4, solver=diffrax.Dopri8(), saveat=[0.4]).v[0]
    sizes = 0.4 / np.array([50, 75, 110, 165])
    errors = [np.abs(mbs.simulate(SYSTEM, t1=0.4, dt=h, solver=solver, saveat=[0.4]).v[0] - exact).max() for h in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert abs(slope - order) <= 0.2


def test_without_tolerances_seven_digits_are_right():
    """Three periods of an oscillator, whose closed form is known."""
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=1.0)
    model.add("spring", mbs.SpringDamper(0.0, 100.0), between=(model.ground.at(0, 0, 0), mass))
    solution = mbs.simulate(model.assemble(), t1=2.0)
    assert np.abs(solution.q[:, 0] - np.cos(10 * solution.t)).max() <= 1e-7


def test_outputs_lie_where_they_were_asked_for():
    fine = mbs.simulate(SYSTEM, t1=0.5, rtol=1e-11, atol=1e-12, saveat=[0.0, 0.1234, 0.3, 0.5])
    for run in (dict(dt=2e-3), dict(dt=1.9e-3), dict(rtol=1e-9)):
        solution = mbs.simulate(SYSTEM, t1=0.5, saveat=[0.0, 0.1234, 0.3, 0.5], **run)
        np.testing.assert_allclose(solution.q, fine.q, atol=2e-7)
    np.testing.assert_array_equal(fine.q[0], SYSTEM.initial_state()[0])
    assert solution["tip"].shape == (4, 3)
    assert solution["spring.force_local"].shape == (4, 3)
    assert solution["spring.force"].shape == (4, 3, 3)


def test_saveat_of_diffrax():
    points = mbs.simulate(SYSTEM, t1=0.5, saveat=diffrax.SaveAt(t0=True, ts=jnp.array([0.2, 0.3]), t1=True))
    np.testing.assert_allclose(points.t, [0.0, 0.2, 0.3, 0.5])
    steps = mbs.simulate(SYSTEM, t1=0.5, saveat=diffrax.SaveAt(steps=True), max_steps=500)
    taken = np.isfinite(steps.t)
    assert taken.sum() == steps.stats["steps"]
    np.testing.assert_allclose(steps.q[taken][-1], points.q[-1], atol=1e-7)


def test_a_start_later_than_zero_moves_the_clock_of_the_loads():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(mass=2.0))
    model.add("push", mbs.CoordinateLoad(lambda t: 6.0 * t), on=mass.coordinates)
    system = model.assemble()
    for run in (dict(dt=0.01), dict(rtol=1e-10)):
        solution = mbs.simulate(system, t0=1.0, t1=2.0, saveat=[2.0], **run)
        np.testing.assert_allclose(solution.v[0, 0], 1.5 * (4 - 1), rtol=1e-9)  # 3/2 (t^2 - t0^2)


def blow_up(t, stretch, rate, stiffness, damping, force):
    return -stiffness * jnp.exp(20 * stretch)


def test_early_stops_say_when_and_why():
    with pytest.raises(mbs.SimulationError, match="max_steps") as caught:
        mbs.simulate(SYSTEM, t1=10.0, max_steps=20)
    assert caught.value.status == "max_steps"
    assert 0 < caught.value.time < 10
    partial = caught.value.solution
    reached = np.isfinite(partial.q).all(axis=1)
    assert reached.any()
    assert not reached.all()
    assert np.all(np.asarray(partial.t)[reached] <= caught.value.time)

    exploding = chain(spring_force_user_function=blow_up)
    for run in (dict(dt=1e-2), dict()):
        solution = mbs.simulate(exploding, t1=10.0, throw=False, **run)
        assert solution.status in ("non_finite", "dt_min")
        assert 0 <= solution.stats["time"] < 10
    with pytest.raises(mbs.SimulationError, match=r"Largest acceleration.*'mass'"):
        mbs.simulate(exploding, t1=10.0, dt=1e-2)


def test_one_bad_member_of_a_batch_harms_no_other():
    def run(k):
        return mbs.simulate(
            SYSTEM, t1=0.2, params={"spring": {"stiffness": k * jnp.ones(3)}}, saveat=[0.2], throw=False
        )

    batch = jax.vmap(run)(jnp.array([50.0, jnp.inf, 60.0]))
    assert list(batch.status) == ["ok", "non_finite", "ok"]
    np.testing.assert_allclose(batch.q[2], run(60.0).q, rtol=1e-12)
    assert np.isnan(batch.q[1]).all()


@pytest.mark.parametrize(
    "options",
    [
        dict(dt=5e-3, saveat=[0.0, 0.0, 0.1, 0.1, 0.15, 0.2]),
        dict(dt=4.9e-3, saveat=[0.0, 0.1, 0.1001, 0.2]),
        dict(saveat=[0.0, 0.05, 0.2]),
    ],
    ids=["on the grid", "between steps", "adaptive"],
)
def test_gradients_in_a_batch_are_those_alone(options):
    def loss(k):
        params = {"spring": {"stiffness": k * jnp.ones(3)}}
        tip = mbs.simulate(SYSTEM, t1=0.2, params=params, throw=False, max_steps=200, **options)["tip"]
        return jnp.sum(jnp.cos(tip) * jnp.arange(1.0, 1.0 + tip.size).reshape(tip.shape))

    # The second one ends on the way.
    stiffness = jnp.array([50.0, 1e7, 60.0])
    alone = [jax.grad(loss)(k) for k in stiffness]
    for together in (jax.jit(jax.vmap(jax.grad(loss)))(stiffness), jax.jit(jax.vmap(jax.jacfwd(loss)))(stiffness)):
        np.testing.assert_allclose(together[::2], np.stack(alone)[::2], rtol=1e-11)
        assert np.isnan(together[1])
    assert np.isnan(alone[1])


def test_new_numbers_do_not_compile_again():
    run = lambda k: mbs.simulate(SYSTEM, t1=0.11, dt=1e-2, params={"spring": {"stiffness": np.full(3, k)}})
    run(50.0)
    before = _simulate._cached._cache_size()
    run(51.0)
    mbs.simulate(chain(), t1=0.11, dt=1e-2)  # an equal model built anew
    assert _simulate._cached._cache_size() == before


def test_the_last_step_is_cut_off_at_the_end():
    method = FixedSteps(
        plain_step_of(mbs.RungeKutta4(), False, 1e-8, 0.3, varying=False), 0.0, 1.0, 0.3, (0.0, 0.5, 1.0)
    )
    times, index, on_grid = method._grid()
    np.testing.assert_allclose(times, [0, 0.3, 0.6, 0.9, 1.0])
    assert index.tolist() == [0, 1, 3]
    assert not on_grid


@pytest.mark.parametrize("solver", [mbs.RungeKutta4(), mbs.GeneralizedAlpha()])
@pytest.mark.parametrize("between", [[], [0.45]], ids=["end alone", "inside of a step, too"])
def test_a_run_ends_where_it_was_asked_to_whatever_the_size_of_its_steps(solver, between):
    """Under a constant force both methods are exact, also between steps: only their lengths can be wrong."""
    model = mbs.Model(gravity=(-2.0, 0, 0))
    model.add("mass", mbs.Mass1D(1.0), position=0.5, velocity=3.0)
    t = np.array([*between, 1.0])
    solution = mbs.simulate(model.assemble(), t1=1.0, dt=0.3, saveat=t, solver=solver)
    np.testing.assert_allclose(solution.q[:, 0], 0.5 + 3 * t - t**2, rtol=1e-13)
    np.testing.assert_allclose(solution.v[:, 0], 3 - 2 * t, rtol=1e-13)


def test_solutions_are_pytrees_that_leave_jit():
    solution = jax.jit(lambda k: mbs.simulate(SYSTEM, t1=0.1, dt=1e-2, params={"spring": {"stiffness": k}}))(
        jnp.full(3, 50.0)
    )
    assert solution.status == "ok"
    assert solution["tip"].shape == (101, 3)


def test_outputs_of_a_batch_use_the_parameters_of_each_member():
    def run(k):
        return mbs.simulate(
            SYSTEM, t1=0.1, dt=1e-2, params={"spring": {"stiffness": k * jnp.ones(3)}}, saveat=[0.05, 0.1]
        )

    stiffness = jnp.array([40.0, 50.0, 60.0])
    batch = jax.vmap(run)(stiffness)
    assert batch["spring.force_local"].shape == (3, 2, 3)
    for i, k in enumerate(stiffness):
        for name in ("tip", "spring.force_local"):
            np.testing.assert_allclose(batch[name][i], run(k)[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("start", np.linspace(-3.0, 3.0, 13).tolist())
def test_adaptive_runs_arrive_whatever_the_start(start):
    model = mbs.Model()
    model.add("mass", mbs.Mass1D(1.0), velocity=1.0)
    system = model.assemble()
    for end in (start + 0.1, start + 1.1):
        solution = mbs.simulate(system, t0=start, t1=end, saveat=[end])
        np.testing.assert_allclose(solution.q[0, 0], end - start, rtol=1e-12)


def test_the_gradient_of_what_was_not_reached_is_not_zero():
    loss = lambda k: mbs.simulate(SYSTEM, t1=10.0, max_steps=20, params={"spring": {"stiffness": k}}, throw=False).q[
        -1, 0
    ]
    assert np.all(np.isnan(jax.grad(loss)(jnp.full(3, 50.0))))
    with pytest.raises(mbs.SimulationError, match="max_steps"):
        jax.grad(lambda k: mbs.simulate(SYSTEM, t1=10.0, max_steps=20, params={"spring": {"stiffness": k}}).q[-1, 0])(
            jnp.full(3, 50.0)
        )


def test_derivatives_are_known_exactly_where_values_are():
    """A run of few steps, the last of which reaches some of its outputs and not the others behind it."""
    options = dict(t1=0.5, rtol=1e-5, saveat=np.linspace(0, 0.5, 200), max_steps=9, throw=False)
    run = lambda k: mbs.simulate(SYSTEM, params={"spring": {"stiffness": k}}, **options).q
    q, dq = jax.jvp(run, (jnp.full(3, 50.0),), (jnp.ones(3),))
    known = np.isfinite(q)
    assert 5 < known[:, 0].sum() < 195
    np.testing.assert_array_equal(np.isfinite(dq), known)


NOT_STORED = ["fixed, outputs between steps", "adaptive", "generalized-alpha"]


@pytest.mark.parametrize("run", NOT_STORED)
def test_states_that_were_not_stored_are_computed_again(run, monkeypatch):
    options = RUNS.get(run, dict(dt=5e-3, solver=mbs.GeneralizedAlpha()))
    loss = lambda theta: misfit(theta, **options)
    expected = jax.grad(loss)(THETA)
    # So little that only every tenth or so state is kept.
    monkeypatch.setattr("difmbs.simulation.stored_states.MOST", 100)
    monkeypatch.setattr("difmbs.simulation.stored_states._ROWS", 8)
    jax.clear_caches()
    assert_close(jax.grad(loss)(THETA), expected, 1e-12)
    assert_close(jax.jacfwd(loss)(THETA), expected, 1e-12)
    jax.clear_caches()


@pytest.mark.parametrize("rows", [8, 64])
def test_states_of_batches_that_were_not_stored_are_computed_again(rows, monkeypatch):
    """Of none of its members all are stored, or of all but the last."""
    scale = np.array([0.3, 0.5, 30.0])
    loss = lambda s: misfit(jax.tree.map(lambda x: s * x, THETA))
    expected = jax.vmap(jax.grad(loss))(scale)
    monkeypatch.setattr("difmbs.simulation.stored_states._ROWS", rows)
    jax.clear_caches()
    for derivative in (jax.grad, jax.jacfwd):
        np.testing.assert_allclose(jax.vmap(derivative(loss))(scale), expected, rtol=1e-9)
    jax.clear_caches()


@pytest.mark.filterwarnings("ignore:.*stiffness is negative")
@pytest.mark.parametrize(
    "options", [dict(dt=1e-2), dict(), dict(dt=1e-2, solver=mbs.GeneralizedAlpha())], ids=["fixed", "adaptive", "alpha"]
)
def test_what_runs_away_is_not_called_a_result(options):
    """An oscillator of negative stiffness grows by e every 0.1 s; before numbers overflow it is stopped."""
    model = mbs.Model()
    mass = model.add("mass", mbs.MassPoint(1.0), position=(1.0, 0.1, 0.0))
    model.add("spring", mbs.LinearSpringDamper(-100.0, 0.0, 0.0, 0.5), between=(model.ground, mass))
    system = model.assemble()
    run = lambda k: mbs.simulate(
        system, t1=30.0, saveat=[10.0, 30.0], params={"spring": {"stiffness": k}}, throw=False, **options
    )
    solution = run(-100.0)
    assert solution.status == "non_finite"
    assert 10 <= solution.stats["time"] < 18
    gradient = lambda row: jax.grad(lambda k: run(k).q[row, 0])(-100.0)
    assert np.isfinite(gradient(0))
    assert np.isnan(gradient(1))
