"""Springs and dampers against all six relative motions of two bodies."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ...core.parameters import parameter
from ...core.types import Matrix, MaybeNumbers, Numbers, Scalar, UserFunction, Vector
from ..ports import AbstractPort, Frame, Wrench
from ..rotations import matrix_product, multiply, rotation_matrix, rotation_vector, tait_bryan_angles
from ..symbols import Symbol
from .connector import AbstractForce, check_function, returned
from .relative_motion import efforts_of, rate_of


class Bushing(AbstractForce):
    r"""Elastic joint: springs and dampers against displacement and rotation along and about the axes of a frame.

    $f = K (x - x_0) + D \dot x$ with six numbers x, in the joint's frame on marker 0's body: the displacement of marker
    1 [m], and the rotation vector of marker 1's joint frame [rad]. The bodies get $\mp (\partial x)^T f$: all of the
    work goes into the springs, and there is no net moment. Half a turn is singular.

    **Arguments:** `stiffness` [N/m and N m/rad] and `damping` [N s/m and N m s/rad], six numbers: along x, y, z and
    about x, y, z; `stiffness_matrix`, `damping_matrix`, (6, 6), are added to these; `offset` x0; `rotation0`,
    `rotation1` [rad], rotation vectors of the joint's frames in the bodies of marker 0 and 1; `as_exudyn`: forces and
    torques as Exudyn's RigidBodySpringDamper has them, with Tait-Bryan angles for the rotation, torques about the
    frame's axes, the force of marker 1 at marker 1, and rates that do not see frame 0 turn; `user_function`, a function
    (t, x, x', stiffness, damping, offset), matrices the latter two, that returns f.

    **Outputs:** `displacement` and `rotation`, x; `velocity` and `angular_velocity`, its rate; `force_local` and
    `torque_local`, f; `force` and `torque`, those on marker 0 in the world.
    """

    stiffness: Numbers = parameter((0.0,) * 6, shape=(6,), unit="N/m, N m/rad", range="expected nonnegative")
    damping: Numbers = parameter((0.0,) * 6, shape=(6,), unit="N s/m, N m s/rad", range="expected nonnegative")
    offset: Numbers = parameter((0.0,) * 6, shape=(6,), unit="m, rad")
    rotation0: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="rad")
    rotation1: Numbers = parameter((0.0, 0.0, 0.0), shape=(3,), unit="rad")
    stiffness_matrix: MaybeNumbers = parameter(None, shape=(6, 6), unit="N/m, N m/rad")
    damping_matrix: MaybeNumbers = parameter(None, shape=(6, 6), unit="N s/m, N m s/rad")
    as_exudyn: bool = eqx.field(default=False, static=True)
    user_function: UserFunction | None = eqx.field(default=None, kw_only=True)

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "user_function": ("t", "x", "v", "stiffness", "damping", "offset")
    }
    exerted: ClassVar[tuple[str, ...]] = ("force", "torque", "force_local", "torque_local")

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Frame(), Frame())

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        check_function(name, "user_function", self.user_function)

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        x, rate, transposed = self._motion(config, flow)
        f = self._law(t, x, rate)
        if not self.as_exudyn:
            return efforts_of(transposed(-f)[0])
        frame = matrix_product(config[0].R, rotation_matrix(self.rotation0))
        force, torque = multiply(frame, f[:3]), multiply(frame, f[3:])
        return Wrench(force, torque), Wrench(-force, -torque)

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        x, rate, _ = self._motion(config, flow)
        f, first = self._law(t, x, rate), self.effort(t, config, flow)[0]
        return dict(
            displacement=x[:3],
            rotation=x[3:],
            velocity=rate[:3],
            angular_velocity=rate[3:],
            force_local=f[:3],
            torque_local=f[3:],
            force=first.f,
            torque=first.m,
        )

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        if self.as_exudyn or self.user_function is not None or self.stiffness_matrix is not None:
            return None
        return 0.5 * jnp.sum(self.stiffness * (self._displacement(config) - self.offset) ** 2)

    def _displacement(self, config: Any) -> Vector:
        first, second = config
        frame = matrix_product(first.R, rotation_matrix(self.rotation0))
        R = matrix_product(frame.T, matrix_product(second.R, rotation_matrix(self.rotation1)))
        angles = tait_bryan_angles(R) if self.as_exudyn else rotation_vector(R)
        return jnp.concatenate([multiply(frame.T, second.p - first.p), angles])

    def _motion(self, config: Any, flow: Any) -> tuple[Vector, Vector, Any]:
        """x, its rate, and the transpose of the map from the flow to the rate."""

        def rate(flow: Any) -> Vector:
            if self.as_exudyn:
                back = matrix_product(config[0].R, rotation_matrix(self.rotation0)).T
                first, second = flow
                return jnp.concatenate([multiply(back, second.v - first.v), multiply(back, second.w - first.w)])
            return jax.jvp(self._displacement, (config,), (tuple(map(rate_of, config, flow)),))[1]

        return self._displacement(config), *jax.vjp(rate, flow)

    def _law(self, t: Scalar, x: Vector, rate: Vector) -> Vector:
        if self.user_function is not None:
            matrices = _matrix(self.stiffness, self.stiffness_matrix), _matrix(self.damping, self.damping_matrix)
            return returned("user_function", (6,), self.user_function, t, x, rate, *matrices, self.offset)
        stretch = x - self.offset
        f = self.stiffness * stretch + self.damping * rate
        if self.stiffness_matrix is not None:
            f = f + multiply(self.stiffness_matrix, stretch)
        return f if self.damping_matrix is None else f + multiply(self.damping_matrix, rate)

    def symbols(self) -> tuple[Symbol, ...]:
        return (Symbol("ring"),)


def _matrix(diagonal: Vector, more: Any) -> Matrix:
    return jnp.diag(diagonal) if more is None else jnp.diag(diagonal) + more
