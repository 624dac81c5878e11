"""Names for the arrays that appear in public signatures."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from jaxtyping import Array, Float
from numpy import ndarray

Scalar: TypeAlias = Float[Array, ""]
Vector: TypeAlias = Float[Array, " _"]
Vector2: TypeAlias = Float[Array, "2"]
Vector3: TypeAlias = Float[Array, "3"]
Quaternion: TypeAlias = Float[Array, "4"]
Matrix: TypeAlias = Float[Array, "_ _"]
Matrix3: TypeAlias = Float[Array, "3 3"]

if TYPE_CHECKING:
    # What is given as numbers is kept as an array; a checker cannot know both sides of the conversion.
    Numbers: TypeAlias = Any
    MaybeNumbers: TypeAlias = Any
else:
    Numbers: TypeAlias = float | int | list | tuple | ndarray | Array
    MaybeNumbers: TypeAlias = Numbers | None
Params: TypeAlias = Mapping[str, Any]
UserFunction: TypeAlias = Callable[..., Any]
