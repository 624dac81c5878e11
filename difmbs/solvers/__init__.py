"""Time integrators: diffrax's, and those written here as `diffrax.AbstractSolver`s."""

from .newmark import AbstractNewmark as AbstractNewmark
from .newmark import GeneralizedAlpha as GeneralizedAlpha
from .newmark import TrapezoidalIndex2 as TrapezoidalIndex2
from .one_step import TERM as TERM
from .one_step import AbstractOneStep as AbstractOneStep
from .one_step import one_step as one_step
from .patient import patient as patient
from .runge_kutta_4 import RungeKutta4 as RungeKutta4
