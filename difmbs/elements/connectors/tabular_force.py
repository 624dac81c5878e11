"""Forces by curves over displacement and over speed."""

import equinox as eqx
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Scalar
from ..symbols import Symbol, of_motion
from .connector import check_choice
from .curve import interpolate
from .scalar_force import AbstractScalarForce

_CHOICES = {"interpolation": ("linear", "smooth"), "extrapolate": ("clamp", "linear")}


class TabularForce(AbstractScalarForce):
    r"""A force from a curve over the displacement and another over its rate: $f = f_x(x) + f_v(\dot x)$.

    Springs that harden, dampers that differ between bump and rebound. Positive f pulls the markers together; a damper's
    curve rises through the origin.

    **Arguments:** `spring_curve`, rows (displacement, force), and `damper_curve`, rows (rate, force), with ascending
    first numbers, one of them or both; between points the curve is "linear" or "smooth" (`interpolation`, a monotone
    cubic), outside of them "clamp" or "linear" (`extrapolate`); `motion`: against which relative motion, "distance",
    displacement along an "axis", "rotation" about one or "coordinate"; `axis`, in the frame of marker 0's body.

    **Outputs:** those of the motion: `distance`, `velocity` and `force`; `displacement`, `velocity` and `force`; or
    `rotation`, `angular_velocity` and `torque`.
    """

    spring_curve: MaybeNumbers = parameter(None, shape=(None, 2), unit="m, N", range="curve")
    damper_curve: MaybeNumbers = parameter(None, shape=(None, 2), unit="m/s, N", range="curve")
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="distance", static=True)
    interpolation: str = eqx.field(default="linear", static=True)
    extrapolate: str = eqx.field(default="linear", static=True)

    def check_law(self, name: str) -> None:
        for field, value in (("interpolation", self.interpolation), ("extrapolate", self.extrapolate)):
            check_choice(name, field, value, _CHOICES[field])
        if self.spring_curve is None and self.damper_curve is None:
            raise ModelError(f"'{name}': a TabularForce needs a spring_curve, a damper_curve or both.")

    def law(self, t: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        force = jnp.zeros_like(x)
        for curve, at in ((self.spring_curve, x), (self.damper_curve, rate)):
            if curve is not None:
                force = force + interpolate(at, curve, self.interpolation, self.extrapolate)
        return force

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["zigzag"], ["spiral"])
