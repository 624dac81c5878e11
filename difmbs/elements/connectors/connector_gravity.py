"""Newton's attraction between two bodies."""

import functools
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..ports import AbstractPort
from ..rotations import length_and_direction
from ..symbols import Symbol, between
from .connector import AbstractForce, check_choice, two_points

SOFTENINGS = ("document", "plummer")


class ConnectorGravity(AbstractForce):
    r"""Attraction of two masses, $f = G\,m_0 m_1 / D$, positive as tension.

    With `softening="document"`, $D = L^2$ from the distance `min_distance_regularization` on and
    $D = L^2 + (L - d_{min})^2$ below: once continuously differentiable at $d_{min}$, largest (twice its value there)
    at $d_{min}/2$. With `softening="plummer"` the force is $G m_0 m_1 \Delta p / (L^2 + d_{min}^2)^{3/2}$: smooth
    everywhere, and the one to identify with. Where the markers coincide the force is 0.

    **Arguments:** `gravitational_constant` G [m^3/(kg s^2)]; `mass0`, `mass1` [kg], None: the mass of the marker's
    body; `min_distance_regularization` [m] >= 0; `softening`.

    **Outputs:** `distance` L, `displacement` p1 - p0, `force` f u (the force on marker 0).
    """

    gravitational_constant: Numbers = parameter(6.67430e-11, unit="m^3/(kg s^2)")
    mass0: MaybeNumbers = parameter(None, unit="kg", range="nonnegative")
    mass1: MaybeNumbers = parameter(None, unit="kg", range="nonnegative")
    min_distance_regularization: Numbers = parameter(0.0, unit="m", range="nonnegative")
    softening: str = eqx.field(default="document", static=True)

    ties: ClassVar[dict[str, tuple[int, str]]] = {"mass0": (0, "mass"), "mass1": (1, "mass")}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_choice(name, "softening", self.softening, SOFTENINGS)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        force = self._force(config[1] - config[0])
        return force, -force

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        displacement = config[1] - config[0]
        length, _ = length_and_direction(displacement)
        return dict(distance=length, displacement=displacement, force=self._force(displacement))

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        length, _ = length_and_direction(config[1] - config[0])
        # m1 last: the product of two stars overflows in single precision.
        of_first = self.gravitational_constant * self.mass0
        return of_first * potential(length, self.min_distance_regularization, self.softening) * self.mass1

    def _force(self, displacement):
        unit = unit_of(displacement)
        scaled = displacement / unit
        pull = attraction(jnp.sum(scaled * scaled), self.min_distance_regularization / unit, self.softening) * scaled
        return ((self.gravitational_constant * self.mass0) / unit / unit * pull) * self.mass1

    def symbols(self) -> tuple[Symbol, ...]:
        return (between("dashes"),)


def unit_of(positions):
    """A unit of length in which third powers of large distances stay in the range of single precision: a power of two,
    so that nothing is rounded when positions are measured in it."""
    size = jax.lax.stop_gradient(jnp.max(jnp.abs(positions)))
    return jnp.where(size > 1, jnp.ldexp(jnp.ones_like(size), jnp.frexp(size)[1]), 1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def attraction(square, minimum, softening):
    """Force between two unit masses with G = 1, divided by their displacement; `square` is their squared distance."""
    if softening == "plummer":
        square = square + minimum * minimum
    length = jnp.sqrt(square)
    below = 0 if softening == "plummer" else jnp.minimum(length - minimum, 0)
    divisor = length * (square + below * below)
    return jnp.where(divisor > 0, 1 / jnp.where(divisor > 0, divisor, 1), 0)


@attraction.defjvp
def _attraction_tangent(softening, primals, tangents):
    """By hand, because it is 0 where the bodies coincide; guards inside the square root would cost all pairs 10 %."""
    (square, minimum), (dsquare, dminimum) = primals, tangents
    found = attraction(square, minimum, softening)
    if softening == "plummer":
        square, dsquare = square + minimum * minimum, dsquare + 2 * minimum * dminimum
    apart = square > 0
    length = jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1)), 0)
    dlength = jnp.where(apart, dsquare / jnp.where(apart, 2 * length, 1), 0)
    below = 0 if softening == "plummer" else jnp.minimum(length - minimum, 0)
    dbelow = 0 if softening == "plummer" else jnp.where(length < minimum, dlength - dminimum, 0)
    ddivisor = dlength * (square + below * below) + length * (dsquare + 2 * below * dbelow)
    # found^2 would underflow in single precision.
    return found, -found * (found * ddivisor)


def potential(length, minimum, softening):
    """Potential energy of two unit masses with G = 1."""
    if softening == "plummer":
        square = length * length + minimum * minimum
        return -1 / jnp.sqrt(jnp.where(square > 0, square, 1))
    safe = jnp.where(minimum > 0, minimum, 1)
    below = -1 / safe - (jnp.pi / 4 - jnp.arctan((2 * length - safe) / safe)) / safe
    return jnp.where(length < minimum, below, -1 / jnp.where(length > 0, length, 1))
