"""Natural vibrations, as large as can be seen."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..system.system import System
from .scene import scene_of

_FARTHEST, _WIDEST = 0.12, 0.5
"""Largest displacement, relative to the mechanism, and largest rotation [rad]."""
_TRIED = 1e-3


def swing(system: System, q: Any, shape: np.ndarray, phases: np.ndarray) -> Any:
    """Coordinates (n, coordinates) of a vibration about q with a complex shape, at phases in periods."""

    def displaced(size: float, phases: np.ndarray) -> Any:
        moved = size * (shape[None] * np.exp(2j * np.pi * phases)[:, None]).real
        return jax.vmap(lambda dq: system.retract(q, dq))(jnp.asarray(moved, q.dtype))

    states = jnp.concatenate([q[None], displaced(_TRIED, np.linspace(0, 1, 9)[:-1])])
    still = jnp.zeros((len(states), shape.size), q.dtype)
    scene = scene_of(system, np.zeros(len(states)), states, still, loads=False)
    far = np.max(np.linalg.norm(scene.origins - scene.origins[:1], axis=-1)) / scene.view.size
    traces = np.einsum("nfij,fij->nf", scene.turns, scene.turns[0])
    angle = np.max(np.arccos(np.clip((traces - 1) / 2, -1, 1)))
    factor = min(_FARTHEST / max(far, 1e-12), _WIDEST / max(angle, 1e-12))
    return displaced(_TRIED * factor, phases)
