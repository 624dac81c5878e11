"""Which kind of step a solver makes."""

import diffrax

from ..core.errors import SimulationError
from ..system.system import System
from .diffrax_step import DiffraxStep
from .newmark import AbstractNewmark
from .newmark_step import NewmarkStep
from .one_step import AbstractOneStep
from .root_finders import patient
from .runge_kutta_step import ConstrainedRungeKutta, FreeRungeKutta
from .sampled_step import SampledStep


def step_of(
    solver: diffrax.AbstractSolver, system: System, rtol: float, dt: float | None, varying: bool
) -> AbstractOneStep:
    """The solver, ready for both modes of differentiation.

    `rtol`: the run's tolerance; `dt`: the size of steps if it is given; also then they may be `varying`.
    """
    step = plain_step_of(solver, system.constrained, rtol, dt, varying)
    controls = system.structure.controls
    for control in controls:
        if not control.sampled and isinstance(solver, AbstractNewmark):
            raise SimulationError(
                f"'{'.'.join(control.path)}' is controlled all the time, so that it joins bodies in ways that the "
                f"equations of {type(solver).__name__} do not have: use a Runge-Kutta method, or sampled=True."
            )
        if control.sampled and dt is None:
            raise SimulationError(f"'{'.'.join(control.path)}' has a sampled controller: pass dt, its sampling time.")
    return SampledStep(step.solver, step) if system.structure.sampled else step


def plain_step_of(
    solver: diffrax.AbstractSolver, constrained: bool, rtol: float, dt: float | None, varying: bool
) -> AbstractOneStep:
    if isinstance(solver, AbstractNewmark):
        return NewmarkStep(solver, dt or 0.0, varying)
    if isinstance(solver, diffrax.AbstractERK) and isinstance(solver.tableau, diffrax.ButcherTableau):
        return ConstrainedRungeKutta(solver) if constrained else FreeRungeKutta(solver)
    return DiffraxStep(patient(solver, rtol))
