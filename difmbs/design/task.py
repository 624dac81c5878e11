"""A design task as one compiled function: from unknown numbers to all that objectives and limits ask of the motion."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.parameters import ParameterPath
from ..search.run_settings import RunSettings
from ..search.scaling import Scaling
from ..search.unknowns import Target, into
from ..simulation.solution import Solution
from ..system.system import System
from .objectives import Limit, rows_of


class DesignTask(eqx.Module):
    """`objectives` are added up; each of them, and each quantity of `limits`, is the largest of some numbers."""

    system: System
    given: dict[ParameterPath, Any]
    scaling: Scaling
    targets: tuple[Target, ...] = eqx.field(static=True)
    objectives: tuple[Any, ...] = eqx.field(static=True)
    limits: tuple[Limit, ...] = eqx.field(static=True)
    settings: RunSettings = eqx.field(static=True)
    times: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    """`t0`, `t1` and `saveat`, as `simulate` takes them."""

    def entries(self, z: Any) -> tuple[Any, ...]:
        """For each of the quantities a row for each number that it is; the largest entry of the row is that number.
        What is to be small is one number.
        """
        solution = self.motion(z, throw=False)
        objectives, approaches = (
            [rows_of(quantity, solution, joined=True) for quantity in goals]
            for goals in (self.objectives, self.approaches)
        )
        limited = [rows_of(limit.quantity, solution, joined=False) for limit in self.limits]
        return (*objectives, *limited, *approaches)

    def motion(self, z: Any, *, throw: bool) -> Solution:
        given = into(self.given, self.targets, self.scaling.values(z))
        return self.simulated(self.system.with_values(given), throw=throw)

    @property
    def run_arguments(self) -> dict[str, Any]:
        """All arguments of `simulate`."""
        return {**self.settings.arguments, **dict(self.times)}

    def simulated(self, system: System, *, throw: bool) -> Solution:
        return self.settings.simulate(system, throw=throw, **dict(self.times))

    @property
    def approaches(self) -> tuple[Any, ...]:
        """The objectives on the way; none if that is not different from the objectives themselves."""
        smooth = [getattr(q, "approach", None) for q in self.objectives]
        return tuple(q if a is None else a for q, a in zip(self.objectives, smooth, strict=True)) if any(smooth) else ()

    @property
    def with_shorter_steps(self) -> "DesignTask | None":
        """To see the error of the time steps; None where solvers choose them by the usual tolerances."""
        shorter = self.settings.with_shorter_steps
        return None if shorter is None else dataclasses.replace(self, settings=shorter)

    def shapes(self, z: Any) -> list[tuple[int, int]]:
        """Shapes of the rows of all quantities."""
        return [x.shape for x in jax.eval_shape(self.entries, z)]


@eqx.filter_jit
def evaluate(task: DesignTask, z: Any) -> tuple[Any, Any]:
    """All entries one after the other, and their Jacobian."""

    def joined(z):
        entries = _joined(task, z)
        return entries, entries

    rows = sum(map(math.prod, task.shapes(z)))
    # One pass forwards for each unknown, or one backwards for each number.
    derivative = jax.jacrev if 4 * rows < z.size else jax.jacfwd
    jacobian, entries = derivative(joined, has_aux=True)(z)
    return entries, jacobian


@eqx.filter_jit
def quantities_at(task: DesignTask, z: Any) -> Any:
    """What `evaluate` returns first, without derivatives."""
    return _joined(task, z)


def _joined(task: DesignTask, z: Any) -> Any:
    return jnp.concatenate([jnp.ravel(rows) for rows in task.entries(z)])


@eqx.filter_jit
def values_at(task: DesignTask, many: Any) -> Any:
    """At many points."""
    return jax.vmap(lambda z: value_at(task, z))(many)


def value_at(task: DesignTask, z: Any) -> Any:
    """The sum of the objectives and the largest violation of a limit, relative."""
    entries = task.entries(z)
    count = len(task.objectives)
    objective = sum(jnp.max(x) for x in entries[:count])
    over = [violation(limit, x) for limit, x in zip(task.limits, entries[count:], strict=False)]
    return objective, jnp.max(jnp.stack(over), initial=0) if over else jnp.zeros_like(objective)


def excesses(limit: Limit, rows: Any, instead: float = 1.0) -> Any:
    """Excess of each number beyond a limit, relative to the bound, or to `instead` where that is 0; negative
    where it stays inside."""
    values = jnp.max(jnp.asarray(rows), axis=1)
    sides = []
    if limit.upper is not None:
        sides.append((values - limit.upper) / unit_of(abs(limit.upper), instead))
    if limit.lower is not None:
        sides.append((limit.lower - values) / unit_of(abs(limit.lower), instead))
    return jnp.max(jnp.stack(sides), axis=0)


def violation(limit: Limit, rows: Any, instead: float = 1.0) -> Any:
    """Excess of a quantity beyond a limit, relative to the bound, or to `instead` where that is 0."""
    return jnp.maximum(jnp.max(excesses(limit, rows, instead)), 0)


def unit_of(size: float, instead: float) -> float:
    """`size`; where that is nothing but rounding, `instead` or 1."""
    return size if size > 1e-12 * instead else instead or 1.0


def split(entries: np.ndarray, shapes: list[tuple[int, int]]) -> list[np.ndarray]:
    """What `evaluate` joined: rows of each quantity, or of each a Jacobian of its entries."""
    parts = np.split(entries, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    return [x.reshape(shape) if x.ndim == 1 else x for x, shape in zip(parts, shapes, strict=True)]
