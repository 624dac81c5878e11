"""Weight, and other forces in proportion to a body's mass."""

from typing import Any, ClassVar

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..ports import AbstractPort, Point
from ..symbols import Symbol
from .connector import AbstractForce, value_at


class MassProportionalLoad(AbstractForce):
    """A force in proportion to the mass of a body, $f = m\\,a(t)$: weight of one body alone, or a frame that shakes.

    It acts at its marker: put that on the centre of mass. The uniform field of `Model(gravity=...)` acts on all bodies.

    **Arguments:** `acceleration` a [m/s^2], a 3-vector or a function of time; `mass` m [kg], None: that of the body.

    **Outputs:** `force`, in the world frame.
    """

    acceleration: Numbers = parameter(shape=(3,), unit="m/s^2", of_time=True)
    mass: MaybeNumbers = parameter(None, unit="kg")

    ties: ClassVar[dict[str, tuple[int, str]]] = {"mass": (0, "mass")}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Point(),)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        return (self.outputs(t, config, flow)["force"],)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        return dict(force=self.mass * value_at(t, self.acceleration, "acceleration", (3,)))

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("arrow", vector="force"),)
