"""A slide in the x-y plane."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar, Vector, Vector2
from ..ports import AbstractPort, Planar
from ..rotations import PlaneRotation, in_space, length_and_direction
from ..symbols import Symbol, between
from .connector import AbstractConstraint


class PrismaticJoint2D(AbstractConstraint):
    r"""Slide in the x-y plane: marker 1 stays on a line through marker 0 that turns with its body.

    $n\cdot(p_1 - p_0) = 0$ with n perpendicular to the axis, and $\theta_1 - \theta_0 - \alpha = 0$ unless the rotation
    is free. Counter-clockwise from the axis is positive for n.

    **Arguments:** `axis`, two numbers, a direction in the frame of marker 0's body; `reference_angle` alpha [rad],
    None: that of the initial state; `locks_rotation`: False lets marker 1's body turn.

    **Outputs:** `displacement` of marker 1 along the axis, `velocity` its rate, `force` [N], the multiplier: that on
    marker 0 along n; `torque` [N m] on marker 0's body, 0 if the rotation is free. Also `multipliers`.
    """

    axis: Numbers = parameter((1.0, 0.0), shape=(2,), range="direction")
    reference_angle: MaybeNumbers = parameter(None, unit="rad")
    locks_rotation: bool = eqx.field(default=True, static=True)

    exerted: ClassVar[tuple[str, ...]] = ("force", "torque", "multipliers")
    multipliers: ClassVar[str] = "multipliers"
    measured: ClassVar[tuple[str, ...]] = ("reference_angle",)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Planar(), Planar(turning=self.locks_rotation))

    def measure(self, config: Any) -> dict[str, Any]:
        return {"reference_angle": config[1].angle - config[0].angle}

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        first, second = config
        axis = self._axis(config)
        across = axis[0] * (second.p[1] - first.p[1]) - axis[1] * (second.p[0] - first.p[0])
        if not self.locks_rotation:
            return across[None]
        return jnp.stack([across, second.angle - first.angle - self.reference_angle])

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        (first, second), (twist0, twist1) = config, flow
        axis, apart = self._axis(config), second.p - first.p
        turned = jnp.stack([-apart[1], apart[0]])
        return dict(
            displacement=jnp.sum(axis * apart),
            velocity=jnp.sum(axis * (twist1.v - twist0.v - twist0.w * turned)),
            force=multiplier[0],
            torque=multiplier[1] if self.locks_rotation else 0 * multiplier[0],
            multipliers=multiplier,
        )

    def _axis(self, config: Any) -> Vector2:
        direction = length_and_direction(self.axis)[1]
        return PlaneRotation(config[0].angle).apply(in_space(direction))[:2]

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("slide", axis=(*self.axis, 0.0)), between("rail"))
