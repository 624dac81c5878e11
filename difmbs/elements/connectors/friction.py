"""Dry and viscous friction, smooth at rest."""

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..symbols import Symbol, of_motion
from .scalar_force import AbstractScalarForce


class Friction(AbstractScalarForce):
    r"""Coulomb, Stribeck and viscous friction against a relative motion.

    $f = \left(F_c + (F_s - F_c)\,e^{-(v/v_s)^2}\right)\tanh(v/v_t) + c\,v$. Smooth: below the transition velocity v_t
    it is a stiff damper that creeps and does not hold; `LuGreFriction` sticks.

    **Arguments:** `coulomb` F_c and `static` F_s, None: the same, forces [N] or torques [N m]; `stribeck_velocity` v_s
    and `transition_velocity` v_t [m/s or rad/s] > 0; `viscous` c; `motion`: against which relative motion, "rotation"
    about an axis, displacement along an "axis", "distance" or "coordinate"; `axis`, in the frame of marker 0's body.

    **Outputs:** those of the motion: `rotation`, `angular_velocity` and `torque`; `displacement`, `velocity` and
    `force`; or `distance`, `velocity` and `force`.
    """

    coulomb: Numbers = parameter(0.0, unit="N or N m", range="nonnegative")
    static: MaybeNumbers = parameter(None, unit="N or N m", range="nonnegative")
    stribeck_velocity: Numbers = parameter(0.01, unit="m/s or rad/s", range="positive")
    viscous: Numbers = parameter(0.0, unit="N s/m or N m s/rad", range="expected nonnegative")
    transition_velocity: Numbers = parameter(1e-3, unit="m/s or rad/s", range="positive")
    axis: MaybeNumbers = parameter(None, shape=(3,), range="direction")
    motion: str = eqx.field(default="rotation", static=True)

    def law(self, t: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        dry = self.coulomb
        if self.static is not None:
            dry = dry + (self.static - dry) * jnp.exp(-((rate / self.stribeck_velocity) ** 2))
        return dry * jnp.tanh(rate / self.transition_velocity) + self.viscous * rate

    def symbols(self) -> tuple[Symbol, ...]:
        return of_motion(self.motion, self.axis, ["shoes"], ["disc"])
