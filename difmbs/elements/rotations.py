"""Rotations and lengths whose derivatives are finite everywhere.

This is the only place with norms and square roots of vectors: the guard is put around the argument, inside the
`where`, because a guard around the result alone gives NaN in reverse mode.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.types import Matrix, Matrix3, Quaternion, Scalar, Vector, Vector3


def _linear(function: Any) -> np.ndarray:
    """What times a quaternion, summed over the last axis, is a matrix that depends on the quaternion linearly."""
    return np.stack([function(q) for q in np.eye(4)], axis=-1)


def _left(q: np.ndarray) -> np.ndarray:
    """The matrix with which the product with q from the left is taken."""
    w, x, y, z = q
    return np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def _right(q: np.ndarray) -> np.ndarray:
    """Multiplication from the right."""
    w, x, y, z = q
    return np.array([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])


_SKEW = np.cross(np.eye(3)[:, None, :], np.eye(3)[None, :, :]).transpose(2, 1, 0)
_LEFT, _UPPER, _LOWER = _linear(_left), _linear(lambda q: _left(q)[1:]), _linear(lambda q: _right(q)[1:])


def length_and_direction(x: Vector) -> tuple[Scalar, Vector]:
    """|x| and x / |x|; at x = 0 both are 0, with derivative 0."""
    length, direction, _ = _polar(x)
    return length, direction


@jax.custom_jvp
def _polar(x):
    square = jnp.sum(x * x)
    nonzero = (square > 0).astype(x.dtype)
    inverse = nonzero / jnp.sqrt(square + (1 - nonzero))
    return square * inverse, x * inverse, inverse


@_polar.defjvp
def _polar_tangent(primals, tangents):
    """The derivative from its own results: no square root, no division, nothing to guard."""
    length, direction, inverse = _polar(*primals)
    dlength = jnp.sum(direction * tangents[0])
    results = (length, direction, inverse)
    return results, (dlength, (tangents[0] - direction * dlength) * inverse, -inverse * inverse * dlength)


def in_space(x: Any) -> Any:
    """A vector of the x-y plane as one in space."""
    return lax.pad(x, jnp.zeros((), x.dtype), [(0, 1, 0)])


def cross(a: Vector3, b: Vector3) -> Vector3:
    """a x b, with vectors written twice instead of components picked out: half of the operations."""
    a, b = jnp.concatenate([a, a]), jnp.concatenate([b, b])
    return a[1:4] * b[2:5] - a[2:5] * b[1:4]


def multiply(matrix: Matrix, vector: Vector) -> Vector:
    """Matrix times vector as a sum of products: fuses with its surroundings, where a dot does not."""
    return jnp.sum(matrix * vector[None], axis=-1)


def matrix_product(a: Matrix, b: Matrix) -> Matrix:
    """a b as a sum of products."""
    return jnp.sum(a[:, :, None] * b[None], axis=1)


def solve3(matrix: Matrix3, b: Vector3) -> Vector3:
    """Solves a 3 x 3 system by Cramer's rule, without a call to LAPACK."""
    c0, c1, c2 = matrix[:, 0], matrix[:, 1], matrix[:, 2]
    adjugate = jnp.stack([cross(c1, c2), cross(c2, c0), cross(c0, c1)])
    return multiply(adjugate, b) / jnp.sum(c0 * adjugate[0])


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    return multiply(_times(_LEFT, a), b)


def _times(table: np.ndarray, q: Quaternion) -> Any:
    return jnp.sum(table.astype(q.dtype) * q[None, None], axis=-1)


def quaternion_rate(q: Quaternion, omega_local: Vector3) -> Quaternion:
    """dq/dt = q * (0, omega) / 2 with the body-fixed angular velocity."""
    return 0.5 * quaternion_product(q, jnp.concatenate([jnp.zeros_like(omega_local[:1]), omega_local]))


def quaternion_from_vector(phi: Vector3) -> Quaternion:
    """The unit quaternion (w, x, y, z) of a rotation by |phi| about phi."""
    square = jnp.sum(phi * phi)
    small = square < 1e-8
    angle = jnp.sqrt(jnp.where(small, 1, square))
    # Taylor series below 1e-4 rad, exact to rounding, so that the derivatives at 0 are right as well.
    sinc_half = jnp.where(small, 0.5 - square / 48, jnp.sin(angle / 2) / angle)
    cos_half = jnp.where(small, 1 - square / 8 + square * square / 384, jnp.cos(angle / 2))
    return jnp.concatenate([cos_half[None], sinc_half * phi])


def skew(w: Vector3) -> Matrix3:
    """The matrix of w x."""
    return jnp.sum(_SKEW.astype(w.dtype) * w[None, None], axis=-1)


def rotation_matrix(phi: Vector3) -> Matrix3:
    """The rotation by |phi| about phi."""
    return SpatialRotation(quaternion_from_vector(phi)).matrix()


def rotation_vector(matrix: Matrix3) -> Vector3:
    """The rotation vector of a rotation matrix, not longer than pi; of half a turn one of the two."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    one = jnp.ones_like(a)
    candidates = jnp.stack(
        [
            jnp.stack([one + a + e + i, h - f, c - g, d - b]),
            jnp.stack([h - f, one + a - e - i, b + d, c + g]),
            jnp.stack([c - g, b + d, one - a + e - i, f + h]),
            jnp.stack([d - b, c + g, f + h, one - a - e + i]),
        ]
    )
    # Of four multiples of the quaternion the one that is farthest from zero.
    quaternion = candidates[jnp.argmax(jnp.diagonal(candidates))]
    quaternion = length_and_direction(quaternion * jnp.where(quaternion[0] < 0, -1, 1))[1]
    sine, axis = length_and_direction(quaternion[1:])
    # 2 sin(phi / 2) is phi to rounding where sin(phi / 2) is so small that its direction gets lost.
    small = sine < 1e-4
    angle = 2 * jnp.arctan2(jnp.where(small, 1, sine), quaternion[0])
    return jnp.where(small, (2 + sine**2 / 3) * quaternion[1:], angle * axis)


def frame_along(axis: Vector3) -> Matrix3:
    """A right-handed frame whose z is the axis: the world's for z, and varying smoothly but where the axis crosses the
    x-y plane (Duff et al. 2017)."""
    x, y, z = length_and_direction(axis)[1]
    sign = jnp.where(z < 0, -1, 1).astype(z.dtype)
    a = -1 / (sign + z)
    b = x * y * a
    first = jnp.stack([1 + sign * x * x * a, sign * b, -sign * x])
    return jnp.stack([first, jnp.stack([b, sign + y * y * a, -y]), jnp.stack([x, y, z])], axis=-1)


def tait_bryan_matrix(angles: Vector3) -> Matrix3:
    """Rotations about x, then about the turned y, then about the z that was turned by both."""
    (cx, cy, cz), (sx, sy, sz) = jnp.cos(angles), jnp.sin(angles)
    return jnp.stack(
        [
            jnp.stack([cy * cz, -cy * sz, sy]),
            jnp.stack([cx * sz + sx * sy * cz, cx * cz - sx * sy * sz, -sx * cy]),
            jnp.stack([sx * sz - cx * sy * cz, sx * cz + cx * sy * sz, cx * cy]),
        ]
    )


def tait_bryan_angles(matrix: Matrix3) -> Vector3:
    """The inverse of `tait_bryan_matrix`, with the second angle between -pi/2 and pi/2; singular at these ends."""
    side, _ = length_and_direction(matrix[0, :2])
    locked = side < 1e-12
    about_x = jnp.arctan2(jnp.where(locked, 0, -matrix[1, 2]), jnp.where(locked, 1, matrix[2, 2]))
    about_z = jnp.arctan2(jnp.where(locked, matrix[1, 0], -matrix[0, 1]), jnp.where(locked, matrix[1, 1], matrix[0, 0]))
    return jnp.stack([about_x, jnp.arctan2(matrix[0, 2], side), about_z])


class AbstractRotation(eqx.Module):
    """Turns body-fixed vectors into world vectors."""

    @property
    @abc.abstractmethod
    def dtype(self) -> Any: ...

    @abc.abstractmethod
    def apply(self, vector: Vector3) -> Vector3: ...

    @abc.abstractmethod
    def angle(self) -> Scalar:
        """The rotation about the world's z axis; counts full turns where the body's coordinates do."""

    def reading(self) -> Scalar | Matrix3:
        """What a user wants to see: the angle in the plane, the matrix in space."""
        return self.matrix()

    def counted_angle(self) -> Scalar | None:
        """The angle about z of what turns about no other axis, full turns counted; None of what turns in space."""
        return self.angle()

    @abc.abstractmethod
    def matrix(self) -> Matrix3: ...


class NoRotation(AbstractRotation):
    """Rotation of the ground and of bodies without orientation."""

    of_type: Any = eqx.field(static=True)

    @property
    def dtype(self) -> Any:
        return self.of_type

    def apply(self, vector: Vector3) -> Vector3:
        return vector

    def angle(self) -> Scalar:
        return jnp.zeros((), self.dtype)

    def matrix(self) -> Matrix3:
        return jnp.asarray(np.eye(3), self.dtype)


class PlaneRotation(AbstractRotation):
    """About the z axis."""

    value: Scalar

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def apply(self, vector: Vector3) -> Vector3:
        c, s = jnp.cos(self.value), jnp.sin(self.value)
        return jnp.stack([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1], vector[2]])

    def angle(self) -> Scalar:
        return self.value

    def matrix(self) -> Matrix3:
        return jnp.stack([self.apply(e) for e in jnp.asarray(np.eye(3), self.dtype)], axis=-1)

    def reading(self) -> Scalar | Matrix3:
        return self.value


class SpatialRotation(AbstractRotation):
    """By a quaternion of any length: only its direction counts, so rounding drift does no harm."""

    quaternion: Quaternion

    @property
    def dtype(self) -> Any:
        return self.quaternion.dtype

    def apply(self, vector: Vector3) -> Vector3:
        # The same matrix for all points: half of the operations of a formula for one.
        return multiply(self.matrix(), vector)

    def matrix(self) -> Matrix3:
        """q v q* / |q|^2 in terms of v: a product of two matrices that depend on q linearly."""
        q = self.quaternion
        upper, lower = _times(_UPPER, q), _times(_LOWER, q)
        return jnp.sum(upper[:, None] * lower[None], axis=-1) / jnp.sum(q * q)

    def counted_angle(self) -> Scalar | None:
        return None

    def inverse(self) -> "SpatialRotation":
        return SpatialRotation(self.quaternion * jnp.array([1, -1, -1, -1], self.quaternion.dtype))

    def angle(self) -> Scalar:
        """The twist about z (swing-twist decomposition), 0 where the body is turned upside down."""
        w, z = self.quaternion[0], self.quaternion[3]
        upright = w * w + z * z > 0
        return 2 * jnp.arctan2(jnp.where(upright, z, 0), jnp.where(upright, w, 1))
