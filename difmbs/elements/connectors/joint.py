"""What joints between two bodies in space have in common."""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ...core.types import Matrix3, MaybeNumbers, Scalar, Vector, Vector3
from ..ports import AbstractPort, Frame, Twist
from ..rotations import cross, matrix_product, multiply, rotation_matrix, rotation_vector, skew
from .connector import AbstractConstraint
from .relative_motion import rate_of, vector_of

Locked = tuple[bool, bool, bool, bool, bool, bool]
"""Which relative motions a joint takes away: along x, y, z and about x, y, z of its frame."""


class JointMotion(NamedTuple):
    """How marker 1's joint frame moves relative to marker 0's, in components of the latter.

    `frame`: marker 0's joint frame in the world; `displacement` and `R`, the rotation matrix, with their rates
    `velocity` and `angular_velocity`.
    """

    frame: Matrix3
    displacement: Vector3
    R: Matrix3
    velocity: Vector3
    angular_velocity: Vector3


class AbstractJoint(AbstractConstraint):
    """Takes away some motions of a joint frame on marker 1's body relative to one on marker 0's body.

    Force and torque are those on marker 0's body, about marker 0; marker 1's body gets the opposite, about the same
    point.
    """

    rotation1: eqx.AbstractVar[MaybeNumbers]
    """The joint frame on marker 1's body, as a rotation vector in that body's frame."""

    exerted: ClassVar[tuple[str, ...]] = ("force", "torque", "force_local", "torque_local", "multipliers")
    multipliers: ClassVar[str] = "multipliers"
    rate_of_flow: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def locked(self) -> Locked: ...

    @abc.abstractmethod
    def frame0(self) -> Matrix3:
        """The joint frame on marker 0's body, in that body's frame."""

    @abc.abstractmethod
    def held(self, t: Scalar) -> tuple[Vector3, Matrix3] | None:
        """Where the joint holds marker 1's frame, if not in marker 0's: a displacement and a rotation."""

    @abc.abstractmethod
    def motion_outputs(self, motion: JointMotion) -> dict[str, Any]:
        """The outputs of the joint's own motion."""

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        # Where no rotation is locked, points will do.
        turning = any(self.locked[3:])
        return (Frame(turning=turning), Frame(turning=turning))

    def measure(self, config: Any) -> dict[str, Any]:
        first, second = config
        return {"rotation1": rotation_vector(second.R.T @ first.R @ self.frame0())}

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        (first, second), frame0, held = config, self.frame0(), self.held(t)
        apart = second.p - first.p
        equations: list[Vector] = []
        if all(self.locked[:3]):
            # In the world: the same, and simpler.
            equations.append(apart if held is None else apart - multiply(first.R, multiply(frame0, held[0])))
        elif any(self.locked[:3]):
            axes = _slice([i for i in range(3) if self.locked[i]])
            within = multiply(frame0[:, axes].T, multiply(first.R.T, apart))
            equations.append(within if held is None else within - held[0][axes])
        if any(self.locked[3:]):
            frame0 = frame0 if held is None else matrix_product(frame0, held[1])
            equations.append(self._rotations(first.R, frame0, second.R))
        return jnp.concatenate(equations)

    def rate(self, t: Scalar, config: Any, flow: Any) -> Vector:
        (first, second), (twist0, twist1), frame0, held = config, flow, self.frame0(), self.held(t)
        apart, speed, equations = second.p - first.p, twist1.v - twist0.v, list[Vector]()
        if all(self.locked[:3]):
            if held is not None:
                speed = speed - cross(twist0.w, multiply(first.R, multiply(frame0, held[0])))
            equations.append(speed)
        elif any(self.locked[:3]):
            axes = _slice([i for i in range(3) if self.locked[i]])
            equations.append(multiply(frame0[:, axes].T, multiply(first.R.T, speed - cross(twist0.w, apart))))
        if any(self.locked[3:]):
            frame0 = frame0 if held is None else matrix_product(frame0, held[1])
            equations.append(self._turning(first.R, frame0, second.R, twist0.w, twist1.w))
        return jnp.concatenate(equations)

    def _rotations(self, R0: Matrix3, frame0: Matrix3, R1: Matrix3) -> Vector:
        """Zero where the locked rotations are."""
        if all(self.locked[3:]):
            return vector_of(self._turned(R0, frame0, R1))
        own, other = self._axes(R0, frame0, R1)
        return jnp.sum(own * other[:, None], axis=0)

    def _turning(self, R0: Matrix3, frame0: Matrix3, R1: Matrix3, w0: Vector3, w1: Vector3) -> Vector:
        """The rate of `_rotations`."""
        if all(self.locked[3:]):
            turned = self._turned(R0, frame0, R1)
            return vector_of(matrix_product(skew(w1), turned) - matrix_product(turned, skew(w0)))
        own, other = self._axes(R0, frame0, R1)
        return multiply(own.T, cross(w1 - w0, other))

    def _turned(self, R0: Matrix3, frame0: Matrix3, R1: Matrix3) -> Matrix3:
        """The rotation from one frame to the other, seen in the world."""
        frame1 = rotation_matrix(self.rotation1)
        return matrix_product(matrix_product(R1, matrix_product(frame1, frame0.T)), R0.T)

    def _axes(self, R0: Matrix3, frame0: Matrix3, R1: Matrix3) -> tuple[Any, Vector3]:
        """In the world, the axes of frame 0 that an axis of frame 1 stays perpendicular to, and that axis."""
        axes = [i for i in range(3) if self.locked[3 + i]]
        if len(axes) == 2:
            (of_first, of_second) = axes, ({0, 1, 2} - set(axes)).pop()
        else:
            of_first, of_second = [(axes[0] + 1) % 3], (axes[0] + 2) % 3
        frame1 = rotation_matrix(self.rotation1)
        return matrix_product(R0, frame0[:, _slice(of_first)]), multiply(R1, frame1[:, of_second])

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        motion = self._motion(config, flow)
        force, torque = reaction(lambda c: self.residual(t, c, flow), config, multiplier)
        return self.motion_outputs(motion) | dict(
            force=force,
            torque=torque,
            force_local=multiply(motion.frame.T, force),
            torque_local=multiply(motion.frame.T, torque),
            multipliers=multiplier,
        )

    def _motion(self, config: Any, flow: Any) -> JointMotion:
        (first, second), (twist0, twist1) = config, flow
        frame = matrix_product(first.R, self.frame0())
        apart = second.p - first.p
        return JointMotion(
            frame,
            multiply(frame.T, apart),
            matrix_product(frame.T, matrix_product(second.R, rotation_matrix(self.rotation1))),
            multiply(frame.T, twist1.v - twist0.v - cross(twist0.w, apart)),
            multiply(frame.T, twist1.w - twist0.w),
        )


def _slice(axes: list[int]) -> slice:
    """Some of three axes, in their order."""
    return slice(axes[0], axes[-1] + 1, axes[1] - axes[0] if len(axes) == 2 else 1)


def reaction(residual: Any, config: Any, multiplier: Vector) -> tuple[Vector3, Vector3]:
    """Force and torque on marker 0's body of a constraint on places with these multipliers."""
    first, second = config
    still = jax.tree.map(jnp.zeros_like, second)

    def rate(twist: Twist) -> Vector:
        return jax.jvp(residual, (config,), ((rate_of(first, twist), still),))[1]

    nothing = jnp.zeros_like(first.p)
    _, transposed = jax.vjp(rate, Twist(nothing, nothing))
    (twist,) = transposed(-multiplier)
    return twist.v, twist.w


def angle_about_z(motion: JointMotion) -> Scalar:
    """Of a rotation about z alone."""
    return jnp.arctan2(motion.R[1, 0] - motion.R[0, 1], motion.R[0, 0] + motion.R[1, 1])
