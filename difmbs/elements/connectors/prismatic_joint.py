"""A slide in space."""

from typing import Any, ClassVar

from ...core.parameters import parameter
from ...core.types import Matrix3, MaybeNumbers, Numbers, Scalar, Vector3
from ..rotations import frame_along
from ..symbols import Symbol, between
from .joint import AbstractJoint, JointMotion, Locked


class PrismaticJoint(AbstractJoint):
    r"""Slide along an axis in space: both bodies are parallel, and marker 1 on the axis through marker 0.

    Five equations. The axis turns with marker 0's body.

    **Arguments:** `axis`, a direction in the frame of marker 0's body; `rotation1` [rad], the rotation vector of the
    joint's frame in marker 1's body, None: such that the bodies keep their attitudes of the initial state.

    **Outputs:** `displacement` of marker 1 along the axis, `velocity` its rate, `force` [N] and `torque` [N m] on
    marker 0, in the world, `force_local` and `torque_local` the same in the joint's frame, whose z is the axis. Also
    `multipliers`.
    """

    axis: Numbers = parameter(shape=(3,), range="direction")
    rotation1: MaybeNumbers = parameter(None, shape=(3,), unit="rad")

    measured: ClassVar[tuple[str, ...]] = ("rotation1",)

    @property
    def locked(self) -> Locked:
        return (True, True, False, True, True, True)

    def frame0(self) -> Matrix3:
        return frame_along(self.axis)

    def held(self, t: Scalar) -> tuple[Vector3, Matrix3] | None:
        return None

    def motion_outputs(self, motion: JointMotion) -> dict[str, Any]:
        return dict(displacement=motion.displacement[2], velocity=motion.velocity[2])

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("slide", axis=self.axis), between("rail"))
