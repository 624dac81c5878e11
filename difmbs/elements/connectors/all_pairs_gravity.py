"""Newton's attraction among many bodies."""

import functools
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.parameters import parameter, show
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..rotations import length_and_direction
from ..symbols import Symbol
from .connector import AbstractField, check_choice
from .connector_gravity import SOFTENINGS, attraction, potential, unit_of


class AllPairsGravity(AbstractField):
    """`ConnectorGravity` between all pairs of the markers, evaluated in tiles: memory grows with n, not with n^2.

    **Arguments:** `gravitational_constant` [m^3/(kg s^2)]; `mass` [kg], one for each marker, None: the masses of the
    markers' bodies; `min_distance_regularization` [m] and `softening` as in `ConnectorGravity`; `tile`, how many bodies
    at most are treated at once.

    **Outputs:** `force`, on each body.
    """

    gravitational_constant: Numbers = parameter(6.67430e-11, unit="m^3/(kg s^2)")
    mass: MaybeNumbers = parameter(None, shape=(None,), unit="kg", range="nonnegative")
    min_distance_regularization: Numbers = parameter(0.0, unit="m", range="nonnegative")
    softening: str = eqx.field(default="document", static=True)
    tile: int = eqx.field(default=64, static=True)

    ties: ClassVar[dict[str, tuple[int, str]]] = {"mass": (0, "mass")}

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_choice(name, "softening", self.softening, SOFTENINGS)
        if isinstance(self.tile, bool) or not isinstance(self.tile, int) or self.tile < 1:
            raise ModelError(f"'{name}': tile must be a whole number from 1 on, got {show(self.tile)}.")

    def forces(self, t: Scalar, positions: Any) -> Any:
        unit = unit_of(positions)
        attract = functools.partial(self._attract, self.min_distance_regularization / unit)
        # G m first: the product of two stars overflows in single precision.
        return (
            self._over_tiles(positions / unit, attract)
            * (self.gravitational_constant * self.mass / unit / unit)[:, None]
        )

    def outputs(self, t: Scalar, positions: Any) -> dict[str, Any]:
        return dict(force=self.forces(t, positions))

    def energy(self, t: Scalar, positions: Any) -> Scalar | None:
        pairs = self._over_tiles(positions, self._potentials)[:, 0]
        return 0.5 * jnp.sum(pairs * (self.gravitational_constant * self.mass))

    def _over_tiles(self, positions, function):
        """function(pairs, tile of positions, all positions) for every tile, without keeping what it computes for the
        derivative; `pairs`: which are not a body and itself."""
        count = positions.shape[0]
        tiles = -(-count // self.tile)
        # No larger than it takes.
        tile = -(-count // tiles)
        padded = jnp.pad(positions, ((0, tiles * tile - count), (0, 0)))
        blocks = np.arange(tiles * tile).reshape(tiles, tile), padded.reshape(tiles, tile, 3)
        one = lambda block: function(block[0][:, None] != np.arange(count)[None], block[1], positions)
        result = jax.lax.map(jax.checkpoint(one), blocks)
        return result.reshape(tiles * tile, -1)[:count]

    def _attract(self, minimum, pairs, tile, positions):
        # One array (tile, all) for each component: with the components in one array the loops do not vectorize.
        displacement = [positions[None, :, k] - tile[:, k, None] for k in range(3)]
        # A compiler may round the same position in two ways: between a body and itself not even 0 is certain.
        square = jnp.where(pairs, sum(d * d for d in displacement), 0)
        weight = self.mass[None, :] * attraction(square, minimum, self.softening)
        return jnp.stack([jnp.sum(weight * d, axis=1) for d in displacement], axis=-1)

    def _potentials(self, pairs, tile, positions):
        length = jax.vmap(jax.vmap(lambda a, b: length_and_direction(a - b)[0], (0, None)), (None, 0))(tile, positions)
        pair = potential(length, self.min_distance_regularization, self.softening)
        return jnp.sum(jnp.where(pairs.T, self.mass[:, None] * pair, 0), axis=0)[:, None]

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("halo"),)
