"""The equations of a system at rest."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..core.types import Multipliers, Values, Variables
from ..dynamics.implicit_equations import AbstractEquations, Held, PlacedBody
from ..system.system import System


class RestEquations(AbstractEquations):
    r"""Unknown are displacements $h^2 x$ from the coordinates in `data`, in velocity coordinates, and multipliers.

    $\sigma M x - f(t, q, 0) + G^T (\lambda + w\,c / h^2) = 0,   c(t, q) / h^2 = 0$

    In equilibrium the drag $\sigma$ is zero; on the way there it keeps the matrix regular and the displacements small.
    The weights w make constraints stiff besides rigid: where c = 0 this changes nothing, but bodies that are held by
    rods alone get regular blocks in the matrix. $h^2$ (`square`) is small for stiff systems, so that the matrix is made
    of numbers of the size of M and G.
    """

    system: System
    t: Any
    data: tuple[Any, ...]
    square: Any
    drag: Any

    def place(self, body: Any, data: Any, x: Values) -> tuple[Any, Any]:
        return body.retract(data, self.square * x), jnp.zeros_like(x)

    def inertia(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        return self.drag * body.momentum(placed.data, x) - body.bias(placed.q, placed.v, self.system.gravity[0])

    def of_constraint(self, held: Held, multiplier: Multipliers) -> tuple[tuple[Any, ...], Any]:
        equation = held.there.position_residual(self.t) / self.square
        return held.there.constraint_force(self.t, multiplier + self._weights(held) * equation), equation

    def error(self, u: Variables, du: Variables) -> Values:
        eps = jnp.finfo(u.dtype).eps
        size = jnp.max(jnp.asarray([jnp.max(jnp.abs(q), initial=0) for q in self.data]))
        moved = self.square * jnp.max(jnp.abs(du[: self.system.structure.velocity_count]))
        return jnp.where(moved == 0, 0, moved / (10 * eps * size + jnp.finfo(u.dtype).tiny))

    def _weights(self, held):
        """1 / (G M^-1 G^T) of each equation by itself."""
        here = held.moved([body.data for body in held.bodies], jax.tree.map(jnp.zeros_like, held.unknowns)).there
        mobility = jnp.zeros((), self.square.dtype)
        for body, q, rows in zip(here.bodies, here.q, here.constraint_jacobian(self.t), strict=True):
            mobility += jnp.sum(rows * jax.vmap(body.inverse_mass, (None, 0))(q, rows), axis=-1)
        return lax.stop_gradient(1 / jnp.maximum(mobility, jnp.finfo(mobility.dtype).tiny ** 0.5))


def at_rest(system: System, t: Any, q: Any, square: Any, drag: Any = 0.0) -> RestEquations:
    world = system.world(q, jnp.zeros(system.structure.velocity_count, q.dtype))
    return RestEquations(system, t, world.q, jnp.asarray(square, q.dtype), jnp.asarray(drag, q.dtype))


def undisplaced(system: System, multipliers: Any) -> Any:
    """The unknowns: no displacements, and the multipliers."""
    return jnp.concatenate([jnp.zeros(system.structure.velocity_count, multipliers.dtype), multipliers])
