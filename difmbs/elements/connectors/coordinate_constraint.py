"""A linear equation between two coordinates."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import Numbers, Scalar, Vector
from ..ports import AbstractPort, Coordinates
from ..symbols import Symbol, between
from .connector import AbstractConstraint, value_at


class CoordinateConstraint(AbstractConstraint):
    r"""Ties one coordinate of a body to one of another body, or to ground: $r\,q_1 - q_0 - o(t) = 0$.

    q are total coordinates (reference plus displacement). With `velocity_level` the equation is
    $r\,\dot q_1 - \dot q_0 - o(t) = 0$ and `offset` is a velocity. Ground contributes 0. The generalized force on q0
    is $+\lambda$, on q1 $-r\lambda$. With ground as marker 0 and r = 0 the equation holds nothing: it is singular.

    **Arguments:** `factor` r, in units of q0 per q1; `offset` o, in the unit of q0, or a function of time;
    `velocity_level`.

    **Outputs:** `displacement` q1 - q0, `velocity` (both without the factor), `constraint_equation`, `force`, the
    multiplier.
    """

    factor: Numbers = parameter(1.0)
    offset: Numbers = parameter(0.0, unit="m or rad", of_time=True)
    velocity_level: bool = eqx.field(default=False, static=True)

    exerted: ClassVar[tuple[str, ...]] = ("constraint_equation", "force")
    units: ClassVar[Mapping[str, str]] = {"displacement": "", "velocity": "", "force": ""}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Coordinates(), Coordinates())

    @property
    def on_velocity(self) -> bool:
        return self.velocity_level

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        for marker, size in enumerate(sizes):
            if size > 1:
                raise ModelError(
                    f"'{name}': CoordinateConstraint joins single coordinates, marker {marker} has {size}: pass "
                    "body.coordinate(i)."
                )

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        q0, q1 = map(_single, flow if self.velocity_level else config)
        return (self.factor * q1 - q0 - value_at(t, self.offset, "offset"))[None]

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        return dict(
            displacement=_single(config[1]) - _single(config[0]),
            velocity=_single(flow[1]) - _single(flow[0]),
            constraint_equation=self.residual(t, config, flow)[0],
            force=multiplier[0],
        )

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("diamond"), between("dashes"))


def _single(coordinate):
    """The coordinate as a number; 0 on ground, which has none."""
    return jnp.sum(coordinate)
