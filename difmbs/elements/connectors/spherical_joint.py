"""A ball joint."""

from typing import Any

from ...core.types import Scalar, Vector
from ..ports import AbstractPort
from .connector import AbstractConstraint, two_points


class SphericalJoint(AbstractConstraint):
    r"""Ball joint: keeps two markers in one place, $p_1 - p_0 = 0$.

    The multipliers are the joint's force on marker 0, in the world frame; marker 1 gets the opposite. The rotations
    stay free. Between bodies that both move only in the x-y plane the third equation is 0 = 0: use `RevoluteJoint2D`.

    **Outputs:** `displacement` p1 - p0, `velocity` v1 - v0, `force`, the multipliers [N].
    """

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        return config[1] - config[0]

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        return dict(displacement=config[1] - config[0], velocity=flow[1] - flow[0], force=multiplier)
