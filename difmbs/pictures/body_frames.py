"""Where the bodies of a system are: origins and rotations of their frames."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.types import Coordinates, Velocities
from ..elements.bodies.state_vector import StateVector
from ..system.system import System


def moving_bodies(system: System) -> dict[str, Any]:
    elements = system.structure.elements.items()
    return {name: e for name, e in elements if e.kind == "bodies" and name != "ground"}


def frames_of(system: System, q: Coordinates, v: Velocities) -> tuple[Any, ...]:
    """By (group, row) names and numbers of bodies, with origins, rotations and centres of mass."""
    structure = system.structure
    found = jax.tree.map(np.asarray, _of_bodies(system, jnp.asarray(q), jnp.asarray(v)))
    frames: dict[tuple[int, int], tuple[str, int]] = {}
    order = [name for name in structure.elements if name == "ground"]
    order += list(moving_bodies(system))
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    centers: dict[int, np.ndarray] = {}
    for name in order:
        element = structure.elements[name]
        (part,) = element.parts
        if structure.bodies[part.group].kind is StateVector:
            continue
        origins, turns, middle = found[part.group]
        for i, row in enumerate(part.instances.rows.tolist()):
            frames[part.group, row] = (name if element.single else f"{name}[{i}]", len(columns))
            if origins is None:
                columns.append((np.full((len(q), 3), np.nan), np.broadcast_to(np.eye(3), (len(q), 3, 3))))
                continue
            centers[len(columns)] = turns[0, row].T @ (middle[0, row] - origins[0, row])
            columns.append((origins[:, row], turns[:, row]))
    origins, turns = (np.stack(x, axis=1) for x in zip(*columns, strict=True))
    return frames, origins.astype(float), turns.astype(float), centers


@eqx.filter_jit
def _of_bodies(system: System, q: Coordinates, v: Velocities) -> Any:
    """Origin, rotation matrix and centre of mass of each body, by group."""

    def one(body: Any, q: Coordinates, v: Velocities) -> Any:
        if not body.in_space:
            return None, None, None
        pose = body.pose(q)
        point = jnp.zeros(3, q.dtype) if body.extended else None
        return body.point(q, point), pose.rotation.matrix(), pose.p

    return jax.vmap(lambda q, v: system.each_body(one, q, v))(q, v)
