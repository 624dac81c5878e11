"""Forces and Jacobian blocks of every connector on every pairing of bodies against formulas written by hand."""

import functools

import jax
import numpy as np
import pytest

import difmbs as mbs

from ..oracles import analytic
from ..zoo import cases

STATES = 40
TOLERANCE = 1e-11  # relative; rounding of some hundred operations


@functools.cache
def evaluated(connector, pairing):
    """States, the markers in them, and the library's force and Jacobian."""
    system = cases.system_of(cases.CONNECTORS[connector].law(), pairing)
    q, v = cases.states(system, STATES)
    force, jacobian = mbs.connector_force(system, "link"), mbs.connector_jacobian(system, "link")
    found = jax.jit(jax.vmap(lambda q, v: (force(q, v), jacobian(q, v))))(q, v)
    return system, *jax.tree.map(np.asarray, (q, v, *found))


@functools.cache
def numbers(connector, pairing):
    """All parameters."""
    return jax.tree.map(np.asarray, evaluated(connector, pairing)[0].params())


def gate_law(kind, p):
    """L -> (force, slope, gate, slope of the gate) of a planar spring."""

    def law(L):
        e = L - p["reference_length"] + p["preload"]
        k = p["stiffness"]
        if kind == "tabular":
            slopes = np.diff(cases.TABLE[:, 1]) / np.diff(cases.TABLE[:, 0])
            i = int(np.clip(np.searchsorted(cases.TABLE[:, 0], e) - 1, 0, len(slopes) - 1))
            return cases.TABLE[i, 1] + slopes[i] * (e - cases.TABLE[i, 0]), slopes[i], 1.0, 0.0
        if kind == "soft gate":
            w = p["gate_width"]
            s = 1 / (1 + np.exp(e / w))
            return -k * w * np.log1p(np.exp(-e / w)), k * s, s, -s * (1 - s) / w
        gate = 1.0 if kind in ("", "coupled") or e >= 0 else 0.0
        return k * gate * e, k * gate, gate, 0.0

    return law


def expected(connector, pairing, system, q, v, velocity_term=True):
    params = numbers(connector, pairing)
    m0, m1 = analytic.markers(system, pairing, q, v, params)
    p = params["link"]
    kind = connector.partition(" ")[2]
    if connector.startswith("SpringDamper"):
        law = [p[x] for x in ("stiffness", "damping", "reference_length", "force", "velocity_offset")]
        return analytic.blocks(m0, m1, *analytic.spring(m0, m1, *law, 30.0 * bool(kind)), velocity_term)
    if connector.startswith("ConnectorGravity"):
        strength = p["gravitational_constant"] * p["mass0"] * p["mass1"]
        F, K, D = analytic.gravity(m0, m1, strength, p["min_distance_regularization"], kind)
        return analytic.blocks(m0, m1, F, K, D)
    angle = m1.angle - m0.angle
    rows = (-m0.angle_row, m1.angle_row)
    spins = [row @ v[at] for row, at in zip(rows, coordinates(system, pairing), strict=True)]
    if connector.startswith("RotationalSpringDamper"):
        torque = p["stiffness"] * (angle + p["preload"] - p["reference_angle"]) + p["damping"] * sum(spins)
        slope = [p["stiffness"] * row for row in rows]
        return torques(m0, m1, system, pairing, v, torque, slope, p["damping"], rows, None)
    F, K, D, f = analytic.planar_spring(m0, m1, gate_law(kind, p), p["damping"])
    position, velocity, forces = analytic.blocks(m0, m1, F, K, D)
    if kind != "coupled":
        return position, velocity, forces
    u = F / f
    coupling = p["spring_coupling"] * angle + p["damper_coupling"] * sum(spins)
    axial = [s * (u @ K @ m.J + u @ D @ m.H) for s, m in ((-1, m0), (1, m1))]
    axial_rate = [s * (u @ D @ m.J) for s, m in ((-1, m0), (1, m1))]
    slope = [np.sign(f) * a * coupling + abs(f) * p["spring_coupling"] * r for a, r in zip(axial, rows, strict=True)]
    rate = [np.sign(f) * a * coupling for a in axial_rate]
    more = torques(m0, m1, system, pairing, v, abs(f) * coupling, slope, abs(f) * p["damper_coupling"], rows, rate)
    add = lambda x, y: [[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(x, y, strict=True)]
    return add(position, more[0]), add(velocity, more[1]), [a + b for a, b in zip(forces, more[2], strict=True)]


def coordinates(system, pairing):
    none = np.zeros(0, int)
    return [none if k == "ground" else system.velocities(n) for k, n in zip(pairing.split("-"), "ab", strict=True)]


def torques(m0, m1, system, pairing, v, torque, slope, damping, rows, rate):
    """Blocks of a torque +T on marker 0 and -T on marker 1; T depends on the spins through `damping`."""
    at = coordinates(system, pairing)
    position = [[None, None], [None, None]]
    velocity = [[None, None], [None, None]]
    changes = (-m0.angle_row_change, m1.angle_row_change)
    for i in (0, 1):
        for j in (0, 1):
            spin_change = v[at[j]] @ changes[j]
            position[i][j] = -np.outer(rows[i], slope[j] + damping * spin_change)
            if i == j:
                position[i][j] = position[i][j] - torque * changes[i]
            velocity[i][j] = -np.outer(rows[i], damping * rows[j] + (0 if rate is None else rate[j]))
    return position, velocity, [-torque * rows[0], -torque * rows[1]]


def distance(blocks, reference):
    """Largest deviation, relative to the largest entry of all blocks."""
    pairs = [
        (np.asarray(a), np.asarray(b))
        for r, s in zip(blocks, reference, strict=True)
        for a, b in zip(r, s, strict=True)
    ]
    scale = max((np.abs(b).max() for _, b in pairs if b.size), default=0)
    return max((np.abs(a - b).max() for a, b in pairs if a.size), default=0) / scale if scale else 0.0


def at_state(blocks, n):
    return [[b[n] for b in row] for row in blocks]


FORMULAS = ("SpringDamper", "ConnectorGravity", "LinearSpringDamper", "RotationalSpringDamper")


@pytest.mark.parametrize(("connector", "pairing"), [c for c in cases.FORCE_CASES if c[0].split()[0] in FORMULAS])
def test_force_and_blocks_equal_the_formulas(connector, pairing):
    system, q, v, forces, jacobian = evaluated(connector, pairing)
    for n in range(STATES):
        position, velocity, ends = expected(connector, pairing, system, q[n], v[n])
        assert distance(at_state(jacobian.position, n), position) <= TOLERANCE
        if any(np.abs(b).max(initial=0) for row in velocity for b in row):
            assert distance(at_state(jacobian.velocity, n), velocity) <= TOLERANCE
        joined = np.concatenate([e for e in ends if e.size])
        assert np.abs(forces[n] - joined).max() <= TOLERANCE * np.abs(joined).max(initial=1e-3)


# The documents' own formulas, where they are wrong, must fail the same check.

WRONG = 1e-3


def spring_state(pairing, n=0):
    system, q, v, _, jacobian = evaluated("SpringDamper", pairing)
    m0, m1 = analytic.markers(system, pairing, q[n], v[n])
    p = {key: float(value) for key, value in system.params()["link"].items() if np.ndim(value) == 0}
    return system, m0, m1, p, at_state(jacobian.position, n), q[n], v[n]


def first_block_error(block, jacobian):
    return np.abs(block - jacobian[0][0]).max() / np.abs(jacobian[0][0]).max()


@pytest.mark.parametrize("pairing", ["point-point", "planar-planar", "spatial-spatial"])
def test_first_variant_of_the_spring_jacobian_is_wrong(pairing):
    """Its damping term d u (1/L) P u is identically zero, since P u = 0."""
    _, m0, m1, p, jacobian, *_ = spring_state(pairing)
    F, K, D = analytic.spring(
        m0, m1, p["stiffness"], p["damping"], p["reference_length"], p["force"], p["velocity_offset"]
    )
    dp, dv = m1.p - m0.p, m1.v - m0.v
    u = dp / np.linalg.norm(dp)
    missing = p["damping"] / np.linalg.norm(dp) * np.outer(u, dv - u * (u @ dv))
    literal = analytic.blocks(m0, m1, F, K - missing, D)[0]
    assert first_block_error(literal[0][0], jacobian) > WRONG


@pytest.mark.parametrize("pairing", ["planar-planar", "spatial-spatial"])
def test_sign_of_the_velocity_term_in_the_document_is_wrong(pairing):
    """The relative velocity is v1 - v0: its derivative with respect to q0 is -H0, not +H0."""
    _, m0, m1, p, jacobian, *_ = spring_state(pairing)
    F, K, D = analytic.spring(
        m0, m1, p["stiffness"], p["damping"], p["reference_length"], p["force"], p["velocity_offset"]
    )
    right = analytic.blocks(m0, m1, F, K, D)[0][0][0]
    without = analytic.blocks(m0, m1, F, K, D, velocity_term=False)[0][0][0]
    assert first_block_error(2 * without - right, jacobian) > WRONG
    assert first_block_error(without, jacobian) > WRONG


@pytest.mark.parametrize(
    ("pairing", "wrong"), [("point-point", False), ("planar-planar", True), ("spatial-spatial", True)]
)
def test_lower_left_block_of_the_document_is_right_for_two_points_only(pairing, wrong):
    """J_SD(1,0) is printed as dQ0/dq1; it must be dQ1/dq0."""
    *_, jacobian, _, _ = spring_state(pairing)
    error = np.abs(jacobian[0][1] - jacobian[1][0]).max() / np.abs(jacobian[1][0]).max()
    # Between two points both are K up to its asymmetry, which is the damping's.
    assert (error > WRONG) == wrong


def test_gravity_of_the_document_is_repulsive_as_a_left_hand_side():
    _, q, _, forces, _ = evaluated("ConnectorGravity", "point-point")
    towards = q[:, 3:] - q[:, :3]
    assert np.all(np.sum(forces[:, :3] * towards, axis=1) > 0)
    strength = 2.0 * 1.5 * 0.8
    L = np.linalg.norm(towards, axis=1, keepdims=True)
    document_q0 = strength * towards / L**3  # page: Q_0 = -f_G u with f_G = -G m m / L^2
    # Exudyn's equations have Q on the left: the applied force would be its negative.
    assert np.abs(-document_q0 - forces[:, :3]).max() / np.abs(forces[:, :3]).max() > WRONG
    np.testing.assert_allclose(forces[:, :3], document_q0, rtol=1e-12)


def test_gravity_of_the_document_ignores_the_regularization_in_the_generalized_force():
    _, q, _, forces, _ = evaluated("ConnectorGravity softened", "point-point")
    towards = q[:, 3:] - q[:, :3]
    L = np.linalg.norm(towards, axis=1, keepdims=True)
    near = L[:, 0] < 4.0
    assert near.any()
    literal = 2.0 * 1.5 * 0.8 * towards / L**3
    assert np.abs(literal - forces[:, :3])[near].max() / np.abs(forces[:, :3]).max() > WRONG
