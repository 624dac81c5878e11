"""How elements look in pictures: shapes by name, and where they are."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import ModelError, did_you_mean
from ..core.parameters import show

Z = (0.0, 0.0, 1.0)

STRETCHED = ("arrow", "buffer", "coil", "damper", "dashes", "rail", "rod", "shoes", "strut", "zigzag")
"""From one marker to another, or along a vector."""
STILL = (
    "axes",
    "ball",
    "block",
    "box",
    "cross",
    "curl",
    "cylinder",
    "diamond",
    "disc",
    "gearwheel",
    "halo",
    "hinge",
    "housing",
    "link",
    "plane",
    "pointer",
    "ring",
    "rotor",
    "sleeve",
    "slide",
    "sphere",
    "spiral",
)
"""At one place."""


@dataclasses.dataclass(frozen=True)
class Symbol:
    """One shape of an element in a picture; what elements return from `symbols()`.

    **Arguments:** `shape`, a name; `marker`: the number of the marker where it is, 0 on a body; `to`: the number of
    the marker that it reaches to, of a stretched shape; `axis`: the direction of its own x axis, in the frame of the
    marker's body, None: as that frame; `size` [m] along its own axes, one number or three, None: as it suits the
    picture; `center` [m], where it is relative to the marker, in the frame of the body; `vector`: the output that it
    shows, of arrows.
    """

    shape: str
    marker: int = 0
    to: int | None = None
    axis: Any = None
    size: Any = None
    center: Any = None
    vector: str | None = None

    def __post_init__(self) -> None:
        known = (*STRETCHED, *STILL)
        if self.shape not in known:
            raise ModelError(f"there is no shape {show(self.shape)}. {did_you_mean(self.shape, known)}")
        if self.shape in STRETCHED and (self.to is None) == (self.vector is None):
            raise ModelError(f"a {self.shape} reaches to a marker, or shows a vector: pass to= or vector=.")

    @property
    def stretched(self) -> bool:
        return self.to is not None


def between(shape: str) -> Symbol:
    """A shape that reaches from marker 0 to marker 1."""
    return Symbol(shape, to=1)


def spring_and_damper(stiffness: Any, damping: Any, law: Any = None) -> tuple[Symbol, ...]:
    """A coil, a damper or both between two markers; `law`: a function that replaces them."""
    shapes = ["coil"] * (not _is_zero(stiffness) or law is not None) + ["damper"] * (not _is_zero(damping))
    return tuple(between(shape) for shape in shapes or ["coil"])


def of_motion(motion: str, axis: Any, straight: Sequence[str], turning: Sequence[str]) -> tuple[Symbol, ...]:
    """Shapes for one relative motion of two markers: straight ones, or about an axis at marker 0."""
    if motion == "rotation":
        return tuple(Symbol(shape, axis=axis) for shape in turning)
    return tuple(between(shape) for shape in straight)


def _is_zero(x: Any) -> bool:
    return x is None or (not callable(x) and not np.any(np.asarray(x)))
