"""The oscillator of `many.py` in Exudyn, with one stiffness after the other."""

import exudyn
import numpy as np
from exudyn import itemInterface

METHODS = {"rk4": exudyn.DynamicSolverType.RK44, "Tsit5": exudyn.DynamicSolverType.DOPRI5}


def largest_velocities(method: str, stiffnesses: np.ndarray, t1: float, dt: float, outputs: int) -> np.ndarray:
    """The largest velocity along x of each run among outputs at equal distances. The model is built once, and nothing
    is written."""
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    fixed = system.AddObject(itemInterface.ObjectGround())
    ground = system.AddMarker(itemInterface.MarkerBodyPosition(bodyNumber=fixed))
    node = system.AddNode(itemInterface.NodePoint(referenceCoordinates=[0.12, 0, 0]))
    system.AddObject(itemInterface.MassPoint(nodeNumber=node, physicsMass=1.0))
    end = system.AddMarker(itemInterface.MarkerNodePosition(nodeNumber=node))
    spring = system.AddObject(
        itemInterface.ObjectConnectorSpringDamper(
            markerNumbers=[ground, end], referenceLength=0.1, stiffness=400.0, damping=0.5
        )
    )
    velocity = exudyn.OutputVariableType.Velocity
    sensor = system.AddSensor(
        itemInterface.SensorNode(nodeNumber=node, storeInternal=True, writeToFile=False, outputVariableType=velocity)
    )
    system.Assemble()
    settings = _settings(method, t1, dt, outputs)
    found = np.empty(len(stiffnesses))
    for i, stiffness in enumerate(stiffnesses):
        system.SetObjectParameter(spring, "stiffness", stiffness)
        system.SolveDynamic(settings, solverType=METHODS[method])
        found[i] = np.max(system.GetSensorStoredData(sensor)[:, 1])
    return found


def _settings(method: str, t1: float, dt: float, outputs: int) -> "exudyn.SimulationSettings":
    settings = exudyn.SimulationSettings()
    settings.linearSolver.solverType = exudyn.LinearSolverType.EXUdense
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = t1 / (outputs - 1)
    integration = settings.timeIntegration
    # Of adaptive steps the largest is one from output to output.
    integration.endTime = t1
    integration.numberOfSteps = round(t1 / dt) if method == "rk4" else outputs - 1
    integration.verboseMode = 0
    integration.explicit.computeEndOfStepAccelerations = False
    integration.explicit.computeMassMatrixInversePerBody = True
    integration.explicit.useLieGroupIntegration = False
    adaptive = method == "Tsit5"
    integration.automaticStepSize = integration.adaptiveStep = adaptive
    integration.relativeTolerance, integration.absoluteTolerance = 1e-6, 1e-8
    return settings
