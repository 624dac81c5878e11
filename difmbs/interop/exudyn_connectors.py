"""Exudyn's connectors, constraints and loads, as elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..elements.connectors.axial_spring_damper import AxialSpringDamper
from ..elements.connectors.bushing import Bushing
from ..elements.connectors.cartesian_spring_damper import CartesianSpringDamper
from ..elements.connectors.connector_gravity import ConnectorGravity
from ..elements.connectors.coordinate_constraint import CoordinateConstraint
from ..elements.connectors.coordinate_spring_damper import CoordinateSpringDamper
from ..elements.connectors.coordinate_vector_constraint import CoordinateVectorConstraint
from ..elements.connectors.distance_constraint import DistanceConstraint
from ..elements.connectors.generic_joint import GenericJoint
from ..elements.connectors.hydraulic_actuator import HydraulicActuator
from ..elements.connectors.prismatic_joint_2d import PrismaticJoint2D
from ..elements.connectors.revolute_joint_2d import RevoluteJoint2D
from ..elements.connectors.rolling_disc import RollingDisc
from ..elements.connectors.spherical_joint import SphericalJoint
from ..elements.connectors.spring_damper import SpringDamper
from ..elements.connectors.torsional_spring_damper import TorsionalSpringDamper

Item = dict[str, Any]
User = Callable[..., Any]
"""The user function of a field, as one of (t, ...); None if there is none. A second argument says how it is called:
`through(function, t, ...)`."""
Markers = tuple[Any, Any]
"""The converted markers of a connector."""


def spring_damper(item: Item, user: User, markers: Markers) -> Any:
    return SpringDamper(
        item["referenceLength"], item["stiffness"], item["damping"], item["force"], item["velocityOffset"],
        spring_force_user_function=user("springForceUserFunction"),
    )  # fmt: skip


def cartesian_spring_damper(item: Item, user: User, markers: Markers) -> Any:
    function = user("springForceUserFunction")
    return CartesianSpringDamper(item["stiffness"], item["damping"], item["offset"], user_function=function)


def coordinate_spring_damper(item: Item, user: User, markers: Markers) -> Any:
    first, second = markers
    apart = second.reference - first.reference
    of_displacement = user("springForceUserFunction", lambda law, t, x, *others: law(t, x - apart, *others))
    if of_displacement is None:
        return CoordinateSpringDamper(item["stiffness"], item["damping"], item["offset"] + apart)
    return CoordinateSpringDamper(item["stiffness"], item["damping"], item["offset"], user_function=of_displacement)


def torsional_spring_damper(item: Item, user: User, markers: Markers) -> Any:
    if not np.allclose(*(markers[i].frame @ item[f"rotationMarker{i}"] for i in (0, 1))):
        return "rotationMarker0 and rotationMarker1 differ"
    axis = markers[0].frame @ np.asarray(item["rotationMarker0"])[:, 2]
    return TorsionalSpringDamper(
        axis, item["stiffness"], item["damping"], item["offset"], item["velocityOffset"], item["torque"],
        user_function=user("springTorqueUserFunction"),
    )  # fmt: skip


def linear_spring_damper(item: Item, user: User, markers: Markers) -> Any:
    return AxialSpringDamper(
        markers[0].frame @ np.asarray(item["axisMarker0"]), item["stiffness"], item["damping"], item["offset"],
        item["velocityOffset"], item["force"], user_function=user("springForceUserFunction"),
    )  # fmt: skip


def rigid_body_spring_damper(item: Item, user: User, markers: Markers) -> Any:
    stiffness, damping = (np.asarray(item[field], float) for field in ("stiffness", "damping"))
    matrices = [np.asarray(item[f"rotationMarker{i}"], float) for i in (0, 1)]
    law = user(
        "springForceTorqueUserFunction",
        lambda law, t, x, v, k, d, offset: law(t, x[:3], x[3:], v[:3], v[3:], k, d, *matrices, offset),
    )
    if item["useIntrinsicFormulation"] or user("postNewtonStepUserFunction") is not None:
        return "its intrinsic formulation, and functions after Newton's steps, are not converted"
    frames = {f"rotation{i}": _vector(markers[i].frame @ np.asarray(item[f"rotationMarker{i}"])) for i in (0, 1)}
    rest = lambda matrix: None if not np.any(matrix - np.diag(np.diag(matrix))) else matrix - np.diag(np.diag(matrix))
    return Bushing(
        np.diag(stiffness), np.diag(damping), item["offset"], **frames, stiffness_matrix=rest(stiffness),
        damping_matrix=rest(damping), as_exudyn=True, user_function=law,
    )  # fmt: skip


def gravity(item: Item, user: User, markers: Markers) -> Any:
    return ConnectorGravity(
        item["gravitationalConstant"], item["mass0"], item["mass1"], item["minDistanceRegularization"]
    )


def hydraulic_actuator(item: Item, user: User, markers: Markers) -> Any:
    pair = lambda field: (item[f"{field}0"], item[f"{field}1"])
    return HydraulicActuator(
        areas=pair("chamberCrossSection"), hose_volumes=pair("hoseVolume"), nominal_flow=item["nominalFlow"],
        system_pressure=item["systemPressure"], oil_bulk_modulus=item["oilBulkModulus"],
        valve_openings=pair("valveOpening"), tank_pressure=item["tankPressure"],
        cylinder_bulk_modulus=item["cylinderBulkModulus"], hose_bulk_modulus=item["hoseBulkModulus"],
        offset_length=item["offsetLength"], stroke_length=item["strokeLength"], damping=item["actuatorDamping"],
        volume_changes=item["useChamberVolumeChange"],
    )  # fmt: skip


def distance(item: Item, user: User, markers: Markers) -> Any:
    return DistanceConstraint(item["distance"])


def coordinate(item: Item, user: User, markers: Markers) -> Any:
    (first, second), factor = markers, item["factor1"]
    # Exudyn's coordinates are displacements from the reference.
    apart = 0.0 if item["velocityLevel"] else factor * second.reference - first.reference
    function = user("offsetUserFunction", lambda offset, t: offset(t, item["offset"]) + apart)
    return CoordinateConstraint(factor, item["offset"] + apart if function is None else function, item["velocityLevel"])


def coordinate_vector(item: Item, user: User, markers: Markers) -> Any:
    function = user("constraintUserFunction")
    if function is not None:
        return CoordinateVectorConstraint(velocity_level=item["velocityLevel"], constraint_user_function=function)
    given = lambda field: np.asarray(item[field], float) if np.size(item[field]) else None
    fields = ("scalingMarker0", "scalingMarker1", "quadraticTermMarker0", "quadraticTermMarker1", "offset")
    x0, x1, y0, y1, offset = map(given, fields)
    return CoordinateVectorConstraint(x0, x1, y0, y1, offset, item["velocityLevel"])


def revolute_2d(item: Item, user: User, markers: Markers) -> Any:
    return RevoluteJoint2D()


def prismatic_2d(item: Item, user: User, markers: Markers) -> Any:
    if item["constrainRotation"]:
        return PrismaticJoint2D(np.asarray(item["axisMarker0"])[:2])
    return "constrainRotation=False is not converted: exchange the markers, and take PrismaticJoint2D"


def spherical(item: Item, user: User, markers: Markers) -> Any:
    return SphericalJoint(_flags(item["constrainedAxes"]))


def generic(item: Item, user: User, markers: Markers) -> Any:
    return _joint(item, user, markers, _flags(item["constrainedAxes"]))


def revolute_z(item: Item, user: User, markers: Markers) -> Any:
    return _joint(item, user, markers, (True, True, True, True, True, False))


def prismatic_x(item: Item, user: User, markers: Markers) -> Any:
    return _joint(item, user, markers, (False, True, True, True, True, True))


def _joint(item: Item, user: User, markers: Markers, locked: Any) -> Any:
    frames = [_vector(markers[i].frame @ np.asarray(item[f"rotationMarker{i}"])) for i in (0, 1)]
    given = np.asarray(item.get("offsetUserFunctionParameters", 0.0), float)
    function = user("offsetUserFunction", lambda offset, t: offset(t, given)) if "offsetUserFunction" in item else None
    if function is None:
        return GenericJoint(locked=locked, rotation0=frames[0], rotation1=frames[1])
    if all(locked[:3]) and not (markers[0].on_ground and np.allclose(frames[0], 0)):
        return "an offset of three locked translations is in the world's frame: put marker 0 on ground, unrotated"
    return GenericJoint(locked=locked, rotation0=frames[0], rotation1=frames[1], offset=function)


def rolling_disc(item: Item, user: User, markers: Markers) -> Any:
    if not all(item["constrainedAxes"]):
        return "constrainedAxes other than [1, 1, 1] are not converted"
    axis, normal = markers[1].frame @ np.asarray(item["discAxis"]), markers[0].frame @ np.asarray(item["planeNormal"])
    return RollingDisc(item["discRadius"], axis, normal)


def _flags(given: Any) -> Any:
    return tuple(map(bool, given))


def _vector(matrix: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(matrix).as_rotvec()


CONNECTORS: dict[str, Callable[[Item, User, Markers], Any]] = {
    "ConnectorSpringDamper": spring_damper,
    "ConnectorCartesianSpringDamper": cartesian_spring_damper,
    "ConnectorCoordinateSpringDamper": coordinate_spring_damper,
    "ConnectorTorsionalSpringDamper": torsional_spring_damper,
    "ConnectorLinearSpringDamper": linear_spring_damper,
    "ConnectorRigidBodySpringDamper": rigid_body_spring_damper,
    "ConnectorGravity": gravity,
    "HydraulicActuatorSimple": hydraulic_actuator,
    "ConnectorDistance": distance,
    "ConnectorCoordinate": coordinate,
    "ConnectorCoordinateVector": coordinate_vector,
    "JointRevolute2D": revolute_2d,
    "JointPrismatic2D": prismatic_2d,
    "JointSpherical": spherical,
    "JointGeneric": generic,
    "JointRevoluteZ": revolute_z,
    "JointPrismaticX": prismatic_x,
    "JointRollingDisc": rolling_disc,
}
"""Each of these gives an element, or in words why it cannot."""
