"""A step of the explicit Runge-Kutta methods of diffrax; coefficients, error estimates, interpolation are diffrax's.

Diffrax loops over the stages of a step, which costs more than the physics of a small system: where that is cheap they
are written out here. `result`, and so its derivative in `pull`, loops over them: the equations of motion and their
derivative are compiled once each, and nothing is stored but the stages. In batches `pull` writes them out, too, with
1.6 (Tsit5) to 4.6 times (RK4, one spring) the speed of the loop: that takes twice as long to compile. On GPUs all
stages are always written out.
"""

import functools
from typing import Any, cast

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.status import Status
from ..core.types import State, Time, Values
from ..dynamics.accelerations import anew, corrected, derivative, solved, split
from ..dynamics.implicit_equations import ACCELERATION, POSITION, VELOCITY
from ..jaxtools.batched_loops import in_batch, is_rare
from ..jaxtools.many_tangents import jvp_of_many
from ..jaxtools.memory_layout import side_by_side
from ..jaxtools.platforms import on_gpu
from ..linalg.rows import with_row
from ..system.system import System
from .one_step import AbstractOneStep, AttemptedStep
from .stages import stage_times


class FreeRungeKutta(AbstractOneStep):
    """Without constraints."""

    solver: diffrax.AbstractERK

    @property
    def tableau(self) -> diffrax.ButcherTableau:
        return cast(diffrax.ButcherTableau, self.solver.tableau)

    @property
    def reach(self) -> float:
        return _reach(self.tableau)

    def begin(self, system: System, t: Time, h: Time, y: State) -> PyTree:
        return derivative(t, y, system) if self.tableau.fsal else None

    def step(self, system: System, t: Time, h: Time, y: State, memory: PyTree) -> AttemptedStep:
        # Traced once and called for every stage.
        y = side_by_side(y)
        tableau, slope, time = self.tableau, jax.jit(derivative), stage_times(t, h)
        slopes, stage = [slope(time(0), y, system) if memory is None else memory], y
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            stage = y + _weighted(h, a, slopes)
            slopes.append(slope(time(float(c)), stage, system))
        y1 = side_by_side(stage if tableau.ssal else y + _weighted(h, tableau.b_sol, slopes))
        error = _weighted(h, tableau.b_error, slopes)
        dense = dict(y0=y, y1=y1, k=jnp.stack([h * k for k in slopes]))
        return AttemptedStep(y1, error, dense, slopes[-1] if tableau.fsal else None, None, jnp.zeros((), int))

    def result(self, system: System, t: Time, h: Time, y: State, end: State) -> PyTree:
        """The slopes at all stages, and the state at the end."""
        c, a, count = _coefficients(self.tableau, y.dtype)
        times, a = stage_times(t, h)(c), jnp.asarray(a)

        def stage(i, slopes):
            return with_row(slopes, i, derivative(times[i], y + h * _dot(a[i], slopes), system))

        slopes = lax.fori_loop(0, count, stage, jnp.zeros((count, *y.shape), y.dtype))
        return slopes, y + h * _dot(jnp.asarray(self.tableau.b_sol, y.dtype), slopes)

    def ending(self, h: Time, y: State, result: PyTree) -> State:
        return result[1]

    def dense(self, h: Time, y: State, result: PyTree) -> PyTree:
        return _dense(self.tableau, h, y, result[0])

    def push(
        self, system_of: Any, p: PyTree, t: Time, h: Time, y: State, end: State, dp: PyTree, dy: State
    ) -> tuple[Any, Any]:
        """All stages written out."""
        if is_rare():
            return super().push(system_of, p, t, h, y, end, dp, dy)

        @jax.jit
        def slope(t, p, y, dp, dy):
            return jvp_of_many(lambda p, y: derivative(t, y, system_of(p)), (p, y), (dp, dy))

        tableau, time, y = self.tableau, stage_times(t, h), side_by_side(y)
        pairs = [jax.tree.map(side_by_side, slope(time(0), p, y, dp, dy))]
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            stage, direction = (
                side_by_side(x + _weighted(h, a, [pair[i] for pair in pairs])) for i, x in enumerate((y, dy))
            )
            pairs.append(jax.tree.map(side_by_side, slope(time(float(c)), p, stage, dp, direction)))
        slopes, moved = ([pair[i] for pair in pairs] for i in (0, 1))
        ends = [x + _weighted(h, tableau.b_sol, k) for x, k in ((y, slopes), (dy, moved))]
        return (jnp.stack(slopes), ends[0]), (jnp.stack(moved), ends[1])

    def pull(self, system_of: Any, p: PyTree, t: Time, h: Time, y: State, end: State, weigh: Any) -> tuple[Any, Any]:
        """In a batch and on GPUs, where it pays, all stages written out, with members as neighbours."""
        if not (in_batch() or on_gpu()):
            return super().pull(system_of, p, t, h, y, end, weigh)

        @jax.jit
        def slope(t, p, y):
            return derivative(t, y, system_of(p))

        tableau, time, y = self.tableau, stage_times(t, h), side_by_side(y)
        first, pull_first = jax.vjp(functools.partial(slope, time(0)), p, y)
        slopes, pulls = [side_by_side(first)], [pull_first]
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            stage = side_by_side(y + _weighted(h, a, slopes))
            k, pull = jax.vjp(functools.partial(slope, time(float(c))), p, stage)
            slopes.append(side_by_side(k))
            pulls.append(pull)
        dy, (of_slopes, of_end) = weigh((jnp.stack(slopes), y + _weighted(h, tableau.b_sol, slopes)))
        dy, dp = dy + of_end, jax.tree.map(jnp.zeros_like, p)
        weights = [float(b) * h * of_end + of_slopes[i] for i, b in enumerate(tableau.b_sol)]
        for i in reversed(range(len(slopes))):
            more, of_stage = pulls[i](side_by_side(weights[i]))
            of_stage = side_by_side(of_stage)
            dp, dy = jax.tree.map(jnp.add, dp, more), dy + of_stage
            for j, a in enumerate(tableau.a_lower[i - 1] if i else ()):
                weights[j] += float(a) * h * of_stage
        return dp, dy


class ConstrainedRungeKutta(AbstractOneStep):
    """With constraints: a loop over the stages, and two more, in which the end is brought back onto the constraints, on
    position level and on velocity level. So the equations are compiled once, but on GPUs, where the loop is written
    out."""

    solver: diffrax.AbstractERK

    @property
    def tableau(self) -> diffrax.ButcherTableau:
        return cast(diffrax.ButcherTableau, self.solver.tableau)

    @property
    def reach(self) -> float:
        return _reach(self.tableau)

    def begin(self, system: System, t: Time, h: Time, y: State) -> PyTree:
        # The slope at the end of a step is not that where the next one begins.
        return None

    def step(self, system: System, t: Time, h: Time, y: State, memory: PyTree) -> AttemptedStep:
        slopes, end, code = self._stages(system, t, h, y)
        error = h * _dot(jnp.asarray(self.tableau.b_error, y.dtype), slopes)
        return AttemptedStep(end, error, _dense(self.tableau, h, y, slopes), None, code, jnp.zeros((), int))

    def result(self, system: System, t: Time, h: Time, y: State, end: State) -> PyTree:
        """The slopes at all stages, and the state at the end."""
        return self._stages(system, t, h, y)[:2]

    def ending(self, h: Time, y: State, result: PyTree) -> State:
        return result[1]

    def dense(self, h: Time, y: State, result: PyTree) -> PyTree:
        return _dense(self.tableau, h, y, result[0])

    def _stages(self, system, t, h, y):
        """The slopes at all stages, the end, and what was wrong."""
        c, a, count = _coefficients(self.tableau, y.dtype)
        times = jnp.concatenate([stage_times(t, h)(c), jnp.stack([t + h, t + h])])
        # The last row is that of what is no stage.
        row = np.minimum(np.arange(count + 2), count)
        weights = np.concatenate([a, np.asarray(self.tableau.b_sol, y.dtype)[None]])[row]
        row, weights, levels = _readable(row, weights, np.asarray([ACCELERATION] * count + [POSITION, VELOCITY]))

        def stage(i, carry):
            slopes, end, singular = carry
            point = jnp.where(levels[i] == VELOCITY, end, y + h * _dot(weights[i], slopes[:count]))
            q, v = split(system, point)
            u, finite = solved(system, times[i], q, v, levels[i])
            x = u[: v.size]
            slopes = with_row(slopes, row[i], jnp.concatenate([system.rate(q, v), x]))
            end = jnp.concatenate(corrected(system, q, v, levels[i], x))
            return slopes, end, jnp.where(i == 0, finite & ~jnp.all(jnp.isfinite(x)), singular)

        carry = (jnp.zeros((count + 1, *y.shape), y.dtype), y, jnp.asarray(False))
        slopes, end, singular = _each(count + 2, stage, carry)
        why = jnp.where(singular, Status.singular.value, Status.non_finite.value)
        return slopes[:count], end, jnp.where(jnp.all(jnp.isfinite(end)), Status.ok.value, why)


def _readable(*tables: Any) -> tuple[Any, ...]:
    """Tables for use in `_each`."""
    return tables if on_gpu() else tuple(map(jnp.asarray, tables))


def _each(count: int, stage: Any, carry: PyTree) -> PyTree:
    """All stages in turn, in a loop; on GPUs written out."""
    if not on_gpu():
        return lax.fori_loop(0, count, anew(stage), carry)
    for i in range(count):
        carry = anew(functools.partial(stage, i))(carry)
    return carry


def _reach(tableau: diffrax.ButcherTableau) -> float:
    """The largest angle by which a vibration may turn in a step, for size and phase to be right to a thousandth."""
    lower = np.zeros((tableau.num_stages, tableau.num_stages))
    for i, row in enumerate(tableau.a_lower):
        lower[i + 1, : i + 1] = row
    one = np.ones(tableau.num_stages)
    angles = np.arange(0.05, 6, 0.05)
    after = [1 + 1j * x * tableau.b_sol @ np.linalg.solve(np.eye(len(one)) - 1j * x * lower, one) for x in angles]
    good = np.abs(np.asarray(after) - np.exp(1j * angles)) <= 1e-3
    return float(angles[np.argmin(good)])


def _coefficients(tableau: diffrax.ButcherTableau, dtype: Any) -> tuple[Any, Any, int]:
    """c and a of all stages, and how many there are."""
    count = tableau.num_stages
    a = np.zeros((count, count))
    for i, row in enumerate(tableau.a_lower):
        a[i + 1, : i + 1] = row
    return np.concatenate([[0], tableau.c]).astype(dtype), a.astype(dtype), count


def _dense(tableau: diffrax.ButcherTableau, h: Time, y: State, slopes: Any) -> dict[str, Any]:
    """Data for diffrax' interpolation."""
    return dict(y0=y, y1=y + h * _dot(jnp.asarray(tableau.b_sol, y.dtype), slopes), k=h * slopes)


def _weighted(h: Time, weights: Values, slopes: list[Any]) -> State:
    return sum((float(w) * h) * k for w, k in zip(weights, slopes, strict=True) if w != 0)


def _dot(weights: Values, slopes: Any) -> Values:
    return jnp.dot(weights, slopes, precision="highest")
