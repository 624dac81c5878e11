"""One step of a time integrator with its derivatives: all that the loops need to know of a solver.

What costs in a step is its `result` (the stages of a Runge-Kutta method); from that, the state at the end and at any
time inside follow cheaply. `push` and `pull` are the tangent and the cotangent of the costly part, so that a step with
many outputs costs hardly more than one without. Step size and times are held constant.
"""

import abc
import dataclasses
from typing import Any, cast

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..equations import derivative
from ..system import System

TERM = diffrax.ODETerm(derivative)


class AbstractOneStep(eqx.Module):
    """`system_of(p)` is the system with the parameters p that are differentiated; `output` an output time or None."""

    solver: eqx.AbstractVar[diffrax.AbstractSolver]

    @property
    def error_order(self) -> Any:
        return self.solver.error_order(TERM)

    @abc.abstractmethod
    def begin(self, system: System, t: Any, h: Any, y: Any) -> Any:
        """What the first step needs, and every step hands to the next."""

    @abc.abstractmethod
    def step(self, system: System, t: Any, h: Any, y: Any, memory: Any) -> tuple[Any, Any, Any, Any, Any]:
        """State at t + h, error estimate, data for `between`, memory for the next step, whether it worked."""

    @abc.abstractmethod
    def result(self, system: System, t: Any, h: Any, y: Any) -> Any:
        """The costly part of a step."""

    @abc.abstractmethod
    def ending(self, h: Any, y: Any, result: Any) -> Any:
        """The state at the end."""

    @abc.abstractmethod
    def dense(self, h: Any, y: Any, result: Any) -> Any:
        """Data for `between`."""

    def between(self, t: Any, h: Any, y: Any, y1: Any, dense: Any, output: Any) -> Any:
        """The state at an output time inside the step."""
        inside = self.solver.interpolation_cls(t0=t, t1=t + h, **dense).evaluate(output)
        return jnp.where(output <= t, y, jnp.where(output >= t + h, y1, inside))

    def inside(self, t: Any, h: Any, y: Any, result: Any, output: Any) -> Any:
        """The same from the result of the step."""
        return self.between(t, h, y, self.ending(h, y, result), self.dense(h, y, result), output)

    def push(self, system_of: Any, p: Any, t: Any, h: Any, y: Any, dp: Any, dy: Any) -> tuple[Any, Any]:
        """The result and its tangent; `system_of(p)` is the system with the parameters p that are differentiated."""
        return jax.jvp(lambda p, y: self.result(system_of(p), t, h, y), (p, y), (dp, dy))

    def pull(self, system_of: Any, p: Any, t: Any, h: Any, y: Any, weigh: Any) -> tuple[Any, Any]:
        """Cotangents of p and y; `weigh(result)` gives those of y, as far as it counts itself, and of the result."""
        result, pull = jax.vjp(lambda p, y: self.result(system_of(p), t, h, y), p, y)
        dy, dresult = weigh(result)
        dp, more = pull(dresult)
        return dp, dy + more


class AnySolver(AbstractOneStep):
    """A diffrax solver as it is, differentiated by JAX."""

    solver: diffrax.AbstractSolver

    def begin(self, system, t, h, y):
        return self.solver.init(TERM, t, t + h, y, system)

    def step(self, system, t, h, y, memory):
        y1, error, dense, memory, result = self.solver.step(TERM, t, t + h, y, system, memory, False)
        return y1, error, dense, memory, result == diffrax.RESULTS.successful

    def result(self, system, t, h, y):
        y1, _, dense, _, _ = self.step(system, t, h, y, self.begin(system, t, h, y))
        return y1, dense

    def ending(self, h, y, result):
        return result[0]

    def dense(self, h, y, result):
        return result[1]


class Explicit(AbstractOneStep):
    """An explicit Runge-Kutta method of diffrax; coefficients, error estimate and interpolation are diffrax's.

    Diffrax loops over the stages of a step, which costs more than the physics of a small system: here `step` writes
    them out. `push` and `pull` loop over them, and spell out the derivative of the method (its discrete adjoint): the
    equations of motion and their derivative are compiled once each, and nothing is stored but the stages.
    """

    solver: diffrax.AbstractERK

    @property
    def tableau(self) -> diffrax.ButcherTableau:
        return cast(diffrax.ButcherTableau, self.solver.tableau)

    def begin(self, system, t, h, y):
        return derivative(t, y, system) if self.tableau.fsal else None

    def step(self, system, t, h, y, memory):
        tableau = self.tableau
        # Traced once and called for every stage.
        slope = jax.jit(derivative)
        slopes, stage = [slope(t, y, system) if memory is None else memory], y
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            stage = y + _weighted(h, a, slopes)
            slopes.append(slope(t + float(c) * h, stage, system))
        y1 = stage if tableau.ssal else y + _weighted(h, tableau.b_sol, slopes)
        error = _weighted(h, tableau.b_error, slopes)
        dense = dict(y0=y, y1=y1, k=jnp.stack([h * k for k in slopes]))
        return y1, error, dense, slopes[-1] if tableau.fsal else None, jnp.asarray(True)

    def result(self, system, t, h, y):
        """The slopes of all stages."""
        return self._stages(lambda t, y: derivative(t, y, system), t, h, y)[1]

    def ending(self, h, y, result):
        return y + h * _dot(jnp.asarray(self.tableau.b_sol, y.dtype), result)

    def dense(self, h, y, result):
        return dict(y0=y, y1=self.ending(h, y, result), k=h * result)

    def push(self, system_of, p, t, h, y, dp, dy):
        c, a, count = self._coefficients(y.dtype)

        def stage(i, both):
            slopes, moved = both
            point = (p, y + h * _dot(a[i], slopes))
            direction = (dp, dy + h * _dot(a[i], moved))
            slope, change = jax.jvp(lambda p, y: derivative(t + c[i] * h, y, system_of(p)), point, direction)
            return with_row(slopes, i, slope), with_row(moved, i, change)

        empty = jnp.zeros((count, *y.shape), y.dtype)
        return lax.fori_loop(0, count, stage, (empty, empty))

    def pull(self, system_of, p, t, h, y, weigh):
        c, a, count = self._coefficients(y.dtype)
        points, slopes = self._stages(lambda t, y: derivative(t, y, system_of(p)), t, h, y)
        dy, dslopes = weigh(slopes)

        def back(n, carry):
            dp, dy, dpoints = carry
            i = count - 1 - n
            _, pull = jax.vjp(lambda p, y: derivative(t + c[i] * h, y, system_of(p)), p, points[i])
            more, dpoint = pull(dslopes[i] + h * _dot(a[:, i], dpoints))
            return jax.tree.map(jnp.add, dp, more), dy + dpoint, with_row(dpoints, i, dpoint)

        start = (jax.tree.map(jnp.zeros_like, p), dy, jnp.zeros_like(slopes))
        dp, dy, _ = lax.fori_loop(0, count, back, start)
        return dp, dy

    def _stages(self, slope_at, t, h, y):
        """The points of all stages, and the slopes there."""
        c, a, count = self._coefficients(y.dtype)

        def stage(i, both):
            points, slopes = both
            point = y + h * _dot(a[i], slopes)
            return with_row(points, i, point), with_row(slopes, i, slope_at(t + c[i] * h, point))

        empty = jnp.zeros((count, *y.shape), y.dtype)
        return lax.fori_loop(0, count, stage, (empty, empty))

    def _coefficients(self, dtype):
        tableau = self.tableau
        count = tableau.num_stages
        a = np.zeros((count, count))
        for i, row in enumerate(tableau.a_lower):
            a[i + 1, : i + 1] = row
        return jnp.asarray(np.concatenate([[0], tableau.c]), dtype), jnp.asarray(a, dtype), count


def one_step(solver: diffrax.AbstractSolver, rtol: float) -> AbstractOneStep:
    """The solver, ready for both modes of differentiation; `rtol` is the run's tolerance."""
    if isinstance(solver, diffrax.AbstractERK) and isinstance(solver.tableau, diffrax.ButcherTableau):
        return Explicit(solver)
    if isinstance(solver, diffrax.AbstractDIRK):
        # Diffrax's own loop fills in these two; its default loop over stages has no forward mode.
        solver = dataclasses.replace(solver, scan_kind="bounded")
        if isinstance(solver.root_finder, diffrax.VeryChord):
            tight = diffrax.VeryChord(rtol=0.1 * rtol, atol=0.1 * rtol)
            solver = eqx.tree_at(lambda s: s.root_finder, solver, tight)
    return AnySolver(solver)


def _weighted(h: Any, weights: Any, slopes: list[Any]) -> Any:
    return sum((float(w) * h) * k for w, k in zip(weights, slopes, strict=True) if w != 0)


def with_row(rows: Any, i: Any, row: Any) -> Any:
    """rows with row i replaced, in place where XLA can: an indexed update would become a scatter."""
    return lax.dynamic_update_index_in_dim(rows, row, i, 0)


def _dot(weights: Any, slopes: Any) -> Any:
    return jnp.dot(weights, slopes, precision="highest")
