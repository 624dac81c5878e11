"""Spring and damper along an axis of a body."""

import equinox as eqx

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, UserFunction
from ..symbols import Symbol, spring_and_damper
from .connector import value_at
from .scalar_force import AbstractSpringDamper


class AxialSpringDamper(AbstractSpringDamper):
    r"""Spring and damper along an axis that turns with marker 0's body, as beside a prismatic joint.

    $f = k\,(x - x_0(t)) + d\,(\dot x - v_0(t)) + f_a(t)$ with $x = a\cdot(p_1 - p_0)$; positive f pulls marker 1
    against the axis. The reaction on marker 0's body acts at marker 1's place, so that there is no net moment.

    **Arguments:** `axis` a, in the frame of marker 0's body; `stiffness` k [N/m]; `damping` d [N s/m]; `offset` x0 [m],
    `velocity_offset` v0 [m/s] and `force` fa [N], numbers or functions of time;
    `user_function`, a function (t, x, x', stiffness, damping, offset) that replaces f altogether.

    **Outputs:** `displacement` x, `velocity` its rate, `force` f.
    """

    axis: Numbers = parameter(shape=(3,), range="direction")
    stiffness: Numbers = parameter(0.0, unit="N/m", range="expected nonnegative")
    damping: Numbers = parameter(0.0, unit="N s/m", range="expected nonnegative")
    offset: Numbers = parameter(0.0, unit="m", of_time=True)
    velocity_offset: Numbers = parameter(0.0, unit="m/s", of_time=True)
    force: Numbers = parameter(0.0, unit="N", of_time=True)
    user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    motion = "axis"

    def added(self, t: Scalar) -> Scalar:
        return value_at(t, self.force, "force")

    def symbols(self) -> tuple[Symbol, ...]:
        return spring_and_damper(self.stiffness, self.damping, self.user_function)
