"""Ports: what a marker delivers to a connector, and what the connector returns to it.

Each port is a triple of configuration, flow and effort whose product effort * flow is power:

| port         | configuration                 | flow            | effort          |
| ---          | ---                           | ---             | ---             |
| `Point`      | position p                    | velocity v      | force f         |
| `Frame`      | `Pose`: p, rotation R         | `Twist`: v, w   | `Wrench`: f, m  |
| `Planar`     | `PlanarPose`: p, angle, arm   | `PlanarTwist`   | `PlanarWrench`  |
| `Coordinates`| coordinate vector x           | x_t             | generalized f   |
| `States`     | nothing                       | states z        | their rate z_t  |

All vectors are in the world frame. Flow is linear in the velocity coordinates, so the generalized force that belongs
to an effort is the transpose of the flow map applied to it: nobody writes a Jacobian by hand.
"""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.types import Matrix3, Scalar, Vector, Vector2, Vector3
from .rotations import AbstractRotation, matrix_product, skew


class BodyPose(NamedTuple):
    """Where a body is: the point that its coordinates describe, and its rotation."""

    p: Vector3
    rotation: AbstractRotation


class Pose(NamedTuple):
    """`angle`: the one about z, full turns counted, of bodies that turn about no other axis; None in space."""

    p: Vector3
    R: Matrix3
    angle: Scalar | None = None


class Twist(NamedTuple):
    v: Vector3
    w: Vector3


class Wrench(NamedTuple):
    f: Vector3
    m: Vector3


class PlanarPose(NamedTuple):
    """`arm` is the marker's position relative to the body's centre of mass; 0 on ground, which has none."""

    p: Vector2
    angle: Scalar
    arm: Vector2


class PlanarTwist(NamedTuple):
    v: Vector2
    w: Scalar


class PlanarWrench(NamedTuple):
    f: Vector2
    m: Scalar


class Marker(eqx.Module):
    """Where on a body a connector attaches: a body-fixed point (None: the body has no extent), or a coordinate."""

    point: Float[Array, "*instances 3"] | None
    coordinate: int | None = eqx.field(default=None, static=True)


class AbstractPort(eqx.Module):
    """`place` is the configuration of a marker of a body with coordinates q; `flow` its motion, linear in v.

    `rate` is d/dt of the configuration, `changes` are d/dt of `rate` and of `flow` while v changes by a.
    `turning`: the marker's body must be able to turn.
    """

    turning: eqx.AbstractVar[bool]
    of_coordinates: ClassVar[bool] = False

    @abc.abstractmethod
    def place(self, body: Any, marker: Marker, q: Vector) -> Any: ...

    @abc.abstractmethod
    def flow(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any: ...

    @abc.abstractmethod
    def rate(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any: ...

    @abc.abstractmethod
    def changes(self, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]: ...


class Point(AbstractPort):
    turning: bool = eqx.field(default=False, static=True)

    def place(self, body: Any, marker: Marker, q: Vector) -> Any:
        return body.point(q, marker.point)

    def flow(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return body.point_velocity(q, v, marker.point)

    def rate(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return self.flow(body, marker, q, v)

    def changes(self, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]:
        return (body.point_acceleration(q, v, a, marker.point),) * 2


class Frame(AbstractPort):
    turning: bool = eqx.field(default=True, static=True)

    def place(self, body: Any, marker: Marker, q: Vector) -> Any:
        rotation = body.pose(q).rotation
        return Pose(body.point(q, marker.point), rotation.matrix(), rotation.counted_angle())

    def flow(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return Twist(Point().flow(body, marker, q, v), body.angular_velocity(q, v))

    def rate(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return self._rate(body, q, self.flow(body, marker, q, v))

    def changes(self, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]:
        # In closed form: derivatives of the rotation matrix would make programs half as large again.
        w, rotation = body.angular_velocity(q, v), body.pose(q).rotation
        # Angular velocities are constant vectors of the body or of the world times v: turning itself changes neither.
        turning = body.angular_velocity(q, a)
        change = Twist(body.point_acceleration(q, v, a, marker.point), turning)
        twice = matrix_product(skew(w), matrix_product(skew(w), rotation.matrix()))
        pose = self._rate(body, q, change)
        return pose._replace(R=pose.R + twice), change

    def _rate(self, body: Any, q: Vector, flow: Twist) -> Pose:
        rotation = body.pose(q).rotation
        about_z = None if rotation.counted_angle() is None else flow.w[2]
        return Pose(flow.v, matrix_product(skew(flow.w), rotation.matrix()), about_z)


class Planar(AbstractPort):
    """The x-y plane. A body that does not turn has angle 0, and a moment on it does nothing."""

    turning: bool = eqx.field(default=False, static=True)

    def place(self, body: Any, marker: Marker, q: Vector) -> Any:
        pose, p = body.pose(q), body.point(q, marker.point)
        arm = (p - pose.p)[:2] if body.velocities else jnp.zeros(2, p.dtype)
        return PlanarPose(p[:2], pose.rotation.angle(), arm)

    def flow(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        def configuration(q):
            return body.point(q, marker.point)[:2], body.pose(q).rotation.angle()

        return PlanarTwist(*jax.jvp(configuration, (q,), (body.rate(q, v),))[1])

    def rate(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return _rate(self, body, marker, q, v)

    def changes(self, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]:
        return _changes(self, body, marker, q, v, a)


class States(AbstractPort):
    """First-order states: no configuration; their flow is the states themselves, the effort on them their rate."""

    turning: bool = eqx.field(default=False, static=True)
    of_coordinates: ClassVar[bool] = True

    def place(self, body: Any, marker: Marker, q: Vector) -> Any:
        return q

    def flow(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return v

    def rate(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return q

    def changes(self, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]:
        return q, a


class Coordinates(AbstractPort):
    """All coordinates of a body, or one of them."""

    turning: bool = eqx.field(default=False, static=True)
    of_coordinates: ClassVar[bool] = True

    def place(self, body: Any, marker: Marker, q: Vector) -> Any:
        return _selected(marker, q)

    def flow(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return _selected(marker, body.rate(q, v))

    def rate(self, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
        return self.flow(body, marker, q, v)

    def changes(self, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]:
        return (_selected(marker, jax.jvp(body.rate, (q, v), (body.rate(q, v), a))[1]),) * 2


def _rate(port: AbstractPort, body: Any, marker: Marker, q: Vector, v: Vector) -> Any:
    return jax.jvp(lambda q: port.place(body, marker, q), (q,), (body.rate(q, v),))[1]


def _changes(port: AbstractPort, body: Any, marker: Marker, q: Vector, v: Vector, a: Vector) -> tuple[Any, Any]:
    def both(q, v):
        return port.rate(body, marker, q, v), port.flow(body, marker, q, v)

    return jax.jvp(both, (q, v), (body.rate(q, v), a))[1]


def _selected(marker: Marker, x: Vector) -> Vector:
    return x if marker.coordinate is None else x[marker.coordinate : marker.coordinate + 1]
