"""A joint of which one may choose what it holds."""

from typing import Any

import equinox as eqx

from ...core.errors import ModelError
from ...core.parameters import parameter, show
from ...core.types import Matrix3, MaybeNumbers, Numbers, Scalar, Vector3
from ..rotations import rotation_matrix, tait_bryan_angles, tait_bryan_matrix
from ..symbols import Symbol
from .connector import value_at
from .joint import AbstractJoint, JointMotion, Locked


class GenericJoint(AbstractJoint):
    r"""Takes away any of the six relative motions of two bodies, or prescribes them.

    Translations are along the axes of the joint's frame on marker 0's body. Locked rotations: of all three, the frames
    are parallel; of two, the third axis of both frames is one; of one, such as x, y of frame 0 stays perpendicular to z
    of frame 1 (for y: z to x; for z: x to y).

    **Arguments:** `locked`, six booleans: along x, y, z, about x, y, z; `rotation0`, `rotation1` [rad], rotation
    vectors of the joint's frames in the bodies of marker 0 and 1; `offset`, six numbers or a function of time: where
    the joint holds marker 1's frame in marker 0's, a displacement [m] and Tait-Bryan angles [rad] (about x, the turned
    y, the turned z).

    **Outputs:** `displacement` (3) of marker 1 in frame 0 and `rotation`, the Tait-Bryan angles of frame 1 in it;
    `velocity`, the displacement's rate, and `angular_velocity`, in frame 0; `force` [N] and `torque` [N m] on marker 0,
    in the world, `force_local` and `torque_local` the same in frame 0. Also `multipliers`.
    """

    locked: Locked = eqx.field(default=(True,) * 6, static=True)
    rotation0: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="rad")
    rotation1: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="rad")
    offset: MaybeNumbers = parameter(None, shape=(6,), unit="m, rad", of_time=True)

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        flags = self.locked
        if not isinstance(flags, tuple) or len(flags) != 6 or not all(isinstance(flag, bool) for flag in flags):
            raise ModelError(f"'{name}': locked must be a tuple of six booleans, got {show(flags)}.")
        if not any(flags):
            raise ModelError(f"'{name}': a GenericJoint that locks nothing holds nothing.")

    def frame0(self) -> Matrix3:
        return rotation_matrix(self.rotation0)

    def held(self, t: Scalar) -> tuple[Vector3, Matrix3] | None:
        if self.offset is None:
            return None
        offset = value_at(t, self.offset, "offset", (6,))
        return offset[:3], tait_bryan_matrix(offset[3:])

    def motion_outputs(self, motion: JointMotion) -> dict[str, Any]:
        return dict(
            displacement=motion.displacement,
            velocity=motion.velocity,
            rotation=tait_bryan_angles(motion.R),
            angular_velocity=motion.angular_velocity,
        )

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("axes"),)
