"""What force laws with one number in and one number out have in common."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx

from ...core.types import Numbers, Scalar, UserFunction
from .connector import AbstractForce, check_function, returned, value_at
from .relative_motion import AbstractOfMotion, displacement, named, relative_motion


class AbstractScalarForce(AbstractOfMotion, AbstractForce):
    """A force f(t, x, x') against one relative motion x of two markers; positive where it pulls x together.

    `motion` says which: "distance" between two points, displacement along an "axis" of marker 0's body, "rotation"
    about an axis of it, or a "coordinate" of marker 1 less one of marker 0.
    """

    @abc.abstractmethod
    def law(self, t: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        """The force."""

    def potential(self, t: Scalar, x: Scalar) -> Scalar | None:
        """Potential energy of the law's conservative part; None where there is none."""
        return None

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        motion = relative_motion(self.motion, self.axis, config, flow)
        return motion.efforts(self.law(t, motion.x, motion.rate))

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        motion = relative_motion(self.motion, self.axis, config, flow)
        return named(self.motion, motion.x, motion.rate, self.law(t, motion.x, motion.rate))

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        return self.potential(t, displacement(self.motion, self.axis, config))


class AbstractSpringDamper(AbstractScalarForce):
    """f = k (x - offset(t)) + d (x' - velocity_offset(t)) + added(t), or what a user function returns."""

    stiffness: eqx.AbstractVar[Numbers]
    damping: eqx.AbstractVar[Numbers]
    offset: eqx.AbstractVar[Numbers]
    velocity_offset: eqx.AbstractVar[Numbers]
    user_function: eqx.AbstractVar[UserFunction | None]

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "user_function": ("t", "x", "v", "stiffness", "damping", "offset")
    }

    @abc.abstractmethod
    def added(self, t: Scalar) -> Scalar:
        """The force or torque besides those of spring and damper."""

    def check_law(self, name: str) -> None:
        check_function(name, "user_function", self.user_function)

    def law(self, t: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        offset = value_at(t, self.offset, "offset")
        if self.user_function is not None:
            return returned("user_function", (), self.user_function, t, x, rate, self.stiffness, self.damping, offset)
        slip = rate - value_at(t, self.velocity_offset, "velocity_offset")
        return self.stiffness * (x - offset) + self.damping * slip + self.added(t)

    def potential(self, t: Scalar, x: Scalar) -> Scalar | None:
        if self.user_function is not None:
            return None
        return 0.5 * self.stiffness * (x - value_at(t, self.offset, "offset")) ** 2 + self.added(t) * x
