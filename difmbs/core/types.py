"""Names for the arrays that appear in public signatures."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from jaxtyping import Array, Float
from numpy import generic, ndarray

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

if TYPE_CHECKING:
    _Array: TypeAlias = Array | Any
    _MaybeArray: TypeAlias = Array | Any
else:
    # What JAX computes with where nothing is traced.
    _Array: TypeAlias = Array | ndarray | generic | float | int
    _MaybeArray: TypeAlias = _Array | None
Time: TypeAlias = _Array
"""A time, or a length of time."""
Coordinates: TypeAlias = _Array
"""q: of the system, of a group (instances, coordinates), or of one body."""
Velocities: TypeAlias = _Array
"""v: of the system, of a group or of one body; their number may be another than that of q."""
State: TypeAlias = _Array
"""q and v one after the other, and behind them what else a method carries from step to step."""
Variables: TypeAlias = _Array
"""The unknown numbers of equations: one for each velocity, then the multipliers."""
Multipliers: TypeAlias = _Array
Values: TypeAlias = _Array
"""Numbers of any shape."""
MaybeValues: TypeAlias = _MaybeArray
Count: TypeAlias = _Array
"""A whole number, or one for each of several."""
Flag: TypeAlias = _Array
"""True or false, or one for each of several."""
Switches: TypeAlias = _MaybeArray
"""Which connectors act, in the order of `structure.switches`, or whether one of them does; None: all, and always."""
Level: TypeAlias = _MaybeArray
"""Level of the constraints: position, velocity or acceleration; None: that of accelerations, known without tracing."""
Params: TypeAlias = Mapping[str, Any]
UserFunction: TypeAlias = Callable[..., Any]
