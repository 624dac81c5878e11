"""The classic Runge-Kutta method."""

from typing import ClassVar

import diffrax


class RungeKutta4(diffrax.AbstractSolver):
    """The classic method of order 4 with its stages written out: the fastest per step, for fixed steps only."""

    term_structure: ClassVar = diffrax.AbstractTerm
    interpolation_cls: ClassVar = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms):
        return 4

    def init(self, terms, t0, t1, y0, args):
        return None

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        h = t1 - t0
        middle = t0 + h / 2
        k1 = terms.vf(t0, y0, args)
        k2 = terms.vf(middle, y0 + h / 2 * k1, args)
        k3 = terms.vf(middle, y0 + h / 2 * k2, args)
        k4 = terms.vf(t1, y0 + h * k3, args)
        y1 = y0 + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        # The slope at the end is only evaluated where an output falls between two steps.
        dense_info = dict(y0=y0, y1=y1, k=[h * k1, h * terms.vf(t1, y1, args)])
        return y1, None, dense_info, None, diffrax.RESULTS.successful

    def func(self, terms, t0, y0, args):
        return terms.vf(t0, y0, args)
