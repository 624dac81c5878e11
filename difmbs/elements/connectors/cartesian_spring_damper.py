"""Springs and dampers along the axes of the world."""

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


class CartesianSpringDamper(AbstractForce):
    r"""Three springs and dampers between two points, along x, y and z of the world.

    $f = k\circ(p_1 - p_0 - o) + d\circ(v_1 - v_0)$, component by component, acts as +f on marker 0 and -f on marker 1.
    It does not turn with the bodies: where the points are apart and the stiffnesses differ, there is a net moment,
    which the world takes up.

    **Arguments:** `stiffness` k [N/m], `damping` d [N s/m] and `offset` o [m], 3-vectors; `user_function`, a function
    (t, p1 - p0, v1 - v0, stiffness, damping, offset) that returns f in their place.

    **Outputs:** `displacement` p1 - p0, `distance`, `velocity` v1 - v0, `force` f.
    """

    stiffness: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="N/m", range="expected nonnegative")
    damping: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="N s/m", range="expected nonnegative")
    offset: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")
    user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "user_function": ("t", "x", "v", "stiffness", "damping", "offset")
    }

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_function(name, "user_function", self.user_function)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        force = self._force(t, config, flow)
        return force, -force

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        displacement = config[1] - config[0]
        return dict(
            displacement=displacement,
            distance=length_and_direction(displacement)[0],
            velocity=flow[1] - flow[0],
            force=self._force(t, config, flow),
        )

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        if self.user_function is not None:
            return None
        return 0.5 * jnp.sum(self.stiffness * (config[1] - config[0] - self.offset) ** 2)

    def _force(self, t: Scalar, config: Any, flow: Any) -> Any:
        displacement, velocity = config[1] - config[0], flow[1] - flow[0]
        if self.user_function is not None:
            arguments = (t, displacement, velocity, self.stiffness, self.damping, self.offset)
            return returned("user_function", (3,), self.user_function, *arguments)
        return self.stiffness * (displacement - self.offset) + self.damping * velocity

    def symbols(self) -> tuple[Symbol, ...]:
        return spring_and_damper(self.stiffness, self.damping, self.user_function)
