"""A disc that rolls on a plane without slipping."""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, Vector, Vector3
from ..ports import AbstractPort, Frame
from ..rotations import cross, length_and_direction, multiply
from ..symbols import Symbol
from .connector import AbstractConstraint


class RollingDisc(AbstractConstraint):
    r"""Rolling without slip: the disc's lowest point, about marker 1, rests on the plane through marker 0.

    $v_1 + \omega_1\times c - v_0 - \omega_0\times(p_1 + c - p_0) = 0$ with the vector c from the disc's centre to its
    lowest point, $c = -r\,(n - (n\cdot w)w)/|n - (n\cdot w) w|$, w the disc's axis, n the plane's normal. Three
    equations on velocities: two say that it does not slip, and the third keeps its height, which has to be right at the
    start. A disc that lies flat is singular.

    **Arguments:** `radius` r [m] > 0; `axis` w, in the frame of marker 1's body; `normal` n, in that of marker 0's
    body.

    **Outputs:** `position` of the contact, in the world; `height` of the lowest point over the plane, 0 but for the
    drift; `force`, the multipliers [N]: the disc's force on marker 0's body, in the world; `force_local`, that on the
    disc: along its axis, laid into the plane; ahead; and normal to the plane.
    """

    radius: Numbers = parameter(unit="m", range="positive")
    axis: Numbers = parameter((0.0, 1.0, 0.0), shape=(3,), range="direction")
    normal: Numbers = parameter((0.0, 0.0, 1.0), shape=(3,), range="direction")

    units: ClassVar[Mapping[str, str]] = {"position": "m", "height": "m"}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(), Frame())

    @property
    def on_velocity(self) -> bool:
        return True

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        height = float(self._height(config))
        if not np.isfinite(height) or abs(height) > 1e-6 * float(self.radius):
            raise ModelError(
                f"'{name}': the disc's lowest point is {height:.6g} m from the plane at the start, and stays there. "
                "Place its centre so that it touches the plane."
            )

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        (plane, disc), (of_plane, of_disc) = config, flow
        contact = self._contact(config)
        of_point = of_disc.v + cross(of_disc.w, contact - disc.p)
        return of_point - of_plane.v - cross(of_plane.w, contact - plane.p)

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        normal, axis = self._directions(config)
        ahead = length_and_direction(cross(axis, normal))[1]
        along = jnp.stack([cross(normal, ahead), ahead, normal])
        return dict(
            position=self._contact(config),
            height=self._height(config),
            force=multiplier,
            force_local=-multiply(along, multiplier),
        )

    def _directions(self, config: Any) -> tuple[Vector3, Vector3]:
        """The plane's normal and the disc's axis, in the world."""
        plane, disc = config
        normal = multiply(plane.R, length_and_direction(self.normal)[1])
        return normal, multiply(disc.R, length_and_direction(self.axis)[1])

    def _contact(self, config: Any) -> Vector3:
        normal, axis = self._directions(config)
        up = length_and_direction(normal - jnp.sum(normal * axis) * axis)[1]
        return config[1].p - self.radius * up

    def _height(self, config: Any) -> Scalar:
        normal, _ = self._directions(config)
        return jnp.sum(normal * (self._contact(config) - config[0].p))

    def symbols(self) -> tuple[Symbol, ...]:
        size = (0.4 * self.radius, self.radius, self.radius)
        return (Symbol("rotor", marker=1, axis=self.axis, size=size), Symbol("plane", axis=self.normal))
