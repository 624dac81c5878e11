"""One relative motion of two markers, as a number: what scalar force laws, motors and friction see."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.types import MaybeNumbers, Scalar, Vector3
from ..ports import AbstractPort, Coordinates, Frame, Point, Pose, Twist, Wrench
from ..rotations import length_and_direction, matrix_product, multiply, skew
from .connector import AbstractConnector, check_choice, two_points

MOTIONS = ("distance", "axis", "rotation", "coordinate")
"""Distance of two points; displacement along an axis of marker 0's body; rotation about one; a coordinate of marker 1
less one of marker 0."""

_NAMES = {
    "distance": ("distance", "velocity", "force"),
    "axis": ("displacement", "velocity", "force"),
    "rotation": ("rotation", "angular_velocity", "torque"),
    "coordinate": ("displacement", "velocity", "force"),
}


class AbstractOfMotion(AbstractConnector):
    """A connector that sees one relative motion of its markers: `motion` says which, `axis` along or about what."""

    motion: eqx.AbstractVar[str]
    axis: eqx.AbstractVar[MaybeNumbers]

    exerted: ClassVar[tuple[str, ...]] = ("force", "torque")

    @property
    def units(self) -> Mapping[str, str]:  # type: ignore[override]
        return dict.fromkeys(_NAMES["coordinate"], "") if self.motion == "coordinate" else {}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        if self.motion == "axis":
            return (Frame(turning=False), Point())
        if self.motion == "rotation":
            return (Frame(), Frame())
        return (Coordinates(), Coordinates()) if self.motion == "coordinate" else two_points()

    def check_law(self, name: str) -> None:
        """Refuses arguments besides those of the motion."""

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_choice(name, "motion", self.motion, MOTIONS)
        if self.motion in ("axis", "rotation") and self.axis is None:
            raise ModelError(f"'{name}': motion='{self.motion}' needs an axis, in the frame of marker 0's body.")
        if self.motion in ("distance", "coordinate") and self.axis is not None:
            raise ModelError(f"'{name}': motion='{self.motion}' has no axis; those with one are 'axis' and 'rotation'.")
        if self.motion == "coordinate" and max(sizes) > 1:
            raise ModelError(f"'{name}': motion='coordinate' joins single coordinates: pass body.coordinate(i).")
        self.check_law(name)


class RelativeMotion(NamedTuple):
    """The displacement x, its rate, and the efforts on the markers' bodies of a force that pulls x together."""

    x: Scalar
    rate: Scalar
    efforts: Callable[[Scalar], tuple[Any, ...]]


def relative_motion(motion: str, axis: MaybeNumbers, config: Any, flow: Any) -> RelativeMotion:
    """Efforts are what the displacement's own derivative says: forces do the work f dx, and have no net moment."""

    def rate(flow: Any) -> Scalar:
        moving = tuple(map(rate_of, config, flow))
        return jax.jvp(lambda c: displacement(motion, axis, c), (config,), (moving,))[1]

    speed, transposed = jax.vjp(rate, flow)
    return RelativeMotion(displacement(motion, axis, config), speed, lambda f: efforts_of(transposed(-f)[0]))


def displacement(motion: str, axis: MaybeNumbers, config: Any) -> Scalar:
    first, second = config
    if motion == "distance":
        return length_and_direction(second - first)[0]
    if motion == "coordinate":
        # Ground has none.
        return jnp.sum(second) - jnp.sum(first)
    direction = length_and_direction(axis)[1]
    if motion == "axis":
        return jnp.sum(multiply(first.R, direction) * (second - first.p))
    return relative_angle(direction, first, second)


def relative_angle(direction: Vector3, first: Pose, second: Pose) -> Scalar:
    """The angle by which the second body is turned about an axis of the first, from -pi to pi.

    Full turns are counted where both bodies turn about z only. Undefined where they differ by half a turn about an axis
    that is perpendicular to this one.
    """
    R = matrix_product(first.R.T, second.R)
    sine = jnp.sum(direction * vector_of(R))
    cosine = (R[0, 0] + R[1, 1] + R[2, 2] - jnp.sum(direction * multiply(R, direction))) / 2
    undefined = sine * sine + cosine * cosine == 0
    angle = jnp.arctan2(sine, jnp.where(undefined, 1, cosine))
    if first.angle is None or second.angle is None:
        return angle
    counted = jnp.sign(direction[2]) * (second.angle - first.angle)
    return angle + 2 * np.pi * jnp.round((counted - angle) / (2 * np.pi))


def vector_of(R: Any) -> Vector3:
    """The vector of a rotation matrix' skew part: the axis times the sine of the angle."""
    return jnp.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2


def rate_of(place: Any, flow: Any) -> Any:
    """d/dt of what a marker delivers of positions."""
    if not isinstance(place, Pose):
        return flow
    turning = None if place.angle is None else flow.w[2]
    return Pose(flow.v, matrix_product(skew(flow.w), place.R), turning)


def efforts_of(transposed: Any) -> tuple[Any, ...]:
    """What the transposed map of flows gives, as efforts."""
    return tuple(Wrench(*x) if isinstance(x, Twist) else x for x in transposed)


def named(motion: str, x: Scalar, rate: Scalar, force: Scalar) -> dict[str, Any]:
    """As outputs."""
    return dict(zip(_NAMES[motion], (x, rate, force), strict=True))
