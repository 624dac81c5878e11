"""How the motions of a search are simulated."""

import dataclasses
from typing import Any

from ..simulation.arguments import tolerances
from ..simulation.simulate import simulate
from ..simulation.solution import Solution
from ..system.system import System

_LOOSE = 1e-5
"""Relative tolerances up to it are the usual ones."""


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """The arguments of `simulate` of these names, as a part of what is compiled."""

    dt: float | None
    solver: Any
    rtol: float
    atol: float
    max_steps: int

    @classmethod
    def of(cls, system: System, dt: Any, solver: Any, rtol: Any, atol: Any, max_steps: int) -> "RunSettings":
        """With tolerances that suit the precision of the system, if none are given."""
        return cls(dt, solver, *tolerances(system, rtol, atol), max_steps)

    def simulate(self, system: System, **times_and_throw: Any) -> Solution:
        """`simulate` with these arguments; `times_and_throw`: the others."""
        return simulate(system, **self.arguments, **times_and_throw)

    @property
    def with_shorter_steps(self) -> "RunSettings | None":
        """With steps half as long, or with tighter tolerances where they are loose; None where steps are chosen by
        tolerances of the usual size."""
        if self.dt is not None:
            return dataclasses.replace(self, dt=self.dt / 2, max_steps=2 * self.max_steps)
        if self.rtol <= _LOOSE:
            return None
        return dataclasses.replace(self, rtol=self.rtol / 100, atol=self.atol / 100)

    @property
    def steps(self) -> str:
        """What chooses the steps, in words."""
        return f"rtol = {self.rtol:.3g}" if self.dt is None else f"dt = {self.dt:.4g} s"

    @property
    def arguments(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
