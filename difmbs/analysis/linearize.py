"""The linear equations of small motions about a state."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.errors import SimulationError
from ..core.parameters import ParameterPath
from ..core.reprs import of_arrays
from ..core.types import Params, Vector
from ..dynamics.accelerations import accelerations
from ..dynamics.projection import consistent
from ..linalg.small_blocks import jacobian
from ..simulation.arguments import (
    check_number,
    check_state,
    check_system,
    check_uncontrolled,
    warn_of_single_precision,
    with_numbers,
)
from ..system.control import controlled
from ..system.system import System


class Linearization(NamedTuple):
    """Dense matrices over the velocity coordinates: mass, stiffness, damping, and the constraints' Jacobian."""

    M: Float[Array, "nv nv"]
    K: Float[Array, "nv nv"]
    D: Float[Array, "nv nv"]
    G: Float[Array, "equations nv"]

    def __repr__(self) -> str:
        return of_arrays(self)


def linearize(
    system: System, *, q: Any = None, v: Any = None, t: float = 0.0, params: Params | None = None
) -> Linearization:
    r"""The linear equations of motion: $M \ddot x + D \dot x + K x + G^T \delta\lambda = 0$, $G x = 0$.

    $K = -\partial f / \partial q + \partial (G^T \lambda) / \partial q$ with the multipliers of the state held
    constant, and $D = -\partial f / \partial v$. x is a displacement in the sense of the velocity coordinates. The rows
    of G are the equations of the active constraints, those of one class between bodies of one class together.

    **Arguments:** `q`, `v`: the state, None: the initial one, or at rest if only q is given; `t`: the time, a plain
    value; `params`: a part of `system.params()` to replace. The matrices can be differentiated.
    """
    check_system("linearize", system)
    check_uncontrolled("linearize", system, sampled=True)
    t = check_number("t", t)
    q, v = checked_state(system, q, v)
    system, values = with_numbers(system, params)
    warn_of_single_precision(system.gravity.dtype)
    return about(system, values, jnp.asarray(t, system.gravity.dtype), q, v)


def checked_state(system: System, q: Any, v: Any) -> tuple[Any, Any]:
    structure, dtype = system.structure, system.gravity.dtype
    if q is not None:
        q = jnp.asarray(check_state("q", q, structure.coordinate_count), dtype)
    if v is not None:
        v = jnp.asarray(check_state("v", v, structure.velocity_count), dtype)
    return q, v


def about(system: System, values: dict[ParameterPath, Any], t: Any, q: Any, v: Any) -> Linearization:
    """The linearization about a state, whose parts are None where the initial ones are meant."""
    matrices, possible = _linearized(system, values, t, q, v)
    if not isinstance(possible, jax.core.Tracer) and not possible.all():
        raise SimulationError(
            "no state near the initial one meets the constraints. Place the bodies so that they fit.",
            "inconsistent_start",
        )
    return matrices


@eqx.filter_jit
def _linearized(system: System, values: dict[ParameterPath, Any], t: Any, q: Any, v: Any) -> tuple[Linearization, Any]:
    system = system.with_values(values)
    possible = jnp.asarray(True)
    if q is None:
        q, own = system.initial_state()
        start = consistent(system, t, q, own if v is None else v)
        possible = start.possible
        q = start.q * jnp.where(possible, 1, jnp.nan)
        v = start.v if v is None else v
    elif v is None:
        v = jnp.zeros(system.structure.velocity_count, q.dtype)
    multipliers = accelerations(system, t, q, v)[1]

    def pulled(dq: Vector, v: Vector) -> Vector:
        moved = system.retract(q, dq)
        here = controlled(system, t, moved, v)
        return _constraint_forces(here, t, moved, v, multipliers) - here.applied_forces(t, moved, v)

    K, D = jacobian(pulled, jnp.zeros_like(v), v)
    levels = system.constraint_levels(t, q, v).values()
    G = jnp.concatenate([level.jacobian for level in levels]) if levels else jnp.zeros((0, v.size), v.dtype)
    return Linearization(system.mass_matrix(q), K, D, G), possible


def _constraint_forces(system: System, t: Any, q: Vector, v: Vector, multipliers: dict[int, Any]) -> Vector:
    """G^T lambda."""
    world = system.world(q, v)
    total = [jnp.zeros_like(x) for x in world.v]
    for number, multiplier in multipliers.items():
        group, leaves = system.with_leaves("constraints")[number]
        local = system.local(world, group, leaves)
        forces = eqx.filter_vmap(lambda held, m: held.constraint_force(t, m))(local, multiplier)
        system.add_to(total, group.slots, forces)
    return jnp.concatenate([x.reshape(-1) for x in total])
