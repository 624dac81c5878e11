"""Equations for one unknown vector: all that solvers ask of a constrained system.

An unknown per velocity coordinate (x: an acceleration, a displacement, a change of velocity) and one multiplier per
equation of a constraint. Bodies, forces and constraints contribute to the residual

    inertia(x) - f(t, q(x), v(x)) + G^T lambda = 0,    the constraint's equation on one of its levels = 0

as local functions of their own unknowns, so its Jacobian comes as blocks for the structured elimination.
"""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from ._groups import Local
from ._layout import Inverse, Layout, layout
from .linalg import implicit
from .system import Field, System, World

_ROUNDING = 100


class AbstractProblem(eqx.Module):
    """`data` of each group of bodies: what `place` needs to know of each body beside the unknowns."""

    system: eqx.AbstractVar[System]
    t: eqx.AbstractVar[Any]
    data: eqx.AbstractVar[tuple[Any, ...]]

    forced: ClassVar[bool] = True
    """Whether applied forces take part."""

    stiff: ClassVar[bool] = True
    """Whether they depend on the unknowns."""

    @property
    def layout(self) -> Layout:
        return layout(self.system.structure, self.stiff)

    @property
    def still(self) -> Any:
        """The same, held constant in derivatives."""
        return jax.tree.map(lambda x: lax.stop_gradient(x) if eqx.is_array(x) else x, self)

    @abc.abstractmethod
    def place(self, body: Any, data: Any, x: Any) -> tuple[Any, Any]:
        """(q, v) of a body with the unknowns x."""

    @abc.abstractmethod
    def inertia(self, body: Any, data: Any, x: Any) -> Any:
        """What a body contributes to its own equations."""

    @abc.abstractmethod
    def pull(self, held: Local, multiplier: Any) -> tuple[Any, ...]:
        """G^T times the multipliers. In `held`, q are the data and v the unknowns of the bodies."""

    @abc.abstractmethod
    def equation(self, held: Local) -> Any:
        """The equations of a constraint."""

    @abc.abstractmethod
    def error(self, u: Any, du: Any) -> Any:
        """The size of a correction, 1 where it does not count any more."""

    def taking_part(self, held: Local) -> bool:
        """Whether the constraint is in force; otherwise its multipliers are zero."""
        return True

    def placed(self, held: Local) -> Local:
        """The connector where the unknowns put its bodies."""
        pairs = zip(held.bodies, held.q, held.v, strict=True)
        q, v = zip(*(self.place(body, data, x) for body, data, x in pairs), strict=True)
        return held.at(tuple(q), tuple(v))

    @jax.jit
    def residual(self, u: Any) -> Any:
        system, structure = self.system, self.system.structure
        world = self._world(u)
        total = [
            group.each(self.inertia, body, data, x)
            for group, body, data, x in zip(structure.bodies, world.bodies, world.q, world.v, strict=True)
        ]
        if self.forced:
            for group, leaves in system.with_leaves("forces"):
                if group.active:
                    system.add_to(total, group.slots, system.local(world, group, leaves).each(self._of_force))
            for group, leaves in system.with_leaves("fields"):
                if group.active:
                    field = system.field(world, group, leaves)
                    system.add_to(total, group.slots, _negative(self._moved_field(field).force(self.t)))
        equations = []
        for number, (group, leaves) in enumerate(system.with_leaves("constraints")):
            if group.active:
                local = system.local(world, group, leaves)
                pulled, equation = eqx.filter_vmap(self._of_constraint)(local, self.multipliers(u, number))
                system.add_to(total, group.slots, pulled)
                equations.append(equation.reshape(-1))
        return jnp.concatenate([*(x.reshape(-1) for x in total), *equations])

    def inverse(self, u: Any) -> Inverse:
        """The inverse of the residual's Jacobian at u; held constant in derivatives."""
        return self.layout.inverse(self.still.matrix(lax.stop_gradient(u)))

    def attached(self, u: Any) -> Any:
        """A solution u with its derivative with respect to all that the problem depends on."""
        u = lax.stop_gradient(u)
        return implicit(residual_of, u, self.inverse(u), self)

    @jax.jit
    def matrix(self, u: Any) -> Any:
        """The Jacobian of the residual, as blocks."""
        system, structure, place = self.system, self.system.structure, self.layout
        world = self._world(u)
        bodies = [
            structure.bodies[n].each(self.body_block, world.bodies[n], world.q[n], world.v[n]) for n in place.bodies
        ]
        blocks: list[Any] = []
        for share in place.shares:
            group, leaves = system.with_leaves(share.kind)[share.group]
            local = system.local(world, group, leaves, share.instances)
            arguments = [local]
            if share.kind == "constraints":
                arguments.append(share.instances.take(self.multipliers(u, share.group)))
            blocks += eqx.filter_vmap(lambda *x, share=share: share.blocks(self.own_jacobian(*x), place.size))(
                *arguments
            )
        for group, leaves in system.with_leaves("fields"):
            if group.active and self.stiff:
                blocks += self._field_blocks(system.field(world, group, leaves), place)
        return place.matrix(bodies, blocks)

    def body_block(self, body: Any, data: Any, x: Any) -> Any:
        return jax.jacfwd(lambda x: self.inertia(body, data, x))(x)

    def own_jacobian(self, held: Local, multiplier: Any = None) -> Any:
        """Of one connector: rows and columns by marker, and last those of the multipliers; None for zeros."""
        if multiplier is None:
            return jax.jacfwd(lambda x: self._of_force(held.at(held.q, x)))(held.v)

        def rows(*unknowns):
            pulled, equation = self._of_constraint(held.at(held.q, unknowns[:-1]), unknowns[-1])
            return (*pulled, equation)

        columns = tuple(range(len(held.v) + 1))
        return jax.jacfwd(rows, columns)(*held.v, multiplier)

    def _world(self, u: Any) -> World:
        structure = self.system.structure
        rest = self.system.world(jnp.zeros(structure.coordinate_count, u.dtype), u[: structure.velocity_count])
        return World(rest.bodies, self.data, rest.v)

    def multipliers(self, u: Any, number: int) -> Any:
        """Those of a group of constraints, by instance."""
        return u[self.layout.multipliers[number]].reshape(-1, self.system.structure.couplings[number].equations)

    def _of_force(self, held: Local) -> Any:
        return _negative(self.placed(held).force(self.t))

    def _of_constraint(self, held: Local, multiplier: Any) -> tuple[Any, Any]:
        if not self.taking_part(held):
            return jax.tree.map(jnp.zeros_like, held.v), multiplier
        return held.switched(self.pull(held, multiplier)), held.switched(self.equation(held), multiplier)

    def _moved_field(self, field: Field) -> Field:
        return Field(field.law, tuple(side.each(self.placed) for side in field.sides), field.on)

    def _field_blocks(self, field: Field, place: Any) -> list[Any]:
        """For each pair of sides with coordinates, the blocks of all pairs of markers."""

        def forces(*x):
            moved = Field(field.law, tuple(s.at(s.q, (y,)) for s, y in zip(field.sides, x, strict=True)), field.on)
            return _negative(self._moved_field(moved).force(self.t))

        x = [side.v[0] for side in field.sides]
        moving = [i for i, y in enumerate(x) if y.shape[1]]
        jacobian = jax.jacfwd(forces, tuple(range(len(x))))(*x)
        blocks = [jnp.moveaxis(jacobian[i][j], 2, 1) for i in moving for j in moving]
        full = place.size
        return [
            jnp.pad(b.reshape(-1, *b.shape[2:]), [(0, 0), (0, full - b.shape[2]), (0, full - b.shape[3])])
            for b in blocks
        ]


def residual_of(u: Any, problem: AbstractProblem) -> Any:
    return problem.residual(u)


class Acceleration(AbstractProblem):
    """The equations of motion for v' and the multipliers, linear in both: the constraints on acceleration level."""

    system: System
    t: Any
    data: tuple[Any, ...]

    stiff: ClassVar[bool] = False

    def place(self, body, data, x):
        return data

    def inertia(self, body, data, x):
        q, v = data
        return jnp.sum(body.mass_matrix(q) * x[None], axis=-1) - body.bias(q, v, self.system.gravity[0])

    def pull(self, held, multiplier):
        return self.placed(held).constraint_force(self.t, multiplier)

    def equation(self, held):
        return self.placed(held).acceleration_residual(self.t, held.v)

    # The Jacobian holds nothing but M and G.

    def body_block(self, body, data, x):
        return body.mass_matrix(data[0])

    def own_jacobian(self, held, multiplier=None):
        return _saddle(held, self.placed(held).constraint_jacobian(self.t))

    def error(self, u, du):
        return relative(du, [u])


class Projection(AbstractProblem):
    """The smallest change, weighted with the masses, that changes the constraints' equations by given amounts.

    M x + G^T lambda = 0, G x = change; the data are the coordinates. Linear, with M and G as Jacobian.
    """

    system: System
    t: Any
    data: tuple[Any, ...]

    forced: ClassVar[bool] = False
    stiff: ClassVar[bool] = False

    def place(self, body, data, x):
        return data, x

    def inertia(self, body, data, x):
        return jnp.sum(body.mass_matrix(data) * x[None], axis=-1)

    def pull(self, held, multiplier):
        return held.constraint_force(self.t, multiplier)

    def equation(self, held):
        return held.constraint_motion(self.t)

    def body_block(self, body, data, x):
        return body.mass_matrix(data)

    def own_jacobian(self, held, multiplier=None):
        return _saddle(held, held.constraint_jacobian(self.t))

    def error(self, u, du):
        return relative(du, [u])


def relative(change: Any, to: Any) -> Any:
    """The largest change in units of what rounding leaves of numbers of this size."""
    size = jnp.max(jnp.asarray([jnp.max(jnp.abs(x), initial=0) for x in to]))
    step = jnp.max(jnp.abs(change))
    return step / (_ROUNDING * jnp.finfo(change.dtype).eps * jnp.maximum(size, jnp.finfo(change.dtype).tiny ** 0.5))


def _saddle(held: Local, jacobian: tuple[Any, ...]) -> list[list[Any]]:
    """[0 G^T; G 0] by marker, None for zeros; [0 0; 0 1] where the constraint is switched off."""
    jacobian = held.switched(jacobian)
    eye = jnp.eye(jacobian[0].shape[0], dtype=jacobian[0].dtype)
    corner = None if held.on is None else held.switched(jnp.zeros_like(eye), eye)
    return [*([*(None for _ in jacobian), g.T] for g in jacobian), [*jacobian, corner]]


def _negative(tree: Any) -> Any:
    return jax.tree.map(jnp.negative, tree)
