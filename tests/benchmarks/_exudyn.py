"""The chain of `_models` in Exudyn."""

from typing import Any

import exudyn
import numpy as np
from _models import DAMPING, GRAVITY, LENGTH, MASS, STIFFNESS, chain_positions
from _timing import best_times
from exudyn import itemInterface

SPARSE, DENSE = exudyn.LinearSolverType.EigenSparse, exudyn.LinearSolverType.EXUdense
DENSE_UP_TO = 100


class Chain:
    """`run(steps, dt)` integrates the chain with the classic Runge-Kutta method of order 4."""

    def __init__(self, n: int):
        # The systems of a container do not outlive it.
        self._container = exudyn.SystemContainer()
        self._system = self._container.AddSystem()
        ground = self._system.AddObject(itemInterface.ObjectGround())
        end = self._system.AddMarker(itemInterface.MarkerBodyPosition(bodyNumber=ground))
        for position in chain_positions(n):
            end = self._link(end, position)
        self._system.Assemble()
        self._solver = self._faster_solver() if n <= DENSE_UP_TO else SPARSE

    def run(self, steps: int, dt: float, *, lean: bool = False) -> None:
        """`lean`: without what Exudyn does by default and this problem does not need.

        That is a fifth evaluation per step, for the accelerations at its end, the solution of a linear system for the
        mass matrix, and the update of rotations.
        """
        self._solve(self._solver, steps, dt, lean)

    def displacements(self) -> np.ndarray:
        """Of all masses from their starts, one after the other."""
        return np.asarray(self._system.systemData.GetODE2Coordinates())

    def _link(self, end: Any, position: np.ndarray) -> Any:
        system = self._system
        node = system.AddNode(itemInterface.NodePoint(referenceCoordinates=position.tolist()))
        system.AddObject(itemInterface.MassPoint(nodeNumber=node, physicsMass=MASS))
        marker = system.AddMarker(itemInterface.MarkerNodePosition(nodeNumber=node))
        system.AddObject(
            itemInterface.ObjectConnectorSpringDamper(
                markerNumbers=[end, marker], referenceLength=LENGTH, stiffness=STIFFNESS, damping=DAMPING
            )
        )
        system.AddLoad(itemInterface.Force(markerNumber=marker, loadVector=[MASS * g for g in GRAVITY]))
        return marker

    def _faster_solver(self) -> Any:
        sparse, dense = best_times(
            lambda: self._solve(SPARSE, 500, 1e-4, False), lambda: self._solve(DENSE, 500, 1e-4, False), rounds=3
        )
        return SPARSE if sparse < dense else DENSE

    def _solve(self, solver: Any, steps: int, dt: float, lean: bool) -> None:
        settings = exudyn.SimulationSettings()
        settings.linearSolver.solverType = solver
        settings.solution.file.write = False
        integration = settings.timeIntegration
        integration.endTime = steps * dt
        integration.numberOfSteps = steps
        integration.automaticStepSize = False
        integration.adaptiveStep = False
        integration.verboseMode = 0
        integration.explicit.computeEndOfStepAccelerations = not lean
        integration.explicit.computeMassMatrixInversePerBody = lean
        integration.explicit.useLieGroupIntegration = not lean
        self._system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.RK44)
