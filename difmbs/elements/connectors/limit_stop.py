"""Limit stops and bump stops."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..symbols import Symbol, of_motion
from .scalar_force import AbstractScalarForce


class LimitStop(AbstractScalarForce):
    r"""Elastic stops at the ends of a relative motion; between them there is no force.

    Beyond the upper end, with the penetration $\delta = x - x_u$, $f = \max(0,\; k\,\delta^n (1 + d\,\dot\delta))$;
    beyond the lower end the same with the opposite sign. The damping factor makes the force grow from zero, and the
    stop never pulls back.

    **Arguments:** `lower` and `upper` [m or rad], None: no stop on that side; `stiffness` k; `exponent` n >= 1;
    `damping` d [s/m or s/rad]; `motion`: of which relative motion, "rotation" about an axis, displacement along an
    "axis", "distance" or "coordinate"; `axis`, in the frame of marker 0's body.

    **Outputs:** those of the motion: `rotation`, `angular_velocity` and `torque`; `displacement`, `velocity` and
    `force`; or `distance`, `velocity` and `force`.
    """

    lower: MaybeNumbers = parameter(None, unit="m or rad")
    upper: MaybeNumbers = parameter(None, unit="m or rad")
    stiffness: Numbers = parameter(0.0, unit="N/m^n or N m/rad^n", range="nonnegative")
    exponent: Numbers = parameter(1.0, range="one or more")
    damping: Numbers = parameter(0.0, unit="s/m or s/rad", range="nonnegative")
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="rotation", static=True)

    def check_law(self, name: str) -> None:
        if self.lower is None and self.upper is None:
            raise ModelError(f"'{name}': a LimitStop needs lower, upper or both.")

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise ModelError(f"'{name}': lower must be less than upper, got {self.lower:g} and {self.upper:g}.")

    def law(self, t: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        force = jnp.zeros_like(x)
        if self.upper is not None:
            force = force + self._stop(x - self.upper, rate)
        return force if self.lower is None else force - self._stop(self.lower - x, -rate)

    def potential(self, t: Scalar, x: Scalar) -> Scalar | None:
        return sum(
            (
                self.stiffness * self._power(depth, self.exponent + 1) / (self.exponent + 1)
                for depth in (
                    *([] if self.upper is None else [x - self.upper]),
                    *([] if self.lower is None else [self.lower - x]),
                )
            ),
            jnp.zeros_like(x),
        )

    def _stop(self, depth: Scalar, rate: Scalar) -> Scalar:
        return self.stiffness * self._power(depth, self.exponent) * jnp.maximum(1 + self.damping * rate, 0)

    def _power(self, depth: Scalar, exponent: Scalar) -> Scalar:
        """0 outside; the guard keeps the derivative with respect to the exponent finite."""
        touching = depth > 0
        return jnp.where(touching, jnp.where(touching, depth, 1) ** exponent, 0)

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["buffer"], ["block"])
