"""Laws with first-order states: closed forms with every kind of solver, derivatives, statics, changes of the model."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

SOLVERS = {
    "adaptive": (dict(), 1e-8),
    "RK4": (dict(dt=1e-2, solver=mbs.RungeKutta4()), 1e-8),
    "generalized-alpha": (dict(dt=2e-3, solver=mbs.GeneralizedAlpha()), 1e-6),
    "generalized-alpha, adaptive": (dict(solver=mbs.GeneralizedAlpha()), 1e-5),
    "trapezoidal": (dict(dt=2e-3, solver=mbs.TrapezoidalIndex2()), 1e-6),
    "Kvaerno5": (dict(solver=diffrax.Kvaerno5()), 1e-7),
}


def lagging():
    """A filter that follows a load, beside a pendulum with a constraint."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1.0, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    lag = mbs.GenericODE1(matrix=[[-2.0, 0.0], [1.0, -3.0]], vector=lambda t: jnp.stack([jnp.sin(t), 0 * t]))
    model.add("lag", lag, states=[0.1, -0.2])
    return model.assemble()


def expected(t):
    """Of z' = A z + b sin t, by the matrix exponential of the system with its generator."""
    from scipy.linalg import expm

    A = np.zeros((4, 4))
    A[:2, :2], A[0, 2], A[2, 3], A[3, 2] = [[-2.0, 0.0], [1.0, -3.0]], 1.0, 1.0, -1.0
    return np.stack([expm(A * s)[:2] @ [0.1, -0.2, 0.0, 1.0] for s in np.asarray(t)])


@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_states_follow_the_matrix_exponential(solver):
    options, tolerance = SOLVERS[solver]
    run = mbs.simulate(lagging(), t1=1.0, saveat=[0.0, 0.5, 1.0], **options)
    np.testing.assert_allclose(run["lag.states"], expected(run.t), atol=tolerance)
    A = np.array([[-2.0, 0.0], [1.0, -3.0]])
    rates = np.asarray(run["lag.states"]) @ A.T + np.stack([np.sin(run.t), 0 * run.t], axis=1)
    np.testing.assert_allclose(run["lag.rates"], rates, atol=1e-12)


def pressed():
    """A mass on a cylinder whose oil leaks through its valves."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    mass = model.add("mass", mbs.Mass1D(2.0, axis=(0, 0, 1)), position=0.5)
    cylinder = mbs.HydraulicActuator(
        areas=(1.0, 0.7), hose_volumes=(0.5, 0.6), nominal_flow=0.3, system_pressure=30.0, oil_bulk_modulus=30.0,
        valve_openings=(0.6, -0.4), damping=0.3, smoothing=0.5,
    )  # fmt: skip
    model.add("cylinder", cylinder, between=(model.ground, mass), pressures=(10.0, 5.0))
    model.add("spring", mbs.SpringDamper(0.5, 40.0, 1.0), between=(model.ground, mass))
    return model.assemble()


def rubbed():
    model = mbs.Model()
    box = model.add("box", mbs.Mass1D(1.0), velocity=0.5)
    law = mbs.LuGreFriction(50.0, 1.0, 1.4, 0.1, 2.0, 0.3, motion="coordinate")
    model.add("friction", law, between=(model.ground, box.coordinate(0)), bristle=0.01)
    return model.assemble()


@pytest.mark.parametrize("make", [lagging, pressed, rubbed], ids=lambda f: f.__name__)
@pytest.mark.parametrize("solver", ["RK4", "generalized-alpha"])
def test_states_have_derivatives(make, solver):
    """Along a direction of all parameters, with initial states: forwards, backwards, by differences."""
    system, options = make(), SOLVERS[solver][0] | {"dt": 1e-2}
    at, unravel = jax.flatten_util.ravel_pytree(system.params())
    d = jnp.asarray(np.random.default_rng(0).normal(size=at.size)) * jnp.abs(at)
    end = jax.jit(lambda x: jnp.concatenate([mbs.simulate(system, t1=0.2, params=unravel(x), **options).v[-1]]))
    forwards = jax.jvp(end, (at,), (d,))[1]
    weights = np.cos(np.arange(forwards.size) + 1.0)
    backwards = jax.vjp(end, at)[1](weights)[0] @ d
    np.testing.assert_allclose(backwards, weights @ forwards, rtol=1e-9)
    step = 1e-6
    quotient = (end(at + step * d) - end(at - step * d)) / (2 * step)
    np.testing.assert_allclose(forwards, quotient, rtol=1e-5, atol=1e-6 * np.abs(quotient).max())


def test_static_equilibrium_finds_states_and_their_derivatives():
    system = pressed()
    rest = mbs.static_equilibrium(system)
    # The root is rounded off, so that the pressure is that of the pump to rounding.
    np.testing.assert_allclose(rest["cylinder.pressures"], [30.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(rest["mass.position"][2], 0.5 + (30.0 - 2 * 9.81) / 40.0, rtol=1e-9)
    position = lambda p: mbs.static_equilibrium(system, params={"cylinder": {"system_pressure": p}})["mass.position"][2]
    np.testing.assert_allclose(jax.grad(position)(jnp.asarray(30.0)), 1 / 40.0, rtol=1e-8)


def test_states_are_kept_when_elements_change_and_instances_have_their_own():
    model = mbs.Model()
    model.add("thing", mbs.Mass1D(1.0))
    model.add("lags", mbs.GenericODE1(matrix=np.array([[[-1.0]], [[-2.0]]])), states=[[1.0], [3.0]])
    run = mbs.simulate(model.assemble(), t1=1.0)
    np.testing.assert_allclose(run["lags.states"][-1, :, 0], [np.exp(-1), 3 * np.exp(-2)], rtol=1e-6)
    model.replace("lags", mbs.GenericODE1(matrix=np.array([[[-1.0]], [[-4.0]]])))
    run = mbs.simulate(model.assemble(), t1=1.0)
    np.testing.assert_allclose(run["lags.states"][-1, :, 0], [np.exp(-1), 3 * np.exp(-4)], rtol=1e-6)


def test_switched_off_states_stand_still():
    model = mbs.Model()
    model.add("thing", mbs.Mass1D(1.0))
    model.add("lag", mbs.GenericODE1(matrix=[[-1.0]]), states=[1.0], active=False)
    model.add("on", mbs.Event(0.5, switch={"lag": True}))
    run = mbs.simulate(model.assemble(), t1=1.0, saveat=[0.25, 1.0])
    np.testing.assert_allclose(run["lag.states"][:, 0], [1.0, np.exp(-0.5)], rtol=1e-7)


@pytest.mark.parametrize(
    ("add", "said"),
    [
        (lambda m: m.add("lag", mbs.GenericODE1(matrix=[[-1.0]])), "give states, its initial values"),
        (lambda m: m.add("lag", mbs.GenericODE1(), states=[1.0]), "needs a matrix, a vector or a user_function"),
        (lambda m: m.add("lag", mbs.GenericODE1(matrix=[[-1.0]]), states=[1.0], on="thing"), "needs no markers"),
        (lambda m: m.add("lag", mbs.GenericODE1(matrix=[[-1.0]]), state=[1.0]), "Did you mean 'states'"),
        (
            lambda m: m.add("lag", mbs.GenericODE1(matrix=[[-1.0]]), states=[1.0, 2.0]),
            r"matrix must have shape \(2, 2\)",
        ),
        (lambda m: m.add("lag", mbs.GenericODE1(vector=[1.0]), states=[1.0, 2.0]), "vector must have length 2"),
        (
            lambda m: m.add("lag", mbs.GenericODE1(user_function=lambda t, z: z[0]), states=[1.0]),
            "user_function must return",
        ),
    ],
)
def test_mistakes_are_named(add, said):
    with pytest.raises((mbs.ModelError, mbs.ParameterError), match=said):
        assembled_with(add)


def assembled_with(add):
    model = mbs.Model()
    model.add("thing", mbs.Mass1D(1.0))
    add(model)
    return model.assemble()
