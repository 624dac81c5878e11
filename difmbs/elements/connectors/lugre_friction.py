"""Friction that sticks."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import Spec, parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..symbols import Symbol, of_motion
from .connector import AbstractForce
from .relative_motion import AbstractOfMotion, named, relative_motion


class LuGreFriction(AbstractOfMotion, AbstractForce):
    r"""Friction that sticks and slips: bristles with a deflection z of their own (Canudas de Wit et al. 1995).

    $\dot z = v - \sigma_0\frac{|v|}{g(v)} z$ with $g = F_c + (F_s - F_c)\,e^{-(v/v_s)^2}$, and $f = \sigma_0 z +
    \sigma_1 \dot z + c\,v$. At rest it is a spring of stiffness sigma_0, sliding steadily $f = g(v) + c\,v$.
    $|v|$ has a kink at rest, which derivatives cross. The bristles are stiff: implicit solvers, or small steps.

    **Arguments:** `stiffness` sigma_0 > 0 and `damping` sigma_1 of the bristles; `coulomb` F_c > 0 and `static` F_s,
    None: the same, forces [N] or torques [N m]; `stribeck_velocity` v_s [m/s or rad/s] > 0; `viscous` c; `motion`:
    against which relative motion, "rotation" about an axis, displacement along an "axis", "distance" or "coordinate";
    `axis`, in the frame of marker 0's body.

    **Initial values:** `bristle` z.

    **Outputs:** those of the motion, as `Friction` has them, and `bristle` z.
    """

    stiffness: Numbers = parameter(unit="N/m or N m/rad", range="positive")
    coulomb: Numbers = parameter(unit="N or N m", range="positive")
    static: MaybeNumbers = parameter(None, unit="N or N m", range="positive")
    stribeck_velocity: Numbers = parameter(0.01, unit="m/s or rad/s", range="positive")
    damping: Numbers = parameter(0.0, unit="N s/m or N m s/rad", range="expected nonnegative")
    viscous: Numbers = parameter(0.0, unit="N s/m or N m s/rad", range="expected nonnegative")
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="rotation", static=True)

    initial: ClassVar[Mapping[str, Spec]] = {"bristle": Spec((), "m or rad")}

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        motion = relative_motion(self.motion, self.axis, config[:2], flow[:2])
        force, rate = self._law(motion.rate, flow[2][0])
        return (*motion.efforts(force), rate[None])

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        motion = relative_motion(self.motion, self.axis, config[:2], flow[:2])
        force, _ = self._law(motion.rate, flow[2][0])
        return named(self.motion, motion.x, motion.rate, force) | {"bristle": flow[2][0]}

    def _law(self, v: Scalar, z: Scalar) -> tuple[Scalar, Scalar]:
        most = self.coulomb
        if self.static is not None:
            most = most + (self.static - most) * jnp.exp(-((v / self.stribeck_velocity) ** 2))
        rate = v - self.stiffness * jnp.abs(v) / most * z
        return self.stiffness * z + self.damping * rate + self.viscous * v, rate

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["shoes"], ["disc"])
