"""Diffrax's explicit Runge-Kutta methods with their stages written out.

Diffrax loops over the stages inside a step, which costs more than the physics of a small system. The coefficients, the
error estimate and the interpolation are diffrax's.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp


class Unrolled(diffrax.AbstractAdaptiveSolver):
    """A diffrax explicit Runge-Kutta method, `solver`, without the loop over its stages."""

    solver: diffrax.AbstractERK

    term_structure: ClassVar = diffrax.AbstractTerm

    @property
    def interpolation_cls(self) -> Callable[..., Any]:  # type: ignore[override]
        return self.solver.interpolation_cls

    def order(self, terms):
        return self.solver.order(terms)

    def error_order(self, terms):
        return self.solver.error_order(terms)

    def init(self, terms, t0, t1, y0, args):
        """The slope at the start, if the method's last stage of a step is the first of the next."""
        return terms.vf(t0, y0, args) if self.solver.tableau.fsal else None

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        tableau, h = self.solver.tableau, t1 - t0
        slope = terms.vf(t0, y0, args) if solver_state is None else solver_state
        # Traced once and called for every stage: later stages cost no tracing.
        stage = jax.jit(lambda t, y: terms.vf(t, y, args))
        slopes, y = [slope], y0
        for c, a in zip(tableau.c, tableau.a_lower, strict=True):
            y = y0 + h * _weighted(a, slopes)
            slopes.append(stage(t0 + float(c) * h, y))
        y1 = y if tableau.ssal else y0 + h * _weighted(tableau.b_sol, slopes)
        error = h * _weighted(tableau.b_error, slopes)
        dense_info = dict(y0=y0, y1=y1, k=h * jnp.stack(slopes))
        state = slopes[-1] if tableau.fsal else None
        return y1, error, dense_info, state, diffrax.RESULTS.successful

    def func(self, terms, t0, y0, args):
        return terms.vf(t0, y0, args)


def unrolled(solver: diffrax.AbstractSolver) -> diffrax.AbstractSolver:
    """The solver, written out if it is one of diffrax's plain explicit Runge-Kutta methods."""
    plain = isinstance(solver, diffrax.AbstractERK) and isinstance(solver.tableau, diffrax.ButcherTableau)
    return Unrolled(solver) if plain else solver


def _weighted(weights: Any, slopes: list[Any]) -> Any:
    return sum(float(w) * k for w, k in zip(weights, slopes, strict=True) if w != 0)
