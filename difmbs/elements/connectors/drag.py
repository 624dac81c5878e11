"""Resistance of air or water."""

from typing import Any

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar
from ..ports import AbstractPort, Point
from ..rotations import length_and_direction
from ..symbols import Symbol
from .connector import AbstractForce, value_at


class Drag(AbstractForce):
    r"""Resistance of a fluid to the motion of a point: $f = -(c_1 + c_2 |u|)\,u$ with $u = v - w(t)$.

    **Arguments:** `viscous` c1 [N s/m]; `quadratic` c2 [N s^2/m^2], half of density, drag coefficient and area; `wind`
    w [m/s], the fluid's velocity in the world, a 3-vector or a function of time.

    **Outputs:** `force`, in the world; `velocity` u, relative to the fluid.
    """

    viscous: Numbers = parameter(0.0, unit="N s/m", range="expected nonnegative")
    quadratic: Numbers = parameter(0.0, unit="N s^2/m^2", range="expected nonnegative")
    wind: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m/s", of_time=True)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Point(),)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        return (self.outputs(t, config, flow)["force"],)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        velocity = flow[0] - value_at(t, self.wind, "wind", (3,))
        speed, _ = length_and_direction(velocity)
        return dict(force=-(self.viscous + self.quadratic * speed) * velocity, velocity=velocity)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("arrow", vector="force"),)
