"""Makes net_5x5.json: a sagging net in Exudyn 1.13.6. Run it in an environment that has Exudyn."""

import json
from pathlib import Path

import exudyn
import numpy as np
from exudyn import itemInterface

NODES, SPACING = 5, 1.0
PARAMETERS = {"m": 0.1, "k": 200.0, "L0": 0.9, "g": 9.81}
LOAD, LOADED = [0.3, 0.1, -2.0], (2, 1)
DESCRIPTION = (
    "5 x 5 point masses m in the x-y plane, 1 m apart, row by row: node (i, j) at (i, j, 0). The four corners are "
    "fixed. Neighbours in a row or column are joined by springs of stiffness k and rest length L0, without damping. "
    "Weight m g along -z on the 21 free nodes, and the force (0.3, 0.1, -2) N on node (2, 1). Static equilibrium, and "
    "frequencies of small vibrations about it."
)


def build(system):
    """Returns the nodes' numbers in Exudyn of those that are free, in the order of the grid."""
    ground = system.AddObject(itemInterface.ObjectGround())
    markers, free = {}, []
    for i, j in np.ndindex(NODES, NODES):
        place = [i * SPACING, j * SPACING, 0.0]
        if i in (0, NODES - 1) and j in (0, NODES - 1):
            marker = itemInterface.MarkerBodyPosition(bodyNumber=ground, localPosition=place)
            markers[i, j] = system.AddMarker(marker)
            continue
        node = system.AddNode(itemInterface.NodePoint(referenceCoordinates=place))
        system.AddObject(itemInterface.MassPoint(nodeNumber=node, mass=PARAMETERS["m"]))
        markers[i, j] = system.AddMarker(itemInterface.MarkerNodePosition(nodeNumber=node))
        free.append(node)
        weight = [0, 0, -PARAMETERS["m"] * PARAMETERS["g"]]
        system.AddLoad(itemInterface.Force(markerNumber=markers[i, j], loadVector=weight))
    system.AddLoad(itemInterface.Force(markerNumber=markers[LOADED], loadVector=LOAD))
    for i, j in markers:
        for other in ((i + 1, j), (i, j + 1)):
            if other in markers:
                system.AddObject(
                    itemInterface.ObjectConnectorSpringDamper(
                        markerNumbers=[markers[i, j], markers[other]],
                        referenceLength=PARAMETERS["L0"],
                        stiffness=PARAMETERS["k"],
                        damping=0.0,
                    )
                )
    system.Assemble()
    return free


def main():
    # The systems of a container do not outlive it.
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    free = build(system)
    settings = exudyn.SimulationSettings()
    settings.solution.file.write = False
    settings.staticSolver.numberOfLoadSteps = 10
    settings.staticSolver.newton.relativeTolerance = 1e-12
    settings.staticSolver.newton.absoluteTolerance = 1e-12
    settings.staticSolver.verboseMode = 0
    system.SolveStatic(settings)
    position = [system.GetNodeOutput(n, exudyn.OutputVariableType.Position).tolist() for n in free]
    # Eigenvalues are computed about the initial state.
    state = system.systemData.GetSystemState()
    system.systemData.SetSystemState(state, configuration=exudyn.ConfigurationType.Initial)
    frequencies, _ = system.ComputeODE2Eigenvalues(convert2Frequencies=True)
    values = {"position": position, "frequency": np.sort(frequencies).tolist()}
    data = dict(
        name="net_5x5",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        source="Exudyn 1.13.6, make_net_5x5.py: SolveStatic, 10 load steps, Newton to 1e-12; ComputeODE2Eigenvalues",
        values=values,
    )
    (Path(__file__).parent / "net_5x5.json").write_text(json.dumps(data) + "\n")


if __name__ == "__main__":
    main()
