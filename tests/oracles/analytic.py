"""The documents' formulas, corrected, written out by hand in numpy: what the library's derivatives are checked against.

For a force F(dp, dv) on marker 0 (and -F on marker 1), with K = dF/dp1, D = dF/dv1, J the Jacobian of a marker,
H = d(J v)/dq and N(F) = d(J^T)/dq F:

    dQ_i/dq_j = -s_i [delta_ij N_i(F) + J_i^T (K s_j J_j + D s_j H_j)],   dQ_i/dv_j = -s_i s_j J_i^T D J_j,

s_0 = -1, s_1 = +1. Derivatives with respect to q are along the velocity coordinates.
"""

import dataclasses

import numpy as np


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(quaternion):
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    u = skew((x, y, z))
    return np.eye(3) + 2 * w * u + 2 * u @ u


@dataclasses.dataclass
class Marker:
    """Position, velocity and derivatives of a marker; `angle` and its derivatives along the velocity coordinates."""

    p: np.ndarray
    v: np.ndarray
    J: np.ndarray
    H: np.ndarray
    normal: object  # F -> d(J^T F)/dq
    angle: float = 0.0
    angle_row: np.ndarray | None = None
    angle_row_change: np.ndarray | None = None


def marker(kind, point, com, q, v):
    """The marker at a body-fixed point of a body of some kind; `point` and `com` in the body's frame."""
    if kind == "ground":
        empty = np.zeros((3, 0))
        return Marker(point, np.zeros(3), empty, empty, lambda f: np.zeros((0, 0)), 0.0, np.zeros(0), np.zeros((0, 0)))
    if kind == "point":
        zero = np.zeros((3, 3))
        return Marker(q, v, np.eye(3), zero, lambda f: zero, 0.0, np.zeros(3), zero)
    if kind == "planar":
        c, s = np.cos(q[2]), np.sin(q[2])
        d = point[:2] - com
        a = np.array([c * d[0] - s * d[1], s * d[0] + c * d[1]])
        J = np.array([[1, 0, -a[1]], [0, 1, a[0]], [0, 0, 0.0]])
        H = np.zeros((3, 3))
        H[:2, 2] = -v[2] * a

        def normal(f):
            n = np.zeros((3, 3))
            n[2, 2] = -(a @ f[:2])
            return n

        p = np.array([q[0] + a[0], q[1] + a[1], point[2]])
        return Marker(p, J @ v, J, H, normal, q[2], np.array([0, 0, 1.0]), np.zeros((3, 3)))
    R, s, omega = rotation(q[3:]), point - com, v[3:]
    J = np.hstack([np.eye(3), -R @ skew(s)])
    H = np.hstack([np.zeros((3, 3)), -R @ skew(np.cross(omega, s))])

    def normal(f):
        n = np.zeros((6, 6))
        n[3:, 3:] = skew(s) @ skew(R.T @ f)
        return n

    angle, row, change = _twist(q[3:])
    return Marker(q[:3] + R @ s, J @ v, J, H, normal, angle, row, change)


def _twist(quaternion):
    """Twist about z, 2 atan2(z, w), and its derivatives along the body-fixed rotation."""
    w, x, y, z = quaternion
    m = w * w + z * z
    moved = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])  # d(w, x, y, z)
    dw, dx, dy, dz = moved
    row = 2 * (w * dz - z * dw) / m

    def change_of(dw, dz, ddw, ddz):
        """Second derivative from the changes of w, z and of their derivatives."""
        dm = 2 * (w * dw[None, :] + z * dz[None, :])
        top = dw[None, :] * dz_[:, None] + w * ddz - dz[None, :] * dw_[:, None] - z * ddw
        return 2 * top / m - row[:, None] * dm / m

    dw_, dz_ = dw, dz
    ddw = 0.5 * np.stack([-dx, -dy, -dz])  # row i: derivative of dw_i
    ddz = 0.5 * np.stack([-dy, dx, dw])
    change = change_of(dw, dz, ddw, ddz)
    zero = np.zeros(3)
    full = np.zeros((6, 6))
    full[3:, 3:] = change
    return 2 * np.arctan2(z, w), np.concatenate([zero, row]), full


def blocks(m0, m1, F, K, D, velocity_term=True):
    """(position, velocity) blocks and forces of a force F on marker 0 and -F on marker 1."""
    markers, sign = (m0, m1), (-1, 1)
    position = [[None, None], [None, None]]
    velocity = [[None, None], [None, None]]
    for i, a in enumerate(markers):
        for j, b in enumerate(markers):
            inner = K @ b.J + (D @ b.H if velocity_term else 0)
            position[i][j] = -sign[i] * (sign[j] * a.J.T @ inner + (a.normal(F) if i == j else 0))
            velocity[i][j] = -sign[i] * sign[j] * a.J.T @ D @ b.J
    return position, velocity, [m.J.T @ (-s * F) for m, s in zip(markers, sign, strict=True)]


def spring(m0, m1, k, d, L0, fa, v0, k3=0.0):
    """F, K, D of the spring-damper; k3 of the cubic user law."""
    dp, dv = m1.p - m0.p, m1.v - m0.v
    L = np.linalg.norm(dp)
    u = dp / L
    P = np.eye(3) - np.outer(u, u)
    e = L - L0
    f = k * e + k3 * e**3 + d * (u @ dv - v0) + fa
    K = f / L * P + (k + 3 * k3 * e**2) * np.outer(u, u) + d / L * np.outer(u, P @ dv)
    return f * u, K, d * np.outer(u, u)


def gravity(m0, m1, strength, minimum, softening):
    dp = m1.p - m0.p
    L = np.linalg.norm(dp)
    u = dp / L
    if softening == "plummer":
        r = np.sqrt(L * L + minimum * minimum)
        f, slope = strength * L / r**3, strength * (1 / r**3 - 3 * L * L / r**5)
    elif minimum <= L:
        f, slope = strength / L**2, -2 * strength / L**3
    else:
        D = L**2 + (L - minimum) ** 2
        f, slope = strength / D, -strength * (4 * L - 2 * minimum) / D**2
    K = slope * np.outer(u, u) + f / L * (np.eye(3) - np.outer(u, u))
    return f * u, K, np.zeros((3, 3))


def planar_spring(m0, m1, law, c, isotropic=False):
    """F, K, D of the planar spring-damper with spring force law(L) -> (f_k, slope, gate, gate slope)."""
    dp, dv = (m1.p - m0.p) * (1, 1, 0), (m1.v - m0.v) * (1, 1, 0)
    L = np.linalg.norm(dp)
    u = dp / L
    flat = np.diag([1.0, 1.0, 0.0])
    P = flat - np.outer(u, u)
    fk, slope, gate, gate_slope = law(L)
    rate = u @ dv
    damping = c * gate
    if isotropic:
        force = fk * u + damping * dv
        K = fk / L * P + slope * np.outer(u, u) + c * gate_slope * np.outer(dv, u)
        return force, K, damping * flat, fk + damping * rate
    f = fk + damping * rate
    K = f / L * P + (slope + c * gate_slope * rate) * np.outer(u, u) + damping / L * np.outer(u, P @ dv)
    return f * u, K, damping * np.outer(u, u), f


def markers(system, pairing, q, v, params=None):
    params = system.params() if params is None else params
    ends = []
    for i, (kind, name) in enumerate(zip(pairing.split("-"), ("a", "b"), strict=True)):
        point = np.asarray(params.get("link", {}).get(f"marker{i}", np.zeros(3)))
        if kind == "ground":
            ends.append(marker(kind, point, None, None, None))
            continue
        com = np.asarray(params[name].get("center_of_mass", np.zeros(3)))
        at, along = system.coordinates(name), system.velocities(name)
        ends.append(marker(kind, point, com, q[at], v[along]))
    return ends
