"""Levenberg and Marquardt's method with exact Jacobians and bounds, one iteration at a time.

The iteration is a pure function of its state: the same one is driven from Python, where it can be watched, stopped and
resumed, and runs as a loop in JAX over a batch of fits.

Not optimistix' solver of this name: that one depends on the units of the unknowns and differentiates the linearization
of the residuals, which for simulations means to store it. MINPACK's scaling by the largest columns so far, damping by
Nielsen's rule, bounds by holding the unknowns that lean against them.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from .._batches import anywhere
from ..linalg import tall_qr
from .problem import AbstractProblem, Problem

RUNNING, CONVERGED, STALLED, TOO_MANY = range(4)
WORDS = {RUNNING: "running", CONVERGED: "converged", STALLED: "stalled", TOO_MANY: "max_iterations"}

_SMALL_STEP = 1e-10
"""Of z, which is a logarithm or in units of the start: converged."""
_OFFSET, _OFFSET_REFUSED = 1e-4, 0.02
"""The relative offset of Bates and Watts, so many standard errors to the optimum: converged; after a refused step."""
_LEAST_DAMPING = 1e-14
"""So that what the data do not determine stays where it is."""
_LARGEST_STEP = 0.5
"""Of logarithms, in one iteration. Without it, oscillations whose frequency is off are first flattened and then lost:
the example with mass, stiffness and force takes 17 and 18 evaluations with it, 24 and 50 without.
"""

_UNDETERMINED = 1e-6
"""Of the sensitivities: directions with less do not keep the search from being finished."""
_LOST = 10.0
"""So many times too far wants an unknown to go that the data hardly determine."""


class State(NamedTuple):
    """Where the search is.

    `chi2` is the sum of squares at z, `R` the triangular factor of the Jacobian there and `g` the part of the residuals
    that it can reach, so that chi2 changes by |g + R d|^2 - |g|^2; `predictions` at z; `trial` is evaluated next.
    """

    z: Any
    trial: Any
    chi2: Any
    R: Any
    g: Any
    predictions: Any
    scale: Any
    damping: Any
    growth: Any
    accepted: Any
    iterations: Any
    code: Any


def begin(problem: AbstractProblem, z: Any) -> State:
    """Before the first evaluation."""
    p, dtype = z.size, z.dtype
    zero = jnp.zeros((), dtype)
    return State(
        z=z,
        trial=z,
        chi2=zero + jnp.inf,
        R=jnp.zeros((p, p), dtype),
        g=jnp.zeros(p, dtype),
        predictions=jnp.full(problem.count, jnp.nan, dtype),
        scale=jnp.zeros(p, dtype),
        damping=zero + 1e-3,
        growth=zero + 2,
        accepted=jnp.asarray(False),
        iterations=jnp.zeros((), int),
        code=jnp.asarray(RUNNING),
    )


def iterate(problem: AbstractProblem, state: State, free: Any) -> State:
    """Evaluates the trial point, accepts or refuses it, and chooses the next one. Unknowns that are not `free` are
    held.
    """
    new = _evaluated(problem, state)
    predicted = _reach(state.g) - _reach(state.g + state.R @ (state.trial - state.z))
    first = jnp.isinf(state.chi2)
    ratio = jnp.where(first, 1, (state.chi2 - new.chi2) / jnp.where(predicted > 0, predicted, 1))
    accepted = jnp.isfinite(new.chi2) & (first | ((predicted > 0) & (ratio > 1e-4)))
    eased = state.damping * jnp.where(first, 1, jnp.maximum(1 / 3, 1 - (2 * ratio - 1) ** 3))
    damping = jnp.maximum(jnp.where(accepted, eased, state.damping * state.growth), _LEAST_DAMPING)
    growth = jnp.where(accepted, 2, 2 * state.growth)
    at = jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, state)
    at = at._replace(
        damping=damping, growth=growth, accepted=accepted, iterations=state.iterations + 1, code=state.code
    )
    gradient = at.R.T @ at.g
    leaning = ((at.z <= problem.lower) & (gradient > 0)) | ((at.z >= problem.upper) & (gradient < 0))
    return _next(problem, at, free & ~leaning)


def _evaluated(problem: AbstractProblem, state: State) -> State:
    jacobian, residuals, predictions = problem.linearized(state.trial)
    sound = jnp.all(jnp.isfinite(residuals)) & jnp.all(jnp.isfinite(jacobian))
    Q, R = tall_qr(jnp.where(sound, jacobian, 0))
    return state._replace(
        z=state.trial,
        chi2=jnp.where(sound, jnp.sum(residuals**2), jnp.inf),
        R=R,
        g=Q.T @ jnp.where(sound, residuals, 0),
        predictions=predictions,
        scale=jnp.maximum(state.scale, _lengths(R)),
    )


def _next(problem: AbstractProblem, at: State, free: Any) -> State:
    """The next trial point, or the end."""
    farthest = jnp.where(problem.scaling.logarithmic, _LARGEST_STEP, jnp.inf)
    lower, upper = jnp.maximum(problem.lower, at.z - farthest), jnp.minimum(problem.upper, at.z + farthest)
    wanted = _damped(at, free, at.g)
    # Those that would cross a bound stop there, those that the data hardly determine go a little of their way, and the
    # others make the best of it.
    first = jnp.clip(at.z + _shortened(wanted, farthest), lower, upper)
    lost = jnp.abs(wanted) > _LOST * farthest
    stopped = free & ((first <= problem.lower) | (first >= problem.upper) | lost)
    moved = jnp.where(stopped, jnp.clip(at.z + wanted, lower, upper) - at.z, 0)
    others = _shortened(_damped(at, free & ~stopped, at.g + at.R @ moved), farthest)
    trial = jnp.clip(at.z + moved + others, lower, upper)
    step = trial - at.z
    # The part of the residuals that the unknowns can take away, compared with the rest.
    to_optimum = _damped(at._replace(damping=_UNDETERMINED**2), free, at.g)
    reachable = jnp.maximum(_reach(at.g) - _reach(at.g + at.R @ to_optimum), 0)
    offset = jnp.sqrt(reachable * at.predictions.size / (at.chi2 * at.z.size))
    # A refused step so near to the optimum was refused because of the error of the simulation.
    done = (offset <= _OFFSET) | (~at.accepted & (offset <= _OFFSET_REFUSED))
    small = jnp.all(jnp.abs(step) <= _SMALL_STEP)
    done = done | (small & (at.damping <= 1e-3))
    code = jnp.where(done, CONVERGED, jnp.where(small & ~at.accepted, STALLED, RUNNING))
    code = jnp.where(jnp.isfinite(at.chi2), code, STALLED)
    return at._replace(trial=trial, code=code)


def _damped(at: State, free: Any, g: Any) -> Any:
    """The step d that makes |g + R d|^2 + damping |scale d|^2 least."""
    scale = jnp.where(free & (at.scale > 0), at.scale, 1)
    Q, T = tall_qr(jnp.concatenate([jnp.where(free[None], at.R, 0), jnp.diag(jnp.sqrt(at.damping) * scale)]))
    return jnp.where(free, -jax.scipy.linalg.solve_triangular(T, Q[: g.size].T @ g), 0)


def _shortened(step: Any, farthest: Any) -> Any:
    """As a whole, so that no unknown goes too far, but for those that are lost anyway."""
    share = jnp.abs(step) / farthest
    return step / jnp.maximum(1, jnp.max(jnp.where(share > _LOST, 0, share)))


def _reach(x: Any) -> Any:
    return jnp.sum(x**2)


def _lengths(R: Any) -> Any:
    return jnp.sqrt(jnp.sum(R**2, axis=0))


@eqx.filter_jit
def one_iteration(problem: AbstractProblem, state: State, free: Any) -> State:
    return iterate(problem, state, free)


@eqx.filter_jit
def fits_from_each(problem: Problem, starts: Any, most: int) -> State:
    """Fits of the same data from many starts."""
    return jax.vmap(lambda z: _whole(problem, z, most))(starts)


@eqx.filter_jit
def fits_of_each(problem: Problem, data: Any, start: Any, most: int) -> State:
    """Fits of many sets of data from the same start; `data`: for each group what is to be replaced, with a leading
    axis.
    """

    def one(data):
        groups = tuple(dataclasses.replace(g, **own) for g, own in zip(problem.groups, data, strict=True))
        return _whole(dataclasses.replace(problem, groups=groups), start, most)

    return lax.map(one, data, batch_size=_together())


def _together() -> int:
    """So many fits run side by side: what caches of processors hold, or what keeps a GPU busy."""
    return 100 if jax.default_backend() == "cpu" else 10_000


def _whole(problem: Problem, start: Any, most: int) -> State:
    unfinished = lambda s: (s.code == RUNNING) & (s.iterations < most)
    free = jnp.ones(start.size, bool)

    def next_one(s):
        active, new = unfinished(s), iterate(problem, s, free)
        return jax.tree.map(lambda a, b: jnp.where(active, a, b), new, s)

    return lax.while_loop(lambda s: anywhere(unfinished(s)), next_one, begin(problem, start))
