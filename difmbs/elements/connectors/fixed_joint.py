"""A weld."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ...core.parameters import parameter
from ...core.types import Matrix3, MaybeNumbers, Scalar, Vector3
from ..rotations import multiply, rotation_vector
from ..symbols import Symbol
from .joint import AbstractJoint, JointMotion, Locked


class FixedJoint(AbstractJoint):
    r"""Weld: marker 1's body keeps its place and attitude relative to marker 0's body.

    Six equations.

    **Arguments:** `displacement` [m] of marker 1 from marker 0, in the frame of marker 0's body, and `rotation1` [rad],
    the rotation vector of marker 0's frame in marker 1's body; None: those of the initial state.

    **Outputs:** `force` [N] and `torque` [N m] on marker 0, in the world, `force_local` and `torque_local` the same in
    the frame of marker 0's body. Also `multipliers`.
    """

    displacement: MaybeNumbers = parameter(None, shape=(3,), unit="m")
    rotation1: MaybeNumbers = parameter(None, shape=(3,), unit="rad")

    measured: ClassVar[tuple[str, ...]] = (
        "displacement",
        "rotation1",
    )

    def measure(self, config: Any) -> dict[str, Any]:
        first, second = config
        return {
            "displacement": multiply(first.R.T, second.p - first.p),
            "rotation1": rotation_vector(second.R.T @ first.R),
        }

    @property
    def locked(self) -> Locked:
        return (True, True, True, True, True, True)

    def frame0(self) -> Matrix3:
        return jnp.asarray(np.eye(3), self.rotation1.dtype)

    def held(self, t: Scalar) -> tuple[Vector3, Matrix3] | None:
        return self.displacement, self.frame0()

    def motion_outputs(self, motion: JointMotion) -> dict[str, Any]:
        return {}

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("block"),)
