"""Equations for one unknown vector: all that solvers ask of a constrained system.

An unknown per velocity coordinate (x: an acceleration, a displacement, a change of velocity) and one multiplier per
equation of a constraint. Bodies, forces and constraints contribute to the residual

    inertia(x) - f(t, q(x), v(x)) + G^T lambda = 0,    the constraint's equation on one of its levels = 0

as local functions of their own unknowns, so its Jacobian comes as blocks for the structured elimination.
"""

import abc
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.types import Coordinates, Flag, Level, Multipliers, Time, Values, Variables, Velocities
from ..linalg.implicit import implicit
from ..linalg.small_blocks import matmul
from ..system.groups import LocalConnector
from ..system.system import BodyStates, LocalField, System
from .matrix_layout import FactorizedMatrix, MatrixLayout, layout

_ROUNDING = 100

POSITION, VELOCITY, ACCELERATION = range(3)
"""The levels of the constraints."""


class PlacedBody(NamedTuple):
    """Where the unknowns put a body."""

    data: Any
    """What the equations know of it beside the unknowns."""
    q: Coordinates
    v: Velocities
    slopes: Any
    """The Jacobians of q and v with respect to its unknowns; None where they are not needed."""


class Held(eqx.Module):
    """A connector with the bodies that it holds, where the unknowns put them; of a group, with a leading axis."""

    connector: LocalConnector
    """Without q and v."""
    bodies: tuple[PlacedBody, ...]
    unknowns: tuple[Any, ...]

    @classmethod
    def of(cls, local: LocalConnector) -> "Held":
        """From a connector that was given placed bodies for q and unknowns for v."""
        return cls(local.at((), ()), local.q, local.v)

    @property
    def there(self) -> LocalConnector:
        """The connector where its bodies are."""
        return self.connector.at(tuple(body.q for body in self.bodies), tuple(body.v for body in self.bodies))

    def moved(self, q: Sequence[Any], v: Sequence[Any]) -> "Held":
        """With its bodies somewhere else."""
        bodies = tuple(body._replace(q=a, v=b) for body, a, b in zip(self.bodies, q, v, strict=True))
        return Held(self.connector, bodies, self.unknowns)


class AbstractEquations(eqx.Module):
    """`data` of each group of bodies: what `place` needs to know of each body beside the unknowns."""

    system: eqx.AbstractVar[System]
    t: eqx.AbstractVar[Any]
    data: eqx.AbstractVar[tuple[Any, ...]]

    stiff: ClassVar[bool] = True
    """Whether they depend on the unknowns."""

    @property
    def forced(self) -> Flag:
        """Whether applied forces take part; may be traced."""
        return True

    @property
    def layout(self) -> MatrixLayout:
        return layout(self.system.structure, self.stiff)

    @property
    def still(self) -> PyTree:
        """These equations, held constant in derivatives."""
        return jax.tree.map(lambda x: lax.stop_gradient(x) if eqx.is_array(x) else x, self)

    @abc.abstractmethod
    def place(self, body: Any, data: Any, x: Values) -> tuple[Any, Any]:
        """(q, v) of a body with the unknowns x."""

    @abc.abstractmethod
    def inertia(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        """What a body contributes to its own equations."""

    @abc.abstractmethod
    def of_constraint(self, held: Held, multiplier: Multipliers) -> tuple[tuple[Any, ...], Any]:
        """G^T times the multipliers, and the equations of a constraint."""

    @abc.abstractmethod
    def error(self, u: Variables, du: Variables) -> Values:
        """The size of a correction, 1 where it does not count any more."""

    @functools.partial(jax.jit, static_argnames="reactions")
    def residual(self, u: Variables, reactions: bool = True) -> Variables:
        """`reactions`: whether multipliers count; False where they are zero."""
        system, structure = self.system, self.system.structure
        world = self._world(u)
        total = [
            group.each(self.inertia, body, placed, x) if group.moves else x
            for group, body, placed, x in zip(structure.bodies, world.bodies, world.q, world.v, strict=True)
        ]
        for group, leaves in system.with_leaves("forces"):
            if group.active:
                held = Held.of(system.local(world, group, leaves))
                system.add_to(total, group.slots, eqx.filter_vmap(self._of_force)(held))
        for group, leaves in system.with_leaves("fields"):
            if group.active:
                field = system.field(world, group, leaves)
                force = _there(field, [Held.of(side) for side in field.sides]).force(self.t)
                system.add_to(total, group.slots, _negative(self.at_work(force)))
        equations = []
        for number, (group, leaves) in enumerate(system.with_leaves("constraints")):
            if group.active:
                held = Held.of(system.local(world, group, leaves))
                weight = structure.couplings[number].weight
                of_constraint = functools.partial(self._of_constraint, weight=weight)
                pulled, equation = eqx.filter_vmap(of_constraint)(held, self.multipliers(u, number))
                if reactions or weight:
                    system.add_to(total, group.slots, pulled)
                equations.append(equation.reshape(-1))
        return jnp.concatenate([*(x.reshape(-1) for x in total), *equations])

    def inverse(self, u: Variables) -> FactorizedMatrix:
        """The inverse of the residual's Jacobian at u; held constant in derivatives."""
        return self.layout.inverse(self.still.matrix(lax.stop_gradient(u)))

    def attached(self, u: Variables) -> Variables:
        """A solution u with its derivative with respect to all that the problem depends on."""
        u = lax.stop_gradient(u)
        return implicit(residual_of, u, self.inverse(u), self)

    @jax.jit
    def matrix(self, u: Variables) -> Any:
        """The Jacobian of the residual, as blocks."""
        system, structure, place = self.system, self.system.structure, self.layout
        world = self._world(u, slopes=self.stiff)
        bodies = [
            structure.bodies[n].each(self.body_block, world.bodies[n], world.q[n], world.v[n]) for n in place.bodies
        ]
        blocks: list[Any] = []
        for share in place.shares:
            group, leaves = system.with_leaves(share.kind)[share.group]
            arguments: list[Any] = [Held.of(system.local(world, group, leaves, share.instances))]
            own = self.own_jacobian
            if share.kind == "constraints":
                arguments.append(share.instances.take(self.multipliers(u, share.group)))
                own = functools.partial(own, weight=structure.couplings[share.group].weight)
            blocks += eqx.filter_vmap(lambda *x, share=share, own=own: share.blocks(own(*x), place.size))(*arguments)
        for group, leaves in system.with_leaves("fields"):
            if group.active and self.stiff:
                blocks += self._field_blocks(system.field(world, group, leaves), place)
        return place.matrix(bodies, blocks)

    def body_block(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        def along(*direction):
            inertia = lambda q, v, x: self.inertia(body, placed._replace(q=q, v=v), x)
            return jax.jvp(inertia, (placed.q, placed.v, x), direction)[1]

        return jax.vmap(along, -1, -1)(*placed.slopes, np.eye(x.size, dtype=x.dtype))

    def own_jacobian(self, held: Held, multiplier: Multipliers | None = None, weight: float = 0.0) -> list[Any]:
        """Of one connector: rows and columns by marker, and last those of the multipliers; None for zeros."""

        def rows(point, multiplier):
            there = held.moved(*zip(*point, strict=True))
            if multiplier is None:
                return self._of_force(there)
            pulled, equation = self._of_constraint(there, multiplier, weight)
            return (*pulled, equation)

        # All columns at once: each part of the unknowns moves in columns of its own.
        sizes = [x.size for x in (*held.unknowns, *([] if multiplier is None else [multiplier]))]
        ends = np.cumsum(sizes).tolist()
        widths = lambda i: [(0, 0, 0), (ends[i] - sizes[i], ends[-1] - ends[i], 0)]
        wide = lambda x, i: lax.pad(x, np.zeros((), x.dtype), widths(i))
        directions = [tuple(wide(x, i) for x in body.slopes) for i, body in enumerate(held.bodies)]
        of_multiplier = None
        if multiplier is not None:
            of_multiplier = wide(np.eye(sizes[-1], dtype=multiplier.dtype), len(held.bodies))

        def along(directions, of_multiplier):
            point = [(body.q, body.v) for body in held.bodies]
            if multiplier is None:
                return jax.jvp(lambda point: rows(point, None), (point,), (directions,))[1]
            return jax.jvp(rows, (point, multiplier), (directions, of_multiplier))[1]

        columns = jax.vmap(along, -1, -1)(directions, of_multiplier)
        return [jnp.split(row, ends[:-1], axis=-1) for row in columns]

    def _world(self, u: Variables, slopes: bool = False) -> BodyStates:
        """The bodies where the unknowns put them; `slopes`: with the derivatives of that."""
        structure = self.system.structure
        rest = self.system.world(jnp.zeros(structure.coordinate_count, u.dtype), u[: structure.velocity_count])

        def one(body, data, x):
            place = lambda x: self.place(body, data, x)
            if not slopes:
                return PlacedBody(data, *place(x), None)
            along = lambda dx: jax.jvp(place, (x,), (dx,))
            placed, slope = jax.vmap(along, -1, (None, -1))(np.eye(x.size, dtype=x.dtype))
            q, v = placed
            return PlacedBody(data, q, v, slope)

        def each(group, body, data, x):
            if group.moves:
                return group.each(one, body, data, x)
            nothing, slope = (jnp.zeros((group.count, *(0,) * n), u.dtype) for n in (1, 2))
            return PlacedBody(data, nothing, nothing, (slope, slope) if slopes else None)

        groups = zip(structure.bodies, rest.bodies, self.data, rest.v, strict=True)
        return BodyStates(rest.bodies, tuple(each(*parts) for parts in groups), rest.v)

    def multipliers(self, u: Variables, number: int) -> Multipliers:
        """Those of a group of constraints, by instance."""
        return u[self.layout.multipliers[number]].reshape(-1, self.system.structure.couplings[number].equations)

    def at_work(self, forces: Any) -> PyTree:
        """The forces if they take part."""
        if self.forced is True:
            return forces
        return jax.tree.map(lambda x: lax.select(self.forced, x, jnp.zeros_like(x)), forces)

    def _of_force(self, held: Held) -> Any:
        return _negative(self.at_work(held.there.force(self.t)))

    def _of_constraint(self, held: Held, multiplier: Multipliers, weight: float = 0.0) -> tuple[Any, Any]:
        pulled, equation = self.of_constraint(held, multiplier)
        if weight:
            pulled, _ = self.of_constraint(held, multiplier + weight * equation)
        return held.connector.switched(pulled), held.connector.switched(equation, multiplier)

    def _field_blocks(self, field: LocalField, place: Any) -> list[Any]:
        """For each pair of sides with coordinates, the blocks of all pairs of markers."""

        sides = [Held.of(side) for side in field.sides]

        def moved(held, x):
            (body,) = held.bodies
            by = lambda slope: jnp.sum(slope * x[:, None], axis=-1)
            return held.moved([body.q + by(body.slopes[0])], [body.v + by(body.slopes[1])])

        def forces(*x):
            return _negative(_there(field, [moved(held, y) for held, y in zip(sides, x, strict=True)]).force(self.t))

        x = [jnp.zeros_like(held.unknowns[0]) for held in sides]
        moving = [i for i, y in enumerate(x) if y.shape[1]]
        columns = jax.jacfwd(forces, tuple(range(len(x))))(*x)
        blocks = [jnp.moveaxis(columns[i][j], 2, 1) for i in moving for j in moving]
        full = place.size
        return [
            jnp.pad(b.reshape(-1, *b.shape[2:]), [(0, 0), (0, full - b.shape[2]), (0, full - b.shape[3])])
            for b in blocks
        ]


def _there(field: LocalField, sides: Sequence[Held]) -> LocalField:
    return LocalField(field.law, tuple(held.there for held in sides), field.on)


def residual_of(u: Variables, problem: AbstractEquations) -> Variables:
    return problem.residual(u)


class MotionEquations(AbstractEquations):
    """The equations of one instant, M x + G^T lambda = r and G x = s: linear, with M and G as Jacobian.

    x are, by `level`, the accelerations under the applied forces r, or the smallest change of velocities or the
    smallest displacement, weighed with the masses, that meets the constraints on that level. The level may be traced;
    None is that of accelerations. The data are q and v.
    """

    system: System
    t: Time
    data: tuple[Any, ...]
    level: Level

    stiff: ClassVar[bool] = False

    @property
    def forced(self) -> Flag:
        return True if self.level is None else self.level == ACCELERATION

    def place(self, body: Any, data: Any, x: Values) -> tuple[Any, Any]:
        return data

    def inertia(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        bias = body.bias(placed.q, placed.v, self.system.gravity[0])
        return body.momentum(placed.q, x) - self.at_work(bias)

    def of_constraint(self, held: Held, multiplier: Multipliers) -> tuple[tuple[Any, ...], Any]:
        # On all levels the equation's derivative with respect to the unknowns is G.
        equation, pull = jax.vjp(lambda x: self._equation(held.there, x), held.unknowns)
        return pull(multiplier)[0], equation

    def _equation(self, there: LocalConnector, x: tuple[Any, ...]) -> Values:
        if self.level is None:
            return there.acceleration_residual(self.t, x)
        return there.residual_on(self.level, self.t, x)

    def body_block(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        return body.mass_matrix(placed.q)

    def own_jacobian(self, held: Held, multiplier: Multipliers | None = None, weight: float = 0.0) -> list[Any]:
        """[w G^T G, G^T; G 0] by marker, None for zeros; [0 0; 0 1] where the constraint is switched off."""
        switched = held.connector.switched
        blocks = switched(held.there.constraint_jacobian(self.t))
        eye = np.eye(blocks[0].shape[0], dtype=blocks[0].dtype)
        corner = None if held.connector.on is None else switched(jnp.zeros_like(eye), eye)
        square = lambda a, b: weight * matmul(a.T, b) if weight else None
        return [*([*(square(g, other) for other in blocks), g.T] for g in blocks), [*blocks, corner]]

    def error(self, u: Variables, du: Variables) -> Values:
        return relative(du, [u])


def relative(change: Values, to: Values) -> Values:
    """The largest change in units of what rounding leaves of numbers of this size."""
    size = jnp.max(jnp.asarray([jnp.max(jnp.abs(x), initial=0) for x in to]))
    step = jnp.max(jnp.abs(change))
    return step / (_ROUNDING * jnp.finfo(change.dtype).eps * jnp.maximum(size, jnp.finfo(change.dtype).tiny ** 0.5))


def _negative(tree: PyTree) -> Any:
    return jax.tree.map(jnp.negative, tree)
