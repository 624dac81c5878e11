"""A force law of one's own."""

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Scalar, UserFunction
from ..symbols import Symbol, of_motion
from .connector import check_function, returned
from .scalar_force import AbstractScalarForce


class ForceLaw(AbstractScalarForce):
    r"""Any force against one relative motion, as a function or a formula: $f(t, x, \dot x)$.

    Positive f pulls the markers together, or turns them back.

    **Arguments:** `force`, a function (t, x, v) of the time, the relative displacement and its rate, or a formula of
    them: `Expression("k*x + c*v", k=100.0, c=2.0)`, in files `force = "k*x + c*v"` with a table of `parameters`;
    `motion`: which relative motion, "distance", displacement along an "axis", "rotation" about one or "coordinate";
    `axis`, in the frame of marker 0's body.

    **Outputs:** those of the motion: `distance`, `velocity` and `force`; `displacement`, `velocity` and `force`; or
    `rotation`, `angular_velocity` and `torque`.
    """

    force: UserFunction = eqx.field(kw_only=True)
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="distance", static=True)

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {"force": ("t", "x", "v")}

    def check_law(self, name: str) -> None:
        check_function(name, "force", self.force)

    def law(self, t: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        return returned("force", (), self.force, t, x, rate)

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["zigzag"], ["spiral"])
