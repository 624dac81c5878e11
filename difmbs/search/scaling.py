"""The numbers that are searched for, z, and the values of the unknowns."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .unknowns import Unknowns


class Scaling(eqx.Module):
    """From z to the values of the unknowns: exp(z) or scale * z."""

    logarithmic: Any
    scale: Any

    @classmethod
    def of(cls, unknowns: Unknowns) -> "Scaling":
        return cls(unknowns.logarithmic, floats(unknowns.scale))

    def values(self, z: Any) -> Any:
        xp = z.__array_namespace__()
        return xp.where(self.logarithmic, xp.exp(xp.where(self.logarithmic, z, 0)), self.scale * z)

    def slopes(self, values: Any) -> Any:
        """d value / dz."""
        return np.where(self.logarithmic, values, self.scale)

    def inverse(self, values: Any) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.logarithmic, np.log(values), np.asarray(values) / self.scale)


def floats(x: Any) -> np.ndarray:
    """As an array in JAX's default float precision."""
    return np.asarray(x, jnp.result_type(float))
