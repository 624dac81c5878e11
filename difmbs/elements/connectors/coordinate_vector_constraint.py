"""Linear, quadratic or user-defined equations between the coordinates of two bodies."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Scalar, UserFunction, Vector
from ..ports import AbstractPort, Coordinates
from ..symbols import Symbol, between
from .connector import AbstractConstraint, check_function, returned, value_at

_MATRICES = ("scaling_marker0", "scaling_marker1", "quadratic_term_marker0", "quadratic_term_marker1")


class CoordinateVectorConstraint(AbstractConstraint):
    r"""Equations between the coordinate vectors of two markers (reference plus displacement).

    $X_1 q_1 + Y_1 q_1^2 - X_0 q_0 - Y_0 q_0^2 - v_{off} = 0$, squares taken element by element. With `velocity_level`
    the equation is $X_1\dot q_1 + 2 Y_1 (q_1\circ\dot q_1) - X_0\dot q_0 - 2 Y_0 (q_0\circ\dot q_0) - v_{off} = 0$ and
    `offset` is a velocity. Ground has no coordinates: its matrices stay empty.

    **Arguments:** `scaling_marker0`, `scaling_marker1` (X), `quadratic_term_marker0`, `quadratic_term_marker1` (Y), one
    row per equation, None: empty; `offset`, a vector or a function of time; `velocity_level`;
    `constraint_user_function`, a function (t, q, q_t, velocity_level) of the joined coordinate vectors that replaces
    the equations; on position level it must not use q_t. `jacobian_user_function` with the same arguments, equations
    in rows: it is compared with the exact derivative when the model is assembled, and never used.

    **Outputs:** `displacement` q1 - q0 and `velocity` (where both have the same length, or one is ground),
    `constraint_equation`, `force`, the multipliers.
    """

    scaling_marker0: MaybeNumbers = parameter(None, shape=(None, None))
    scaling_marker1: MaybeNumbers = parameter(None, shape=(None, None))
    quadratic_term_marker0: MaybeNumbers = parameter(None, shape=(None, None))
    quadratic_term_marker1: MaybeNumbers = parameter(None, shape=(None, None))
    offset: MaybeNumbers = parameter(None, shape=(None,), of_time=True)
    velocity_level: bool = eqx.field(default=False, static=True)
    constraint_user_function: UserFunction | None = eqx.field(default=None, kw_only=True)
    jacobian_user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "constraint_user_function": ("t", "q", "q_t", "velocity_level"),
        "jacobian_user_function": ("t", "q", "q_t", "velocity_level"),
    }
    exerted: ClassVar[tuple[str, ...]] = ("constraint_equation", "force")
    units: ClassVar[Mapping[str, str]] = {"displacement": "", "velocity": "", "force": ""}

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Coordinates(), Coordinates())

    @property
    def on_velocity(self) -> bool:
        return self.velocity_level

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        for field in ("constraint_user_function", "jacobian_user_function"):
            check_function(name, field, getattr(self, field))
        matrices = {m: getattr(self, m) for m in _MATRICES if getattr(self, m) is not None}
        if self.constraint_user_function is not None:
            if matrices or self.offset is not None:
                raise ModelError(f"'{name}': constraint_user_function replaces the matrices and the offset: give one.")
            return
        if self.jacobian_user_function is not None:
            raise ModelError(f"'{name}': jacobian_user_function needs a constraint_user_function.")
        rows = {m: np.shape(x)[-2] for m, x in matrices.items()}
        equations = max(rows.values(), default=0)
        if equations == 0:
            raise ModelError(f"'{name}': no equations: give at least one of {', '.join(_MATRICES)}.")
        for m, x in matrices.items():
            marker = int(m[-1])
            if rows[m] != equations or np.shape(x)[-1] != sizes[marker]:
                raise ModelError(
                    f"'{name}': {m} must have shape ({equations}, {sizes[marker]}) (equations, coordinates of marker "
                    f"{marker}), got {np.shape(x)[-2:]}."
                )
        if self.offset is not None and not callable(self.offset) and np.shape(self.offset)[-1] != equations:
            raise ModelError(f"'{name}': offset must have length {equations}, got {np.shape(self.offset)[-1]}.")

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        if self.jacobian_user_function is None:
            return
        q, q_t = jnp.concatenate(config), jnp.concatenate(flow)
        argument = 1 if self.velocity_level else 0
        ours = np.asarray(jax.jacfwd(lambda *x: self._user(t, *x), argument)(q, q_t))
        arguments = (t, q, q_t, self.velocity_level)
        theirs = np.asarray(returned("jacobian_user_function", ours.shape, self.jacobian_user_function, *arguments))
        wrong = ~(np.abs(theirs - ours) <= 1e-6 * (1 + np.abs(ours).max()))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ModelError(
                f"'{name}': jacobian_user_function is not the derivative of constraint_user_function: entry "
                f"[{row}, {column}] is {theirs[row, column]:.8g}, exact {ours[row, column]:.8g}. It may be left out."
            )

    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        if self.constraint_user_function is not None:
            return self._user(t, jnp.concatenate(config), jnp.concatenate(flow))
        sides = [
            self._side(config[i], flow[i], getattr(self, _MATRICES[i]), getattr(self, _MATRICES[2 + i])) for i in (0, 1)
        ]
        equations = sides[1] - sides[0]
        return equations if self.offset is None else equations - value_at(t, self.offset, "offset", equations.shape)

    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        values = dict(constraint_equation=self.residual(t, config, flow), force=multiplier)
        if config[0].size == config[1].size or 0 in (config[0].size, config[1].size):
            values |= dict(displacement=_difference(config), velocity=_difference(flow))
        return values

    def _user(self, t, q, q_t):
        arguments = (t, q, q_t, self.velocity_level)
        return returned("constraint_user_function", (None,), self.constraint_user_function, *arguments)

    def _side(self, q, q_t, linear, quadratic):
        total: Any = 0
        if linear is not None:
            total += jnp.sum(linear * (q_t if self.velocity_level else q)[None], axis=-1)
        if quadratic is not None:
            total += jnp.sum(quadratic * (2 * q * q_t if self.velocity_level else q * q)[None], axis=-1)
        return total

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("diamond"), between("dashes"))


def _difference(pair):
    first, second = pair
    if first.size == 0:
        return second
    return -first if second.size == 0 else second - first
