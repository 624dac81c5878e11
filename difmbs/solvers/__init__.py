"""Time integrators, all of them `diffrax.AbstractSolver`s."""

from .runge_kutta_4 import RungeKutta4 as RungeKutta4
from .unrolled import Unrolled as Unrolled
from .unrolled import unrolled as unrolled
