"""Torsional spring and damper about an axis in space."""

import equinox as eqx

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, UserFunction
from ..symbols import Symbol
from .connector import value_at
from .scalar_force import AbstractSpringDamper


class TorsionalSpringDamper(AbstractSpringDamper):
    r"""Torsional spring and damper about an axis that turns with marker 0's body, as in a revolute joint.

    $T = k\,(\theta - \theta_0(t)) + d\,(\dot\theta - \omega_0(t)) + T_a(t)$ acts as +T a on marker 0 and -T a on
    marker 1. The angle is 0 where both bodies' frames are parallel, and lies between -pi and pi; full turns are counted
    where both bodies turn about z only. Half a turn about an axis perpendicular to this one is singular.

    **Arguments:** `axis` a, in the frame of marker 0's body; `stiffness` k [N m/rad]; `damping` d [N m s/rad]; `offset`
    [rad], `velocity_offset` [rad/s] and `torque` Ta [N m], numbers or functions of time;
    `user_function`, a function (t, rotation, angular_velocity, stiffness, damping, offset) that replaces
    T altogether.

    **Outputs:** `rotation`, `angular_velocity` its rate, `torque` T.
    """

    axis: Numbers = parameter(shape=(3,), range="direction")
    stiffness: Numbers = parameter(0.0, unit="N m/rad", range="expected nonnegative")
    damping: Numbers = parameter(0.0, unit="N m s/rad", range="expected nonnegative")
    offset: Numbers = parameter(0.0, unit="rad", of_time=True)
    velocity_offset: Numbers = parameter(0.0, unit="rad/s", of_time=True)
    torque: Numbers = parameter(0.0, unit="N m", of_time=True)
    user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    motion = "rotation"

    def added(self, t: Scalar) -> Scalar:
        return value_at(t, self.torque, "torque")

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("spiral", axis=self.axis),)
