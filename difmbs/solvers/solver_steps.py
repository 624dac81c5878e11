"""Which kind of step a solver makes."""

import diffrax

from .diffrax_step import DiffraxStep
from .newmark import AbstractNewmark
from .newmark_step import NewmarkStep
from .one_step import AbstractOneStep
from .root_finders import patient
from .runge_kutta_step import ConstrainedRungeKutta, FreeRungeKutta


def step_of(
    solver: diffrax.AbstractSolver, constrained: bool, rtol: float, dt: float | None, varying: bool
) -> AbstractOneStep:
    """The solver, ready for both modes of differentiation.

    `constrained`: whether the system has constraints; `rtol`: the run's tolerance; `dt`: the size of steps if it is
    given; also then they may be `varying`.
    """
    if isinstance(solver, AbstractNewmark):
        return NewmarkStep(solver, dt or 0.0, varying)
    if isinstance(solver, diffrax.AbstractERK) and isinstance(solver.tableau, diffrax.ButcherTableau):
        return ConstrainedRungeKutta(solver) if constrained else FreeRungeKutta(solver)
    return DiffraxStep(patient(solver, rtol))
