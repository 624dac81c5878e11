"""Chains of rods, here and in Exudyn."""

from typing import Any

import exudyn
import numpy as np
from _models import GRAVITY
from exudyn import itemInterface

import difmbs as mbs

MASS, LENGTH = 0.3, 0.2
DENSE, SPARSE = exudyn.LinearSolverType.EXUdense, exudyn.LinearSolverType.EigenSparse
DENSE_UP_TO = 10
exudyn.config.printToConsole = False


def starts(n: int) -> np.ndarray:
    """Stretched out along x."""
    return LENGTH * np.arange(1, n + 1)[:, None] * np.array([1.0, 0.0, 0.0])


def rods(n: int) -> mbs.System:
    """n point masses on n massless rods in a row from the ground."""
    model = mbs.Model(gravity=GRAVITY)
    masses = model.add("mass", mbs.MassPoint(mass=np.full(n, MASS)), position=starts(n))
    first = [model.ground, masses[:-1]] if n > 1 else model.ground
    model.add("rod", mbs.DistanceConstraint(np.full(n, LENGTH)), between=(first, masses))
    model.sense("tip", mbs.Position(masses[n - 1]))
    return model.assemble()


def pendulum() -> mbs.System:
    """A planar pendulum, at rest at (1, 0)."""
    model = mbs.Model(gravity=GRAVITY)
    bob = model.add("bob", mbs.MassPoint2D(mass=1.0), position=(1.0, 0.0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    return model.assemble()


class Rods:
    """The same in Exudyn. `positions(...)` runs it with generalized-alpha or the trapezoidal rule."""

    def __init__(self, n: int, *, planar: bool = False):
        # The systems of a container do not outlive it.
        self._container = exudyn.SystemContainer()
        self._system = self._container.AddSystem()
        ground = self._system.AddObject(itemInterface.ObjectGround())
        end = self._system.AddMarker(itemInterface.MarkerBodyPosition(bodyNumber=ground))
        self._start = np.array([[1.0, 0.0]]) if planar else starts(n)
        mass, length = (1.0, 1.0) if planar else (MASS, LENGTH)
        node_type = itemInterface.NodePoint2D if planar else itemInterface.NodePoint
        body_type = itemInterface.MassPoint2D if planar else itemInterface.MassPoint
        for position in self._start:
            node = self._system.AddNode(node_type(referenceCoordinates=position.tolist()))
            self._system.AddObject(body_type(nodeNumber=node, physicsMass=mass))
            marker = self._system.AddMarker(itemInterface.MarkerNodePosition(nodeNumber=node))
            rod = itemInterface.ObjectConnectorDistance(markerNumbers=[end, marker], distance=length)
            self._system.AddObject(rod)
            self._system.AddLoad(itemInterface.Force(markerNumber=marker, loadVector=[mass * g for g in GRAVITY]))
            end = marker
        self._system.Assemble()
        self.solvers = [DENSE, SPARSE] if n <= DENSE_UP_TO else [SPARSE]

    def positions(
        self, time: float, steps: int, linear: Any, *, modified: bool = True, trapezoidal: bool = False
    ) -> Any:
        settings = exudyn.SimulationSettings()
        settings.linearSolver.solverType = linear
        settings.solution.file.write = False
        integration = settings.timeIntegration
        integration.endTime = time
        integration.numberOfSteps = steps
        integration.automaticStepSize = False
        integration.adaptiveStep = False
        integration.verboseMode = 0
        integration.newton.useModifiedNewton = modified
        integration.generalizedAlpha.spectralRadius = 0.8
        types = exudyn.DynamicSolverType
        solver = types.TrapezoidalIndex2 if trapezoidal else types.GeneralizedAlpha
        try:
            self._system.SolveDynamic(settings, solverType=solver)
        except exudyn.SolverError:
            return np.full_like(self._start, np.inf)
        moved = np.asarray(self._system.systemData.GetODE2Coordinates()).reshape(self._start.shape)
        return self._start + moved
