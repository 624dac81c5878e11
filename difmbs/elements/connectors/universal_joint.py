"""A universal joint, or Cardan's."""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import Matrix3, MaybeNumbers, Numbers, Scalar, Vector3
from ..rotations import cross, length_and_direction
from ..symbols import Symbol
from .joint import AbstractJoint, JointMotion, Locked


class UniversalJoint(AbstractJoint):
    r"""Universal joint: $p_1 - p_0 = 0$, and an axis of either body keep perpendicular to each other.

    Four equations: the cross turns about axis 0 in marker 0's body, and marker 1's body about axis 1 in the cross. Both
    angles are 0 in the initial state and lie between -pi and pi.

    **Arguments:** `axis0` and `axis1`, both as they are in the initial state, in the frame of marker 0's body; of axis
    1 that counts what is perpendicular to axis 0. `rotation1` [rad], the rotation vector of the joint's frame (x along
    axis 1, z along axis 0) in marker 1's body, None: such that the angles are 0 in the initial state.

    **Outputs:** `angle0` of the cross about axis 0, `angle1` of marker 1's body about axis 1, `force` [N] and `torque`
    [N m] on marker 0, in the world, `force_local` and `torque_local` the same in the joint's frame on marker 0's body.
    Also `multipliers`.
    """

    axis0: Numbers = parameter(shape=(3,), range="direction")
    axis1: Numbers = parameter(shape=(3,), range="direction")
    rotation1: MaybeNumbers = parameter(None, shape=(3,), unit="rad")

    measured: ClassVar[tuple[str, ...]] = ("rotation1",)
    units: ClassVar[Mapping[str, str]] = {"angle0": "rad", "angle1": "rad"}

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        across = np.cross(self.axis0, self.axis1)
        if np.linalg.norm(across) < 1e-3 * np.linalg.norm(self.axis0) * np.linalg.norm(self.axis1):
            raise ModelError(f"'{name}': the axes of a UniversalJoint must not be parallel.")

    @property
    def locked(self) -> Locked:
        return (True, True, True, False, True, False)

    def frame0(self) -> Matrix3:
        return _frame(self.axis0, self.axis1)

    def held(self, t: Scalar) -> tuple[Vector3, Matrix3] | None:
        return None

    def motion_outputs(self, motion: JointMotion) -> dict[str, Any]:
        return dict(
            angle0=jnp.arctan2(motion.R[1, 0], motion.R[0, 0]), angle1=jnp.arctan2(motion.R[2, 1], motion.R[2, 2])
        )

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("cross", axis=self.axis0),)


def _frame(axis0: Any, axis1: Any) -> Matrix3:
    z = length_and_direction(axis0)[1]
    y = length_and_direction(cross(z, axis1))[1]
    return jnp.stack([cross(y, z), y, z], axis=-1)
