"""Named outputs of a simulation: what `Model.sense` takes."""

import abc
import dataclasses
from typing import Any, ClassVar

import jax

from ..core.types import Vector
from .ports import Marker


@dataclasses.dataclass(frozen=True)
class AbstractSensor(abc.ABC):
    """A quantity of a marker. `read` is written for one body."""

    marker: Any
    unit: ClassVar[str]
    """"" where it depends on the body."""
    needs_acceleration: ClassVar[bool] = False
    turning: ClassVar[bool] = False
    of_coordinates: ClassVar[bool] = False

    @staticmethod
    @abc.abstractmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any: ...


class Position(AbstractSensor):
    """World position of a marker [m], a 3-vector."""

    unit: ClassVar[str] = "m"

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return body.point(q, marker.point)


class Velocity(AbstractSensor):
    """World velocity of a marker [m/s], a 3-vector."""

    unit: ClassVar[str] = "m/s"

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return body.point_velocity(q, v, marker.point)


class Acceleration(AbstractSensor):
    """World acceleration of a marker [m/s^2], a 3-vector."""

    unit: ClassVar[str] = "m/s^2"
    needs_acceleration: ClassVar[bool] = True

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return body.point_acceleration(q, v, acceleration, marker.point)


class Rotation(AbstractSensor):
    """Angle about z [rad] of a planar body, counted through full turns; rotation matrix of a spatial one."""

    unit: ClassVar[str] = ""
    turning: ClassVar[bool] = True

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return body.pose(q).rotation.reading()


class AngularVelocity(AbstractSensor):
    """Angular velocity [rad/s] in the world frame, a 3-vector."""

    unit: ClassVar[str] = "rad/s"
    turning: ClassVar[bool] = True

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return body.angular_velocity(q, v)


class CoordinateVector(AbstractSensor):
    """All coordinates of a body."""

    unit: ClassVar[str] = ""
    of_coordinates: ClassVar[bool] = True

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return q


class CoordinateRates(AbstractSensor):
    """The rates of all coordinates of a body."""

    unit: ClassVar[str] = ""
    of_coordinates: ClassVar[bool] = True

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return body.rate(q, v)


class CoordinateAccelerations(AbstractSensor):
    """The rates of change of the coordinates' rates."""

    unit: ClassVar[str] = ""
    of_coordinates: ClassVar[bool] = True
    needs_acceleration: ClassVar[bool] = True

    @staticmethod
    def read(body: Any, marker: Marker, q: Vector, v: Vector, acceleration: Vector | None) -> Any:
        return jax.jvp(body.rate, (q, v), (body.rate(q, v), acceleration))[1]


@dataclasses.dataclass(frozen=True)
class Output:
    """An output variable of an element under another name."""

    element: str
    variable: str


BODY_OUTPUTS: dict[str, type[AbstractSensor]] = {
    "position": Position,
    "velocity": Velocity,
    "acceleration": Acceleration,
    "rotation": Rotation,
    "angular_velocity": AngularVelocity,
    "coordinates": CoordinateVector,
    "coordinates_t": CoordinateRates,
    "coordinates_tt": CoordinateAccelerations,
}
