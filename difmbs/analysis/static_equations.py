"""The equations of a system at rest."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..core.types import Multipliers, Values, Variables, Vector
from ..dynamics.implicit_equations import AbstractEquations, Held, PlacedBody
from ..elements.bodies.state_vector import StateVector
from ..system.system import System


class RestEquations(AbstractEquations):
    r"""Unknown are displacements $h^2 x$ from what is in `data`, in velocity coordinates, and multipliers.

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
        q, v = data
        change = self.square * x
        return body.retract(q, change), v + change if isinstance(body, StateVector) else v

    def inertia(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        return self.drag * body.momentum(placed.data[0], x) - body.bias(placed.q, placed.v, self.system.gravity[0])

    def of_constraint(self, held: Held, multiplier: Multipliers) -> tuple[tuple[Any, ...], Any]:
        equation = held.there.position_residual(self.t) / self.square
        return held.there.constraint_force(self.t, multiplier + self._weights(held) * equation), equation

    def error(self, u: Variables, du: Variables) -> Values:
        eps = jnp.finfo(u.dtype).eps
        states = self.system.structure.is_state
        moved = self.square * jnp.abs(du[: states.size])

        def share(moved: Values, size: Values) -> Values:
            most = jnp.max(moved, initial=0)
            return jnp.where(most == 0, 0, most / (10 * eps * size + jnp.finfo(u.dtype).tiny))

        q, v = (jnp.max(jnp.asarray([jnp.max(jnp.abs(x[i]), initial=0) for x in self.data])) for i in (0, 1))
        return jnp.maximum(share(jnp.where(states, 0, moved), q), share(jnp.where(states, moved, 0), v))

    def _weights(self, held):
        """1 / (G M^-1 G^T) of each equation by itself."""
        here = held.moved([body.data[0] for body in held.bodies], jax.tree.map(jnp.zeros_like, held.unknowns)).there
        mobility = jnp.zeros((), self.square.dtype)
        for body, q, rows in zip(here.bodies, here.q, here.constraint_jacobian(self.t), strict=True):
            mobility += jnp.sum(rows * jax.vmap(body.inverse_mass, (None, 0))(q, rows), axis=-1)
        return lax.stop_gradient(1 / jnp.maximum(mobility, jnp.finfo(mobility.dtype).tiny ** 0.5))


class Rest(NamedTuple):
    """A state at rest: the velocities v are zero, but for the first-order states that stand among them."""

    q: Vector
    v: Vector

    @classmethod
    def of(cls, system: System, q: Vector, v: Vector) -> "Rest":
        return cls(q, jnp.where(system.structure.is_state, v, 0))

    def displaced(self, system: System, change: Vector) -> "Rest":
        return Rest(system.retract(self.q, change), jnp.where(system.structure.is_state, self.v + change, 0))


def at_rest(system: System, t: Any, rest: Rest, square: Any, drag: Any = 0.0) -> RestEquations:
    world, dtype = system.world(rest.q, rest.v), rest.q.dtype
    data = tuple(zip(world.q, world.v, strict=True))
    return RestEquations(system, t, data, jnp.asarray(square, dtype), jnp.asarray(drag, dtype))


def undisplaced(system: System, multipliers: Any) -> Any:
    """The unknowns: no displacements, and the multipliers."""
    return jnp.concatenate([jnp.zeros(system.structure.velocity_count, multipliers.dtype), multipliers])
