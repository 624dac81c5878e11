"""A ball joint."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import show
from ...core.types import Scalar, Vector
from ..ports import AbstractPort, Frame
from ..rotations import matrix_product, multiply, rotation_vector
from ..symbols import Symbol
from .connector import AbstractConstraint


class SphericalJoint(AbstractConstraint):
    r"""Ball joint: keeps two markers in one place, $p_1 - p_0 = 0$.

    The multipliers are the joint's force on marker 0, in the world frame; marker 1 gets the opposite. The rotations
    stay free. Between bodies that both move only in the x-y plane the third equation is 0 = 0: use `RevoluteJoint2D`.

    **Arguments:** `locked`, three booleans: which of x, y and z of the world are held.

    **Outputs:** `displacement` p1 - p0, `velocity` v1 - v0, `rotation` [rad], the rotation vector of marker 1's body in
    the frame of marker 0's body, `angular_velocity` of marker 1's body less that of marker 0's, in the same frame;
    `force` [N], and `force_local`, the same in the frame of marker 0's body.
    """

    locked: tuple[bool, bool, bool] = eqx.field(default=(True, True, True), static=True)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(turning=False), Frame(turning=False))

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        flags = self.locked
        booleans = isinstance(flags, tuple) and len(flags) == 3 and all(isinstance(flag, bool) for flag in flags)
        if not booleans or not any(flags):
            raise ModelError(
                f"'{name}': locked must be a tuple of three booleans, one of them True; got {show(flags)}."
            )

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        apart = config[1].p - config[0].p
        return apart if all(self.locked) else jnp.stack([apart[i] for i in range(3) if self.locked[i]])

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        (first, second), (twist0, twist1) = config, flow
        held = iter(range(3))
        force = jnp.stack([multiplier[next(held)] if locked else 0 * multiplier[0] for locked in self.locked])
        return dict(
            displacement=second.p - first.p,
            velocity=twist1.v - twist0.v,
            rotation=rotation_vector(matrix_product(first.R.T, second.R)),
            angular_velocity=multiply(first.R.T, twist1.w - twist0.w),
            force=force,
            force_local=multiply(first.R.T, force),
        )

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("ball"),)
