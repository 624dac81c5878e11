"""Differentiable multibody simulation on JAX."""

from ._errors import ModelError as ModelError
from ._errors import ParameterError as ParameterError
from ._errors import SimulationError as SimulationError
from .bodies import Mass1D as Mass1D
from .bodies import MassPoint as MassPoint
from .bodies import MassPoint2D as MassPoint2D
from .bodies import RigidBody as RigidBody
from .bodies import RigidBody2D as RigidBody2D
from .bodies import RotationalMass1D as RotationalMass1D
from .connectors import *
from .model import Model as Model
from .system import System as System
from .sensors import Acceleration as Acceleration
from .sensors import AngularVelocity as AngularVelocity
from .sensors import Output as Output
from .sensors import Position as Position
from .sensors import Rotation as Rotation
from .sensors import Velocity as Velocity
from .simulate import Solution as Solution
from .simulate import simulate as simulate
from .solvers import RungeKutta4 as RungeKutta4
