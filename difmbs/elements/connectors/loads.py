"""Loads: connectors with one marker. Every load is a number or a function of time."""

from typing import Any, ClassVar

import equinox as eqx

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import Numbers, Scalar
from ..ports import AbstractPort, Coordinates, Frame, Point, Wrench
from ..rotations import multiply
from ..symbols import Symbol
from .connector import AbstractForce, value_at


class Force(AbstractForce):
    """A force on a point.

    **Arguments:** `load_vector` [N], a 3-vector or a function of time; `body_fixed`: its components are those of the
    body's frame and turn with it.

    **Outputs:** `force`, in the world frame.
    """

    load_vector: Numbers = parameter(shape=(3,), unit="N", of_time=True)
    body_fixed: bool = eqx.field(default=False, static=True)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(),) if self.body_fixed else (Point(),)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        force = self.outputs(t, config, flow)["force"]
        return (Wrench(force, 0 * force),) if self.body_fixed else (force,)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        return dict(force=_in_world(value_at(t, self.load_vector, "load_vector", (3,)), config, self.body_fixed))

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("arrow", vector="force"),)


class Torque(AbstractForce):
    """A torque on a body that can turn.

    **Arguments:** `load_vector` [N m], a 3-vector or a function of time; `body_fixed`: its components are those of the
    body's frame and turn with it.

    **Outputs:** `torque`, in the world frame.
    """

    load_vector: Numbers = parameter(shape=(3,), unit="N m", of_time=True)
    body_fixed: bool = eqx.field(default=False, static=True)

    exerted: ClassVar[tuple[str, ...]] = ("torque",)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(),)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        torque = self.outputs(t, config, flow)["torque"]
        return (Wrench(0 * torque, torque),)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        return dict(torque=_in_world(value_at(t, self.load_vector, "load_vector", (3,)), config, self.body_fixed))

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("curl", vector="torque"),)


class CoordinateLoad(AbstractForce):
    """A generalized force on one coordinate of a body.

    **Arguments:** `load` [N or N m], a number or a function of time.

    **Outputs:** `load`.
    """

    load: Numbers = parameter(unit="N or N m", of_time=True)

    exerted: ClassVar[tuple[str, ...]] = ("load",)

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Coordinates(),)

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        if sizes != (1,):
            raise ModelError(f"'{name}' acts on one coordinate, its marker has {sizes[0]}: pass on=body.coordinate(i).")

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        return (value_at(t, self.load, "load")[None],)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        return dict(load=value_at(t, self.load, "load"))

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("pointer"),)


def _in_world(vector, config, body_fixed):
    return multiply(config[0].R, vector) if body_fixed else vector
