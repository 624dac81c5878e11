"""One step of a time integrator with its derivatives: all that the loops need to know of a solver.

What costs in a step is its `result` (the stages of a Runge-Kutta method, and the state at the end); from that, the
state at any time inside follows cheaply. `push` and `pull` are the tangent and the cotangent of the costly part, so
that a step with many outputs costs hardly more than one without. Step size and times are held constant.
"""

import abc
from typing import Any, NamedTuple, cast

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._problems import ACCELERATION, POSITION, VELOCITY
from .._projection import Route, Visited, settle
from .._status import Status
from .._tangents import jvp_of_many
from ..equations import anew, corrected, derivative, solved, split
from ..linalg import with_row
from ..system import System
from . import newmark
from .newmark import AbstractNewmark
from .patient import patient
from .stages import Attached, stage_times

TERM = diffrax.ODETerm(derivative)


class Step(NamedTuple):
    """The state at the end, an error estimate, data for `between`, memory for the next step, `Status.ok` or what went
    wrong (None where nothing can), and how many iterations it took to solve equations."""

    end: Any
    error: Any
    dense: Any
    memory: Any
    code: Any
    iterations: Any


class AbstractOneStep(eqx.Module):
    """The state begins with q and v; a method may add what it carries from step to step.

    `held`: whether it holds the constraints on position level, and on velocity level; `reach`: the largest angle by
    which a vibration may turn in a step.
    """

    solver: eqx.AbstractVar[diffrax.AbstractSolver]

    @property
    def held(self) -> tuple[bool, bool]:
        return True, True

    @property
    def reach(self) -> float:
        return np.inf

    @property
    def error_order(self) -> Any:
        return self.solver.error_order(TERM)

    def clock(self, t: Any, y: Any) -> Any:
        """The time for forces and constraints."""
        return t

    def route(self, levels: tuple[int, ...] = ()) -> Route:
        """The way from given q and v to a start: corrections on these levels of the constraints first."""
        return Route(levels)

    def start(self, system: System, t: Any, end: tuple[Any, Any], visited: Visited | None) -> Any:
        """The state at the start, after the route."""
        return jnp.concatenate(end)

    def size(self, system: System) -> int:
        """Of the state."""
        return system.structure.coordinate_count + system.structure.velocity_count

    def slope(self, t: Any, y: Any, system: System) -> Any:
        """dy/dt, roughly: from it the first step size is chosen."""
        return derivative(t, y, system)

    @abc.abstractmethod
    def begin(self, system: System, t: Any, h: Any, y: Any) -> Any:
        """What the first step needs, and every step hands to the next."""

    @abc.abstractmethod
    def step(self, system: System, t: Any, h: Any, y: Any, memory: Any) -> Step: ...

    @abc.abstractmethod
    def result(self, system: System, t: Any, h: Any, y: Any, end: Any) -> Any:
        """The costly part of a step, of which the state at the end is known."""

    @abc.abstractmethod
    def ending(self, h: Any, y: Any, result: Any) -> Any:
        """The state at the end."""

    @abc.abstractmethod
    def dense(self, h: Any, y: Any, result: Any) -> Any:
        """Data for `between`."""

    def between(self, t: Any, h: Any, y: Any, end: Any, dense: Any, output: Any) -> Any:
        """The state at an output time inside the step; near the constraints, but not on them."""
        inside = self.solver.interpolation_cls(t0=t, t1=t + h, **dense).evaluate(output)
        return _start_end_or(inside, t, h, y, end, output)

    def inside(self, t: Any, h: Any, y: Any, result: Any, output: Any) -> Any:
        """The same from the result of the step."""
        return self.between(t, h, y, self.ending(h, y, result), self.dense(h, y, result), output)

    def push(self, system_of: Any, p: Any, t: Any, h: Any, y: Any, end: Any, dp: Any, dy: Any) -> tuple[Any, Any]:
        """The result and its tangent; `system_of(p)` is the system with the parameters p that are differentiated."""
        return jax.jvp(lambda p, y: self.result(system_of(p), t, h, y, end), (p, y), (dp, dy))

    def pull(self, system_of: Any, p: Any, t: Any, h: Any, y: Any, end: Any, weigh: Any) -> tuple[Any, Any]:
        """Cotangents of p and y; `weigh(result)` gives those of y, as far as it counts itself, and of the result."""
        result, pull = jax.vjp(lambda p, y: self.result(system_of(p), t, h, y, end), p, y)
        dy, dresult = weigh(result)
        dp, more = pull(dresult)
        return dp, dy + more


def _settled(system: System, t: Any, y: Any) -> Any:
    """A state brought back onto the constraints."""
    return jnp.concatenate(settle(system, t, *split(system, y))) if system.constrained else y


class AnySolver(AbstractOneStep):
    """A diffrax solver as it is, differentiated by JAX."""

    solver: diffrax.AbstractSolver

    def begin(self, system, t, h, y):
        return self.solver.init(TERM, t, t + h, y, system)

    def step(self, system, t, h, y, memory):
        y1, error, dense, memory, result = self.solver.step(TERM, t, t + h, y, system, memory, False)
        end = _settled(system, t + h, y1)
        # Diffrax also calls it divergence when rounding errors stop getting smaller: no reason to end fixed steps.
        error = jnp.where(result == diffrax.RESULTS.successful, jnp.zeros(()) if error is None else error, jnp.inf)
        if system.constrained:
            # A slope that was kept from the end of the step belongs to the state before it was settled.
            memory = self.begin(system, t + h, h, end)
        code = self._solved(system, t + h, h, y1, dense, result)
        return Step(end, error, dense, memory, code, jnp.zeros((), int))

    def _solved(self, system, t, h, y, dense, result):
        """Whether the equations of the stages were solved, judged by the last one, which is at the end of the step."""
        if not isinstance(self.solver, Attached):
            return None
        last = dense["k"][-1] if "k" in dense else dense["y1"] - dense["y0"]
        slope = h * derivative(t, y, system)
        small = jnp.finfo(y.dtype).eps ** 0.5 * (jnp.max(jnp.abs(last)) + jnp.max(jnp.abs(y)))
        failed = (result != diffrax.RESULTS.successful) & (jnp.max(jnp.abs(last - slope)) > small)
        return jnp.where(failed, Status.newton_failed.value, Status.ok.value)

    def result(self, system, t, h, y, end):
        step = self.step(system, t, h, y, self.begin(system, t, h, y))
        return step.end, step.dense

    def ending(self, h, y, result):
        return result[0]

    def dense(self, h, y, result):
        return result[1]


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


class Explicit(AbstractOneStep):
    """An explicit Runge-Kutta method of diffrax; coefficients, error estimate and interpolation are diffrax's.

    Diffrax loops over the stages of a step, which costs more than the physics of a small system: here `step` and `push`
    write them out where they are cheap. `result`, and so its derivative in `pull`, loops over them: the equations of
    motion and their derivative are compiled once each, and nothing is stored but the stages.
    """

    solver: diffrax.AbstractERK

    @property
    def tableau(self) -> diffrax.ButcherTableau:
        return cast(diffrax.ButcherTableau, self.solver.tableau)

    def begin(self, system, t, h, y):
        # On constraints the slope at the end of a step is not that where the next one begins.
        return derivative(t, y, system) if self.tableau.fsal and not system.constrained else None

    def step(self, system, t, h, y, memory):
        tableau, zero = self.tableau, jnp.zeros((), int)
        if system.constrained:
            slopes, end, code = self._constrained(system, t, h, y)
            y1 = y + h * _dot(jnp.asarray(tableau.b_sol, y.dtype), slopes)
            error = h * _dot(jnp.asarray(tableau.b_error, y.dtype), slopes)
            return Step(end, error, dict(y0=y, y1=y1, k=h * slopes), None, code, zero)
        # Traced once and called for every stage.
        slope, time = jax.jit(derivative), stage_times(t, h)
        slopes, stage = [slope(time(0), y, system) if memory is None else memory], y
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            stage = y + _weighted(h, a, slopes)
            slopes.append(slope(time(float(c)), stage, system))
        y1 = stage if tableau.ssal else y + _weighted(h, tableau.b_sol, slopes)
        error = _weighted(h, tableau.b_error, slopes)
        dense = dict(y0=y, y1=y1, k=jnp.stack([h * k for k in slopes]))
        return Step(y1, error, dense, slopes[-1] if tableau.fsal else None, None, zero)

    @property
    def reach(self):
        return _reach(self.tableau)

    def result(self, system, t, h, y, end):
        """The slopes of all stages, and the state at the end."""
        if system.constrained:
            return self._constrained(system, t, h, y)[:2]
        slopes = self._stages(lambda t, y: derivative(t, y, system), t, h, y)
        return slopes, y + h * _dot(jnp.asarray(self.tableau.b_sol, y.dtype), slopes)

    def ending(self, h, y, result):
        return result[1]

    def dense(self, h, y, result):
        return dict(y0=y, y1=y + h * _dot(jnp.asarray(self.tableau.b_sol, y.dtype), result[0]), k=h * result[0])

    def push(self, system_of, p, t, h, y, end, dp, dy):
        if system_of(p).constrained:
            return super().push(system_of, p, t, h, y, end, dp, dy)
        return self._push_written_out(system_of, p, t, h, y, dp, dy)

    def _push_written_out(self, system_of, p, t, h, y, dp, dy):
        @jax.jit
        def slope(t, p, y, dp, dy):
            return jvp_of_many(lambda p, y: derivative(t, y, system_of(p)), (p, y), (dp, dy))

        tableau, time = self.tableau, stage_times(t, h)
        pairs = [slope(time(0), p, y, dp, dy)]
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            stage, direction = (x + _weighted(h, a, [pair[i] for pair in pairs]) for i, x in enumerate((y, dy)))
            pairs.append(slope(time(float(c)), p, stage, dp, direction))
        slopes, moved = ([pair[i] for pair in pairs] for i in (0, 1))
        ends = [x + _weighted(h, tableau.b_sol, k) for x, k in ((y, slopes), (dy, moved))]
        return (jnp.stack(slopes), ends[0]), (jnp.stack(moved), ends[1])

    def _stages(self, slope_at, t, h, y):
        """The slopes at all stages."""
        c, a, count = self._coefficients(y.dtype)
        times = stage_times(t, h)(c)

        def stage(i, slopes):
            return with_row(slopes, i, slope_at(times[i], y + h * _dot(a[i], slopes)))

        return lax.fori_loop(0, count, stage, jnp.zeros((count, *y.shape), y.dtype))

    def _constrained(self, system, t, h, y):
        """The slopes at all stages, the end, and what was wrong.

        Behind the stages come two more, in which the end is brought back onto the constraints, on position level and
        on velocity level: so the equations are compiled once.
        """
        c, a, count = self._coefficients(y.dtype)
        times = jnp.concatenate([stage_times(t, h)(c), jnp.stack([t + h, t + h])])
        a = jnp.concatenate([a, jnp.asarray(self.tableau.b_sol, y.dtype)[None]])
        levels = jnp.asarray([ACCELERATION] * count + [POSITION, VELOCITY])

        def stage(i, carry):
            slopes, end, singular = carry
            point = jnp.where(levels[i] == VELOCITY, end, y + h * _dot(a[jnp.minimum(i, count)], slopes[:count]))
            q, v = split(system, point)
            u, finite = solved(system, times[i], q, v, levels[i])
            x = u[: v.size]
            slopes = with_row(slopes, jnp.minimum(i, count), jnp.concatenate([system.rate(q, v), x]))
            end = jnp.concatenate(corrected(system, q, v, levels[i], x))
            return slopes, end, jnp.where(i == 0, finite & ~jnp.all(jnp.isfinite(x)), singular)

        # The last row is that of what is no stage.
        carry = (jnp.zeros((count + 1, *y.shape), y.dtype), y, jnp.asarray(False))
        slopes, end, singular = lax.fori_loop(0, count + 2, anew(stage), carry)
        why = jnp.where(singular, Status.singular.value, Status.non_finite.value)
        return slopes[:count], end, jnp.where(jnp.all(jnp.isfinite(end)), Status.ok.value, why)

    def _coefficients(self, dtype):
        tableau = self.tableau
        count = tableau.num_stages
        a = np.zeros((count, count))
        for i, row in enumerate(tableau.a_lower):
            a[i + 1, : i + 1] = row
        return jnp.asarray(np.concatenate([[0], tableau.c]), dtype), jnp.asarray(a, dtype), count


class Implicit(AbstractOneStep):
    """A method of Newmark's family. Its result is the state at the end, differentiated where it has converged.

    It meets the constraints on one level only, and what it violates on the other would disturb the accelerations where
    the step size changes: steps of varying size end with `settle`.

    `first`: the size of the first step, 0 if it is not known.
    """

    solver: AbstractNewmark
    first: float = eqx.field(static=True)
    varying: bool = eqx.field(static=True)

    @property
    def held(self):
        on_velocity = self.solver.on_velocity
        return self.varying or not on_velocity, self.varying or on_velocity

    def route(self, levels=()):
        return Route((*levels, ACCELERATION, ACCELERATION), newmark.ahead(self.first))

    def start(self, system, t, end, visited):
        return newmark.start(self.solver, system, self.first, visited)

    def size(self, system):
        structure = system.structure
        return structure.coordinate_count + 3 * structure.velocity_count + structure.multiplier_count

    def slope(self, t, y, system):
        return self.solver.func(TERM, t, y, system)

    def begin(self, system, t, h, y):
        return None

    def step(self, system, t, h, y, memory):
        end, error, code, iterations = newmark.advance(self.solver, system, t, h, y, self.varying)
        slopes = [self.slope(t, x, system) for x in (y, end)]
        return Step(end, error, (y, end, *slopes), None, code, iterations)

    def result(self, system, t, h, y, end):
        state, known = newmark.state_of(system, y), newmark.state_of(system, end)
        problem = newmark.problem_of(self.solver, system, t, h, state)
        u = problem.attached(jnp.concatenate([known.acceleration, known.multipliers]))
        end = newmark.after(problem, state, u, self.varying).joined()
        return end, self.slope(t, y, system), self.slope(t, end, system)

    def ending(self, h, y, result):
        return result[0]

    def dense(self, h, y, result):
        return (y, *result)

    def between(self, t, h, y, end, dense, output):
        y0, y1, f0, f1 = dense
        s = (output - t) / jnp.where(h > 0, h, 1)
        cubic = y0 + s * s * (3 - 2 * s) * (y1 - y0) + s * (1 - s) * h * ((1 - s) * f0 - s * f1)
        return _start_end_or(cubic, t, h, y, end, output)


def _start_end_or(inside: Any, t: Any, h: Any, y: Any, end: Any, output: Any) -> Any:
    """The state at an output: that at the start or the end of the step, where it is there but for rounding.

    A run and its derivative may round the ends of steps in different ways, and before its correction the interpolated
    state at the end is not the one that is on the constraints: both must take the same.
    """
    little = 4 * jnp.finfo(y.dtype).eps * jnp.maximum(jnp.abs(t), jnp.abs(t + h))
    return jnp.where(output <= t + little, y, jnp.where(output >= t + h - little, end, inside))


def one_step(solver: diffrax.AbstractSolver, rtol: float, dt: float | None, varying: bool) -> AbstractOneStep:
    """The solver, ready for both modes of differentiation.

    `rtol` is the run's tolerance, `dt` the size of steps if it is given; also then they may be `varying`.
    """
    if isinstance(solver, AbstractNewmark):
        return Implicit(solver, dt or 0.0, varying)
    if isinstance(solver, diffrax.AbstractERK) and isinstance(solver.tableau, diffrax.ButcherTableau):
        return Explicit(solver)
    return AnySolver(patient(solver, rtol))


def _weighted(h: Any, weights: Any, slopes: list[Any]) -> Any:
    return sum((float(w) * h) * k for w, k in zip(weights, slopes, strict=True) if w != 0)


def _dot(weights: Any, slopes: Any) -> Any:
    return jnp.dot(weights, slopes, precision="highest")
