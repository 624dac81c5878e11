"""Newton's attraction among many bodies."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from .._errors import ModelError
from .._parameters import parameter, show
from .._rotations import length_and_direction
from .._types import MaybeNumbers, Numbers
from ._connector import AbstractField, check_choice
from .connector_gravity import SOFTENINGS, attraction, potential


class AllPairsGravity(AbstractField):
    """`ConnectorGravity` between all pairs of the markers, evaluated in tiles: memory grows with n, not with n^2.

    **Arguments:** `gravitational_constant` [m^3/(kg s^2)]; `mass` [kg], one for each marker, None: the masses of the
    markers' bodies; `min_distance_regularization` [m] and `softening` as in `ConnectorGravity`; `tile`, how many bodies
    are treated at once.

    **Outputs:** `force`, on each body.
    """

    gravitational_constant: Numbers = parameter(6.67430e-11, unit="m^3/(kg s^2)")
    mass: MaybeNumbers = parameter(None, shape=(None,), unit="kg", range="nonnegative")
    min_distance_regularization: Numbers = parameter(0.0, unit="m", range="nonnegative")
    softening: str = eqx.field(default="document", static=True)
    tile: int = eqx.field(default=64, static=True)

    ties: ClassVar[dict[str, tuple[int, str]]] = {"mass": (0, "mass")}

    def check(self, name, sizes):
        check_choice(name, "softening", self.softening, SOFTENINGS)
        if isinstance(self.tile, bool) or not isinstance(self.tile, int) or self.tile < 1:
            raise ModelError(f"'{name}': tile must be a whole number from 1 on, got {show(self.tile)}.")

    def forces(self, t, positions):
        # G m first: m^2 of two stars overflows in single precision.
        return self._over_tiles(positions, self._attract) * (self.gravitational_constant * self.mass)[:, None]

    def outputs(self, t, positions) -> dict[str, Any]:
        return dict(force=self.forces(t, positions))

    def energy(self, t, positions):
        pairs = jnp.sum(self._over_tiles(positions, self._potentials)[:, 0] * self.mass)
        # Taken together, every body was also paired with itself.
        alone = potential(jnp.zeros_like(self.mass[0]), self.min_distance_regularization, self.softening)
        return 0.5 * self.gravitational_constant * (pairs - alone * jnp.sum(self.mass * self.mass))

    def _over_tiles(self, positions, function):
        """function(tile of positions, all positions) for every tile, without keeping the pairs for the derivative."""
        count = positions.shape[0]
        tiles = -(-count // self.tile)
        # No larger than it takes: few bodies fill one tile without padding.
        tile = -(-count // tiles)
        padded = jnp.pad(positions, ((0, tiles * tile - count), (0, 0)))
        blocks = padded.reshape(tiles, tile, 3)
        result = jax.lax.map(jax.checkpoint(lambda block: function(block, positions)), blocks)
        return result.reshape(tiles * tile, -1)[:count]

    def _attract(self, tile, positions):
        # One array (tile, all) for each component: with the components in one array the loops do not vectorize.
        displacement = [positions[None, :, k] - tile[:, k, None] for k in range(3)]
        square = sum(d * d for d in displacement)
        weight = self.mass[None, :] * attraction(square, self.min_distance_regularization, self.softening)
        return jnp.stack([jnp.sum(weight * d, axis=1) for d in displacement], axis=-1)

    def _potentials(self, tile, positions):
        length = jax.vmap(jax.vmap(lambda a, b: length_and_direction(a - b)[0], (0, None)), (None, 0))(tile, positions)
        pair = potential(length, self.min_distance_regularization, self.softening)
        return jnp.sum(self.mass[:, None] * pair, axis=0)[:, None]
