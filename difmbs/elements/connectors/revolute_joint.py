"""A hinge in space."""

from typing import Any, ClassVar

from ...core.parameters import parameter
from ...core.types import Matrix3, MaybeNumbers, Numbers, Scalar, Vector3
from ..rotations import frame_along
from ..symbols import Symbol
from .joint import AbstractJoint, JointMotion, Locked, angle_about_z


class RevoluteJoint(AbstractJoint):
    r"""Hinge about an axis in space: $p_1 - p_0 = 0$, and an axis fixed in both bodies; they turn about it.

    Five equations. The angle is 0 in the initial state and lies between -pi and pi. Between bodies that move in the x-y
    plane three of the equations are 0 = 0: use `RevoluteJoint2D`.

    **Arguments:** `axis`, a direction in the frame of marker 0's body; `rotation1` [rad], the rotation vector of the
    joint's frame in marker 1's body, None: such that the angle is 0 in the initial state.

    **Outputs:** `angle`, `angular_velocity` its rate, `force` [N] and `torque` [N m] on marker 0, in the world,
    `force_local` and `torque_local` the same in the joint's frame, whose z is the axis. Also `multipliers`.
    """

    axis: Numbers = parameter(shape=(3,), range="direction")
    rotation1: MaybeNumbers = parameter(None, shape=(3,), unit="rad")

    measured: ClassVar[tuple[str, ...]] = ("rotation1",)

    @property
    def locked(self) -> Locked:
        return (True, True, True, True, True, False)

    def frame0(self) -> Matrix3:
        return frame_along(self.axis)

    def held(self, t: Scalar) -> tuple[Vector3, Matrix3] | None:
        return None

    def motion_outputs(self, motion: JointMotion) -> dict[str, Any]:
        return dict(angle=angle_about_z(motion), angular_velocity=motion.angular_velocity[2])

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("hinge", axis=self.axis),)
