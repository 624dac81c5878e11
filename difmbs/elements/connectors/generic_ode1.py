"""First-order differential equations of one's own."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import Spec, parameter
from ...core.types import MaybeNumbers, Scalar, UserFunction, Vector
from ..ports import AbstractPort
from ..rotations import multiply
from ..symbols import Symbol
from .connector import AbstractForce, check_function, returned, value_at


class GenericODE1(AbstractForce):
    r"""Differential equations of first order, $\dot z = A z + b(t) + f(t, z)$: filters, controllers, delays.

    It is added without markers.

    **Arguments:** `matrix` A (n, n), `vector` b, n numbers or a function of time, `user_function` f, a function (t, z);
    None: nothing, but one of them is needed.

    **Initial values:** `states` z, n numbers; they cannot be left out.

    **Outputs:** `states` z, `rates`.
    """

    matrix: MaybeNumbers = parameter(None, shape=(None, None))
    vector: MaybeNumbers = parameter(None, shape=(None,), of_time=True)
    user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    initial: ClassVar[Mapping[str, Spec]] = {"states": Spec((None,))}
    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {"user_function": ("t", "z")}
    exerted: ClassVar[tuple[str, ...]] = ("rates",)
    units: ClassVar[Mapping[str, str]] = {"states": "", "rates": ""}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return ()

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_function(name, "user_function", self.user_function)
        if self.matrix is None and self.vector is None and self.user_function is None:
            raise ModelError(f"'{name}': a GenericODE1 needs a matrix, a vector or a user_function.")

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        (count,) = flow[0].shape
        if self.matrix is not None and self.matrix.shape != (count, count):
            raise ModelError(f"'{name}': matrix must have shape ({count}, {count}), got {self.matrix.shape}.")
        if self.vector is not None and not callable(self.vector) and self.vector.shape != (count,):
            raise ModelError(f"'{name}': vector must have length {count}, got {self.vector.shape[0]}.")

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        return (self._rates(t, flow[0]),)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        return dict(states=flow[0], rates=self._rates(t, flow[0]))

    def _rates(self, t: Scalar, z: Vector) -> Vector:
        rates = jnp.zeros_like(z)
        if self.matrix is not None:
            rates = rates + multiply(self.matrix, z)
        if self.vector is not None:
            rates = rates + value_at(t, self.vector, "vector", z.shape)
        if self.user_function is not None:
            rates = rates + returned("user_function", z.shape, self.user_function, t, z)
        return rates

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("diamond"),)
