"""Motions of single closed loops with one degree of freedom, by products of exponentials and Lagrange's equation.

The displacements phi of the joints follow the null vector n of the loop's Jacobian with the speed u, phi' = u n. With
the mass m, the sum of v M v over all bodies at u = 1, and the potential V,
m u' + (dm/ds u^2 / 2 + dV/ds) = 0, with d/ds along n. No coordinates of bodies, no multipliers, no projection.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp


class Screw(NamedTuple):
    """A joint at the start: about an axis through a point, or along an axis."""

    axis: np.ndarray
    point: np.ndarray
    slides: bool = False


class Link(NamedTuple):
    """A body behind joint `after`, counted from 0: mass, centre and inertia about it in the world, at the start."""

    after: int
    mass: float
    center: np.ndarray
    inertia: np.ndarray


def _skew(a):
    return jnp.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _motion(screw, x):
    """The displacement of all behind a joint, as a 4 x 4 matrix."""
    if screw.slides:
        return jnp.eye(4).at[:3, 3].set(x * screw.axis)
    K = _skew(screw.axis)
    R = jnp.eye(3) + jnp.sin(x) * K + (1 - jnp.cos(x)) * K @ K
    return jnp.eye(4).at[:3, :3].set(R).at[:3, 3].set(screw.point - R @ screw.point)


def _chain(screws, phi):
    found, here = [], jnp.eye(4)
    for screw, x in zip(screws, phi, strict=True):
        here = here @ _motion(screw, x)
        found.append(here)
    return found


def motion(screws, links, gravity, speed, times):
    """Positions of the links' centres at the times; `speed`: of the first joint at the start."""

    def gap(phi):
        end = _chain(screws, phi)[-1]
        turned = (end[:3, :3] - end[:3, :3].T) / 2
        return jnp.concatenate([end[:3, 3], jnp.stack([turned[2, 1], turned[0, 2], turned[1, 0]])])

    def along(phi):
        J = jax.jacfwd(gap)(phi)
        A, b = J[:, 1:], J[:, 0]
        # All joints per motion of the first; redundant rows of the loop do no harm to least squares.
        return jnp.concatenate([jnp.ones(1), -jnp.linalg.solve(A.T @ A, A.T @ b)])

    def mass(phi):
        n, total = along(phi), 0.0
        places, rates = jax.jvp(lambda x: _chain(screws, x), (phi,), (n,))
        for link in links:
            T, rate = places[link.after], rates[link.after]
            v = rate[:3, :3] @ link.center + rate[:3, 3]
            W = rate[:3, :3] @ T[:3, :3].T
            w = T[:3, :3].T @ jnp.stack([W[2, 1], W[0, 2], W[1, 0]])
            total += link.mass * v @ v + w @ link.inertia @ w
        return total

    def centers(phi):
        places = _chain(screws, phi)
        return jnp.stack([places[x.after][:3, :3] @ x.center + places[x.after][:3, 3] for x in links])

    def potential(phi):
        return -sum(link.mass * gravity @ p for link, p in zip(links, centers(phi), strict=True))

    @jax.jit
    def rates(y):
        phi, u = y[:-1], y[-1]
        n = along(phi)
        m, dm = jax.jvp(mass, (phi,), (n,))
        dV = jax.jvp(potential, (phi,), (n,))[1]
        return jnp.append(u * n, -(0.5 * dm * u**2 + dV) / m)

    start = np.append(np.zeros(len(screws)), speed)
    options = dict(method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times)
    found = solve_ivp(lambda t, y: np.asarray(rates(y)), (0, times[-1]), start, **options)
    return np.asarray(jax.vmap(centers)(jnp.asarray(found.y[:-1].T)))
