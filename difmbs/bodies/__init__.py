"""Bodies: coordinates and inertia."""

from ._body import AbstractBody as AbstractBody
from .ground import Ground as Ground
from .mass_1d import Mass1D as Mass1D
from .mass_1d import RotationalMass1D as RotationalMass1D
from .mass_point import MassPoint as MassPoint
from .mass_point import MassPoint2D as MassPoint2D
from .rigid_body import RigidBody as RigidBody
from .rigid_body_2d import RigidBody2D as RigidBody2D
