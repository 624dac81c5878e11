"""Elements of one kind, stacked: the only place that maps over elements.

A group is one local function of the coordinates of its own bodies. It is written for one instance - the markers'
kinematics, the law, the way back to generalized forces -, mapped once over the group between a gather of coordinates
and a scatter of forces. Its derivatives are the documents' Jacobian blocks.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..core.errors import ModelError
from ..core.types import Coordinates, Level, Multipliers, Switches, Time, Values, Velocities
from ..elements.bodies.body import AbstractBody
from ..elements.connectors.connector import AbstractConnector
from ..elements.ports import AbstractPort, Marker
from ..elements.sensors import AbstractSensor
from ..linalg.index import Index
from ..linalg.small_blocks import jacobian, matrices

Leaves = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Stack:
    """How the parameters of a group's instances are stored.

    `structure` is the element without its arrays; leaf k of instance i is row `rows[k].rows[i]` of the stored leaf k,
    so that instances can share a leaf.
    """

    structure: Any
    treedef: Any
    rows: tuple[Index, ...]

    def instances(self, leaves: Leaves) -> PyTree:
        """The element with a leading axis of instances on every leaf."""
        expanded = [index.take(leaf) for index, leaf in zip(self.rows, leaves, strict=True)]
        return eqx.combine(jax.tree.unflatten(self.treedef, expanded), self.structure)


@dataclasses.dataclass(frozen=True)
class BodyGroup:
    """Bodies of one class; their coordinates stand next to each other, body after body."""

    stack: Stack
    kind: type[AbstractBody]
    coordinates_each: int
    velocities_each: int
    count: int
    first_q: int
    first_v: int

    @property
    def moves(self) -> bool:
        """Whether they have coordinates."""
        return self.velocities_each > 0

    def coordinates(self, q: Coordinates) -> Coordinates:
        size = self.coordinates_each
        return q[self.first_q : self.first_q + self.count * size].reshape(self.count, size)

    def velocities(self, v: Velocities) -> Velocities:
        size = self.velocities_each
        return v[self.first_v : self.first_v + self.count * size].reshape(self.count, size)

    def each(self, function: Any, *stacked: PyTree) -> Any:
        """function(...) for every body of the group."""
        return eqx.filter_vmap(function, axis_size=self.count)(*stacked)

    def velocity_indices(self, rows: Values) -> np.ndarray:
        size = self.velocities_each
        return self.first_v + np.asarray(rows)[:, None] * size + np.arange(size)

    def coordinate_indices(self, rows: Values) -> np.ndarray:
        size = self.coordinates_each
        return self.first_q + np.asarray(rows)[:, None] * size + np.arange(size)


@dataclasses.dataclass(frozen=True)
class GroupMarker:
    """One marker of a group of connectors: which bodies, which port, which coordinate."""

    body: int
    rows: Index
    port: Any
    coordinate: int | None

    def select(self, instances: Index) -> "GroupMarker":
        return dataclasses.replace(self, rows=Index(self.rows.rows[instances.rows]))


@dataclasses.dataclass(frozen=True)
class ConnectorGroup:
    """Connectors of one class between markers of one kind. A field has one slot for each kind of its markers.

    `active`: whether they ever are; `switch`: the number of the switch that events turn on and off, if there is one.
    """

    stack: Stack
    slots: tuple[GroupMarker, ...]
    count: int
    active: bool
    switch: int | None


@dataclasses.dataclass(frozen=True)
class SensorGroup:
    """One sensor, with as many instances as its marker has."""

    stack: Stack
    slot: GroupMarker
    sensor: type[AbstractSensor]
    single: bool


@dataclasses.dataclass(frozen=True)
class EventGroup:
    """One event, with the numbers of the switches it sets."""

    stack: Stack
    name: str
    switches: tuple[tuple[int, bool], ...]


@dataclasses.dataclass(frozen=True)
class NumberGroup:
    """A parameter of the model itself, of which others follow."""

    stack: Stack


class LocalConnector(eqx.Module):
    """One connector with its bodies: everything below is a function of (q, v) of these bodies alone.

    Of a whole group: the same with a leading axis of instances on every array, which `each` maps over.
    """

    law: Any
    markers: tuple[Marker, ...]
    bodies: tuple[AbstractBody, ...]
    q: tuple[Any, ...]
    v: tuple[Any, ...]
    ports: tuple[AbstractPort, ...] = eqx.field(static=True)
    on: Switches = None
    """Whether it is switched on; None where no event switches it."""

    def each(self, function: Any) -> Any:
        """function(local) for every instance of a group."""
        return eqx.filter_vmap(function)(self)

    def at(self, q: tuple[Any, ...], v: tuple[Any, ...]) -> "LocalConnector":
        return LocalConnector(self.law, self.markers, self.bodies, q, v, self.ports, self.on)

    def config(self) -> tuple[Any, ...]:
        return tuple(p.place(*x) for p, *x in zip(self.ports, self.bodies, self.markers, self.q, strict=True))

    def flow(self) -> tuple[Any, ...]:
        return tuple(p.flow(*x) for p, *x in zip(self.ports, self.bodies, self.markers, self.q, self.v, strict=True))

    def config_rate(self) -> tuple[Any, ...]:
        return tuple(p.rate(*x) for p, *x in zip(self.ports, self.bodies, self.markers, self.q, self.v, strict=True))

    def pull_back(self, effort: tuple[Any, ...]) -> tuple[Any, ...]:
        """Generalized forces that do the same work as the efforts at the markers: the transposed flow map."""
        flow, transposed = jax.vjp(lambda v: self.at(self.q, v).flow(), self.v)
        found, wanted = ([jnp.shape(x) for x in jax.tree.leaves(tree)] for tree in (effort, flow))
        if found != wanted:
            raise ModelError(f"{type(self.law).__name__}.effort must return arrays of shapes {wanted}, got {found}.")
        return transposed(jax.tree.unflatten(jax.tree.structure(flow), jax.tree.leaves(effort)))[0]

    def force(self, t: Time) -> tuple[Any, ...]:
        """The generalized forces that a force law applies to its bodies, one vector for each marker."""
        return self.pull_back(self.switched(self.law.effort(t, self.config(), self.flow())))

    def switched(self, tree: PyTree, off: Values = 0) -> Any:
        """What is exerted if it is on."""
        return tree if self.on is None else jax.tree.map(lambda x: jnp.where(self.on, x, off), tree)

    def _still(self) -> tuple[Any, ...]:
        """No flow, without computing one."""
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(self.flow))

    def position_residual(self, t: Time) -> Values:
        """c(t, q) of a constraint on positions."""
        return self.law.residual(t, self.config(), self._still())

    def velocity_residual(self, t: Time) -> Values:
        """dc/dt of a constraint on positions, or the residual of one on velocities."""
        return self._residuals(t)[1]

    def _residuals(self, t: Time) -> tuple[Values, Values]:
        return self._of_motion(t, self.config(), self.flow() if self._by_flow else self.config_rate())

    @property
    def _by_flow(self) -> bool:
        """Whether velocities of constraints are functions of the flow, not of the configuration's rate."""
        return self.law.on_velocity or self.law.rate_of_flow

    def _of_motion(self, t: Time, config: tuple[Any, ...], motion: tuple[Any, ...]) -> tuple[Values, Values]:
        """c (0 for constraints on velocities) and dc/dt of what markers deliver; `motion`: rates of it, or flows."""
        if self.law.on_velocity:
            velocity = self.law.residual(t, config, motion)
            return jnp.zeros_like(velocity), velocity
        still = self._still()
        if self.law.rate_of_flow:
            position, in_time = jax.jvp(lambda t: self.law.residual(t, config, still), (t,), (jnp.ones_like(t),))
            return position, in_time + self.law.rate(t, config, motion)
        return jax.jvp(lambda t, x: self.law.residual(t, x, still), (t, config), (jnp.ones_like(t), motion))

    def constraint_jacobian(self, t: Time) -> tuple[Any, ...]:
        """G with dc/dt = G v + dc/dt|v=0, one block for each marker."""
        return tuple(matrices(lambda *v: self._moved(t, v), *self.v))

    def _moved(self, t: Time, v: tuple[Velocities, ...]) -> Values:
        """G v."""
        config, other = self.config(), self.at(self.q, v)
        if self.law.on_velocity:
            return jax.jvp(lambda x: self.law.residual(t, config, x), (self.flow(),), (other.flow(),))[1]
        if self.law.rate_of_flow:
            return self.law.rate(t, config, other.flow())
        still = self._still()
        return jax.jvp(lambda x: self.law.residual(t, x, still), (config,), (other.config_rate(),))[1]

    def constraint_force(self, t: Time, multiplier: Multipliers) -> tuple[Any, ...]:
        """G^T times the multipliers, one vector for each marker: minus the force of the constraint."""
        return self.reaction(t, multiplier)[1]

    def reaction(self, t: Time, multiplier: Multipliers) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        """c and dc/dt, and G^T times the multipliers."""
        velocity, pull, position = jax.vjp(lambda v: self.at(self.q, v)._residuals(t)[::-1], self.v, has_aux=True)
        return (position, velocity), pull(multiplier)[0]

    def acceleration_residual(self, t: Time, acceleration: tuple[Velocities, ...]) -> Values:
        """d/dt of `velocity_residual` while the velocity coordinates change at this rate."""
        return self._changing(t, acceleration, self.v, jnp.ones_like(t))[1]

    def residual_on(self, level: Level, t: Time, change: tuple[Velocities, ...]) -> Values:
        """c after a displacement on level 0, dc/dt after a change of the velocity coordinates on level 1, d^2c/dt^2
        while these change at this rate on level 2; to first order."""
        going = (level == 2).astype(t.dtype)
        now, rate = self._changing(t, change, jax.tree.map(lambda v: going * v, self.v), going)
        return rate + jnp.where(level == 0, now[0], jnp.where(level == 1, now[1], 0))

    def _changing(
        self, t: Time, acceleration: tuple[Velocities, ...], v: tuple[Velocities, ...], clock: Values
    ) -> tuple[tuple[Values, Values], Values]:
        """c and dc/dt, and d/dt of the latter while the bodies move with v, and the time at this rate."""
        motion = self.flow() if self._by_flow else self.config_rate()
        parts = zip(self.ports, self.bodies, self.markers, self.q, v, acceleration, strict=True)
        change = tuple(port.changes(*x)[self._by_flow] for port, *x in parts)
        rates = (clock, self.at(self.q, v).config_rate(), change)
        now, (_, rate) = jax.jvp(self._of_motion, (t, self.config(), motion), rates)
        return now, rate

    def acceleration_bias(self, t: Time) -> Values:
        """gamma of G v' = gamma, the acceleration level."""
        return -self.acceleration_residual(t, jax.tree.map(jnp.zeros_like, self.v))

    def force_jacobian(self, t: Time) -> tuple[Any, Any]:
        """Blocks [marker i][marker j] of the derivatives of `force`.

        First with respect to the displacements of the bodies in the sense of their velocity coordinates, then with
        respect to the velocity coordinates.
        """
        count = len(self.v)

        def displaced(*x):
            moved = tuple(b.retract(q, d) for b, q, d in zip(self.bodies, self.q, x[:count], strict=True))
            return self.at(moved, x[count:]).force(t)

        columns = jacobian(displaced, *jax.tree.map(jnp.zeros_like, self.v), *self.v)
        return tuple(zip(*columns[:count], strict=True)), tuple(zip(*columns[count:], strict=True))


def with_ties(law: AbstractConnector, bodies: tuple[Any, ...]) -> AbstractConnector:
    """The law with its tied parameters, left at None, filled in from its markers' bodies."""
    missing = {field: tie for field, tie in law.ties.items() if getattr(law, field) is None}
    values = [getattr(bodies[marker], of_body) for marker, of_body in missing.values()]
    return eqx.tree_at(lambda e: [getattr(e, f) for f in missing], law, values, is_leaf=lambda x: x is None)
