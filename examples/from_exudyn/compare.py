"""A four-bar mechanism built in Exudyn, converted, compared, and differentiated. Needs: pip install "difmbs[exudyn]".

       rod
   o---------o          o: hinges; a torque turns the crank
  /          |
 / crank     | rocker
o            o          ground
"""

import itertools

import exudyn as exu
import jax
import numpy as np
from exudyn.itemInterface import (
    LoadTorqueVector,
    MarkerBodyPosition,
    MarkerBodyRigid,
    NodeRigidBody2D,
    ObjectGround,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
    SensorBody,
)

import difmbs as mbs

jax.config.update("jax_enable_x64", True)
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 2.0], [2.0, 0.0]])


def four_bar():
    """Exudyn's container, which has to be kept, and its system."""
    container = exu.SystemContainer()
    system = container.AddSystem()
    earth = system.AddObject(ObjectGround())
    at = lambda body, x: system.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
    ends = [at(earth, 0.0)]
    for name, (a, b) in zip(("crank", "rod", "rocker"), itertools.pairwise(CORNERS), strict=True):
        size, angle = np.linalg.norm(b - a), np.arctan2(*(b - a)[::-1])
        node = system.AddNode(NodeRigidBody2D(referenceCoordinates=[*(a + b) / 2, angle]))
        bar = system.AddObject(ObjectRigidBody2D(name=name, nodeNumber=node, mass=size, inertia=size**3 / 12))
        ends += [at(bar, -size / 2), at(bar, size / 2)]
        kind = exu.OutputVariableType.Velocity
        system.AddSensor(SensorBody(bodyNumber=bar, outputVariableType=kind, name=f"velocity of the {name}"))
        if name == "crank":
            marker = system.AddMarker(MarkerBodyRigid(bodyNumber=bar))
            system.AddLoad(LoadTorqueVector(name="drive", markerNumber=marker, loadVector=[0, 0, -4.0]))
    ends.append(at(earth, 2.0))
    for pair in zip(ends[::2], ends[1::2], strict=True):
        system.AddObject(ObjectJointRevolute2D(markerNumbers=list(pair)))
    system.Assemble()
    return container, system


def main():
    _container, exudyn_system = four_bar()
    differences = mbs.compare_with_exudyn(exudyn_system, t1=1.0, dt=1e-3)
    print("largest relative differences:", {name: f"{x:.0e}" for name, x in differences.items()})
    system = mbs.from_exudyn(exudyn_system).assemble()

    def speed(mass):
        run = mbs.simulate(system, t1=1.0, dt=1e-3, params={"rod": {"mass": mass}})
        return run["velocity of the rocker"][-1, 0]

    mass = system.params()["rod"]["mass"]
    slope = jax.grad(speed)(mass)
    print(f"the rocker's speed is {speed(mass):.4f} m/s; it changes by {slope:.4f} m/s per kg of the rod")
    return differences, slope


if __name__ == "__main__":
    main()
