"""Connectors that act in the x-y plane, on bodies whose motion they cannot see."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError, warn
from ..elements.connectors.connector import AbstractConnector
from ..elements.ports import Planar
from ..system.groups import LocalConnector
from ..system.system import System
from .markers import GROUND

_ROUNDING = 1e-9
"""What is in the plane may be so much less than what is along z and still be rounding."""


class _Seen(NamedTuple):
    """Marker by marker: where it is, how far it moves in the x-y plane, and along z, at unit velocities."""

    points: Any
    planar: Any
    rises: Any


def acts_in_plane(law: AbstractConnector) -> bool:
    return law.in_plane or any(isinstance(port, Planar) for port in law.ports)


def check_planes(system: System, name: str, law: AbstractConnector, bodies: list[np.ndarray]) -> None:
    """Refuses a connector in the plane none of whose bodies moves there: it would do nothing, whatever happens.

    Warns of those of which that is less sure. `bodies`: their names, for each instance of each marker.
    """
    element = system.structure.elements[name]
    for part in element.parts if acts_in_plane(law) else ():
        slots = getattr(system.structure, element.kind)[part.group].slots
        groups = [system.structure.bodies[slot.body] for slot in slots]
        if all(group.kind.planar or not group.moves for group in groups):
            continue
        local = system.part(system.world(*system.initial_state()), name, part)
        if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(local)):
            continue
        seen = jax.tree.map(np.asarray, _seen(local))
        for i, position in enumerate(part.positions.rows.tolist()):
            instance = name if element.single else f"{name}[{position}]"
            on = [str(np.broadcast_to(side, element.count)[position]) for side in bodies]
            _judge(instance, law, on, jax.tree.map(lambda x, i=i: x[i], seen))


def _judge(name: str, law: AbstractConnector, bodies: list[str], seen: _Seen) -> None:
    moving = [i for i, body in enumerate(bodies) if body != GROUND]
    unseen = [f"'{bodies[i]}'" for i in moving if seen.planar[i] <= _ROUNDING * seen.rises[i]]
    kind = type(law).__name__
    if len(unseen) == len(moving):
        raise ModelError(
            f"'{name}': {kind} acts in the x-y plane, where {' and '.join(unseen)} cannot move: it would do nothing. "
            "Take one that acts in space, such as SpringDamper, DistanceConstraint or SphericalJoint, or lay the "
            "motion into that plane."
        )
    if unseen:
        warn(
            f"'{name}': {kind} acts in the x-y plane and sees nothing of the motion of {unseen[0]}, which cannot move "
            "there."
        )
    if not law.along_line or not any(seen.rises[i] > 0 for i in moving):
        return
    apart = np.abs(seen.points[1] - seen.points[0])
    if apart[2] > 0 and max(apart[:2]) <= _ROUNDING * apart[2]:
        warn(
            f"'{name}': its markers are {apart[2]:.3g} m apart along z at the start, and nowhere else: {kind} acts in "
            "the x-y plane, sees no distance and exerts no force there. SpringDamper acts in space."
        )


@eqx.filter_jit
def _seen(local: LocalConnector) -> _Seen:
    return local.each(_of_instance)


def _of_instance(local: LocalConnector) -> _Seen:
    """Motions in the state itself and in one beside it, as a state may be a singular one."""
    beside = tuple(
        body.retract(q, jnp.full(body.velocities, 0.1, q.dtype)) for body, q in zip(local.bodies, local.q, strict=True)
    )
    sizes = []
    for coordinates in (local.q, beside):
        here = zip(local.bodies, local.markers, coordinates, strict=True)
        sizes.append([_motions(*marker) for marker in here])
    points = [body.point(q, m.point) for body, m, q in zip(local.bodies, local.markers, local.q, strict=True)]
    planar, rises = jnp.max(jnp.asarray(sizes), axis=0).T
    return _Seen(jnp.stack(points), planar, rises)


def _motions(body: Any, marker: Any, q: Any) -> tuple[Any, Any]:
    """The largest velocity in the plane, or angular velocity about z, and along z, of unit velocity coordinates."""

    def of(v):
        return Planar().flow(body, marker, q, v), body.point_velocity(q, v, marker.point)[2]

    (velocity, spin), rise = jax.vmap(of)(jnp.eye(body.velocities, dtype=q.dtype))
    largest = lambda x: jnp.max(jnp.abs(x), initial=0)
    return jnp.maximum(largest(velocity), largest(spin)), largest(rise)
