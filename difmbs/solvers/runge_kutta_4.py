"""The classic Runge-Kutta method."""

from typing import ClassVar

import diffrax
import numpy as np


class RungeKutta4(diffrax.AbstractERK):
    """The classic method of order 4. It has no error estimate: for fixed steps only."""

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.ButcherTableau(
        c=np.array([1 / 2, 1 / 2, 1]),
        a_lower=(np.array([1 / 2]), np.array([0, 1 / 2]), np.array([0, 0, 1])),
        b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        b_error=np.zeros(4),
    )
    interpolation_cls: ClassVar = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms):
        return 4
