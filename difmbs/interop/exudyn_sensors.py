"""Exudyn's sensors, as sensors of a model."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..elements.connectors.generic_joint import GenericJoint
from ..elements.rotations import cross, tait_bryan_angles, tait_bryan_matrix
from ..elements.sensors import (
    Acceleration,
    AngularVelocity,
    CoordinateAccelerations,
    CoordinateRates,
    CoordinateVector,
    Output,
    Position,
    Rotation,
    Velocity,
)

Outputs = Mapping[str, Any]

_OF_POINTS = {"Distance": "distance", "Displacement": "displacement", "Velocity": "velocity", "Force": "force"}
_OF_JOINTS = {"DisplacementLocal": "displacement", "Rotation": "rotation", "AngularVelocityLocal": "angular_velocity",
              "ForceLocal": "force_local"}  # fmt: skip
_OF_EQUATIONS = {"ConstraintEquation": "constraint_equation", "Force": "force"}

OF_CONNECTORS: dict[str, dict[str, str]] = {
    "ConnectorSpringDamper": _OF_POINTS | {"ForceLocal": "force_local"},
    "ConnectorCartesianSpringDamper": _OF_POINTS,
    "ConnectorCoordinateSpringDamper": {"Velocity": "velocity", "Force": "force"},
    "ConnectorTorsionalSpringDamper": {
        "Rotation": "rotation", "AngularVelocityLocal": "angular_velocity", "TorqueLocal": "torque",
    },
    "ConnectorLinearSpringDamper": {
        "DisplacementLocal": "displacement", "VelocityLocal": "velocity", "ForceLocal": "force",
    },
    "ConnectorRigidBodySpringDamper": _OF_JOINTS | {"VelocityLocal": "velocity", "TorqueLocal": "torque_local"},
    "HydraulicActuatorSimple": {
        "Distance": "distance", "Displacement": "displacement", "VelocityLocal": "velocity", "Force": "force",
    },
    "ConnectorDistance": _OF_POINTS,
    "ConnectorCoordinate": _OF_EQUATIONS | {"Velocity": "velocity"},
    "ConnectorCoordinateVector": _OF_EQUATIONS,
    "ConnectorGravity": {"Distance": "distance", "Displacement": "displacement", "Force": "force"},
    "GenericODE1": {"Coordinates": "states", "Coordinates_t": "rates"},
    "JointGeneric": _OF_JOINTS,
    "JointRevoluteZ": _OF_JOINTS,
    "JointPrismaticX": _OF_JOINTS,
    "JointSpherical": {"Displacement": "displacement", "Force": "force"},
}  # fmt: skip
"""Output variables of connectors by kind, and what they are called here."""


def of_connector(kind: str, element: Any, name: str, variable: str, sense: Callable[[Any], str]) -> Any:
    """The sensor of a connector's output variable; None if there is none. `sense` as in `of_place`."""
    if variable == "TorqueLocal" and isinstance(element, GenericJoint):
        if not any(element.locked[3:]):
            return None
        torque, angles = sense(Output(name, "torque_local")), sense(Output(name, "rotation"))
        return lambda t, outputs: _rotation_multipliers(element.locked[3:], outputs[torque], outputs[angles])
    found = OF_CONNECTORS.get(kind, {}).get(variable)
    return None if found is None else Output(name, found)


def _rotation_multipliers(locked: tuple[bool, ...], torque: Any, angles: Any) -> Any:
    """What Exudyn calls a generic joint's torque: the multipliers of its equations, products of axes of both frames."""
    axes = [i for i in range(3) if locked[i]]
    if len(axes) == 3:
        pairs = {0: (2, 1), 1: (2, 0), 2: (0, 1)}
    elif len(axes) == 2:
        (free,) = {0, 1, 2} - set(axes)
        pairs = {i: (free, i) for i in axes}
    else:
        pairs = {axes[0]: ((axes[0] + 1) % 3, (axes[0] + 2) % 3)}
    turned, fixed = tait_bryan_matrix(angles), np.eye(3)
    rows = jnp.stack([cross(turned[:, b], jnp.asarray(fixed[a])) for a, b in pairs.values()])
    found = jnp.linalg.lstsq(rows.T, torque)[0]
    return jnp.zeros(3).at[np.asarray(list(pairs))].set(found)


def of_place(
    variable: str, sense: Callable[[Any], str], place: Any, reference: np.ndarray, reference_angle: float, planar: bool
) -> Any:
    """The sensor of a place on a body; None if there is none.

    `sense` names what it depends on: a sensor that the model gets besides; `reference`: where the place is there.
    """
    direct: dict[str, Callable[[Any], Any]] = {
        "Position": Position,
        "Velocity": Velocity,
        "Acceleration": Acceleration,
        "AngularVelocity": AngularVelocity,
    }
    if variable in direct:
        return direct[variable](place)
    if variable == "Displacement":
        position = sense(Position(place))
        return lambda t, outputs: outputs[position] - reference
    if variable in ("Rotation", "RotationMatrix") and planar:
        angle = sense(Rotation(place))
        # Planar angles count from the reference, too.
        return (lambda t, outputs: outputs[angle] - reference_angle) if variable == "Rotation" else None
    if variable == "Rotation":
        turned = sense(Rotation(place))
        return lambda t, outputs: tait_bryan_angles(outputs[turned])
    if variable == "RotationMatrix":
        turned = sense(Rotation(place))
        return lambda t, outputs: outputs[turned].reshape(9)
    if variable in ("AngularVelocityLocal", "VelocityLocal") and not planar:
        turned, other = sense(Rotation(place)), sense((AngularVelocity if "Angular" in variable else Velocity)(place))
        return lambda t, outputs: outputs[turned].T @ outputs[other]
    return None


def of_coordinates(variable: str, sense: Callable[[Any], str], place: Any, reference: np.ndarray) -> Any:
    """The sensor of a node's coordinates, of which Exudyn counts displacements; None if there is none."""
    if variable in ("Coordinates", "CoordinatesTotal"):
        total = sense(CoordinateVector(place))
        apart = reference if variable == "Coordinates" else 0 * reference
        return lambda t, outputs: outputs[total] - jnp.asarray(apart)
    rates = {"Coordinates_t": CoordinateRates, "Coordinates_tt": CoordinateAccelerations}
    return rates[variable](place) if variable in rates else None
