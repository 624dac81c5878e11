"""One step of a time integrator with its derivatives: all that the loops need to know of a solver.

What costs in a step is its `result` (the stages of a Runge-Kutta method, and the state at the end); from that, the
state at any time inside follows cheaply. `push` and `pull` are the tangent and the cotangent of the costly part, so
that a step with many outputs costs hardly more than one without. Step size and times are held constant.
"""

import abc
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..core.types import Coordinates, Count, MaybeValues, State, Time, Velocities
from ..dynamics.accelerations import derivative
from ..dynamics.projection import ProjectionPlan, VisitedStates
from ..jaxtools.batched_loops import in_batch
from ..jaxtools.written_out_sums import with_written_out_sums
from ..system.system import System

TERM = diffrax.ODETerm(derivative)


class AttemptedStep(NamedTuple):
    """What `step` gives to the time loop; derivatives read `result` instead, by `ending`, `dense` and `inside`.

    The state at the end, an error estimate, data for `between`, memory for the next step, `Status.ok` or what went
    wrong (None where nothing can), and how many iterations it took to solve equations."""

    end: State
    error: MaybeValues
    dense: PyTree
    memory: PyTree
    code: MaybeValues
    iterations: Count


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

    def plan(self, levels: tuple[int, ...] = ()) -> ProjectionPlan:
        """The way from given q and v to a start: corrections on these levels of the constraints first."""
        return ProjectionPlan(levels)

    def start(
        self, system: System, t: Time, end: tuple[Coordinates, Velocities], visited: VisitedStates | None
    ) -> State:
        """The state at the start. `end`, `visited`: q and v after all visits of the plan, and the states before each of
        them."""
        return jnp.concatenate(end)

    def size(self, system: System) -> int:
        """Size of the state."""
        return system.structure.coordinate_count + system.structure.velocity_count

    def slope(self, t: Time, y: State, system: System) -> State:
        """dy/dt, roughly: from it the first step size is chosen."""
        return derivative(t, y, system)

    @abc.abstractmethod
    def begin(self, system: System, t: Time, h: Time, y: State) -> PyTree:
        """What the first step needs, and every step hands to the next."""

    @abc.abstractmethod
    def step(self, system: System, t: Time, h: Time, y: State, memory: PyTree) -> AttemptedStep: ...

    @abc.abstractmethod
    def result(self, system: System, t: Time, h: Time, y: State, end: State) -> PyTree:
        """The part of a step that is differentiated. `end`: its recorded state at the end, so that implicit steps need
        not be solved again."""

    @abc.abstractmethod
    def ending(self, h: Time, y: State, result: PyTree) -> State:
        """The state at the end."""

    @abc.abstractmethod
    def dense(self, h: Time, y: State, result: PyTree) -> PyTree:
        """Data for `between`."""

    def between(self, t: Time, h: Time, y: State, end: State, dense: PyTree, output: Time) -> State:
        """The state at an output time inside the step; near the constraints, but not on them."""
        evaluate = lambda t, h, dense, x: self.solver.interpolation_cls(t0=t, t1=t + h, **dense).evaluate(x)
        inside = (with_written_out_sums if in_batch() else _called)(evaluate, t, h, dense, output)
        return start_end_or(inside, t, h, y, end, output)

    def inside(self, t: Time, h: Time, y: State, result: PyTree, output: Time) -> State:
        """The state at an output time, from the result of the step."""
        return self.between(t, h, y, self.ending(h, y, result), self.dense(h, y, result), output)

    def push(
        self, system_of: Any, p: PyTree, t: Time, h: Time, y: State, end: State, dp: PyTree, dy: State
    ) -> tuple[Any, Any]:
        """The result and its tangent; `system_of(p)` is the system with the parameters p that are differentiated."""
        return jax.jvp(lambda p, y: self.result(system_of(p), t, h, y, end), (p, y), (dp, dy))

    def pull(self, system_of: Any, p: PyTree, t: Time, h: Time, y: State, end: State, weigh: Any) -> tuple[Any, Any]:
        """Cotangents of p and y; `weigh(result)` gives those of y, without what passes through the result, and of the
        result."""
        result, pull = jax.vjp(lambda p, y: self.result(system_of(p), t, h, y, end), p, y)
        dy, dresult = weigh(result)
        dp, more = pull(dresult)
        return dp, dy + more


def _called(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


def start_end_or(inside: State, t: Time, h: Time, y: State, end: State, output: Time) -> State:
    """The state at an output: that at the start or the end of the step, where it is there but for rounding.

    A run and its derivative may round the ends of steps in different ways, and before its correction the interpolated
    state at the end is not the one that is on the constraints: both must take the same.
    """
    little = 4 * jnp.finfo(y.dtype).eps * jnp.maximum(jnp.abs(t), jnp.abs(t + h))
    return jnp.where(output <= t + little, y, jnp.where(output >= t + h - little, end, inside))
