"""A step of the implicit methods of Newmark's family."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PyTree

from ..core.types import Coordinates, State, Time, Velocities
from ..dynamics.implicit_equations import ACCELERATION
from ..dynamics.projection import ProjectionPlan, VisitedStates
from ..system.system import System
from . import newmark
from .newmark import AbstractNewmark
from .one_step import TERM, AbstractOneStep, AttemptedStep, start_end_or


class NewmarkStep(AbstractOneStep):
    """A method of Newmark's family. Its result is the state at the end, differentiated where it has converged.

    It meets the constraints on one level only, and what it violates on the other would disturb the accelerations where
    the step size changes: steps of varying size end with `settle`.

    `first`: the size of the first step, 0 if it is not known.
    """

    solver: AbstractNewmark
    first: float = eqx.field(static=True)
    varying: bool = eqx.field(static=True)

    @property
    def held(self) -> tuple[bool, bool]:
        on_velocity = self.solver.on_velocity
        return self.varying or not on_velocity, self.varying or on_velocity

    def plan(self, levels: tuple[int, ...] = ()) -> ProjectionPlan:
        return ProjectionPlan((*levels, ACCELERATION, ACCELERATION), newmark.ahead(self.first))

    def start(
        self, system: System, t: Time, end: tuple[Coordinates, Velocities], visited: VisitedStates | None
    ) -> State:
        assert visited is not None  # the plan visits two
        return newmark.start(self.solver, system, self.first, visited)

    def size(self, system: System) -> int:
        structure = system.structure
        return structure.coordinate_count + 3 * structure.velocity_count + structure.multiplier_count

    def slope(self, t: Time, y: State, system: System) -> State:
        return self.solver.func(TERM, t, y, system)

    def begin(self, system: System, t: Time, h: Time, y: State) -> PyTree:
        return None

    def step(self, system: System, t: Time, h: Time, y: State, memory: PyTree) -> AttemptedStep:
        end, error, code, iterations = newmark.advance(self.solver, system, t, h, y, self.varying)
        slopes = [self.slope(t, x, system) for x in (y, end)]
        return AttemptedStep(end, error, (y, end, *slopes), None, code, iterations)

    def result(self, system: System, t: Time, h: Time, y: State, end: State) -> PyTree:
        state, known = newmark.state_of(system, y), newmark.state_of(system, end)
        problem = newmark.problem_of(self.solver, system, t, h, state)
        u = problem.attached(jnp.concatenate([known.acceleration, known.multipliers]))
        end = newmark.after(problem, state, u, self.varying).joined()
        return end, self.slope(t, y, system), self.slope(t, end, system)

    def ending(self, h: Time, y: State, result: PyTree) -> State:
        return result[0]

    def dense(self, h: Time, y: State, result: PyTree) -> PyTree:
        return (y, *result)

    def between(self, t: Time, h: Time, y: State, end: State, dense: PyTree, output: Time) -> State:
        y0, y1, f0, f1 = dense
        s = (output - t) / jnp.where(h > 0, h, 1)
        cubic = y0 + s * s * (3 - 2 * s) * (y1 - y0) + s * (1 - s) * h * ((1 - s) * f0 - s * f1)
        return start_end_or(cubic, t, h, y, end, output)
