"""A force or torque between two bodies that a drive exerts."""

from typing import Any

import equinox as eqx

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..symbols import Symbol, of_motion
from .connector import AbstractForce, value_at
from .relative_motion import AbstractOfMotion, named, relative_motion


class Actuator(AbstractOfMotion, AbstractForce):
    r"""A drive between two bodies: positive force makes the relative motion grow.

    A torque T about the axis of a joint acts as +T on marker 1 and -T on marker 0; a force along an axis, a line or on
    coordinates likewise. A `Motor` prescribes the motion instead.

    **Arguments:** `force` [N] or torque [N m], a number or a function of time; `motion`: "rotation" about an axis,
    displacement along an "axis", "distance" or "coordinate"; `axis`, in the frame of marker 0's body.

    **Outputs:** those of the motion: `rotation`, `angular_velocity` and `torque`; `displacement`, `velocity` and
    `force`; or `distance`, `velocity` and `force`.
    """

    force: Numbers = parameter(unit="N or N m", of_time=True)
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="rotation", static=True)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        return relative_motion(self.motion, self.axis, config, flow).efforts(-value_at(t, self.force, "force"))

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        motion = relative_motion(self.motion, self.axis, config, flow)
        return named(self.motion, motion.x, motion.rate, value_at(t, self.force, "force"))

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["strut"], ["housing"])
