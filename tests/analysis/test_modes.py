"""Linearization and modes: against closed forms and Exudyn; derivatives, and where there are none."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.simulation.arguments import warn_of_single_precision

from ..zoo.static_systems import WAYS, G, in_direction, linkage, net, net_data, pendulum, shifted


@functools.cache
def chain(n=8):
    """Masses in a row of springs and dampers between two walls."""
    model = mbs.Model()
    masses = model.add("mass", mbs.Mass1D(np.full(n, 0.3)), position=np.arange(1.0, n + 1))
    inner = [masses[i] for i in range(n)]
    ends = [model.ground, *inner], [*inner, model.ground.at(n + 1.0)]
    model.add("spring", mbs.SpringDamper(1.0, np.full(n + 1, 50.0), np.zeros(n + 1)), between=ends)
    return model.assemble()


def omega(n, k=50.0, m=0.3):
    """2 sqrt(k/m) sin(j pi / (2 (n+1)))."""
    return 2 * np.sqrt(k / m) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))


@functools.cache
def oscillator():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.6), position=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 4000.0, 8.0), between=(model.ground, mass))
    return model.assemble()


@functools.cache
def floating():
    """Two mass points in space, joined by a spring."""
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(1.0))
    b = model.add("b", mbs.MassPoint(3.0), position=(1.0, 0, 0))
    model.add("spring", mbs.SpringDamper(1.0, 60.0, 0.0), between=(a, b))
    return model.assemble()


def test_chain_of_masses_and_springs():
    found = mbs.modes(chain())
    # Eigenvalues of a symmetric matrix are exact to rounding.
    np.testing.assert_allclose(found.angular_frequencies, omega(8), rtol=1e-13)
    np.testing.assert_allclose(found.frequencies, omega(8) / (2 * np.pi), rtol=1e-13)
    np.testing.assert_allclose(found.eigenvalues, 1j * omega(8), rtol=1e-13)
    np.testing.assert_array_equal(found.damping_ratios, np.zeros(8))
    sines = np.sin(np.outer(np.arange(1, 9), np.arange(1, 9)) * np.pi / 9)
    signs = np.sign(np.take_along_axis(sines, np.argmax(np.abs(found.shapes), axis=1)[:, None], axis=1))
    np.testing.assert_allclose(found.shapes, signs * sines / np.sqrt(0.3 * 9 / 2), atol=1e-12)
    np.testing.assert_array_equal(found.shape("mass")[2, 5], found.shapes[2, 5:6])
    np.testing.assert_allclose(mbs.modes(chain(), count=3).frequencies, found.frequencies[:3], rtol=1e-13)
    np.testing.assert_array_equal(found.only(*np.array([4, 2])).frequencies, found.frequencies[jnp.array([4, 2])])
    assert repr(found.only(0)).startswith("Modes(frequencies=[")
    with pytest.raises(mbs.SimulationError, match="only takes the numbers of some modes"):
        found.only()


def test_net_equals_exudyn():
    rest = mbs.static_equilibrium(net())
    frequencies = net_data()["values"]["frequency"]
    np.testing.assert_allclose(mbs.modes(net(), q=rest.q).frequencies, frequencies, rtol=1e-12)


def test_pendulum():
    rest = mbs.static_equilibrium(pendulum())
    np.testing.assert_allclose(mbs.modes(pendulum(), q=rest.q).angular_frequencies, [np.sqrt(G / 0.5)], rtol=1e-12)
    upright = mbs.modes(pendulum(), q=jnp.array([0.0, 0.5]))
    np.testing.assert_allclose(upright.eigenvalues, [np.sqrt(G / 0.5)], rtol=1e-12)
    np.testing.assert_allclose(upright.damping_ratios, [-1])


def test_two_rods():
    """The double pendulum of equal masses and lengths in space: omega^2 = g / L (2 -+ sqrt(2)), each twice."""
    model = mbs.Model(gravity=(0, 0, -G))
    masses = model.add("mass", mbs.MassPoint(np.full(2, 0.4)), position=[(0, 0, -0.7), (0, 0, -1.4)])
    model.add("rod", mbs.DistanceConstraint(np.full(2, 0.7)), between=([model.ground, masses[0]], masses))
    found = mbs.modes(model.assemble()).angular_frequencies
    np.testing.assert_allclose(found, np.repeat(np.sqrt(G / 0.7 * (2 + np.sqrt(2) * np.array([-1, 1]))), 2), rtol=1e-12)


def test_planar_body_on_two_springs():
    """Up and down 2 k / m, rocking 2 k a^2 / J; sideways nothing holds it."""
    model = mbs.Model()
    body = model.add("body", mbs.RigidBody2D(2.0, 0.3))
    for i, x in enumerate((-0.4, 0.4)):
        model.add(f"spring {i}", mbs.SpringDamper(0.5, 80.0), between=(model.ground.at(x, 0.5), body.at(x, 0, 0)))
    found = mbs.modes(model.assemble())
    expected = [0, np.sqrt(160 / 2.0), np.sqrt(160 * 0.4**2 / 0.3)]
    np.testing.assert_allclose(found.angular_frequencies, expected, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.shape("body")), np.diag([2.0**-0.5, 2.0**-0.5, 0.3**-0.5]), atol=1e-12)


def test_spatial_body_swings_about_its_joint():
    """omega^2 = m g a / (J + m a^2) about x and y, and free to turn about z."""
    model = mbs.Model(gravity=(0, 0, -G))
    body = model.add("body", mbs.RigidBody(2.0, np.diag([0.3, 0.4, 0.2])), position=(0, 0, -0.6))
    model.add("joint", mbs.SphericalJoint(), between=(model.ground, body.at(0, 0, 0.6)))
    found = mbs.modes(model.assemble())
    swing = np.sqrt(2.0 * G * 0.6 / (np.array([0.4, 0.3]) + 2.0 * 0.36))
    np.testing.assert_allclose(found.angular_frequencies, [0, *swing], rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*damping is negative")
@pytest.mark.parametrize("ratio", [0.0, 0.05, 0.9, -0.1])
def test_damped_oscillator(ratio):
    k, m = 4000.0, 1.6
    found = mbs.modes(oscillator(), params={"spring": {"damping": 2 * ratio * np.sqrt(k * m)}})
    np.testing.assert_allclose(found.angular_frequencies, [np.sqrt(k / m)], rtol=1e-13)
    np.testing.assert_allclose(found.damping_ratios, [ratio], atol=1e-13)
    np.testing.assert_allclose(found.eigenvalues.imag, [np.sqrt(k / m * (1 - ratio**2))], rtol=1e-13)


def test_overdamped_oscillator_creeps():
    """Back slowly or fast."""
    found = mbs.modes(oscillator(), params={"spring": {"damping": 1000.0}})
    roots = (-1000 + np.array([1, -1]) * np.sqrt(1e6 - 4 * 4000 * 1.6)) / 3.2
    np.testing.assert_allclose(found.eigenvalues, roots, rtol=1e-12)
    np.testing.assert_allclose(found.damping_ratios, [1, 1])


@functools.cache
def creeping_and_swinging():
    """One with s = -1/2 and -2, the other with 10 i, and two more that are held."""
    model = mbs.Model()
    masses = model.add("mass", mbs.Mass1D(np.ones(4)))
    springs = mbs.SpringDamper(1.0, np.array([1.0, 100.0, 1.0, 1.0]), np.array([2.5, 0.0, 0.0, 0.0]))
    model.add("spring", springs, between=(model.ground.at(-1.0), masses))
    for i in (2, 3):
        model.add(f"hold {i}", mbs.CoordinateConstraint(offset=0.0), between=(model.ground, masses[i].coordinate(0)))
    return model.assemble()


def test_modes_that_do_not_oscillate_do_not_displace_others():
    found = mbs.modes(creeping_and_swinging()).eigenvalues
    np.testing.assert_allclose(found, [-0.5, -2, 10j], atol=1e-12)
    of = lambda k: mbs.modes(creeping_and_swinging(), params={"spring": {"stiffness": k}}, count=4).angular_frequencies
    stiffness = jnp.array([1.0, 100.0, 1.0, 1.0])
    for function in (of, jax.jit(of)):
        np.testing.assert_allclose(function(stiffness), [0.5, 2, 10, np.nan], rtol=1e-12)
    # ds/dk = -1 / (2 s + d); of missing modes it is zero, and not NaN for the others.
    slopes = [[2 / 3, 0, 0, 0], [-2 / 3, 0, 0, 0], [0, 1 / 20, 0, 0], [0, 0, 0, 0]]
    for derivative in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(derivative(of)(stiffness), slopes, atol=1e-12)
    np.testing.assert_allclose(mbs.modes(oscillator(), count=2).frequencies[1], np.nan)
    with pytest.raises(
        mbs.SimulationError, match="count = 5, but the constraints leave only 2 motions, and each has two"
    ):
        mbs.modes(creeping_and_swinging(), count=5)


def test_what_is_not_finite_stays_so():
    """A force that grows like the root of the stretch has no stiffness at zero."""
    root = lambda t, stretch, rate, stiffness, damping, force: stiffness * jnp.sqrt(jnp.abs(stretch))
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=1.0)
    model.add("spring", mbs.SpringDamper(1.0, 4.0, spring_force_user_function=root), between=(model.ground, mass))
    system = model.assemble()
    with pytest.raises(mbs.SimulationError, match="the stiffness or damping is not finite in this state"):
        mbs.modes(system)
    of = lambda k: mbs.modes(system, params={"spring": {"stiffness": k}}, count=1).frequencies[0]
    value, slope = jax.jit(jax.value_and_grad(of))(4.0)
    assert np.isnan(value)
    assert np.isnan(slope)


def test_damping_in_proportion_to_stiffness():
    """D = beta K: damping ratio beta omega / 2, by the eigenvalues of a general matrix."""
    found = mbs.modes(chain(), params={"spring": {"damping": np.full(9, 0.4)}})
    np.testing.assert_allclose(found.angular_frequencies, omega(8), rtol=1e-12)
    np.testing.assert_allclose(found.damping_ratios, 0.4 / 50 / 2 * omega(8), rtol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.7])
def test_rigid_body_motions(damping):
    """Five of two mass points in space; nothing about them is NaN."""
    of = lambda k: mbs.modes(floating(), params={"spring": {"stiffness": k, "damping": damping}})
    found, stretching = of(60.0), np.sqrt(60.0 / 0.75)
    np.testing.assert_array_equal(found.eigenvalues[:5], np.zeros(5))
    np.testing.assert_array_equal(found.damping_ratios[:5], np.zeros(5))
    np.testing.assert_allclose(found.angular_frequencies[5], stretching, rtol=1e-12)
    # A basis: orthogonal in M.
    weighed = np.asarray(found.shapes[:5]) * np.sqrt([1, 1, 1, 3, 3, 3])
    assert np.linalg.svd(weighed, compute_uv=False)[-1] > 0.1
    slope = jax.jacrev(lambda k: of(k).angular_frequencies)(60.0)
    np.testing.assert_allclose(slope, [0, 0, 0, 0, 0, 0.5 * stretching / 60.0], rtol=1e-12)


def test_redundant_constraints():
    """A beam on three equal parallel rods swings like a pendulum of their length, whatever the redundant one."""
    model = mbs.Model(gravity=(0, -G, 0))
    beam = model.add("beam", mbs.RigidBody2D(3.0, 0.2), position=(0.0, -1.0))
    for i, x in enumerate((-0.5, 0.0, 0.5)):
        model.add(f"rod {i}", mbs.DistanceConstraint(1.0), between=(model.ground.at(x), beam.at(x, 0, 0)))
    system = model.assemble(redundant="min_norm")
    of = lambda g: mbs.modes(system, q=jnp.array([0.0, -1.0, 0.0]), params={"gravity": {"acceleration": g}})
    down = jnp.array([0.0, -G, 0.0])
    np.testing.assert_allclose(of(down).angular_frequencies, [np.sqrt(G)], rtol=1e-9)
    slope = jax.jacrev(lambda g: of(g).angular_frequencies[0])(down)
    np.testing.assert_allclose(slope, [0, -0.5 / np.sqrt(G), 0], atol=1e-9)
    # Inside jit the number of motions cannot be counted: it is given.
    counted = jax.jit(lambda g: mbs.modes(system, params={"gravity": {"acceleration": g}}, count=1).angular_frequencies)
    np.testing.assert_allclose(counted(down), [np.sqrt(G)], rtol=1e-9)
    with pytest.raises(mbs.SimulationError, match="inside jit"):
        jax.jit(lambda g: mbs.modes(system, params={"gravity": {"acceleration": g}}).frequencies)(down)


def test_linearization_equals_the_parts_it_is_made_of():
    """K and D of the spring are minus its Jacobian; weight adds nothing, multipliers what their constraints bend by."""
    system = linkage()
    q, v = (jnp.asarray(x) for x in system.initial_state())
    v = v + jnp.linspace(0.1, 0.5, v.size)
    linear = mbs.linearize(system, q=q, v=v)
    multipliers = mbs.Outputs(system, 0.0, q, v).accelerations()[1]

    def force(dq, v):
        at = system.retract(q, dq)
        levels = system.constraint_levels(0.0, at, v)
        held = sum(level.jacobian.T @ multipliers[n].reshape(-1) for n, level in levels.items())
        return system.applied_forces(0.0, at, v) - held

    # Central differences of forces of some 100 N, h^2 times third derivatives.
    h = 1e-5
    steps = h * jnp.eye(v.size)
    K = np.stack([(force(-dq, v) - force(dq, v)) / (2 * h) for dq in steps], axis=1)
    D = np.stack([(force(0 * v, v - dv) - force(0 * v, v + dv)) / (2 * h) for dv in steps], axis=1)
    np.testing.assert_allclose(linear.K, K, atol=1e-6)
    np.testing.assert_allclose(linear.D, D, atol=1e-6)
    np.testing.assert_array_equal(linear.M, system.mass_matrix(q))
    equations = [mbs.constraint_equations(system, name)(q, v).jacobian for name in ("hinge", "rod")]
    np.testing.assert_allclose(linear.G, np.concatenate(equations), atol=1e-13)
    np.testing.assert_allclose(mbs.linearize(system, q=q).G, linear.G, atol=1e-13)


def test_at_rest_the_stiffness_is_symmetric():
    rest = mbs.static_equilibrium(linkage())
    K = mbs.linearize(linkage(), q=rest.q).K
    np.testing.assert_allclose(K, K.T, atol=1e-10)


def test_the_initial_state_is_brought_onto_the_constraints():
    system = pendulum()
    start = mbs.linearize(system, params={"bob": {"position": [0.0, -0.6]}})
    np.testing.assert_allclose(start.G, [[0, -1]], atol=1e-12)
    # Tension over length.
    np.testing.assert_allclose(start.K, np.diag([2.0 * G / 0.5, 0]), rtol=1e-9, atol=1e-9)
    with pytest.raises(mbs.SimulationError, match="no state near the initial one meets the constraints"):
        mbs.linearize(two_short_rods())


def two_short_rods():
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(0.5, -0.1))
    for name, x in (("left", 0.0), ("right", 1.0)):
        model.add(name, mbs.DistanceConstraint(0.4), between=(model.ground.at(x), bob))
    return model.assemble()


def of_linkage(params):
    """Numbers of the linkage's vibrations about where it rests; it has dampers."""
    rest = mbs.static_equilibrium(linkage(), params=params)
    found = mbs.modes(linkage(), q=rest.q, params=params)
    return jnp.concatenate([found.frequencies, found.damping_ratios])


def of_net(params):
    """Some lowest frequencies of the net about where it hangs, which nothing damps."""
    rest = mbs.static_equilibrium(net(), params=params)
    return mbs.modes(net(), q=rest.q, params=params, count=4).frequencies


@pytest.mark.filterwarnings("ignore:.*damping is negative")
@pytest.mark.parametrize(("of", "system"), [(of_linkage, linkage), (of_net, net)], ids=["linkage", "net"])
def test_gradients_forwards_backwards_and_by_differences(of, system):
    """Through the equilibrium, with respect to all parameters at once."""
    params = system().params()
    direction = in_direction(params)
    value, tangent = jax.jvp(of, (params,), (direction,))
    weights = jnp.asarray(np.random.default_rng(1).normal(size=value.shape))
    pulled = jax.vjp(of, params)[1](weights)[0]
    both = sum(jnp.sum(a * b) for a, b in zip(jax.tree.leaves(pulled), jax.tree.leaves(direction), strict=True))
    np.testing.assert_allclose(both, weights @ tangent, rtol=1e-11)
    h = 1e-5
    quotient = (of(shifted(params, direction, h)) - of(shifted(params, direction, -h))) / (2 * h)
    # Differences: h^2 times third derivatives, and rounding over h.
    np.testing.assert_allclose(tangent, quotient, rtol=1e-6, atol=1e-6 * np.abs(quotient).max())


@functools.cache
def swing():
    """A mass point on a rod in space, with a spring inside the body it carries: two equal modes and a third."""
    model = mbs.Model(gravity=(0, 0, -G))
    bob = model.add("bob", mbs.MassPoint(0.4), position=(0, 0, -0.7))
    weight = model.add("weight", mbs.Mass1D(0.4, axis=(0, 0, 1), origin=(3, 0, 0)), position=-0.5)
    model.add("rod", mbs.DistanceConstraint(0.7), between=(model.ground, bob))
    model.add("spring", mbs.SpringDamper(0.3, 19.6 * 3), between=(model.ground.at(3, 0, 0), weight))
    return model.assemble()


def frequencies_of_swing(mass, *numbers):
    found = mbs.modes(swing(), params={"weight": {"mass": mass}})
    return (found.only(*numbers) if numbers else found).frequencies


@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_repeated_eigenvalues_have_no_derivative(derivative):
    assert np.ptp(frequencies_of_swing(0.4)[:2]) < 1e-12
    with pytest.raises(mbs.SimulationError, match=r"mode 0 shares its eigenvalue with another one.*modes.only"):
        derivative(frequencies_of_swing)(0.4)
    quiet = lambda mass: mbs.modes(swing(), params={"weight": {"mass": mass}}, throw=False).frequencies
    for of in (derivative(quiet), jax.jit(derivative(frequencies_of_swing))):
        assert np.all(np.isnan(of(0.4)[:2]))
    third = lambda mass: frequencies_of_swing(mass, 2)[0]
    for of in (derivative(third), jax.jit(derivative(third))):
        np.testing.assert_allclose(of(0.4), -0.5 * third(0.4) / 0.4, rtol=1e-12)


@pytest.mark.parametrize("inside_jit", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives_and_derivatives_of_shapes_are_refused(way, inside_jit):
    transformed = jax.jit if inside_jit else lambda f: f
    of = transformed(lambda k: mbs.modes(oscillator(), params={"spring": {"stiffness": k}}).frequencies[0])
    with pytest.raises(TypeError, match="first derivatives only"):
        WAYS[way](of)(4000.0)
    of = transformed(lambda k: mbs.modes(oscillator(), params={"spring": {"stiffness": k}}).shapes.real[0, 0])
    with pytest.raises(TypeError, match="mode shapes have no derivatives"):
        (jax.jacfwd if way.startswith("forward") else jax.jacrev)(of)(4000.0)


def test_transformations_apply_to_the_same_call():
    of = lambda k: mbs.modes(chain(), params={"spring": {"stiffness": jnp.full(9, k)}})
    stiffness = jnp.array([40.0, 50.0])
    batch = jax.vmap(of)(stiffness)
    np.testing.assert_allclose(batch.angular_frequencies, [omega(8, 40.0), omega(8)], rtol=1e-12)
    assert batch.shape("mass").shape == (2, 8, 8, 1)
    np.testing.assert_allclose(batch.only(1).frequencies, batch.frequencies[:, 1:2], rtol=1e-15)
    slopes = jax.jit(jax.vmap(jax.jacrev(lambda k: of(k).frequencies)))(stiffness)
    np.testing.assert_allclose(slopes, 0.5 * batch.frequencies / stiffness[:, None], rtol=1e-12)
    single = jax.tree.map(lambda x: x.astype(jnp.float32), chain())
    warn_of_single_precision.cache_clear()
    with pytest.warns(UserWarning, match="single precision"):
        frequencies = mbs.modes(single).angular_frequencies
    assert frequencies.dtype == jnp.float32
    np.testing.assert_allclose(frequencies, omega(8), rtol=1e-5)
