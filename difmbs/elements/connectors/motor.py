"""A prescribed relative motion."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Scalar, Vector
from ..symbols import Symbol, of_motion
from .connector import AbstractConstraint, value_at
from .relative_motion import AbstractOfMotion, displacement, named, relative_motion


class Motor(AbstractOfMotion, AbstractConstraint):
    r"""A drive that prescribes a relative motion, $x - x_d(t) = 0$, or its rate, $\dot x - v_d(t) = 0$.

    Of rotations only the direction is prescribed: an angle and the same with a full turn more are one. The force or
    torque that this takes is the multiplier with the opposite sign: positive where it drives the motion on. Add the
    joint whose motion it is besides. At the start, the position or the speed is that of the motor.

    **Arguments:** either `position` [m or rad] or `speed` [m/s or rad/s], a number or a function of time; `motion`:
    "rotation" about an axis, displacement along an "axis", "distance" or "coordinate"; `axis`, in the frame of marker
    0's body.

    **Outputs:** those of the motion: `rotation`, `angular_velocity` and `torque`; `displacement`, `velocity` and
    `force`; or `distance`, `velocity` and `force`. Also `multipliers`.
    """

    position: MaybeNumbers = parameter(None, unit="m or rad", of_time=True)
    speed: MaybeNumbers = parameter(None, unit="m/s or rad/s", of_time=True)
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="rotation", static=True)

    exerted: ClassVar[tuple[str, ...]] = ("force", "torque", "multipliers")
    multipliers: ClassVar[str] = "multipliers"

    @property
    def on_velocity(self) -> bool:
        return self.speed is not None

    def check_law(self, name: str) -> None:
        if (self.position is None) == (self.speed is None):
            raise ModelError(f"'{name}': a Motor needs either a position or a speed.")

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        if self.speed is not None:
            return (relative_motion(self.motion, self.axis, config, flow).rate - value_at(t, self.speed, "speed"))[None]
        off = displacement(self.motion, self.axis, config) - value_at(t, self.position, "position")
        return (jnp.arctan2(jnp.sin(off), jnp.cos(off)) if self.motion == "rotation" else off)[None]

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        motion = relative_motion(self.motion, self.axis, config, flow)
        return named(self.motion, motion.x, motion.rate, -multiplier[0]) | {"multipliers": multiplier}

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["strut"], ["housing"])
