"""Newton's method with a factorization that is kept as long as it serves."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..core.status import Status
from ..core.types import Count, Variables
from .implicit_equations import AbstractEquations
from .matrix_layout import FactorizedMatrix

_ITERATIONS = 10
_FACTORIZATIONS = 4
_SLOW = 0.5
_GOING = -1


class NewtonResult(NamedTuple):
    """A solution, the residuals it took to find it, and `Status.ok` or what went wrong."""

    u: Variables
    iterations: Count
    code: Count


def newton(problem: AbstractEquations, u: Variables) -> NewtonResult:
    """Solves the problem from a guess."""

    def unfinished(state):
        found, count = state
        return (found.code == Status.newton_failed.value) & (count < _FACTORIZATIONS)

    def factorize(state):
        found, count = state
        better = chord(problem, found.u, problem.inverse(found.u))
        return better._replace(iterations=found.iterations + better.iterations), count + 1

    start = NewtonResult(u, jnp.zeros((), int), jnp.full((), Status.newton_failed.value))
    return lax.while_loop(unfinished, factorize, (start, jnp.zeros((), int)))[0]


def chord(problem: AbstractEquations, u: Variables, inverse: FactorizedMatrix) -> NewtonResult:
    """Iterations with one factorization, until the next correction would not count or they get slow."""

    def going(state):
        _, iterations, _, code = state
        return (code == _GOING) & (iterations < _ITERATIONS)

    def iterate(state):
        u, iterations, before, _ = state
        residual = problem.residual(u)
        du = inverse.solve(residual)
        size = problem.error(u, du)
        rate = jnp.where(jnp.isfinite(before), size / before, 1)
        slow = (rate > _SLOW) & jnp.isfinite(before)
        code = jnp.where(slow, Status.newton_failed.value, _GOING)
        # At this rate the next correction would be too small to count.
        code = jnp.where((size <= 1) | (~slow & (size * rate <= 1)), Status.ok.value, code)
        why = jnp.where(jnp.all(jnp.isfinite(residual)), Status.singular.value, Status.non_finite.value)
        lost = ~jnp.isfinite(size)
        return jnp.where(lost, u, u - du), iterations + 1, size, jnp.where(lost, why, code)

    start = (u, jnp.zeros((), int), jnp.asarray(jnp.inf, u.dtype), jnp.full((), _GOING))
    u, iterations, _, code = lax.while_loop(going, iterate, start)
    return NewtonResult(u, iterations, jnp.where(code == _GOING, Status.newton_failed.value, code))
