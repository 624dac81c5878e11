"""Rigid bodies of known shapes, whose inertia follows from their sizes."""

import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import Matrix3, Numbers, Values
from ..symbols import Symbol
from .rigid_body import AbstractRigidBody


class Cylinder(AbstractRigidBody):
    """A solid cylinder, or a rod: a rigid body whose inertia follows from its length and radius; its axis is x.

    **Arguments:** `mass` [kg] > 0; `length` [m] > 0; `radius` [m] > 0; `center_of_mass` [m], where it is in the body's
    own frame.
    **Initial values:** as of a `RigidBody`.
    """

    mass: Numbers = parameter(unit="kg", range="positive")
    length: Numbers = parameter(unit="m", range="positive")
    radius: Numbers = parameter(unit="m", range="positive")
    center_of_mass: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")

    def inertia_tensor(self) -> Matrix3:
        across = self.mass * (3 * self.radius**2 + self.length**2) / 12
        return _diagonal(self.mass * self.radius**2 / 2, across, across)

    def symbols(self) -> tuple[Symbol, ...]:
        size = (self.length, self.radius, self.radius)
        return (Symbol("cylinder", size=size, center=self.center_of_mass),)


class Box(AbstractRigidBody):
    """A solid box, or a plate: a rigid body whose inertia follows from its sides.

    **Arguments:** `mass` [kg] > 0; `size` [m] > 0, its sides along x, y and z of the body's frame; `center_of_mass`
    [m], where it is in the body's own frame. **Initial values:** as of a `RigidBody`.
    """

    mass: Numbers = parameter(unit="kg", range="positive")
    size: Numbers = parameter(shape=(3,), unit="m", range="positive")
    center_of_mass: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")

    def inertia_tensor(self) -> Matrix3:
        x, y, z = self.size**2
        return _diagonal(*(self.mass * sides / 12 for sides in (y + z, z + x, x + y)))

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("box", size=self.size, center=self.center_of_mass),)


class Sphere(AbstractRigidBody):
    """A solid sphere: a rigid body whose inertia follows from its radius.

    **Arguments:** `mass` [kg] > 0; `radius` [m] > 0; `center_of_mass` [m], where it is in the body's own frame.
    **Initial values:** as of a `RigidBody`.
    """

    mass: Numbers = parameter(unit="kg", range="positive")
    radius: Numbers = parameter(unit="m", range="positive")
    center_of_mass: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="m")

    def inertia_tensor(self) -> Matrix3:
        return _diagonal(*[2 * self.mass * self.radius**2 / 5] * 3)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("sphere", size=self.radius, center=self.center_of_mass),)


def _diagonal(x: Values, y: Values, z: Values) -> Matrix3:
    return jnp.diag(jnp.stack([jnp.asarray(moment) for moment in (x, y, z)]))
