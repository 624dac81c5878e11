"""What the rest of the library needs to know about a body, written for one instance."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ...core.parameters import Spec
from ...core.types import Matrix, Vector, Vector3
from ..element import AbstractElement
from ..ports import BodyPose
from ..symbols import Symbol


class AbstractBody(AbstractElement):
    """Coordinates and inertia.

    `q` are the configuration coordinates, `v` the velocity coordinates; `rate` joins them. Translations are those of
    the centre of mass, so that the mass matrix is constant and block diagonal.
    """

    coordinates: ClassVar[int]
    velocities: ClassVar[int]
    """How many there are of them; they follow from what is not a number."""

    initial: ClassVar[Mapping[str, Spec]]
    """The initial values the builder takes, by name; a missing one is zero."""

    extended: ClassVar[bool]
    """Whether body-fixed points other than the origin exist."""

    rotates: ClassVar[bool]
    """Whether moments act on it."""

    planar: ClassVar[bool] = False
    """Whether it moves in the x-y plane, and there alone."""

    in_space: ClassVar[bool] = True
    """Whether it is somewhere, so that points and rotations can be asked for."""

    def check(self, name: str, initial: Mapping[str, Any]) -> None:
        """Refuses arguments and initial values that declarations of single ones cannot."""

    @abc.abstractmethod
    def initial_state(self, *arguments: Any, **initial: Any) -> tuple[Vector, Vector]:
        """(q, v) from the named initial values."""

    @abc.abstractmethod
    def pose(self, q: Vector) -> BodyPose:
        """Centre of mass and rotation."""

    @abc.abstractmethod
    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        """World position of a body-fixed point."""

    @abc.abstractmethod
    def point_velocity(self, q: Vector, v: Vector, point: Vector3 | None) -> Vector3:
        """World velocity of a body-fixed point, linear in v: its derivative carries forces at the point to the body."""

    @abc.abstractmethod
    def point_acceleration(self, q: Vector, v: Vector, a: Vector, point: Vector3 | None) -> Vector3:
        """While the velocity coordinates change by a."""

    @abc.abstractmethod
    def rate(self, q: Vector, v: Vector) -> Vector:
        """dq/dt."""

    @abc.abstractmethod
    def retract(self, q: Vector, dq: Vector) -> Vector:
        """q moved by a small displacement in the sense of the velocity coordinates: retract(q, h v) = q + h rate."""

    @abc.abstractmethod
    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        """In the world frame."""

    @abc.abstractmethod
    def momentum(self, q: Vector, v: Vector) -> Vector:
        """M v."""

    def mass_matrix(self, q: Vector) -> Matrix:
        return jax.vmap(lambda v: self.momentum(q, v))(jnp.asarray(np.eye(self.velocities), q.dtype))

    @abc.abstractmethod
    def inverse_mass(self, q: Vector, f: Vector) -> Vector:
        """The acceleration that a generalized force gives the free body: M^-1 f."""

    @abc.abstractmethod
    def bias(self, q: Vector, v: Vector, gravity: Vector3) -> Vector:
        """Generalized forces of weight and of the velocities (gyroscopic): M v' = bias + applied forces."""

    def kinetic_energy(self, q: Vector, v: Vector) -> Any:
        return 0.5 * jnp.sum(v * self.momentum(q, v))

    @abc.abstractmethod
    def weight_energy(self, q: Vector, gravity: Vector3) -> Any:
        """Potential energy in the uniform field."""

    def symbols(self) -> tuple[Symbol, ...]:
        """How it looks in pictures. Called for one instance, with plain numbers in its fields."""
        return (Symbol("link"),)


class AbstractFlatBody(AbstractBody):
    """A body whose velocity coordinates are the rates of its coordinates."""

    def rate(self, q: Vector, v: Vector) -> Vector:
        return v

    def retract(self, q: Vector, dq: Vector) -> Vector:
        return q + dq

    def point_velocity(self, q: Vector, v: Vector, point: Vector3 | None) -> Vector3:
        return jax.jvp(lambda q: self.point(q, point), (q,), (v,))[1]

    def point_acceleration(self, q: Vector, v: Vector, a: Vector, point: Vector3 | None) -> Vector3:
        return jax.jvp(lambda q, v: self.point_velocity(q, v, point), (q, v), (v, a))[1]


class AbstractPlacelessBody(AbstractBody):
    """Coordinates that are nowhere in space: they have no points, no rotation and no weight."""

    extended: ClassVar[bool] = False
    rotates: ClassVar[bool] = False
    in_space: ClassVar[bool] = False

    def pose(self, q: Vector) -> BodyPose:
        raise NotImplementedError

    def point(self, q: Vector, point: Vector3 | None) -> Vector3:
        raise NotImplementedError

    def point_velocity(self, q: Vector, v: Vector, point: Vector3 | None) -> Vector3:
        raise NotImplementedError

    def point_acceleration(self, q: Vector, v: Vector, a: Vector, point: Vector3 | None) -> Vector3:
        raise NotImplementedError

    def angular_velocity(self, q: Vector, v: Vector) -> Vector3:
        raise NotImplementedError
