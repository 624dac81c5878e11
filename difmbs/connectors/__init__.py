"""Connectors: physical laws between markers."""

from ._connector import AbstractConnector as AbstractConnector
from ._connector import AbstractConstraint as AbstractConstraint
from ._connector import AbstractField as AbstractField
from ._connector import AbstractForce as AbstractForce
from ._connector import exudyn_function as exudyn_function
from .all_pairs_gravity import AllPairsGravity as AllPairsGravity
from .connector_gravity import ConnectorGravity as ConnectorGravity
from .coordinate_vector_constraint import CoordinateVectorConstraint as CoordinateVectorConstraint
from .distance_constraint import DistanceConstraint as DistanceConstraint
from .linear_spring_damper import LinearSpringDamper as LinearSpringDamper
from .loads import CoordinateLoad as CoordinateLoad
from .loads import Force as Force
from .loads import Torque as Torque
from .rotational_spring_damper import RotationalSpringDamper as RotationalSpringDamper
from .spring_damper import SpringDamper as SpringDamper
