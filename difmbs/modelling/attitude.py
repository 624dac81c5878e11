"""The forms in which the rotation of a body may be given."""

from typing import Any

import jax
import numpy as np

from ..core.errors import ModelError
from ..core.parameters import is_numbers, show

CLOSE = 1e-3
"""Largest difference of the length of a quaternion from 1, and a matrix from an orthogonal one: those that were
rounded to four digits are meant, and taken for the nearest rotation."""
CALLED_OTHERWISE = {"rotation": "angle", "angle": "rotation"}
"""In the plane and in space."""


def rotation_vector(where: str, rotation: Any, count: int | None) -> Any:
    """A rotation vector, quaternion (w, x, y, z) or rotation matrix as rotation vector; one or `count` of them."""
    if not is_numbers(rotation):
        return rotation
    if isinstance(rotation, jax.core.Tracer):
        return _traced(where, rotation, count)
    rotation = np.asarray(rotation, np.float64)
    single = rotation.ndim < 2 or (rotation.shape == (3, 3) and count != 3)
    shape = rotation.shape if single else rotation.shape[1:]
    if shape not in ((3,), (4,), (3, 3)) or not np.all(np.isfinite(rotation)):
        raise ModelError(
            f"'{where}': rotation must be a rotation vector (3,), a quaternion (4,) or a rotation matrix (3, 3) of "
            f"finite numbers; got {show(rotation)}."
        )
    if shape == (4,):
        return _of_quaternion(where, rotation)
    if shape == (3, 3):
        return _of_matrix(where, rotation)
    if rotation.shape == (3, 3) and _is_rotation(rotation):
        raise ModelError(
            f"'{where}': the rotation of 3 instances may be one matrix or 3 rotation vectors. Pass 3 matrices."
        )
    return rotation


def _traced(where: str, rotation: Any, count: int | None) -> Any:
    """Only rotation vectors, as other forms cannot be checked; a matrix must not be taken for three of them."""
    if rotation.shape[-1:] != (3,) or rotation.ndim > 2 or (rotation.shape == (3, 3) and count != 3):
        raise ModelError(
            f"'{where}': inside of grad, jit and vmap rotation must be a rotation vector (3,), got shape "
            f"{rotation.shape}."
        )
    return rotation


def _of_quaternion(where: str, quaternion: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    if np.any(np.abs(np.linalg.norm(quaternion, axis=-1) - 1) > CLOSE):
        raise ModelError(f"'{where}': the quaternion must have length 1, got {show(quaternion)}.")
    return Rotation.from_quat(quaternion, scalar_first=True).as_rotvec()


def _of_matrix(where: str, matrix: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    if _is_rotation(matrix):
        return Rotation.from_matrix(matrix).as_rotvec()
    several = " Rotation vectors of 3 instances? Then give 3 positions, too." if matrix.ndim == 2 else ""
    raise ModelError(f"'{where}': the rotation matrix is not orthogonal with determinant 1: {show(matrix)}.{several}")


def _is_rotation(matrix: np.ndarray) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(matrix @ np.swapaxes(matrix, -1, -2) - np.eye(3)) <= CLOSE
        return bool(np.all(near) and np.all(np.linalg.det(matrix) > 0))
