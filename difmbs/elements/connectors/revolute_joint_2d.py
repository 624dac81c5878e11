"""A hinge in the x-y plane."""

from typing import Any, ClassVar

from ...core.types import Scalar, Vector
from ..ports import AbstractPort
from .connector import AbstractConstraint, two_points


class RevoluteJoint2D(AbstractConstraint):
    r"""Hinge about z: keeps two markers in one place of the x-y plane, $(p_1 - p_0)_{xy} = 0$.

    The multipliers are the hinge's force on marker 0, along x and y of the world frame; marker 1 gets the opposite.
    z and the rotations stay free. No singular points of its own.

    **Outputs:** `displacement` p1 - p0, `velocity` v1 - v0, `force`, the multipliers [N].
    """

    in_plane: ClassVar[bool] = True

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        return (config[1] - config[0])[:2]

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        return dict(displacement=config[1] - config[0], velocity=flow[1] - flow[0], force=multiplier)
