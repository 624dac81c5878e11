"""How the motions of a search are simulated."""

import dataclasses
from typing import Any

import jax.numpy as jnp

from ..simulation.arguments import tolerances
from ..simulation.simulate import simulate
from ..simulation.solution import Solution
from ..system.system import System

_LOOSE = 1e-5
"""Relative tolerances up to it are the usual ones."""
_LEAST_SINGLE = 1e-6
"""The least one in single precision."""


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """The arguments of `simulate` of these names, as a part of what is compiled."""

    dt: float | None
    solver: Any
    rtol: float
    atol: float
    max_steps: int
    single: bool
    """Whether the system is in single precision."""
    sampled: bool
    """Whether the system has sampled controllers, whose sampling time `dt` is."""

    @classmethod
    def of(cls, system: System, dt: Any, solver: Any, rtol: Any, atol: Any, max_steps: int) -> "RunSettings":
        """With tolerances that suit the precision of the system, if none are given."""
        single = system.gravity.dtype == jnp.float32
        return cls(dt, solver, *tolerances(system, rtol, atol), max_steps, single, system.structure.sampled)

    def simulate(self, system: System, **times_and_throw: Any) -> Solution:
        """`simulate` with these arguments; `times_and_throw`: the others."""
        return simulate(system, **self.arguments, **times_and_throw)

    @property
    def with_shorter_steps(self) -> "RunSettings | None":
        """With steps half as long, or with tighter tolerances where they are loose; None where steps are chosen by
        tolerances of the usual size, or are those of controllers."""
        if self.sampled:
            return None
        if self.dt is not None:
            return dataclasses.replace(self, dt=self.dt / 2, max_steps=2 * self.max_steps)
        factor = max(0.01, _LEAST_SINGLE / self.rtol) if self.single else 0.01
        if self.rtol <= _LOOSE or factor > 0.1:
            return None
        return dataclasses.replace(self, rtol=factor * self.rtol, atol=factor * self.atol)

    @property
    def steps(self) -> str:
        """What chooses the steps, in words."""
        return f"rtol = {self.rtol:.3g}" if self.dt is None else f"dt = {self.dt:.4g} s"

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(dt=self.dt, solver=self.solver, rtol=self.rtol, atol=self.atol, max_steps=self.max_steps)
