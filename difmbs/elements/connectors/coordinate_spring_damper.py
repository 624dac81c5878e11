"""Spring and damper between two coordinates."""

import equinox as eqx

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, UserFunction
from ..symbols import Symbol, spring_and_damper
from .connector import value_at
from .scalar_force import AbstractSpringDamper


class CoordinateSpringDamper(AbstractSpringDamper):
    r"""Spring and damper between one coordinate of a body and one of another body, or ground.

    $f = k\,(x - x_0(t)) + d\,(\dot x - v_0(t)) + f_a(t)$ with $x = q_1 - q_0$, total coordinates (reference plus
    displacement); +f acts on q0 and -f on q1. Ground contributes 0.

    **Arguments:** `stiffness` k and `damping` d, per unit of the coordinate; `offset` x0, `velocity_offset` v0 and
    `force` fa, numbers or functions of time; `user_function`, a function (t, x, x', stiffness, damping,
    offset) that replaces f altogether.

    **Outputs:** `displacement` x, `velocity` its rate, `force` f.
    """

    stiffness: Numbers = parameter(0.0, unit="N/m or N m/rad", range="expected nonnegative")
    damping: Numbers = parameter(0.0, unit="N s/m or N m s/rad", range="expected nonnegative")
    offset: Numbers = parameter(0.0, unit="m or rad", of_time=True)
    velocity_offset: Numbers = parameter(0.0, unit="m/s or rad/s", of_time=True)
    force: Numbers = parameter(0.0, unit="N or N m", of_time=True)
    user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    motion = "coordinate"
    axis = None

    def added(self, t: Scalar) -> Scalar:
        return value_at(t, self.force, "force")

    def symbols(self) -> tuple[Symbol, ...]:
        return spring_and_damper(self.stiffness, self.damping, self.user_function)
