"""A hinge in the x-y plane."""

from typing import Any

from ...core.types import Scalar, Vector
from ..ports import AbstractPort, Planar
from ..rotations import PlaneRotation, in_space
from ..symbols import Symbol, Z
from .connector import AbstractConstraint


class RevoluteJoint2D(AbstractConstraint):
    r"""Hinge about z: keeps two markers in one place of the x-y plane, $(p_1 - p_0)_{xy} = 0$.

    The multipliers are the hinge's force on marker 0, along x and y of the world frame; marker 1 gets the opposite.
    z and the rotations stay free. No singular points of its own.

    **Outputs:** `displacement` p1 - p0 and `velocity` v1 - v0 in the plane; `angle` of marker 1's body less that of
    marker 0's, full turns counted, and `angular_velocity`, its rate; `force`, the multipliers [N], and `force_local`,
    the same along x and y of marker 0's body.
    """

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Planar(), Planar())

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        return config[1].p - config[0].p

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        (first, second), (twist0, twist1) = config, flow
        return dict(
            displacement=second.p - first.p,
            velocity=twist1.v - twist0.v,
            angle=second.angle - first.angle,
            angular_velocity=twist1.w - twist0.w,
            force=multiplier,
            force_local=PlaneRotation(-first.angle).apply(in_space(multiplier))[:2],
        )

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("hinge", axis=Z),)
