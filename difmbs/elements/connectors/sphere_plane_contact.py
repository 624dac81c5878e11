"""Contact of a sphere, or a point, with a plane."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, Vector3
from ..ports import AbstractPort, Frame, Wrench
from ..rotations import cross, length_and_direction, multiply
from ..symbols import Symbol
from .connector import AbstractForce


class SpherePlaneContact(AbstractForce):
    r"""A sphere about marker 1 that touches a plane through marker 0: Hunt and Crossley's force, with friction.

    With the penetration $\delta = r - n\cdot(p_1 - p_0)$ the normal force is $N = \max(0,\; k\,\delta^n(1 +
    d\,\dot\delta))$, zero while $\delta \le 0$. Friction acts against the velocity v of the sphere's surface at the
    contact, relative to the plane, $-\mu N\, v / \sqrt{|v|^2 + v_t^2}$; below the transition velocity v_t it creeps.
    For a restitution e at an impact with the speed $v_i$, $d \approx 1.5\,(1 - e)/v_i$ (e near 1). The force acts on
    both bodies at the sphere's lowest point.

    **Arguments:** `stiffness` k [N/m^n]; `radius` r [m], 0: a point; `normal` n out of the plane, in the frame of
    marker 0's body; `exponent` n >= 1, 1.5 for spheres (Hertz); `damping` d [s/m]; `friction` mu; `transition_velocity`
    v_t [m/s] > 0.

    **Outputs:** `penetration` [m], negative above the plane; `force` [N] on marker 1's body, in the world;
    `normal_force` N; `slip` v, its velocity over the plane at the contact.
    """

    stiffness: Numbers = parameter(unit="N/m^n", range="nonnegative")
    radius: Numbers = parameter(0.0, unit="m", range="nonnegative")
    normal: Numbers = parameter((0.0, 0.0, 1.0), shape=(3,), range="direction")
    exponent: Numbers = parameter(1.5, range="one or more")
    damping: Numbers = parameter(0.0, unit="s/m", range="nonnegative")
    friction: Numbers = parameter(0.0, range="nonnegative")
    transition_velocity: Numbers = parameter(1e-3, unit="m/s", range="positive")

    exerted: ClassVar[tuple[str, ...]] = ("force", "normal_force")
    units: ClassVar[dict[str, str]] = {"penetration": "m", "normal_force": "N", "slip": "m/s"}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(turning=False), Frame(turning=False))

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        first, second = config
        force, contact = self.outputs(t, config, flow)["force"], self._lowest(config)
        return (
            Wrench(-force, cross(contact - first.p, -force)),
            Wrench(force, cross(contact - second.p, force)),
        )

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        first, second = config
        normal = self._normal(config)
        depth = self.radius - jnp.sum(normal * (second.p - first.p))
        contact = self._lowest(config)
        of_sphere, of_plane = (m.v + cross(m.w, contact - p.p) for m, p in zip(flow[::-1], config[::-1], strict=True))
        velocity = of_sphere - of_plane
        closing = -jnp.sum(normal * velocity)
        touching = depth > 0
        elastic = self.stiffness * jnp.where(touching, jnp.where(touching, depth, 1) ** self.exponent, 0)
        pressure = elastic * jnp.maximum(1 + self.damping * closing, 0)
        slip = velocity + closing * normal
        size, _ = length_and_direction(jnp.concatenate([slip, self.transition_velocity[None]]))
        return dict(
            penetration=depth,
            force=pressure * (normal - self.friction * slip / size),
            normal_force=pressure,
            slip=slip,
        )

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        depth = self.radius - jnp.sum(self._normal(config) * (config[1].p - config[0].p))
        touching = depth > 0
        power = jnp.where(touching, jnp.where(touching, depth, 1) ** (self.exponent + 1), 0)
        return self.stiffness * power / (self.exponent + 1)

    def _normal(self, config: Any) -> Vector3:
        return multiply(config[0].R, length_and_direction(self.normal)[1])

    def _lowest(self, config: Any) -> Vector3:
        return config[1].p - self.radius * self._normal(config)

    def symbols(self) -> tuple[Symbol, ...]:
        ball = (Symbol("sphere", marker=1, size=self.radius),) if np.any(self.radius) else ()
        return (*ball, Symbol("plane", axis=self.normal))
