"""Spring and damper between two points."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, UserFunction
from ..ports import AbstractPort
from ..rotations import length_and_direction
from ..symbols import Symbol, spring_and_damper
from .connector import AbstractForce, check_function, returned, two_points


class SpringDamper(AbstractForce):
    r"""Spring and damper along the line through two markers.

    $f = k\,(L - L_0) + d\,(\dot L - \dot L_0) + f_a$, positive in tension. Where the markers coincide the direction is
    undefined; there the force is 0 and its stiffness k in all directions.

    **Arguments:** `reference_length` L0 [m]; `stiffness` k [N/m]; `damping` d [N s/m]; `force` fa [N], positive in
    tension; `velocity_offset` [m/s], the rate at which the damper's neutral length grows;
    `spring_force_user_function`, a function (t, L - L0, dL/dt - velocity_offset, stiffness, damping, force) that
    replaces f altogether; arrays in an `eqx.Module` given here are parameters too.

    **Outputs:** `distance` L, `displacement` p1 - p0, `velocity` v1 - v0, `force` f u (the force on marker 0),
    `force_local` f.
    """

    reference_length: Numbers = parameter(0.0, unit="m", range="nonnegative")
    stiffness: Numbers = parameter(0.0, unit="N/m", range="expected nonnegative")
    damping: Numbers = parameter(0.0, unit="N s/m", range="expected nonnegative")
    force: Numbers = parameter(0.0, unit="N")
    velocity_offset: Numbers = parameter(0.0, unit="m/s")
    spring_force_user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "spring_force_user_function": ("t", "x", "v", "stiffness", "damping", "force")
    }

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_function(name, "spring_force_user_function", self.spring_force_user_function)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        force = self._laws(t, config, flow)["force"]
        return force, -force

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        return self._laws(t, config, flow)

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        if self.spring_force_user_function is not None:
            return None
        length, _ = length_and_direction(config[1] - config[0])
        return 0.5 * self.stiffness * (length - self.reference_length) ** 2 + self.force * length

    def _laws(self, t, config, flow) -> dict[str, Any]:
        displacement, velocity = config[1] - config[0], flow[1] - flow[0]
        length, direction = length_and_direction(displacement)
        stretch = length - self.reference_length
        rate = jnp.sum(direction * velocity) - self.velocity_offset
        if self.spring_force_user_function is None:
            beside = self.damping * rate + self.force
            f = self.stiffness * stretch + beside
            # k dp instead of k L u: the same away from L = 0, and differentiable there.
            force = self.stiffness * displacement + (beside - self.stiffness * self.reference_length) * direction
        else:
            arguments = (t, stretch, rate, self.stiffness, self.damping, self.force)
            f = returned("spring_force_user_function", (), self.spring_force_user_function, *arguments)
            force = f * direction
        return dict(distance=length, displacement=displacement, velocity=velocity, force=force, force_local=f)

    def symbols(self) -> tuple[Symbol, ...]:
        return spring_and_damper(self.stiffness, self.damping, self.spring_force_user_function)
