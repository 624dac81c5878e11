"""A massless rod: constant or prescribed distance between two points."""

from typing import Any

import numpy as np

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, Vector
from ..ports import AbstractPort
from ..rotations import length_and_direction
from ..symbols import Symbol, between
from .connector import AbstractConstraint, two_points, value_at


class DistanceConstraint(AbstractConstraint):
    r"""Keeps two markers at a distance, $|p_1 - p_0| - d(t) = 0$.

    The multiplier is the rod's force, positive in tension. Where the markers coincide the direction of the force is
    undefined: a distance of zero is refused.

    **Arguments:** `distance` [m] > 0, or a function of time.

    **Outputs:** `distance`, `displacement` p1 - p0, `velocity` v1 - v0, `force`, the multiplier [N].
    """

    distance: Numbers = parameter(unit="m", range="positive", of_time=True)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        distance = float(value_at(t, self.distance, "distance"))
        if not distance > 0:
            raise ModelError(f"'{name}': distance must be > 0, the function gives {distance:g} at t = {float(t):g}.")
        if np.linalg.norm(config[1] - config[0]) <= 1e-12 * distance:
            raise ModelError(
                f"'{name}': its markers coincide at the start, where the rod has no direction. Place the bodies at a "
                f"distance of {distance:g} m."
            )

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        length, _ = length_and_direction(config[1] - config[0])
        return (length - value_at(t, self.distance, "distance"))[None]

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        displacement = config[1] - config[0]
        length, _ = length_and_direction(displacement)
        return dict(distance=length, displacement=displacement, velocity=flow[1] - flow[0], force=multiplier[0])

    def symbols(self) -> tuple[Symbol, ...]:
        return (between("rod"),)
