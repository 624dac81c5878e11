"""Systems of Exudyn, for its conversion; each function returns its container, too, which has to be kept."""

import itertools
from typing import Any

import numpy as np


def _empty() -> tuple[Any, Any]:
    import exudyn as exu

    container = exu.SystemContainer()
    return container, container.AddSystem()


def _items() -> Any:
    from exudyn import itemInterface

    return itemInterface


def _kinds() -> Any:
    import exudyn as exu

    return exu.OutputVariableType


def _weight(system: Any, body: Any) -> None:
    X = _items()
    marker = system.AddMarker(X.MarkerBodyMass(bodyNumber=body))
    system.AddLoad(X.LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0]))


def springs() -> Any:
    """A particle on a spring with a law of its own, and a load of time."""
    (container, system), X, V = _empty(), _items(), _kinds()
    earth = system.AddObject(X.ObjectGround(name="earth"))
    node = system.AddNode(X.NodePoint(referenceCoordinates=[1.05, 0, 0]))
    ball = system.AddObject(X.ObjectMassPoint(name="ball", nodeNumber=node, mass=1.5))
    ends = [system.AddMarker(X.MarkerBodyPosition(bodyNumber=body)) for body in (earth, ball)]

    def law(mbs, t, item, stretch, rate, stiffness, damping, force):
        return stiffness * stretch + 5 * stretch**3 + damping * rate + 0.1 * np.sin(t)

    spring = system.AddObject(
        X.ObjectConnectorSpringDamper(
            name="spring", markerNumbers=ends, referenceLength=1, stiffness=50, damping=0.5, springForceUserFunction=law
        )
    )
    _weight(system, ball)
    push = lambda mbs, t, load: [load[0], load[1], load[2] * np.cos(t)]
    system.AddLoad(X.LoadForceVector(markerNumber=ends[1], loadVector=[0, 0, 0.5], loadVectorUserFunction=push))
    for kind in ("Position", "Displacement", "Velocity"):
        system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=getattr(V, kind), name=kind))
    for kind in ("Force", "ForceLocal", "Distance"):
        system.AddSensor(
            X.SensorObject(objectNumber=spring, outputVariableType=getattr(V, kind), name=f"spring {kind}")
        )
    system.Assemble()
    return container, system


def spring_of(law: Any) -> Any:
    """Two particles, one of them on a spring; `law(node)`: its user function, the node is the other particle's."""
    (container, system), X, V = _empty(), _items(), _kinds()
    earth = system.AddObject(X.ObjectGround())
    node = system.AddNode(X.NodePoint(referenceCoordinates=[1.05, 0, 0]))
    ball = system.AddObject(X.ObjectMassPoint(nodeNumber=node, mass=1.5))
    other = system.AddNode(X.NodePoint(referenceCoordinates=[0, 1, 0], initialVelocities=[0.3, 1, 0]))
    system.AddObject(X.ObjectMassPoint(nodeNumber=other, mass=1.0))
    ends = [system.AddMarker(X.MarkerBodyPosition(bodyNumber=body)) for body in (earth, ball)]
    system.AddObject(
        X.ObjectConnectorSpringDamper(
            name="spring", markerNumbers=ends, referenceLength=1, springForceUserFunction=law(other)
        )
    )
    for kind in (V.Position, V.Velocity):
        system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=kind))
    system.Assemble()
    return container, system


def reading() -> Any:
    """A spring whose law reads another part of the system."""

    place = _kinds().Position
    return spring_of(lambda node: lambda mbs, t, item, x, v, k, d, f: 20 * mbs.GetNodeOutput(node, place)[1] * x)


def reading_constraint() -> Any:
    """A prescribed motion that reads another part of the system."""
    (container, system), X, V = _empty(), _items(), _kinds()
    nodes = [system.AddNode(X.NodePoint(referenceCoordinates=[i, 0, 0])) for i in range(2)]
    for node in nodes:
        system.AddObject(X.ObjectMassPoint(nodeNumber=node, mass=1.0))
    fixed = system.AddNode(X.NodePointGround())
    ends = [system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=n, coordinate=0)) for n in (fixed, nodes[0])]
    follow = lambda mbs, t, item, offset: mbs.GetNodeOutput(nodes[1], V.Position)[0]
    system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=ends, offsetUserFunction=follow))
    system.Assemble()
    return container, system


def coordinates() -> Any:
    """Springs, ties and prescribed motions of coordinates, with reference coordinates and user functions."""
    (container, system), X, V = _empty(), _items(), _kinds()
    earth, fixed = system.AddObject(X.ObjectGround()), system.AddNode(X.NodePointGround())
    starts = ([0.1, 0.0], [0.1, 0.3], [0.15, 0.6])
    nodes = [
        system.AddNode(X.NodePoint2D(referenceCoordinates=[1.0 + i, 0.2 * i], initialVelocities=v))
        for i, v in enumerate(starts)
    ]
    bodies = [system.AddObject(X.ObjectMassPoint2D(nodeNumber=node, mass=1 + i)) for i, node in enumerate(nodes)]
    zero = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    of = lambda i, c: system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=nodes[i], coordinate=c))
    first = system.AddObject(
        X.ObjectConnectorCoordinateSpringDamper(
            name="first", markerNumbers=[zero, of(0, 0)], stiffness=100, damping=1, offset=0.05
        )
    )
    law = lambda mbs, t, item, x, v, stiffness, damping, offset: stiffness * x + 2 * v + 30 * x**3
    system.AddObject(
        X.ObjectConnectorCoordinateSpringDamper(
            markerNumbers=[of(0, 1), of(1, 0)], stiffness=70, damping=1, springForceUserFunction=law
        )
    )
    system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[of(1, 1), of(2, 0)], factor1=2.0))
    drive = lambda mbs, t, item, offset: 0.6 * t + 0.1 * t**3 + offset
    system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[zero, of(2, 1)], offsetUserFunction=drive))
    ends = [
        system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth, localPosition=[1, 0, 0])),
        system.AddMarker(X.MarkerBodyPosition(bodyNumber=bodies[0])),
    ]
    system.AddObject(
        X.ObjectConnectorCartesianSpringDamper(
            markerNumbers=ends, stiffness=[10, 20, 30], damping=[1, 1, 1], offset=[0.1, 0, 0]
        )
    )
    shake = lambda mbs, t, load: load * np.sin(3 * t)
    system.AddLoad(X.LoadCoordinate(markerNumber=of(1, 1), load=2.0, loadUserFunction=shake))
    for node in nodes:
        for kind in (V.Position, V.Displacement, V.Coordinates, V.Coordinates_t):
            system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=kind))
    system.AddSensor(X.SensorObject(objectNumber=first, outputVariableType=V.Force, name="first force"))
    system.Assemble()
    return container, system


def four_bar() -> Any:
    """Three bars in the plane with hinges and a driving torque."""
    (container, system), X, V = _empty(), _items(), _kinds()
    earth = system.AddObject(X.ObjectGround())
    corners = np.array([[0, 0], [0, 1], [2, 2], [2, 0.0]])
    at = lambda body, x, y=0.0: system.AddMarker(X.MarkerBodyPosition(bodyNumber=body, localPosition=[x, y, 0]))
    ends, bars = [at(earth, 0)], []
    for i, (a, b) in enumerate(itertools.pairwise(corners)):
        size, angle = np.linalg.norm(b - a), np.arctan2(*(b - a)[::-1])
        node = system.AddNode(X.NodeRigidBody2D(referenceCoordinates=[*(a + b) / 2, angle]))
        bars.append(
            system.AddObject(X.ObjectRigidBody2D(name=f"bar{i}", nodeNumber=node, mass=size, inertia=size**3 / 12))
        )
        ends += [at(bars[-1], -size / 2), at(bars[-1], size / 2)]
        _weight(system, bars[-1])
    ends.append(at(earth, 2.0))
    for i in range(0, 8, 2):
        system.AddObject(X.ObjectJointRevolute2D(markerNumbers=ends[i : i + 2]))
    crank = system.AddMarker(X.MarkerBodyRigid(bodyNumber=bars[0]))
    system.AddLoad(X.LoadTorqueVector(markerNumber=crank, loadVector=[0, 0, 4]))
    for i, bar in enumerate(bars):
        for kind in ("Position", "Rotation", "Velocity"):
            name = f"{kind.lower()} {i}"
            system.AddSensor(X.SensorBody(bodyNumber=bar, outputVariableType=getattr(V, kind), name=name))
    system.Assemble()
    return container, system


def slides() -> Any:
    """A hinge with a torsional spring and a slide with a linear one, in space."""
    from exudyn.rigidBodyUtilities import RotationMatrixX

    (container, system), X, V = _empty(), _items(), _kinds()
    earth, turned = system.AddObject(X.ObjectGround()), RotationMatrixX(0.4)
    frames = dict(rotationMarker0=turned, rotationMarker1=turned)
    bodies = []
    for place, speed in (([0, 0, 0], 0.0), ([1, 0, 0], 0.5)):
        node = system.AddNode(
            X.NodeRigidBodyEP(referenceCoordinates=[*place, 1, 0, 0, 0], initialVelocities=[speed, 0, 0, 0, 0, 0, 0])
        )
        bodies.append(system.AddObject(X.ObjectRigidBody(nodeNumber=node, mass=1, inertia=[0.2, 0.3, 0.25, 0, 0, 0])))
    fixed, first, second = (system.AddMarker(X.MarkerBodyRigid(bodyNumber=body)) for body in (earth, *bodies))
    system.AddObject(X.ObjectJointRevoluteZ(markerNumbers=[fixed, first], **frames))
    bar = system.AddObject(
        X.ObjectConnectorTorsionalSpringDamper(
            markerNumbers=[fixed, first], stiffness=5, damping=0.1, offset=0.3, torque=0.2, **frames
        )
    )
    system.AddObject(X.ObjectJointPrismaticX(markerNumbers=[fixed, second]))
    spring = system.AddObject(
        X.ObjectConnectorLinearSpringDamper(
            markerNumbers=[fixed, second], stiffness=20, damping=0.5, offset=0.9, axisMarker0=[1, 0, 0]
        )
    )
    for kind in (V.Rotation, V.AngularVelocityLocal, V.TorqueLocal):
        system.AddSensor(X.SensorObject(objectNumber=bar, outputVariableType=kind))
    for kind in (V.DisplacementLocal, V.VelocityLocal, V.ForceLocal):
        system.AddSensor(X.SensorObject(objectNumber=spring, outputVariableType=kind))
    system.Assemble()
    return container, system


def bushing() -> Any:
    """A body on a hinge, with its centre of mass elsewhere, and another one on a bushing, in other parameters."""
    from exudyn.rigidBodyUtilities import RotationMatrixX

    (container, system), X, V = _empty(), _items(), _kinds()
    earth, turned = system.AddObject(X.ObjectGround(referencePosition=[0.1, 0.2, 0])), RotationMatrixX(0.3)
    node = system.AddNode(X.NodeRigidBodyEP(referenceCoordinates=[0.1, 0.2, 0, 1, 0, 0, 0]))
    link = system.AddObject(
        X.ObjectRigidBody(
            name="link",
            nodeNumber=node,
            mass=2,
            inertia=[0.5, 1.2, 1.3, 0.02, 0.06, 0.11],
            centerOfMass=[0.5, 0.1, 0.05],
        )
    )
    node = system.AddNode(X.NodeRigidBodyRxyz(referenceCoordinates=[1.1, 0.2, 0, 0, 0, 0], initialVelocities=[0] * 6))
    other = system.AddObject(X.ObjectRigidBody(nodeNumber=node, mass=1, inertia=[0.3, 0.3, 0.3, 0, 0, 0]))
    at = lambda body, x=0.0: system.AddMarker(X.MarkerBodyRigid(bodyNumber=body, localPosition=[x, 0, 0]))
    joint = system.AddObject(
        X.ObjectJointGeneric(
            markerNumbers=[at(earth), at(link)], constrainedAxes=[1, 1, 1, 1, 1, 0], rotationMarker0=turned,
            rotationMarker1=turned,
        )
    )  # fmt: skip
    system.AddObject(
        X.ObjectConnectorRigidBodySpringDamper(
            markerNumbers=[at(link, 1.0), at(other)], stiffness=np.diag([4e3] * 3 + [300] * 3),
            damping=np.diag([40] * 3 + [3] * 3),
        )
    )  # fmt: skip
    for body in (link, other):
        _weight(system, body)
        for kind in (V.Position, V.Velocity, V.AngularVelocity, V.AngularVelocityLocal, V.Rotation, V.RotationMatrix):
            system.AddSensor(X.SensorBody(bodyNumber=body, outputVariableType=kind, localPosition=[0.1, 0.2, 0.3]))
    for kind in ("ForceLocal", "TorqueLocal", "Rotation", "AngularVelocityLocal"):
        name = f"{'reaction' if kind in ('ForceLocal', 'TorqueLocal') else 'joint'} {kind}"
        system.AddSensor(X.SensorObject(objectNumber=joint, outputVariableType=getattr(V, kind), name=name))
    system.Assemble()
    return container, system


def second_order() -> Any:
    """Equations of second order with a user function, and a constraint on a coordinate."""
    (container, system), X, V = _empty(), _items(), _kinds()
    node = system.AddNode(
        X.NodeGenericODE2(
            referenceCoordinates=[0.1, 0, 0], initialCoordinates=[0.1, 0.2, 0], initialCoordinates_t=[0, 0, 1],
            numberOfODE2Coordinates=3,
        )
    )  # fmt: skip
    stiffness = np.array([[30.0, -10, 0], [-10, 20, -10], [0, -10, 10]])
    force = lambda mbs, t, item, q, q_t: np.array([np.sin(t), 0 * t, -(q[0] ** 3)])
    system.AddObject(
        X.ObjectGenericODE2(
            nodeNumbers=[node], massMatrix=np.diag([1.0, 2, 3]), stiffnessMatrix=stiffness,
            dampingMatrix=0.01 * stiffness, forceVector=[0, 0, 1.0], forceUserFunction=force,
        )
    )  # fmt: skip
    fixed = system.AddNode(X.NodePointGround())
    ends = [system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=n, coordinate=c)) for n, c in ((fixed, 0), (node, 1))]
    system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=ends, offset=0.2))
    for kind in (V.Coordinates, V.Coordinates_t):
        system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=kind))
    system.Assemble()
    return container, system


def cylinder() -> Any:
    """A mass on a hydraulic cylinder and a spring."""
    (container, system), X, V = _empty(), _items(), _kinds()
    earth = system.AddObject(X.ObjectGround())
    node = system.AddNode(X.NodePoint(referenceCoordinates=[0.8, 0, 0]))
    mass = system.AddObject(X.ObjectMassPoint(nodeNumber=node, mass=200))
    ends = [system.AddMarker(X.MarkerBodyPosition(bodyNumber=body)) for body in (earth, mass)]
    pressures = system.AddNode(
        X.NodeGenericODE1(
            referenceCoordinates=[0, 0], initialCoordinates=[2e6, 2e6], numberOfODE1Coordinates=2
        )
    )  # fmt: skip
    actuator = system.AddObject(
        X.ObjectConnectorHydraulicActuatorSimple(
            markerNumbers=ends, nodeNumbers=[pressures], offsetLength=0.5, strokeLength=0.6, chamberCrossSection0=1e-3,
            chamberCrossSection1=0.6e-3, hoseVolume0=1e-3, hoseVolume1=1e-3, valveOpening0=0.3, valveOpening1=-0.3,
            actuatorDamping=2e4, oilBulkModulus=1e9, cylinderBulkModulus=5e10, hoseBulkModulus=5e9, nominalFlow=4e-7,
            systemPressure=2e7, tankPressure=0, useChamberVolumeChange=True,
        )
    )  # fmt: skip
    system.AddObject(X.ObjectConnectorSpringDamper(markerNumbers=ends, referenceLength=0.8, stiffness=1e5))
    for kind in (V.Distance, V.Force, V.VelocityLocal):
        system.AddSensor(X.SensorObject(objectNumber=actuator, outputVariableType=kind))
    system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=V.Position))
    system.Assemble()
    return container, system


def tree() -> Any:
    """A kinematic tree of four links with a spring between two of them."""
    import exudyn as exu
    from exudyn.rigidBodyUtilities import RotationMatrixX, RotationMatrixY

    (container, system), X, V = _empty(), _items(), _kinds()
    node = system.AddNode(
        X.NodeGenericODE2(
            referenceCoordinates=[0.1, 0, 0, 0.2], initialCoordinates=[0, 0.1, 0, 0],
            initialCoordinates_t=[2.0, 0, 0.5, 0], numberOfODE2Coordinates=4,
        )
    )  # fmt: skip
    turns, offsets, centers, inertias = exu.Matrix3DList(), exu.Vector3DList(), exu.Vector3DList(), exu.Matrix3DList()
    for i, turn in enumerate((np.eye(3), RotationMatrixX(0.2), RotationMatrixY(0.3), RotationMatrixY(2.5))):
        turns.Append(turn)
        offsets.Append([[0, 0, 0.5], [0, 0.1, 0.2], [0.05, 0, 0.5], [-0.05, 0, 0.5]][i])
        centers.Append([[0, 0, 0.1], [0, 0, 0], [0.5, 0, 0.02], [0.4, 0, 0]][i])
        inertias.Append(np.diag([0.1, 0.12, 0.15]) * (i + 1))
    kinds = [exu.JointType.RevoluteZ, exu.JointType.PrismaticZ, exu.JointType.RevoluteY, exu.JointType.RevoluteY]
    robot = system.AddObject(
        X.ObjectKinematicTree(
            name="tree", nodeNumber=node, jointTypes=kinds, linkParents=[-1, 0, 0, 2], jointTransformations=turns,
            jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centers, linkMasses=[1.0, 2, 3, 4],
            baseOffset=[0.1, 0, 0], gravity=[0, 0, -9.81],
        )
    )  # fmt: skip
    ends = [
        system.AddMarker(X.MarkerKinematicTreeRigid(objectNumber=robot, linkNumber=link, localPosition=[x, 0, 0]))
        for link, x in ((1, 0.1), (3, 0.3))
    ]
    system.AddObject(X.ObjectConnectorSpringDamper(markerNumbers=ends, stiffness=500, damping=10, referenceLength=0.5))
    for kind in (V.Coordinates, V.Coordinates_t):
        system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=kind))
    for kind in (V.Position, V.Velocity, V.AngularVelocity):
        at = dict(linkNumber=3, localPosition=[0.1, 0.2, 0])
        system.AddSensor(X.SensorKinematicTree(objectNumber=robot, outputVariableType=kind, **at))
    system.Assemble()
    return container, system


def coordinate_vectors() -> Any:
    """A double pendulum whose rods are user functions of coordinate vectors, with their Jacobians."""
    (container, system), X, V = _empty(), _items(), _kinds()
    fixed = system.AddNode(X.NodePointGround())
    nodes = [system.AddNode(X.NodePoint2D(referenceCoordinates=[0.8 * (i + 1), 0])) for i in range(2)]
    for node in nodes:
        system.AddObject(X.ObjectMassPoint2D(nodeNumber=node, mass=2.5))
    ends = [system.AddMarker(X.MarkerNodeCoordinates(nodeNumber=node)) for node in (fixed, *nodes)]
    size = lambda x, y: np.sqrt(x**2 + y**2)
    first = lambda mbs, t, item, q, q_t, on_velocity: [size(q[0], q[1]) - 0.8]
    of_first = lambda mbs, t, item, q, q_t, on_velocity: np.array([[q[0], q[1]]]) / size(q[0], q[1])
    second = lambda mbs, t, item, q, q_t, on_velocity: [size(q[2] - q[0], q[3] - q[1]) - 0.8]

    def of_second(mbs, t, item, q, q_t, on_velocity):
        x, y = q[2] - q[0], q[3] - q[1]
        return np.array([[-x, -y, x, y]]) / size(x, y)

    for pair, law, jacobian in ((ends[:2], first, of_first), (ends[1:], second, of_second)):
        system.AddObject(
            X.ObjectConnectorCoordinateVector(
                markerNumbers=pair, scalingMarker0=np.zeros((1, 2)), constraintUserFunction=law,
                jacobianUserFunction=jacobian,
            )
        )  # fmt: skip
    for node in nodes:
        load = system.AddMarker(X.MarkerNodePosition(nodeNumber=node))
        system.AddLoad(X.LoadForceVector(markerNumber=load, loadVector=[0, -2.5 * 9.81, 0]))
        for kind in (V.Position, V.Velocity):
            system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=kind))
    system.Assemble()
    return container, system


def flexible() -> Any:
    """What has no elements here: a cable, contact, and what hangs on them."""
    (container, system), X = _empty(), _items()
    nodes = [system.AddNode(X.NodePoint2DSlope1(referenceCoordinates=[x, 0, 1, 0])) for x in (0.0, 1.0)]
    cable = system.AddObject(
        X.ObjectANCFCable2D(
            name="cable", nodeNumbers=nodes, physicsLength=1.0, physicsMassPerLength=1.0, physicsBendingStiffness=1.0,
            physicsAxialStiffness=10.0,
        )
    )  # fmt: skip
    fixed, point = system.AddNode(X.NodePointGround()), system.AddNode(X.NodePoint(referenceCoordinates=[0, 0, 1]))
    system.AddObject(X.ObjectMassPoint(nodeNumber=point, mass=1.0))
    memory = system.AddNode(X.NodeGenericData(initialCoordinates=[0], numberOfDataCoordinates=1))
    ends = [system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=n, coordinate=c)) for n, c in ((fixed, 0), (point, 2))]
    system.AddObject(
        X.ObjectContactCoordinate(name="touching", markerNumbers=ends, nodeNumber=memory, contactStiffness=1e3)
    )
    end = system.AddMarker(X.MarkerBodyPosition(bodyNumber=cable, localPosition=[1, 0, 0]))
    system.AddLoad(X.LoadForceVector(name="bad load", markerNumber=end, loadVector=[0, 1, 0]))
    system.Assemble()
    return container, system
