"""A design task as one compiled function: from unknown numbers to all that objectives and limits ask of the motion."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._parameters import Path
from .._simulate import simulate
from ..identification.problem import Scaling, put
from ..identification.unknowns import Target
from ..solution import Solution
from ..system import System
from .objectives import Limit, entries_of


class Task(eqx.Module):
    """`objectives` are added up; each of them, and each quantity of `limits`, is the largest of some numbers."""

    system: System
    given: dict[Path, Any]
    scaling: Scaling
    targets: tuple[Target, ...] = eqx.field(static=True)
    objectives: tuple[Any, ...] = eqx.field(static=True)
    limits: tuple[Limit, ...] = eqx.field(static=True)
    options: tuple[tuple[str, Any], ...] = eqx.field(static=True)

    def entries(self, z: Any) -> tuple[Any, ...]:
        """For each of the quantities the numbers whose largest counts."""
        solution = self.motion(z, throw=False)
        return tuple(entries_of(q, solution) for q in self.quantities)

    def motion(self, z: Any, *, throw: bool) -> Solution:
        values, given = self.scaling.values(z), dict(self.given)
        for target in self.targets:
            given[target.path] = put(given[target.path], target, values[jnp.asarray(target.slots[0])])
        return simulate(self.system.with_values(given), throw=throw, **dict(self.options))

    @property
    def approaches(self) -> tuple[Any, ...]:
        """The objectives on the way; none if that is not different from the objectives themselves."""
        smooth = [getattr(q, "approach", None) for q in self.objectives]
        return tuple(q if a is None else a for q, a in zip(self.objectives, smooth, strict=True)) if any(smooth) else ()

    @property
    def quantities(self) -> tuple[Any, ...]:
        return (*self.objectives, *(limit.quantity for limit in self.limits), *self.approaches)

    def sizes(self, z: Any) -> list[int]:
        return [x.size for x in jax.eval_shape(self.entries, z)]


@eqx.filter_jit
def evaluate(task: Task, z: Any) -> tuple[Any, Any]:
    """All entries one after the other, and their Jacobian."""

    def joined(z):
        entries = jnp.concatenate(task.entries(z))
        return entries, entries

    rows = sum(task.sizes(z))
    # One pass forwards for each unknown, or one backwards for each number.
    derivative = jax.jacrev if 4 * rows < z.size else jax.jacfwd
    jacobian, entries = derivative(joined, has_aux=True)(z)
    return entries, jacobian


@eqx.filter_jit
def values_at(task: Task, many: Any) -> Any:
    """The sum of the objectives and the largest violation of a limit, relative, at many points."""

    def one(z):
        entries = task.entries(z)
        count = len(task.objectives)
        objective = sum(jnp.max(x) for x in entries[:count])
        over = [violation(limit, x) for limit, x in zip(task.limits, entries[count:], strict=False)]
        return objective, jnp.max(jnp.stack(over), initial=0) if over else jnp.zeros_like(objective)

    return jax.vmap(one)(many)


def violation(limit: Limit, entries: Any, instead: float = 1.0) -> Any:
    """By how much a limit is exceeded, relative to the bound, or to `instead` where that is 0."""
    value, over = jnp.max(entries), jnp.zeros(())
    if limit.upper is not None:
        over = jnp.maximum(over, (value - limit.upper) / unit_of(abs(limit.upper), instead))
    if limit.lower is not None:
        over = jnp.maximum(over, (limit.lower - value) / unit_of(abs(limit.lower), instead))
    return over


def unit_of(size: float, instead: float) -> float:
    """`size`; where that is nothing but rounding, `instead` or 1."""
    return size if size > 1e-12 * instead else instead or 1.0


def split(entries: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    return np.split(entries, np.cumsum(sizes)[:-1])
