"""Problems with published answers: the pendulum (IFToMM A01) and Andrews' squeezing mechanism (IFToMM A03)."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import difmbs as mbs

from ..oracles.differences import quotients
from ..zoo import models

END = 10.0
"""Of the pendulum's run, in s; Andrews' mechanism is looked at for 0.03 s."""


def pendulum():
    """End position, end velocity and force of the rod as a function of its length and of gravity.

    Let go where the rod is horizontal.
    """
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(-1, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    system = model.assemble()

    def end(length, g):
        params = {
            "bob": {"position": jnp.stack([-length, 0 * length])},
            "rod": {"distance": length},
            "gravity": {"acceleration": -g * jnp.eye(3)[1]},
        }
        accurate = dict(solver=diffrax.Dopri8(), rtol=1e-13, atol=1e-13)
        solution = mbs.simulate(system, t1=END, saveat=[END], params=params, **accurate)
        return solution.q[0], solution.v[0], solution["rod.force"][0]

    return end


def swinging(length, g):
    """The same in closed form: sin(angle / 2) = k sn(K - w t), angles from where the bob hangs, w^2 = g / L."""
    k, w = np.sin(np.pi / 4), np.sqrt(g / length)
    sn, cn, *_ = ellipj(ellipk(k**2) - w * END, k**2)
    half, rate = np.arcsin(k * sn), -2 * w * k * cn
    side, down = np.sin(2 * half), np.cos(2 * half)
    # Let go on the left.
    position, velocity = np.array([-length * side, -length * down]), length * rate * np.array([-down, side])
    return position, velocity, g * down + length * rate**2


def test_pendulum():
    at, end = (jnp.array(1.0), jnp.array(9.81)), pendulum()
    along = lambda direction: jax.jvp(end, at, tuple(direction))
    (q, v, force), (dq, *_) = jax.jit(jax.vmap(along, out_axes=(None, 0)))(jnp.eye(2))

    published = [-0.27508746, -0.96141919], [4.1755981, -1.1947490], 28.294567
    for found, exact, figures in zip((q, v, force), swinging(1.0, 9.81), published, strict=True):
        # Up to one unit of the last of their eight digits.
        np.testing.assert_allclose(exact, figures, rtol=1e-7)
        np.testing.assert_allclose(found, exact, rtol=1e-8)
    np.testing.assert_allclose(dq[:, 0], [-21.153078, 2.1282355], rtol=1e-6)
    # x = L f(t sqrt(g / L)), so that derivatives with respect to L and g are those with respect to time.
    np.testing.assert_allclose(dq[0], q - END / 2 * v, rtol=1e-6)
    np.testing.assert_allclose(dq[1], END / (2 * 9.81) * v, rtol=1e-6)


NUMBERS = {
    ("spring", "stiffness"): 1, ("spring", "reference_length"): 1, ("drive", "load_vector"): 1, ("bars", "mass"): 7,
    ("bars", "inertia"): 7,
}  # fmt: skip
"""c0, l0, mom, and the masses and inertias of the seven bodies."""


def andrews(changes):
    """At the outputs all angles, and the forces of all hinges, as functions of relative changes of the numbers.

    `changes`: a row of relative changes for each argument of the function.
    """
    system = models.andrews()
    nominal = system.params()

    def run(x):
        factors = jnp.split(1 + x @ changes, np.cumsum(list(NUMBERS.values()))[:-1].tolist())
        params: dict = {}
        for ((element, field), size), factor in zip(NUMBERS.items(), factors, strict=True):
            params.setdefault(element, {})[field] = nominal[element][field] * (factor if size > 1 else factor[0])
        # As many steps as it takes to be 3e-9 rad off.
        solution = mbs.simulate(system, t1=0.03, dt=0.03 / 1000, saveat=[0.015, 0.03], params=params)
        return models.andrews_angles(solution), jnp.concatenate([*solution.multipliers.values()], axis=-1)

    return run


def kinds():
    """Masses change together, each by another share, and so do inertias."""
    sizes = list(NUMBERS.values())
    shares = 1 + 0.5 * np.cos(np.arange(sum(sizes)))
    return np.where(np.arange(len(sizes))[:, None] == np.repeat(np.arange(len(sizes)), sizes), shares, 0.0)


@pytest.mark.parametrize("changes", [kinds(), pytest.param(np.eye(17), marks=pytest.mark.slow)], ids=["kinds", "each"])
def test_andrews(changes):
    run, at = andrews(changes), jnp.zeros(len(changes))
    forwards = jax.jit(jax.vmap(lambda e: jax.jvp(run, (at,), (e,)), out_axes=(None, 0)))
    (angles, _), derivatives = forwards(jnp.eye(at.size))
    assert np.abs(angles[-1] - np.array(models.ANDREWS["end"])).max() <= 1e-8
    # Of each angle and force of a hinge by itself, with respect to each number by itself.
    for found, expected in zip(derivatives, quotients(run, at, 1e-4), strict=True):
        assert np.all(np.abs(found - expected) <= 1e-6 * np.abs(expected).max(axis=1, keepdims=True))


@pytest.mark.slow
def test_andrews_backwards():
    run, at = andrews(np.eye(17)), jnp.zeros(17)
    weights = lambda y: jnp.cos(jnp.arange(y.size)).reshape(y.shape)
    loss = lambda x: sum(jnp.sum(weights(y) * y) for y in run(x))
    backwards = jax.jit(jax.grad(loss))(at)
    forwards = jax.jit(jax.vmap(lambda e: jax.jvp(loss, (at,), (e,))[1]))(jnp.eye(17))
    assert np.abs(forwards - backwards).max() <= 1e-12 * np.abs(backwards).max()
