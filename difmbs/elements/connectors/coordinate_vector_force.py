"""Forces on the coordinates of one body or between those of several, by a function of one's own."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.types import Scalar, UserFunction, Vector
from ..ports import AbstractPort, Coordinates
from ..symbols import Symbol
from .connector import AbstractForce, check_function, returned


class CoordinateVectorForce(AbstractForce):
    """Generalized forces on the coordinate vectors of some bodies, f(t, q, q_t).

    Of each body the function sees the coordinates that its marker delivers, and their rates; all markers' one after the
    other.

    **Arguments:** `user_function`, a function (t, q, q_t) that returns as many generalized forces; `markers`: between
    how many markers it is.

    **Outputs:** `displacement` q, `velocity` q_t, `force`.
    """

    user_function: UserFunction = eqx.field()
    markers: int = eqx.field(default=1, static=True)

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {"user_function": ("t", "q", "q_t")}
    units: ClassVar[Mapping[str, str]] = {"displacement": "", "velocity": "", "force": ""}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Coordinates(),) * self.markers

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_function(name, "user_function", self.user_function)
        if sum(sizes) == 0:
            raise ModelError(f"'{name}' acts on ground only. Attach one of its markers to a body.")

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        ends = np.cumsum([x.size for x in config]).tolist()
        return tuple(jnp.split(self._force(t, config, flow), ends[:-1]))

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        q, q_t = jnp.concatenate(config), jnp.concatenate(flow)
        return dict(displacement=q, velocity=q_t, force=self._force(t, config, flow))

    def _force(self, t: Scalar, config: Any, flow: Any) -> Vector:
        q, q_t = jnp.concatenate(config), jnp.concatenate(flow)
        return returned("user_function", q.shape, self.user_function, t, q, q_t)

    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(Symbol("diamond", marker=i) for i in range(self.markers))
