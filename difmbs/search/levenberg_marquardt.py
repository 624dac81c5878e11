"""Levenberg and Marquardt's method with exact Jacobians and bounds, one iteration at a time.

The iteration is a pure function of its state: the same one is driven from Python, where it can be watched, stopped and
resumed, and runs as a loop in JAX over a batch of fits.

Not optimistix' solver of this name: that one depends on the units of the unknowns and differentiates the linearization
of the residuals, which for simulations means to store it. MINPACK's scaling by the largest columns so far, damping by
Nielsen's rule, bounds by holding the unknowns that lean against them.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..jaxtools.batched_loops import anywhere
from ..linalg.tall_qr import tall_qr
from .least_squares import AbstractLeastSquares

RUNNING, CONVERGED, STALLED, TOO_MANY = range(4)
WORDS = {RUNNING: "running", CONVERGED: "converged", STALLED: "stalled", TOO_MANY: "max_iterations"}

_SMALL_STEP = 1e-10
"""Of z, which is a logarithm or in units of the start: converged."""
_OFFSET, _OFFSET_REFUSED = 1e-4, 0.02
"""The relative offset of Bates and Watts, so many standard errors to the optimum: converged; after a refused step."""
_LEAST_DAMPING = 1e-14
"""Keeps what the data do not determine where it is."""
_LARGEST_STEP = 0.5
"""Of logarithms, in one iteration. Without it, oscillations whose frequency is off are first flattened and then lost:
the example with mass, stiffness and force takes 16 and 17 evaluations with it, 55 and 48 without.
"""
_KEPT = 0.9
"""Share of what a long step promises that is kept when it is damped to make it shorter: unknowns that would go far for
little stay where they are. Only then it is shortened as a whole, which keeps the direction in which oscillations come
into step. Stiffness and damping of a chain of 10 masses take 10 evaluations, 74 if steps are only shortened; the
example above takes 45 and 27 if they are damped as far as it takes.
"""
_HALVINGS = 30
"""Number of halvings of the range in which that damping is looked for."""
_UNDETERMINED = 1e-6
"""Sensitivity below which directions do not keep the search from being finished."""


class LeastSquaresState(NamedTuple):
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


def begin(problem: AbstractLeastSquares, z: Any) -> LeastSquaresState:
    """Before the first evaluation."""
    p, dtype = z.size, z.dtype
    # Of numpy: nothing to compile.
    zero = np.zeros((), dtype)
    return LeastSquaresState(
        z=z,
        trial=z,
        chi2=zero + np.inf,
        R=np.zeros((p, p), dtype),
        g=np.zeros(p, dtype),
        predictions=np.full(problem.count, np.nan, dtype),
        scale=np.zeros(p, dtype),
        damping=zero + 1e-3,
        growth=zero + 2,
        accepted=np.asarray(False),
        iterations=np.zeros((), int),
        code=np.asarray(RUNNING),
    )


def iterate(problem: AbstractLeastSquares, state: LeastSquaresState, free: Any) -> LeastSquaresState:
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


def _evaluated(problem: AbstractLeastSquares, state: LeastSquaresState) -> LeastSquaresState:
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


def _next(problem: AbstractLeastSquares, at: LeastSquaresState, free: Any) -> LeastSquaresState:
    """The next trial point, or the end."""
    farthest = jnp.where(problem.scaling.logarithmic, _LARGEST_STEP, jnp.inf)
    lower, upper = jnp.maximum(problem.lower, at.z - farthest), jnp.minimum(problem.upper, at.z + farthest)

    def again(_, chosen):
        # Those that would cross a bound stop there, and the others make the best of it.
        trial, stopped = chosen
        held = jnp.where(stopped, trial - at.z, 0)
        trial = jnp.clip(at.z + held + _within(at, free & ~stopped, at.g + at.R @ held, farthest), lower, upper)
        return trial, stopped | (free & ((trial <= problem.lower) | (trial >= problem.upper)))

    trial, _ = lax.fori_loop(0, 2, again, (at.z, jnp.zeros_like(free)))
    step = trial - at.z
    offset = jnp.sqrt(_reachable(at, free) * at.predictions.size / (at.chi2 * at.z.size))
    # A refused step so near to the optimum was refused because of the error of the simulation.
    done = (offset <= _OFFSET) | (~at.accepted & (offset <= _OFFSET_REFUSED))
    small = jnp.all(jnp.abs(step) <= _SMALL_STEP)
    done = done | (small & (at.damping <= 1e-3))
    code = jnp.where(done, CONVERGED, jnp.where(small & ~at.accepted, STALLED, RUNNING))
    code = jnp.where(jnp.isfinite(at.chi2), code, STALLED)
    return at._replace(trial=trial, code=code.astype(at.code.dtype))


def _within(at: LeastSquaresState, free: Any, g: Any, farthest: Any) -> Any:
    """The step d that makes |g + R d|^2 + damping |scale d|^2 least, such that no unknown goes too far: damped further,
    but not too much, and then shortened.
    """
    scale = jnp.where(free & (at.scale > 0), at.scale, 1)
    stacked = jnp.concatenate([jnp.where(free[None], at.R, 0), jnp.diag(jnp.sqrt(at.damping) * scale)])
    U, s, V = jnp.linalg.svd(stacked, full_matrices=False)
    h = U[: g.size].T @ g

    def step(damping):
        return jnp.where(free, -V.T @ (s * h / (s**2 + damping)), 0)

    def too_far(d):
        return jnp.max(jnp.abs(d) / farthest)

    def halved(_, within):
        least, most = within
        middle = jnp.sqrt(least * most)
        promised = _reach(h) - _reach(h * middle / (s**2 + middle))
        more = (promised >= _KEPT * _reach(h)) & (too_far(step(middle)) > 1)
        return jnp.where(more, middle, least), jnp.where(more, most, middle)

    largest = s[0] ** 2
    _, damping = lax.fori_loop(0, _HALVINGS, halved, (jnp.finfo(s.dtype).eps * largest, 1e3 * largest))
    damped = step(jnp.where(too_far(step(0)) > 1, damping, 0))
    return damped / jnp.maximum(1, too_far(damped))


def _reachable(at: LeastSquaresState, free: Any) -> Any:
    """The part of the sum of squares that the unknowns can take away."""
    scaled = jnp.where(free, at.scale, 0)[None]
    U, s, _ = jnp.linalg.svd(jnp.where(scaled > 0, at.R / jnp.where(scaled > 0, scaled, 1), 0))
    return _reach(jnp.where(s > _UNDETERMINED, U.T @ at.g, 0))


def _reach(x: Any) -> Any:
    return jnp.sum(x**2)


def _lengths(R: Any) -> Any:
    return jnp.sqrt(jnp.sum(R**2, axis=0))


@eqx.filter_jit
def one_iteration(problem: AbstractLeastSquares, state: LeastSquaresState, free: Any) -> LeastSquaresState:
    return iterate(problem, state, free)


@eqx.filter_jit
def search_from_each(problem: AbstractLeastSquares, starts: Any, most: int) -> LeastSquaresState:
    """Searches from many starts."""
    return jax.vmap(lambda z: search(problem, z, most))(starts)


def search(problem: AbstractLeastSquares, start: Any, most: int) -> LeastSquaresState:
    """All iterations, as one loop in JAX; side by side under vmap."""
    unfinished = lambda s: (s.code == RUNNING) & (s.iterations < most)
    free = jnp.ones(start.size, bool)

    def next_one(s):
        active, new = unfinished(s), iterate(problem, s, free)
        return jax.tree.map(lambda a, b: jnp.where(active, a, b), new, s)

    return lax.while_loop(lambda s: anywhere(unfinished(s)), next_one, begin(problem, start))
