"""Steps of systems with sampled controllers, which set parameters at the start of each step."""

from typing import Any

import diffrax
from jaxtyping import PyTree

from ..core.types import Coordinates, State, Time, Velocities
from ..dynamics.accelerations import split
from ..dynamics.projection import ProjectionPlan, VisitedStates
from ..system.control import sampled
from ..system.system import System
from .one_step import AbstractOneStep, AttemptedStep


class SampledStep(AbstractOneStep):
    """Steps of another kind, with the system as its controllers set it in the state at the start of each."""

    solver: diffrax.AbstractSolver
    inner: AbstractOneStep

    @property
    def held(self) -> tuple[bool, bool]:
        return self.inner.held

    @property
    def reach(self) -> float:
        return self.inner.reach

    def plan(self, levels: tuple[int, ...] = ()) -> ProjectionPlan:
        return self.inner.plan(levels)

    def start(
        self, system: System, t: Time, end: tuple[Coordinates, Velocities], visited: VisitedStates | None
    ) -> State:
        return self.inner.start(system, t, end, visited)

    def size(self, system: System) -> int:
        return self.inner.size(system)

    def begin(self, system: System, t: Time, h: Time, y: State) -> PyTree:
        return self.inner.begin(_during(system, t, y), t, h, y)

    def step(self, system: System, t: Time, h: Time, y: State, memory: PyTree) -> AttemptedStep:
        return self.inner.step(_during(system, t, y), t, h, y, memory)

    def result(self, system: System, t: Time, h: Time, y: State, end: State) -> PyTree:
        return self.inner.result(_during(system, t, y), t, h, y, end)

    def ending(self, h: Time, y: State, result: PyTree) -> State:
        return self.inner.ending(h, y, result)

    def dense(self, h: Time, y: State, result: PyTree) -> PyTree:
        return self.inner.dense(h, y, result)

    def between(self, t: Time, h: Time, y: State, end: State, dense: PyTree, output: Time) -> State:
        return self.inner.between(t, h, y, end, dense, output)

    def inside(self, t: Time, h: Time, y: State, result: PyTree, output: Time) -> State:
        return self.inner.inside(t, h, y, result, output)


def _during(system: System, t: Time, y: Any) -> System:
    return sampled(system, t, *split(system, y))
