"""Rotational spring and damper about the z axis."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..ports import AbstractPort, Planar, PlanarWrench
from ..symbols import Symbol, Z
from .connector import AbstractForce, check_dof_constraint


class RotationalSpringDamper(AbstractForce):
    r"""Torque between two bodies from their relative angle about z.

    $T = k(\theta_1 - \theta_0 + p - \theta_l) + c(\omega_1 - \omega_0)$ acts as +T on marker 0 (child) and -T on
    marker 1 (parent). Planar bodies and rotors count their angle through full turns. A spatial body's angle is its
    twist about z, which jumps from one full turn to minus one and is undefined where the body is turned upside down.

    **Arguments:** `stiffness` k [N m/rad]; `damping` c [N m s/rad]; `preload` p [rad]; `reference_angle` [rad], None:
    the relative angle in the initial state; `dof_constraint` for x, y and theta: only theta matters, True switches
    the torque off.

    **Outputs:** `rotation`, the relative angle; `angular_velocity`; `torque` T.
    """

    stiffness: Numbers = parameter(0.0, unit="N m/rad", range="expected nonnegative")
    damping: Numbers = parameter(0.0, unit="N m s/rad", range="expected nonnegative")
    preload: Numbers = parameter(0.0, unit="rad")
    reference_angle: MaybeNumbers = parameter(None, unit="rad")
    dof_constraint: tuple[bool, bool, bool] = eqx.field(default=(False, False, False), static=True)

    exerted: ClassVar[tuple[str, ...]] = ("torque",)
    measured: ClassVar[tuple[str, ...]] = ("reference_angle",)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Planar(turning=True), Planar(turning=True))

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_dof_constraint(name, self.dof_constraint)

    def measure(self, config: Any) -> dict[str, Any]:
        return {"reference_angle": config[1].angle - config[0].angle}

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        torque = self.outputs(t, config, flow)["torque"]
        nothing = jnp.zeros_like(flow[0].v)
        return PlanarWrench(nothing, torque), PlanarWrench(nothing, -torque)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        angle, spin = config[1].angle - config[0].angle, flow[1].w - flow[0].w
        torque = self.stiffness * (angle + self.preload - self.reference_angle) + self.damping * spin
        if self.dof_constraint[2]:
            torque = 0 * torque
        return dict(rotation=angle, angular_velocity=spin, torque=torque)

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        angle = config[1].angle - config[0].angle + self.preload - self.reference_angle
        return 0 * angle if self.dof_constraint[2] else 0.5 * self.stiffness * angle**2

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("spiral", axis=Z),)
