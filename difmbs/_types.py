"""Names for the arrays that appear in public signatures."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from jaxtyping import Array, Float
from numpy import ndarray

Scalar: TypeAlias = Float[Array, ""]
Vector: TypeAlias = Float[Array, " _"]
Vector2: TypeAlias = Float[Array, "2"]
Vector3: TypeAlias = Float[Array, "3"]
Quaternion: TypeAlias = Float[Array, "4"]
Matrix: TypeAlias = Float[Array, "_ _"]
Matrix3: TypeAlias = Float[Array, "3 3"]

Numbers: TypeAlias = float | int | list | tuple | ndarray | Array
Params: TypeAlias = Mapping[str, Any]
UserFunction: TypeAlias = Callable[..., Any]
