"""A step of a diffrax solver as it is."""

import diffrax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..core.status import Status
from ..core.types import State, Time
from ..dynamics.accelerations import derivative, split
from ..dynamics.projection import settle
from ..system.system import System
from .one_step import TERM, AbstractOneStep, AttemptedStep
from .stages import DifferentiatedStages


class DiffraxStep(AbstractOneStep):
    """A diffrax solver as it is, differentiated by JAX."""

    solver: diffrax.AbstractSolver

    def begin(self, system: System, t: Time, h: Time, y: State) -> PyTree:
        return self.solver.init(TERM, t, t + h, y, system)

    def step(self, system: System, t: Time, h: Time, y: State, memory: PyTree) -> AttemptedStep:
        y1, error, dense, memory, result = self.solver.step(TERM, t, t + h, y, system, memory, False)
        end = jnp.concatenate(settle(system, t + h, *split(system, y1))) if system.constrained else y1
        # Diffrax also calls it divergence when rounding errors stop getting smaller: no reason to end fixed steps.
        error = jnp.where(result == diffrax.RESULTS.successful, jnp.zeros(()) if error is None else error, jnp.inf)
        if system.constrained:
            # A slope that was kept from the end of the step belongs to the state before it was settled.
            memory = self.begin(system, t + h, h, end)
        code = self._solved(system, t + h, h, y1, dense, result)
        return AttemptedStep(end, error, dense, memory, code, jnp.zeros((), int))

    def _solved(self, system, t, h, y, dense, result):
        """Whether the equations of the stages were solved, judged by the last one, which is at the end of the step."""
        if not isinstance(self.solver, DifferentiatedStages):
            return None
        last = dense["k"][-1] if "k" in dense else dense["y1"] - dense["y0"]
        slope = h * derivative(t, y, system)
        small = jnp.finfo(y.dtype).eps ** 0.5 * (jnp.max(jnp.abs(last)) + jnp.max(jnp.abs(y)))
        failed = (result != diffrax.RESULTS.successful) & (jnp.max(jnp.abs(last - slope)) > small)
        return jnp.where(failed, Status.newton_failed.value, Status.ok.value)

    def result(self, system: System, t: Time, h: Time, y: State, end: State) -> PyTree:
        step = self.step(system, t, h, y, self.begin(system, t, h, y))
        return step.end, step.dense

    def ending(self, h: Time, y: State, result: PyTree) -> State:
        return result[0]

    def dense(self, h: Time, y: State, result: PyTree) -> PyTree:
        return result[1]
