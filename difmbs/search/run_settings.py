"""How the motions of a search are simulated."""

import dataclasses
from typing import Any

from ..simulation.arguments import tolerances
from ..simulation.simulate import simulate
from ..simulation.solution import Solution
from ..system.system import System


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
    def arguments(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
