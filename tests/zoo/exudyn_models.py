"""Exudyn's documented examples and test models, built with its items; each returns its container, too.

Where a start of theirs does not meet the constraints, it does here. Solutions that are plotted only are left out.
"""

import itertools
from math import pi, sqrt
from typing import Any

import numpy as np

from .exudyn_systems import _empty, _items, _kinds

G = 9.81


def _point(system: Any, X: Any, place: Any, mass: float, velocity: Any = None) -> tuple[Any, Any]:
    """The node of a particle, in the plane or in space, and its marker."""
    flat = len(place) == 2
    more = {} if velocity is None else {"initialVelocities": velocity}
    node = system.AddNode((X.NodePoint2D if flat else X.NodePoint)(referenceCoordinates=place, **more))
    system.AddObject((X.ObjectMassPoint2D if flat else X.ObjectMassPoint)(nodeNumber=node, mass=mass))
    return node, system.AddMarker(X.MarkerNodePosition(nodeNumber=node))


def _sense(system: Any, X: Any, nodes: Any, *kinds: str) -> None:
    for node in nodes:
        for kind in kinds:
            system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=getattr(_kinds(), kind)))


def mini_examples() -> Any:
    """Those of the spring-damper, the distance and the coordinate vector, side by side."""
    (container, system), X = _empty(), _items()
    earth, fixed = system.AddObject(X.ObjectGround()), system.AddNode(X.NodePointGround())
    origin = system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth))
    first, at_first = _point(system, X, [1.05, 0, 0], 1)
    system.AddObject(
        X.ObjectConnectorSpringDamper(markerNumbers=[origin, at_first], referenceLength=1, stiffness=1000, damping=10)
    )
    second, at_second = _point(system, X, [1, 0, 0], 1)
    system.AddObject(X.ObjectConnectorDistance(markerNumbers=[origin, at_second], distance=1))
    system.AddLoad(X.LoadForceVector(markerNumber=at_second, loadVector=[50, 10, 0]))
    third, at_third = _point(system, X, [1, 0, 0], 2, [0, 0.5, 0.3])
    ends = [system.AddMarker(X.MarkerNodeCoordinates(nodeNumber=node)) for node in (fixed, third)]
    system.AddObject(
        X.ObjectConnectorCoordinateVector(
            markerNumbers=ends, scalingMarker0=[], scalingMarker1=[], quadraticTermMarker0=[],
            quadraticTermMarker1=np.array([[1, 1, 1]]), offset=[1],
        )
    )  # fmt: skip
    system.AddLoad(X.LoadForceVector(markerNumber=at_third, loadVector=[0, -20, 0]))
    _sense(system, X, (first, second, third), "Position", "Velocity")
    system.Assemble()
    return container, system


def mini_example_of_gravity() -> Any:
    """By itself, as numbers of its size would spoil the tolerance of others in Exudyn's solver."""
    (container, system), X = _empty(), _items()
    planet, at_planet = _point(system, X, [0, 0, 5], 1e10)
    moon, at_moon = _point(system, X, [1.0, 0, 5], 1.0, [0, sqrt(6.6743e-11 * 1e10), 0])
    system.AddObject(X.ObjectConnectorGravity(markerNumbers=[at_planet, at_moon], mass0=1e10, mass1=1.0))
    _sense(system, X, (planet, moon), "Position", "Velocity")
    system.Assemble()
    return container, system


def four_bar_of_rods() -> Any:
    """fourBarMechanismTest, with velocities that its rods allow; a mass on a fixed node as there."""
    (container, system), X = _empty(), _items()
    fixed = system.AddNode(X.NodePointGround())
    system.AddObject(X.ObjectMassPoint(nodeNumber=fixed, mass=0))
    starts = (([0, 2, 0], 3, [4, 0, 0]), ([4, 5, 0], 3, [4, 0, 0]), ([4, 0, 0], 3))
    points = [_point(system, X, *start) for start in starts]
    ends = [system.AddMarker(X.MarkerNodePosition(nodeNumber=fixed)), *(marker for _, marker in points)]
    zero = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    for coordinate in (1, 0):
        last = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=points[2][0], coordinate=coordinate))
        system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[zero, last]))
    for pair, size in zip(itertools.pairwise(ends), (2, 5, 5), strict=True):
        system.AddObject(X.ObjectConnectorDistance(markerNumbers=list(pair), distance=size))
    for marker in ends[1:3]:
        system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[0, -3 * G, 0]))
    _sense(system, X, [node for node, _ in points], "Position", "Velocity")
    system.Assemble()
    return container, system


def coordinate_vectors_of_equations() -> Any:
    """coordinateVectorConstraintGenericODE2: a double pendulum as one object, with inactive rods for drawing."""
    (container, system), X = _empty(), _items()
    earth, fixed = system.AddObject(X.ObjectGround()), system.AddNode(X.NodePointGround())
    nodes = [system.AddNode(X.NodePoint2D(referenceCoordinates=[0.8 * (i + 1), 0])) for i in range(2)]
    both = system.AddObject(X.ObjectGenericODE2(nodeNumbers=nodes, massMatrix=2.5 * np.eye(4)))
    ends = [system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth))]
    ends += [system.AddMarker(X.MarkerNodePosition(nodeNumber=node)) for node in nodes]
    for pair in itertools.pairwise(ends):
        system.AddObject(X.ObjectConnectorDistance(markerNumbers=list(pair), distance=0.8, activeConnector=False))
    place = [
        system.AddMarker(X.MarkerNodeCoordinates(nodeNumber=fixed)),
        system.AddMarker(X.MarkerObjectODE2Coordinates(objectNumber=both)),
    ]

    def rods(mbs, t, item, q, q_t, on_velocity):
        return [np.sqrt(q[0] ** 2 + q[1] ** 2) - 0.8, np.sqrt((q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2) - 0.8]

    def slopes(mbs, t, item, q, q_t, on_velocity):
        found = np.zeros((2, 4))
        size = np.sqrt(q[0] ** 2 + q[1] ** 2)
        found[0, 0], found[0, 1] = q[0] / size, q[1] / size
        x, y = q[2] - q[0], q[3] - q[1]
        size = np.sqrt(x**2 + y**2)
        found[1, :] = np.array([-x, -y, x, y]) / size
        return found

    system.AddObject(
        X.ObjectConnectorCoordinateVector(
            markerNumbers=place,
            scalingMarker0=np.zeros((2, 4)),
            constraintUserFunction=rods,
            jacobianUserFunction=slopes,
        )
    )
    for marker in ends[1:]:
        system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[0, -2.5 * G, 0]))
    _sense(system, X, nodes, "Position", "Velocity")
    system.Assemble()
    return container, system


def body_of_equations() -> Any:
    """rigidBodyAsUserFunctionTest: a free rigid body, and the same as equations of Euler parameters.

    No body has the inertia there, whose largest principal moment is more than the sum of the others.
    """
    from exudyn.rigidBodyUtilities import AngularVelocity2EulerParameters_t, EulerParameters2GLocal, Skew

    (container, system), X, V = _empty(), _items(), _kinds()
    rates = AngularVelocity2EulerParameters_t([0, 50.0, 20], [1, 0, 0, 0])
    start = dict(initialVelocities=[0.2, 0, 0, *rates])
    first = system.AddNode(X.NodeRigidBodyEP(referenceCoordinates=[0.5, 0, 0, 1, 0, 0, 0], **start))
    body = system.AddObject(X.ObjectRigidBody(mass=2, inertia=[6, 1, 6, 0, 0.4, 0], nodeNumber=first))
    marker = system.AddMarker(X.MarkerBodyMass(bodyNumber=body))
    system.AddLoad(X.LoadMassProportional(markerNumber=marker, loadVector=[0, -G, 0]))
    reference = np.array([0.0, 0, 0, 1, 0, 0, 0])
    second = system.AddNode(X.NodeRigidBodyEP(referenceCoordinates=reference, addConstraintEquation=False, **start))
    inertia = np.array([[6.0, 0, 0.4], [0, 1, 0], [0.4, 0, 6]])
    weight, matrix = np.array([0, -2 * G, 0, 0, 0, 0, 0]), np.zeros((7, 7))

    def forces(mbs, t, item, q, q_t):
        found, turned = np.copy(weight), (np.array(q) + reference)[3:7]
        slopes = EulerParameters2GLocal(turned)
        spin = slopes @ q_t[3:7]
        found[3:7] += -slopes.T @ Skew(spin) @ inertia @ spin
        return found

    def masses(mbs, t, item, q, q_t):
        slopes = EulerParameters2GLocal((np.array(q) + reference)[3:7])
        matrix[0:3, 0:3] = 2 * np.eye(3)
        matrix[3:7, 3:7] = slopes.T @ inertia @ slopes
        return matrix

    system.AddObject(X.ObjectGenericODE2(nodeNumbers=[second], forceUserFunction=forces, massMatrixUserFunction=masses))
    fixed = system.AddNode(X.NodePointGround())
    ends = [system.AddMarker(X.MarkerNodeCoordinates(nodeNumber=node)) for node in (fixed, second)]
    system.AddObject(
        X.ObjectConnectorCoordinateVector(
            markerNumbers=ends, scalingMarker0=[], scalingMarker1=[], quadraticTermMarker0=[],
            quadraticTermMarker1=np.array([[0, 0, 0, 1, 1, 1, 1]]), offset=[1],
        )
    )  # fmt: skip
    system.AddSensor(X.SensorNode(nodeNumber=first, outputVariableType=V.Position, name="body"))
    system.AddSensor(X.SensorNode(nodeNumber=first, outputVariableType=V.RotationMatrix, name="rotation"))
    system.AddSensor(X.SensorNode(nodeNumber=second, outputVariableType=V.Coordinates, name="equations"))
    system.Assemble()
    return container, system


def satellites() -> Any:
    """connectorGravityTest: four satellites around a star."""
    (container, system), X = _empty(), _items()
    star = 1e20
    _, at_star = _point(system, X, [0, 0, 0], star)
    nodes = []
    for radius in (2e5, 4e5, 8e5, 10e5):
        node, marker = _point(system, X, [radius, 0, 0], 1e3, [0, np.sqrt(6.6743e-11 * star / radius), 0])
        system.AddObject(X.ObjectConnectorGravity(markerNumbers=[at_star, marker], mass0=star, mass1=1e3))
        nodes.append(node)
    _sense(system, X, nodes, "Position", "Velocity")
    system.Assemble()
    return container, system


def pendulum() -> Any:
    """pendulum2Dconstraint."""
    (container, system), X = _empty(), _items()
    earth = system.AddObject(X.ObjectGround())
    node, marker = _point(system, X, [0.8, 0], 2.5)
    ends = [system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth)), marker]
    rod = system.AddObject(X.ObjectConnectorDistance(markerNumbers=ends, distance=0.8))
    system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[0, -2.5 * G, 0]))
    system.AddSensor(X.SensorObject(objectNumber=rod, outputVariableType=_kinds().Distance))
    _sense(system, X, [node], "Position", "Velocity")
    system.Assemble()
    return container, system


def benchmark_pendulum() -> Any:
    """pendulumIftommBenchmark, with a sensor of its energy that is a user function of two others."""
    (container, system), X, V = _empty(), _items(), _kinds()
    earth = system.AddObject(X.ObjectGround())
    node, marker = _point(system, X, [-1, 0], 1)
    ends = [system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth)), marker]
    rod = system.AddObject(X.ObjectConnectorDistance(markerNumbers=ends, distance=1))
    system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[0, -G, 0]))
    system.AddSensor(X.SensorObject(objectNumber=rod, outputVariableType=V.Distance))
    place = system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=V.Position))
    speed = system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=V.Velocity))

    def energy(mbs, t, sensors, factors, configuration):
        r, v = mbs.GetSensorValues(sensors[0]), mbs.GetSensorValues(sensors[1])
        # Another level of the potential, so that it is not zero all the time.
        return [0.5 * (v[0] ** 2 + v[1] ** 2) + G * (r[1] + 1)]

    system.AddSensor(X.SensorUserFunction(sensorNumbers=[place, speed], sensorUserFunction=energy, name="energy"))
    system.Assemble()
    return container, system


def truss() -> Any:
    """SpringDamperMassUserFunction: rows of masses, joined by springs of which some are user functions."""
    (container, system), X = _empty(), _items()
    columns, rows, nodes = 24, 3, []
    markers: dict[tuple[int, int], Any] = {}
    for j in range(rows):
        earth = system.AddObject(X.ObjectGround(referencePosition=[0, j, 0]))
        markers[0, j] = system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth))
        for i in range(1, columns):
            node, markers[i, j] = _point(system, X, [i, j], 10)
            system.AddLoad(X.LoadForceVector(markerNumber=markers[i, j], loadVector=[0, -2.5, 0]))
            nodes.append(node)

    def force(mbs, t, item, u, v, k, d, f0):
        return u * k + v * d

    def join(a: Any, b: Any, size: float, law: Any) -> None:
        system.AddObject(
            X.ObjectConnectorSpringDamper(
                markerNumbers=[markers[a], markers[b]], stiffness=4000, damping=10, referenceLength=size,
                springForceUserFunction=law,
            )
        )  # fmt: skip

    for i, j in itertools.product(range(columns - 1), range(rows - 1)):
        join((i, j), (i + 1, j), 1, 0)
        join((i, j), (i, j + 1), 1, 0)
        join((i, j), (i + 1, j + 1), 2**0.5, force)
    for i in range(columns - 1):
        join((i, rows - 1), (i + 1, rows - 1), 1, force)
    for j in range(rows - 1):
        join((columns - 1, j), (columns - 1, j + 1), 1, force)
    _sense(system, X, nodes[:: columns // 2], "Position", "Velocity")
    system.Assemble()
    return container, system


def spring_with_constraints() -> Any:
    """SpringWithConstraints: nodes without bodies, held in single coordinates, for statics."""
    (container, system), X, V = _empty(), _items(), _kinds()
    fixed = system.AddNode(X.NodePointGround())
    zero = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    nodes = [system.AddNode(X.NodePoint(referenceCoordinates=[x, 0, 0])) for x in (0.0, 1.0)]
    ends = [system.AddMarker(X.MarkerNodePosition(nodeNumber=node)) for node in nodes]
    spring = system.AddObject(X.ObjectConnectorSpringDamper(markerNumbers=ends, stiffness=1000, referenceLength=1))
    system.AddLoad(X.LoadForceVector(markerNumber=ends[1], loadVector=[10, 0, 0]))
    for node, coordinate in ((1, 2), (1, 1), (0, 0), (0, 1), (0, 2)):
        held = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=nodes[node], coordinate=coordinate))
        system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[zero, held]))
    system.AddSensor(X.SensorNode(nodeNumber=nodes[1], outputVariableType=V.Position, name="end"))
    system.AddSensor(X.SensorObject(objectNumber=spring, outputVariableType=V.Force, name="force"))
    system.Assemble()
    return container, system


SIZE = sqrt(2) * 0.25
VALVES = {}
"""Set by the function before steps of `hydraulics`, and read by another one."""


def _arm(system: Any, X: Any) -> tuple[Any, Any]:
    """An arm on a hinge, and the markers of a cylinder on ground and arm."""
    earth = system.AddObject(X.ObjectGround())
    node = system.AddNode(X.NodeRigidBody2D(referenceCoordinates=[0.5, 0, 0]))
    arm = system.AddObject(X.ObjectRigidBody2D(mass=120, inertia=10, nodeNumber=node))
    at = lambda body, x, y=0.0: system.AddMarker(X.MarkerBodyPosition(bodyNumber=body, localPosition=[x, y, 0]))
    system.AddObject(X.ObjectJointRevolute2D(markerNumbers=[at(earth, 0), at(arm, -0.5)]))
    system.AddLoad(X.LoadForceVector(markerNumber=at(arm, 0), loadVector=[0, -120 * G, 0]))
    return node, [at(earth, 0, -0.25), at(arm, -0.25)]


def _target(t: Any) -> Any:
    return (max(0.5, min(1.5, (1 - np.cos(t * pi)))) - 0.5) * 0.1 + SIZE


def hydraulics() -> Any:
    """HydraulicsUserFunction: a spring-damper and equations of pressures that read each other, and a valve control."""
    (container, system), X, V = _empty(), _items(), _kinds()
    node, ends = _arm(system, X)
    oil, flow, supply = 1e11, 2e-5, 200e5
    system.variables["opening"] = 0.0

    def force(mbs, t, item, u, v, k, d, f0):
        p = mbs.GetObjectOutput(pressures, variableType=V.Coordinates)
        return -p[0] * 0.01 + p[1] * 0.01 + v * d

    def root(x):
        return np.sign(x) * np.sqrt(abs(x))

    def rates(mbs, t, item, q):
        size = mbs.GetObjectOutput(actuator, variableType=V.Distance)
        along = mbs.GetObjectOutput(actuator, variableType=V.Displacement)
        speed = 1 / size * along @ mbs.GetObjectOutput(actuator, variableType=V.Velocity)
        found, opening = np.zeros(2), mbs.variables["opening"]
        for i, sign in ((0, 1.0), (1, -1.0)):
            valve = sign * opening
            through = np.where(valve >= 0, root(supply - q[i]), root(q[i]))
            found[i] = oil * (-sign * 0.01 * speed + valve * flow * through)
        return found

    actuator = system.AddObject(
        X.ObjectConnectorSpringDamper(
            name="actuator", markerNumbers=ends, stiffness=2e6, damping=2e5, referenceLength=SIZE,
            springForceUserFunction=force,
        )
    )  # fmt: skip
    states = system.AddNode(
        X.NodeGenericODE1(referenceCoordinates=[0, 0], initialCoordinates=[2e6, 2e6], numberOfODE1Coordinates=2)
    )

    def before_step(mbs, t):
        mbs.variables["opening"] = (_target(t) - mbs.GetObjectOutput(actuator, variableType=V.Distance)) * 2
        return True

    system.SetPreStepUserFunction(before_step)
    pressures = system.AddObject(X.ObjectGenericODE1(name="pressures", nodeNumbers=[states], rhsUserFunction=rates))
    for kind in ("Force", "Distance", "Velocity"):
        system.AddSensor(X.SensorObject(objectNumber=actuator, outputVariableType=getattr(V, kind), name=kind))
    system.AddSensor(X.SensorNode(nodeNumber=states, outputVariableType=V.Coordinates, name="pressure"))
    _sense(system, X, [node], "Coordinates")
    system.Assemble()
    return container, system


def hydraulics_from_rest() -> Any:
    """HydraulicActuatorStaticInitialization: at rest first, held by a rod; then moved by a cylinder with a control."""
    import exudyn as exu

    (container, system), X, V = _empty(), _items(), _kinds()
    node, ends = _arm(system, X)
    states = system.AddNode(
        X.NodeGenericODE1(referenceCoordinates=[0, 0], initialCoordinates=[2e6, 2e6], numberOfODE1Coordinates=2)
    )
    actuator = system.AddObject(
        X.ObjectConnectorHydraulicActuatorSimple(
            markerNumbers=ends, nodeNumbers=[states], offsetLength=SIZE, strokeLength=SIZE * 0.5,
            chamberCrossSection0=0.01, chamberCrossSection1=0.01, hoseVolume0=1.0, hoseVolume1=1.0, valveOpening0=0,
            valveOpening1=0, oilBulkModulus=1e11, actuatorDamping=2e5, nominalFlow=2e-5, systemPressure=200e5,
            tankPressure=0, useChamberVolumeChange=False,
        )
    )  # fmt: skip

    def before_step(mbs, t):
        opening = (_target(t) - mbs.GetObjectOutput(actuator, variableType=V.Distance)) * 2
        mbs.SetObjectParameter(actuator, "valveOpening0", opening)
        mbs.SetObjectParameter(actuator, "valveOpening1", -opening)
        return True

    rod = system.AddObject(X.ObjectConnectorDistance(markerNumbers=ends, distance=SIZE))
    for kind in ("Force", "Distance"):
        system.AddSensor(X.SensorObject(objectNumber=actuator, outputVariableType=getattr(V, kind), name=kind))
    system.AddSensor(X.SensorNode(nodeNumber=states, outputVariableType=V.Coordinates, name="pressure"))
    _sense(system, X, [node], "Coordinates")
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.staticSolver.constrainODE1coordinates = True
    settings.solution.file.write = False
    system.SolveStatic(settings, updateInitialValues=True)
    force = system.GetObjectOutput(rod, V.Force)
    system.SetObjectParameter(rod, "activeConnector", False)
    start = exu.ConfigurationType.Initial
    system.systemData.SetODE1Coordinates([2e6 + force / 0.01, 2e6], start)
    system.SetPreStepUserFunction(before_step)
    return container, system


def _governor_parts() -> tuple[Any, Any]:
    """Inertias of shaft, slider and two rods with balls, and where the rods' centres are."""
    from exudyn.rigidBodyUtilities import InertiaCuboid, InertiaMassPoint

    rod = InertiaCuboid(density=3000, sideLengths=[1, 0.01, 0.01]) + InertiaMassPoint(mass=5).Translated([0.5, 0, 0])
    center = -rod.com
    rod = rod.Translated(center)
    shaft, slider = (InertiaCuboid(density=3000, sideLengths=s) for s in ([0.01, 0.01, 1], [0.1, 0.1, 0.1]))
    return (shaft, slider, rod, rod), center[0]


def _governor(bushings: bool, node_kind: str) -> Any:
    import exudyn as exu
    from exudyn.rigidBodyUtilities import RotationMatrixY
    from exudyn.utilities import AddRigidBody

    (container, system), X, V = _empty(), _items(), _kinds()
    inertias, center = _governor_parts()
    beta, speed, to_joint = np.deg2rad(30), 0.16 * 2 * pi, 0.5 - center
    far, low = 0.05 + to_joint * np.cos(beta), 1 - to_joint * np.sin(beta)
    places = [[0, 0, 0.5], [0, 0, 0.5], [far, 0, low], [-far, 0, low]]
    turns = [np.eye(3), np.eye(3), RotationMatrixY(beta), RotationMatrixY(-beta)]
    nodes, bodies = [], []
    for inertia, place, turn in zip(inertias, places, turns, strict=True):
        node, body = AddRigidBody(
            mainSys=system, inertia=inertia, nodeType=getattr(exu.NodeType, node_kind), position=place,
            velocity=[0, speed * place[0], 0], rotationMatrix=turn, angularVelocity=[0, 0, speed], gravity=[0, 0, -G],
        )  # fmt: skip
        nodes.append(node)
        bodies.append(body)
    shaft, slider, right, left = bodies
    at = lambda body, *place: system.AddMarker(X.MarkerBodyRigid(bodyNumber=body, localPosition=list(place)))
    earth = system.AddObject(X.ObjectGround())
    pairs = [
        ([at(earth, 0, 0, 0), at(shaft, 0, 0, -0.5)], (1, 1, 1, 1, 1, 0)),
        ([at(shaft, 0, 0, 0), at(slider, 0, 0, 0)], (1, 1, 0, 1, 1, 1)),
        ([at(shaft, 0.05, 0, 0.5), at(right, -to_joint, 0, 0)], (1, 1, 1, 1, 0, 1)),
        ([at(shaft, -0.05, 0, 0.5), at(left, to_joint, 0, 0)], (1, 1, 1, 1, 0, 1)),
    ]
    for markers, locked in pairs:
        if bushings:
            k = np.diag(np.array([2e4] * 3 + [1e3] * 3) * locked)
            d = 0.05 * k if markers is pairs[0][0] else 0 * k
            system.AddObject(X.ObjectConnectorRigidBodySpringDamper(markerNumbers=markers, stiffness=k, damping=d))
        else:
            system.AddObject(X.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=list(locked)))
    for ends in ([at(slider, 0.05, 0, 0), at(right, center, 0, 0)], [at(slider, -0.05, 0, 0), at(left, -center, 0, 0)]):
        system.AddObject(
            X.ObjectConnectorSpringDamper(markerNumbers=ends, stiffness=4e3, damping=200, referenceLength=0.5)
        )
    for i, kind in ((1, "Position"), (2, "Position"), (2, "Velocity"), (2, "Rotation"), (0, "AngularVelocity")):
        system.AddSensor(X.SensorNode(nodeNumber=nodes[i], outputVariableType=getattr(V, kind), name=f"{kind} {i}"))
    system.Assemble()
    return container, system


def governor_of_bushings() -> Any:
    """stiffFlyballGovernor: its joints are stiff springs."""
    return _governor(True, "RotationEulerParameters")


def governor_of_joints() -> Any:
    """stiffFlyballGovernor2: generic joints."""
    return _governor(False, "RotationEulerParameters")


def governor_of_a_tree() -> Any:
    """stiffFlyballGovernorKT: a kinematic tree with two springs."""
    import exudyn as exu
    from exudyn.rigidBodyUtilities import InertiaCuboid, InertiaMassPoint, RotationMatrixY

    (container, system), X, V = _empty(), _items(), _kinds()
    node = system.AddNode(
        X.NodeGenericODE2(
            referenceCoordinates=[0.0] * 4, initialCoordinates=[0.0] * 4, initialCoordinates_t=[2 * pi, 0, 0, 0],
            numberOfODE2Coordinates=4,
        )
    )  # fmt: skip
    rod = InertiaCuboid(density=3000, sideLengths=[1, 0.01, 0.01]).Translated([0.5, 0, 0])
    rod = rod + InertiaMassPoint(mass=5).Translated([1, 0, 0])
    shaft, slider = (InertiaCuboid(density=3000, sideLengths=s) for s in ([0.01, 0.01, 1], [0.1, 0.1, 0.1]))
    turns, offsets, centers, tensors = exu.Matrix3DList(), exu.Vector3DList(), exu.Vector3DList(), exu.Matrix3DList()
    places = ([0, 0, 0.5], [0, 0, 0.0], [0.05, 0, 0.5], [-0.05, 0, 0.5])
    angles = (None, None, pi / 6, pi - pi / 6)
    for inertia, place, angle in zip((shaft, slider, rod, rod), places, angles, strict=True):
        turns.Append(np.eye(3) if angle is None else RotationMatrixY(angle))
        offsets.Append(place)
        centers.Append(inertia.COM())
        tensors.Append(inertia.InertiaCOM())
    J = exu.JointType
    tree = system.AddObject(
        X.ObjectKinematicTree(
            nodeNumber=node, jointTypes=[J.RevoluteZ, J.PrismaticZ, J.RevoluteY, J.RevoluteY],
            linkParents=[-1, 0, 0, 0], jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=tensors,
            linkCOMs=centers, linkMasses=[x.Mass() for x in (shaft, slider, rod, rod)], baseOffset=[0, 0, 0],
            gravity=[0, 0, -G],
        )
    )  # fmt: skip
    at = lambda link, x: system.AddMarker(
        X.MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=link, localPosition=[x, 0, 0])
    )
    for ends in ([at(1, 0.05), at(2, 0.5)], [at(1, -0.05), at(3, 0.5)]):
        system.AddObject(
            X.ObjectConnectorSpringDamper(markerNumbers=ends, stiffness=8e5, damping=4e4, referenceLength=0.5)
        )
    system.AddSensor(
        X.SensorKinematicTree(objectNumber=tree, linkNumber=1, localPosition=[0, 0, 0], outputVariableType=V.Position)
    )
    _sense(system, X, [node], "Coordinates", "Coordinates_t")
    system.Assemble()
    return container, system


def unit_tests() -> Any:
    """The rigid part of modelUnitTests, side by side: mesh, two pendulums, a rigid one, slider-crank, two springs."""
    (container, system), X = _empty(), _items()
    earth, fixed = system.AddObject(X.ObjectGround()), system.AddNode(X.NodePointGround())
    on_earth = system.AddMarker(X.MarkerBodyPosition(bodyNumber=earth))
    zero = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    at = lambda body, x=0.0: system.AddMarker(X.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
    nodes: list[Any] = []

    def coordinate(node: Any, number: int) -> Any:
        return system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=node, coordinate=number))

    # Mesh
    columns, rows = 6, 3
    markers: dict[tuple[int, int], Any] = {}
    mesh: dict[tuple[int, int], Any] = {}
    for j in range(rows):
        ground = system.AddObject(X.ObjectGround(referencePosition=[0, j, 0]))
        markers[0, j] = at(ground)
        for i in range(1, columns):
            mesh[i, j], markers[i, j] = _point(system, X, [i, j, 0], 10)

    def join(a: Any, b: Any, size: float) -> None:
        pair = [markers[a], markers[b]]
        system.AddObject(
            X.ObjectConnectorSpringDamper(markerNumbers=pair, stiffness=4000, damping=10, referenceLength=size)
        )

    for i, j in itertools.product(range(columns - 1), range(rows - 1)):
        join((i, j), (i + 1, j), 1)
        join((i, j), (i, j + 1), 1)
        join((i, j), (i + 1, j + 1), 2**0.5)
    for i in range(columns - 1):
        join((i, rows - 1), (i + 1, rows - 1), 1)
    for j in range(rows - 1):
        join((columns - 1, j), (columns - 1, j + 1), 1)
    system.AddLoad(X.LoadForceVector(markerNumber=markers[columns - 1, rows - 1], loadVector=[0, -100, 0]))
    system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[zero, coordinate(mesh[2, 0], 1)]))
    nodes.append(mesh[columns - 1, 0])

    # Pendulums, on a rod and on a stiff spring
    for stiff in (False, True):
        node, marker = _point(system, X, [0.8, 0, 0], 2.5)
        if stiff:
            system.AddObject(
                X.ObjectConnectorSpringDamper(
                    markerNumbers=[on_earth, marker], stiffness=4e4, damping=200, referenceLength=0.8
                )
            )
        else:
            system.AddObject(X.ObjectConnectorDistance(markerNumbers=[on_earth, marker], distance=0.8))
        system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[0, -2.5 * G, 0]))
        nodes.append(node)

    # A rigid pendulum, half of its weight as a force
    def bar(x: float, half: float, mass: float) -> tuple[Any, Any]:
        node = system.AddNode(X.NodeRigidBody2D(referenceCoordinates=[x, 0, 0]))
        body = system.AddObject(X.ObjectRigidBody2D(mass=mass, inertia=mass / 12 * (2 * half) ** 2, nodeNumber=node))
        nodes.append(node)
        return node, body

    _, rigid = bar(0.5, 0.5, 12)
    system.AddObject(X.ObjectJointRevolute2D(markerNumbers=[on_earth, at(rigid, -0.5)]))
    system.AddLoad(X.LoadForceVector(markerNumber=at(rigid), loadVector=[0, -6 * G, 0]))
    whole = system.AddMarker(X.MarkerBodyMass(bodyNumber=rigid))
    system.AddLoad(X.LoadMassProportional(markerNumber=whole, loadVector=[0, -0.5 * G, 0]))

    # Slider-crank
    (_, crank), (_, rod) = bar(0.25, 0.25, 2), bar(1.0, 0.5, 4)
    slider, at_slider = _point(system, X, [1.5, 0], 1)
    nodes.append(slider)
    drive = system.AddMarker(X.MarkerBodyRigid(bodyNumber=crank, localPosition=[-0.25, 0, 0]))
    for pair in ([on_earth, drive], [at(crank, 0.25), at(rod, -0.5)], [at(rod, 0.5), at_slider]):
        system.AddObject(X.ObjectJointRevolute2D(markerNumbers=pair))
    system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[zero, coordinate(slider, 1)]))
    system.AddLoad(X.LoadTorqueVector(markerNumber=drive, loadVector=[0, 0, 10]))

    # Springs
    for of_coordinates in (False, True):
        node = system.AddNode(
            X.NodePoint(referenceCoordinates=[0.5, 0, 0], initialCoordinates=[-0.08, 0, 0], initialVelocities=[1, 0, 0])
        )
        system.AddObject(X.ObjectMassPoint(nodeNumber=node, mass=1.6))
        marker = system.AddMarker(X.MarkerNodePosition(nodeNumber=node))
        if of_coordinates:
            for i in range(3):
                system.AddObject(
                    X.ObjectConnectorCoordinateSpringDamper(
                        markerNumbers=[zero, coordinate(node, i)], stiffness=4000, damping=8.0 * (i == 0)
                    )
                )
            system.AddLoad(X.LoadCoordinate(markerNumber=coordinate(node, 0), load=80))
        else:
            system.AddObject(
                X.ObjectConnectorCartesianSpringDamper(
                    markerNumbers=[on_earth, marker], stiffness=[4000] * 3, damping=[8, 0, 0], offset=[0.5, 0, 0]
                )
            )
            system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[80, 0, 0]))
        nodes.append(node)
    _sense(system, X, nodes, "Position", "Velocity")
    system.Assemble()
    return container, system


def switching() -> Any:
    """SwitchingConstraintsTest of modelUnitTests: joints that a function before steps lets go."""
    (container, system), X = _empty(), _items()
    earth = system.AddObject(X.ObjectGround())
    node = system.AddNode(X.NodeRigidBody2D(referenceCoordinates=[-0.5, 0, 0], initialVelocities=[0, 2, 4]))
    bar = system.AddObject(X.ObjectRigidBody2D(mass=12, inertia=1, nodeNumber=node))
    at = lambda body, x: system.AddMarker(X.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
    joint = system.AddObject(X.ObjectJointRevolute2D(markerNumbers=[at(earth, -1.0), at(bar, -0.5)]))
    mass, _ = _point(system, X, [-0.5, 0], 2, [0, 2])
    ties = []
    for i in range(2):
        ends = [system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=n, coordinate=i)) for n in (mass, node)]
        ties.append(system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=ends)))

    def before_step(mbs, t):
        mbs.SetObjectParameter(joint, "activeConnector", t <= 0.3 + 1e-8)
        for tie in ties:
            mbs.SetObjectParameter(tie, "activeConnector", t <= 0.1 + 1e-8)
        return True

    system.SetPreStepUserFunction(before_step)
    _sense(system, X, [node, mass], "Position", "Velocity")
    system.Assemble()
    return container, system
