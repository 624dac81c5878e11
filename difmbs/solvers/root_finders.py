"""The root finders with which diffrax' implicit methods solve the equations of a step."""

import dataclasses
from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import optimistix
from jaxtyping import PyTree

from .stages import DifferentiatedStages


class PatientRootFinder(optimistix.AbstractRootFinder):
    """A root finder that goes on while it converges.

    Those of diffrax 0.7.2 and optimistix 0.1.0 report divergence where they have not converged after two iterations.
    """

    rtol: Any
    atol: Any
    norm: Callable[[Any], Any]
    finder: optimistix.AbstractRootFinder

    def init(self, *arguments: PyTree, **named: Any):
        return self.finder.init(*arguments, **named)

    def step(self, *arguments: PyTree, **named: Any):
        return self.finder.step(*arguments, **named)

    def terminate(self, *arguments: PyTree, **named: Any):
        ends, result = self.finder.terminate(*arguments, **named)
        return ends, optimistix.RESULTS.where(ends, result, optimistix.RESULTS.successful)

    def postprocess(self, *arguments: PyTree, **named: Any):
        return self.finder.postprocess(*arguments, **named)


def patient(solver: Any, rtol: float) -> Any:
    """The solver ready to be run; an implicit one with a patient root finder, of a tenth of this tolerance if it leaves
    its own open, and with derivatives."""
    if not isinstance(solver, diffrax.AbstractImplicitSolver):
        return solver
    finder: Any = solver.root_finder
    # Left open they are an object that diffrax' own loop replaces.
    if not isinstance(finder.rtol, (float, int, jax.Array)):
        finder = dataclasses.replace(finder, rtol=0.1 * rtol, atol=0.1 * rtol, norm=optimistix.max_norm)
    finder = PatientRootFinder(finder.rtol, finder.atol, finder.norm, finder)
    if isinstance(solver, diffrax.AbstractDIRK):
        # Diffrax' loop over the stages is not differentiated.
        solver = dataclasses.replace(solver, scan_kind="lax")
    return DifferentiatedStages(eqx.tree_at(lambda s: s.root_finder, solver, finder))
