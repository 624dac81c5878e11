"""A pair of gears."""

from typing import Any, ClassVar

import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, Vector
from ..ports import AbstractPort, Frame
from ..rotations import length_and_direction, multiply
from ..symbols import Symbol
from .connector import AbstractConstraint


class Gear(AbstractConstraint):
    r"""Gears on two bodies whose bearings do not turn: $r\,\omega_1\cdot a_1 - \omega_0\cdot a_0 = 0$.

    Body 0 turns r times as fast as body 1, each about its own axis; r < 0: in opposite senses, as of external spur
    gears. An equation on velocities: it does not say which teeth meet. Axes of any directions: bevel and worm gears.

    **Arguments:** `ratio` r; `axis0`, `axis1`, directions in the frames of the bodies.

    **Outputs:** `angular_velocity0` and `angular_velocity1` about the axes, `torque` [N m], the multiplier: that on
    body 0; body 1 gets -r times as much.
    """

    ratio: Numbers = parameter()
    axis0: Numbers = parameter((0.0, 0.0, 1.0), shape=(3,), range="direction")
    axis1: Numbers = parameter((0.0, 0.0, 1.0), shape=(3,), range="direction")

    exerted: ClassVar[tuple[str, ...]] = ("torque",)
    multipliers: ClassVar[str] = "torque"
    units: ClassVar[dict[str, str]] = {"angular_velocity0": "rad/s", "angular_velocity1": "rad/s"}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(), Frame())

    @property
    def on_velocity(self) -> bool:
        return True

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        first, second = self._speeds(config, flow)
        return (self.ratio * second - first)[None]

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        first, second = self._speeds(config, flow)
        return dict(angular_velocity0=first, angular_velocity1=second, torque=multiplier[0])

    def _speeds(self, config: Any, flow: Any) -> list[Scalar]:
        axes = (self.axis0, self.axis1)
        return [
            jnp.sum(multiply(place.R, length_and_direction(axis)[1]) * twist.w)
            for place, axis, twist in zip(config, axes, flow, strict=True)
        ]

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("gearwheel", axis=self.axis0), Symbol("gearwheel", marker=1, axis=self.axis1))
