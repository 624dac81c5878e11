"""Single connectors as pure functions of (q, q_t, params)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError
from ..core.reprs import of_arrays
from ..core.types import Params, Time, Vector
from .groups import ConnectorGroup
from .structure import InstanceRange
from .system import ConstraintLevels, System

Blocks = tuple[tuple[Any, ...], ...]


class ConnectorJacobian(NamedTuple):
    """Blocks [marker i][marker j] of a connector's generalized force on marker i's body.

    `position`: derivative with respect to a displacement of marker j's body in the sense of its velocity coordinates;
    `velocity`: with respect to its velocity coordinates. With a leading axis if the name holds many instances.
    """

    position: Blocks
    velocity: Blocks

    def __repr__(self) -> str:
        return of_arrays(self)


def connector_force(system: System, name: str) -> Callable[..., Vector]:
    """The generalized force that a connector or load applies to the system.

    Returns a pure function (q, q_t, params={}, t=0) over the system's velocity coordinates. The documents write this
    force on the left-hand side of the equations of motion: their Q is its negative.
    """
    element = system.element(name, "forces", "fields")

    def force(q: Vector, q_t: Vector, params: Params | None = None, t: Time = 0.0) -> Vector:
        changed = system.with_params(params or {})
        time = jnp.asarray(t, q.dtype)
        world = changed.world(q, q_t)
        total = [jnp.zeros_like(v) for v in world.v]
        for part in element.parts:
            group = _group(changed, element.kind, part)
            if not group.active:
                continue
            if element.kind == "fields":
                _, leaves = changed.with_leaves("fields")[part.group]
                forces, slots = changed.field(world, group, leaves).force(time), group.slots
            else:
                forces = changed.part(world, name, part).each(lambda x: x.force(time))
                slots = tuple(slot.select(part.instances) for slot in group.slots)
            changed.add_to(total, slots, forces)
        return jnp.concatenate([x.reshape(-1) for x in total])

    return force


def connector_jacobian(system: System, name: str) -> Callable[..., ConnectorJacobian]:
    """The exact derivatives of a connector's generalized forces, one block for each pair of its markers.

    Returns a pure function (q, q_t, params={}, t=0). The term that comes from the markers' own motion is included.
    """
    element = system.element(name, "forces")
    (part, *others) = element.parts
    if others:
        raise ParameterError(
            f"the instances of '{name}' join different kinds of bodies, so their Jacobians have no common shape. "
            "Give them separate names."
        )
    active = _group(system, "forces", part).active

    def jacobian(q: Vector, q_t: Vector, params: Params | None = None, t: Time = 0.0) -> ConnectorJacobian:
        changed, time = system.with_params(params or {}), jnp.asarray(t, q.dtype)
        blocks = changed.part(changed.world(q, q_t), name, part).each(lambda x: x.force_jacobian(time))
        blocks = jax.tree.map(lambda x: (x[0] if element.single else x) if active else jnp.zeros_like(x), blocks)
        return ConnectorJacobian(*blocks)

    return jacobian


def constraint_equations(system: System, name: str) -> Callable[..., ConstraintLevels]:
    """The equations of a constraint on position, velocity and acceleration level, with its Jacobian.

    Returns a pure function (q, q_t, params={}, t=0).
    """
    element = system.element(name, "constraints")

    def equations(q: Vector, q_t: Vector, params: Params | None = None, t: Time = 0.0) -> ConstraintLevels:
        changed, time = system.with_params(params or {}), jnp.asarray(t, q.dtype)
        world = changed.world(q, q_t)
        pieces = []
        for part in element.parts:
            slots = tuple(slot.select(part.instances) for slot in _group(changed, "constraints", part).slots)
            pieces.append(changed.levels(time, changed.part(world, name, part), slots, q.dtype))
        shape = (element.count, pieces[0].shape[1])
        order = np.argsort(np.concatenate([part.positions.rows for part in element.parts]))
        rows = (order[:, None] * shape[1] + np.arange(shape[1])).ravel()
        joined = [
            None if level[0] is None else jnp.concatenate(level)[rows]
            for level in zip(*(piece[1:] for piece in pieces), strict=True)
        ]
        return ConstraintLevels(shape, *joined)

    return equations


def _group(system: System, kind: str, part: InstanceRange) -> ConnectorGroup:
    return getattr(system.structure, kind)[part.group]
