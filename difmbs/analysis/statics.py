"""From a system to where it comes to rest."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.errors import ParameterError, SimulationError
from ..core.parameters import ParameterPath
from ..core.reprs import value
from ..core.status import Status, words_of
from ..core.types import Params
from ..dynamics.implicit_equations import residual_of
from ..dynamics.outputs import Outputs, multiplier_outputs
from ..dynamics.projection import meets
from ..linalg.constrained_eigen import RANK
from ..linalg.implicit import implicit
from ..simulation.arguments import (
    check_number,
    check_system,
    check_uncontrolled,
    check_whole,
    warn_of_single_precision,
    with_numbers,
)
from ..simulation.early_stops import farthest_off
from ..system.structure import Structure
from ..system.system import System
from .equilibrium_search import FoundEquilibrium, come_to_rest
from .static_equations import Rest, at_rest, undisplaced

_MET = 1e-6
"""Largest violation of constraints, as a share of the system's extent."""


class Equilibrium(eqx.Module):
    """A system at rest.

    `q`, NaN where no equilibrium was found, and `v`, zero but for first-order states; `multipliers` by name of
    constraint; `status`, "ok" or the reason; `stable`: whether all small displacements are resisted; `iterations`;
    `equilibrium["tip"]` and `equilibrium["spring.force"]`: sensors and output variables, with velocities and
    accelerations zero. In a batch made by `vmap` all of them have its axis in front.
    """

    system: System
    t: Any
    q: Any
    v: Any
    reactions: dict[int, Any]
    stable: Any
    drift: Any
    iterations: Any
    code: Any

    @property
    def status(self) -> Any:
        """One word; for a batch an array of words; under a JAX transformation the number."""
        return words_of(self.code)

    @property
    def multipliers(self) -> dict[str, Any]:
        return {name: self[output] for name, output in multiplier_outputs(self.system).items()}

    def __repr__(self) -> str:
        status, *others = (value(x) for x in (self.status, self.stable, self.iterations, self.q))
        return "Equilibrium(status={}, stable={}, iterations={}, q={})".format(status.strip("'"), *others)

    def __getitem__(self, name: str) -> Any:
        try:
            return _read(self, str(name))
        except ParameterError as error:
            raise ParameterError(str(error)) from None

    def outputs(self) -> Outputs:
        """All named outputs, of a single equilibrium."""
        return Outputs(self.system, self.t, self.q, self.v, accelerations=(0 * self.v, self.reactions))


@eqx.filter_jit
def _read(equilibrium: Equilibrium, name: str) -> Any:
    if equilibrium.t.ndim:
        # A batch, whose members have parameters of their own.
        return eqx.filter_vmap(_read)(equilibrium, name)
    return equilibrium.outputs()[name]


def static_equilibrium(
    system: System, *, params: Params | None = None, t: float = 0.0, load_steps: int = 1, throw: bool = True
) -> Equilibrium:
    r"""Where the system rests: $f(t, q, 0) = G^T \lambda$ and $c(t, q) = 0$.

    Found from the initial positions, as a heavily damped motion would find it: a stable equilibrium, unless the start
    is an unstable one. All that is given by parameters can be differentiated, once, forwards and backwards, by the
    implicit function theorem; the search itself is not.

    **Arguments:** `params`: a part of `system.params()` to replace; `t`: the time at which functions of time are taken;
    `load_steps`: the forces that are not in balance at the start are let loose in so many equal parts; `throw`: raise
    `SimulationError` where no equilibrium is found. `t` and `load_steps` are plain values.
    """
    check_system("static_equilibrium", system)
    check_uncontrolled("static_equilibrium", system)
    t, load_steps = check_number("t", t), check_whole("load_steps", load_steps)
    _refuse_velocity_constraints(system.structure)
    system, values = with_numbers(system, params)
    warn_of_single_precision(system.gravity.dtype)
    time = jnp.asarray(t, system.gravity.dtype)
    # By itself, so that derivatives run the same program.
    system_held, values_held = _still((system, values))
    found = _searched(system_held, values_held, time, jnp.asarray(load_steps))
    equilibrium = _equilibrium(system, values, time, found)
    if throw and not isinstance(equilibrium.code, jax.core.Tracer):
        _raise_if_failed(equilibrium)
    return equilibrium


def _still(tree: Any) -> Any:
    return jax.tree.map(lambda x: lax.stop_gradient(x) if eqx.is_array(x) else x, tree)


@eqx.filter_jit
def _searched(system: System, values: dict[ParameterPath, Any], t: Any, load_steps: Any) -> FoundEquilibrium:
    system = system.with_values(values)
    return come_to_rest(system, t, Rest.of(system, *system.initial_state()), load_steps)


@eqx.filter_jit
def _equilibrium(system: System, values: dict[ParameterPath, Any], t: Any, found: FoundEquilibrium) -> Equilibrium:
    system = system.with_values(values)
    count = system.structure.velocity_count
    problem = at_rest(system, t, found.rest, found.square)
    u = undisplaced(system, found.multipliers)
    u = implicit(residual_of, u, problem.inverse(u), problem)
    # Of constraints that repeat each other the search finds the middle, also where they contradict each other.
    held = lax.stop_gradient(system)
    near = meets(held, t, found.rest.q, 0 * found.rest.v, _MET * held.extent(found.rest.q), jnp.inf)
    code = jnp.where((found.code == Status.ok.value) & ~near, Status.contradictory.value, found.code)
    # A product, so that the derivative is not a number either.
    u = u * jnp.where(code == Status.ok.value, 1, jnp.nan)
    rest = found.rest.displaced(system, found.square * u[:count])
    if problem.layout.regularization is not None:
        # Of all multipliers with the same forces the smallest.
        levels = system.constraint_levels(t, rest.q, rest.v)
        jacobian = jnp.concatenate([level.jacobian for level in levels.values()])
        u = jnp.concatenate([u[:count], jnp.linalg.pinv(jacobian.T, rtol=RANK) @ (jacobian.T @ u[count:])])
    reactions = {number: problem.multipliers(u, number) for number in problem.layout.multipliers}
    return Equilibrium(system, t, rest.q, rest.v, reactions, found.stable, found.drift, found.iterations, code)


def _refuse_velocity_constraints(structure: Structure) -> None:
    for name, element in structure.elements.items():
        for part in element.parts if element.kind == "constraints" else ():
            group = structure.constraints[part.group]
            on = group.active and (group.switch is None or structure.switches[group.switch])
            if on and group.stack.structure["element"].on_velocity:
                raise SimulationError(
                    f"'{name}' constrains velocities, which does not say where the system rests. Write it for "
                    "positions, or switch it off."
                )


def _raise_if_failed(equilibrium: Equilibrium) -> None:
    codes = np.asarray(equilibrium.code)
    if np.all(codes == Status.ok):
        return
    first = tuple(np.argwhere(codes != Status.ok)[0])
    status = Status(int(codes[first])).name
    # While gradients are taken, all that may be looked at is that it failed.
    traced = isinstance(equilibrium.drift, jax.core.Tracer)
    body = "a body" if traced else _moving_most(equilibrium.system, np.asarray(equilibrium.drift)[first])
    batch = f" (system {first[0]} of the batch)" if codes.ndim else ""
    sentence = {
        "singular": f"the equilibrium is not unique: nothing holds {body} in place. Add a spring or a constraint",
        "no_equilibrium": f"there is no equilibrium: {body} moves away without end. Hold it, or balance the loads",
        "newton_failed": f"no equilibrium was found: the search went on moving {body} most. Start nearer to it, take "
        "more load_steps, and check that the constraints can be met",
        "non_finite": f"the forces are not finite at the start, or where {body} moves",
        "contradictory": "the constraints contradict each other",
    }[status]
    if status == "contradictory" and not traced and not codes.ndim:
        off = farthest_off(equilibrium.system, equilibrium.t, *equilibrium.system.initial_state())
        sentence += off.replace("Farthest off", "At the start farthest off is")
    raise SimulationError(f"{sentence}{batch}.", status, solution=equilibrium)


def _moving_most(system: System, drift: np.ndarray) -> str:
    bodies = [n for n, e in system.structure.elements.items() if e.kind == "bodies" and n != "ground"]
    speeds = {n: np.abs(drift[system.velocities(n)]).max(axis=-1) for n in bodies}
    name = max(bodies, key=lambda n: np.max(speeds[n]))
    return f"'{name}'" if system.structure.elements[name].single else f"'{name}[{np.argmax(speeds[name])}]'"
