"""The stages of Runge-Kutta methods: their times, and derivatives of those that are found by iteration."""

import functools
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jaxtyping import PyTree

from ..core.types import State, Time, Values
from ..dynamics.accelerations import derivative
from ..linalg.rows import with_row


def stage_times(t: Time, h: Time) -> Any:
    """The times of the stages: a little inside of the step, so that all see functions with kinks at its ends from
    there; else derivatives with respect to the times of kinks would be those on the other side."""
    little = 8 * jnp.finfo(jnp.result_type(h)).eps * jnp.maximum(jnp.abs(t), jnp.abs(t + h))
    return lambda c: (t + little) + c * (h - 2 * little)


class _Tableau(NamedTuple):
    """Increments k_i = h f(t + c_i h, y + sum_j a_ij k_j) with a_ij = 0 for j > i, and the end y + sum_i b_i k_i."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


class DifferentiatedStages(diffrax.AbstractSolver):
    """A diagonally implicit method of diffrax whose stages are differentiated at their solution.

    Diffrax' own derivatives go through libraries whose checks call back into Python in the middle of a program: JAX
    does not keep such programs in its cache, and cannot lower them for other machines. These have derivatives of all
    orders with respect to the state and the system; times and error estimates have none.
    """

    solver: Any

    @property
    def term_structure(self):
        return self.solver.term_structure

    @property
    def interpolation_cls(self):  # type: ignore[override]
        return self.solver.interpolation_cls

    def order(self, terms):
        return self.solver.order(terms)

    def error_order(self, terms):
        return self.solver.error_order(terms)

    def init(self, terms, t0, t1, y0, args):
        return _still(self.solver.init(terms, t0, t1, *_still((y0, args))))

    def func(self, terms, t0, y0, args):
        return self.solver.func(terms, t0, y0, args)

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        y, system, state = _still((y0, args, solver_state))
        y1, error, dense, state, result = self.solver.step(terms, t0, t1, y, system, state, made_jump)
        found = dense["k"] if "k" in dense else (y1 - y)[None]
        tableau = _tableau(self.solver)
        k = _attached(tableau, found, t0, t1 - t0, y0, args)
        end = y0 + jnp.dot(jnp.asarray(tableau.b, y0.dtype), k, precision="highest")
        known = dict(y0=y0, y1=end, k=k)
        return end, error, {key: known[key] for key in dense}, state, result


def _still(tree: PyTree) -> PyTree:
    return jax.tree.map(lax.stop_gradient, tree)


def _tableau(solver: Any) -> _Tableau:
    if isinstance(solver, diffrax.ImplicitEuler):
        return _Tableau(((1.0,),), (1.0,), (1.0,))
    given = solver.tableau
    a = np.diag(given.a_diagonal)
    for i, row in enumerate(given.a_lower):
        a[i + 1, : i + 1] = row
    first = 0.0 if given.c1 is None else given.c1
    return _Tableau(tuple(map(tuple, a.tolist())), tuple(given.b_sol.tolist()), (float(first), *given.c.tolist()))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _attached(tableau: _Tableau, k: Values, t: Time, h: Time, y: State, system: Any) -> Any:
    """The increments of the stages, found before, as a function of the state and the system."""
    return k


def _derivative(tableau, primals, tangents):
    k, t, h, y, system = primals
    k = _attached(tableau, *primals)
    leaves, treedef = jax.tree.flatten(system)
    changes = jax.tree.leaves(tangents[4], is_leaf=lambda x: isinstance(x, SymbolicZero))
    moving = [i for i, x in enumerate(changes) if not isinstance(x, SymbolicZero)]
    dy = jnp.zeros_like(y) if isinstance(tangents[3], SymbolicZero) else tangents[3]
    p, dp = ([x[i] for i in moving] for x in (leaves, changes))
    times, a = stage_times(t, h)(jnp.asarray(tableau.c, y.dtype)), jnp.asarray(tableau.a, y.dtype)

    def slope(time, point, p):
        replaced = dict(zip(moving, p, strict=True))
        return derivative(time, point, jax.tree.unflatten(treedef, [replaced.get(i, x) for i, x in enumerate(leaves)]))

    def stage(i, dk):
        point = y + jnp.dot(a[i], k, precision="highest")
        others = dy + jnp.dot(a[i], dk, precision="highest")
        change = jax.jvp(lambda x, p: slope(times[i], x, p), (point, p), (others, dp))[1]
        jacobian = jax.jacfwd(lambda x: slope(times[i], x, p))(point)
        matrix = jnp.eye(y.size, dtype=y.dtype) - h * a[i, i] * jacobian
        return with_row(dk, i, jnp.linalg.solve(matrix, h * change))

    return k, lax.fori_loop(0, len(a), stage, jnp.zeros_like(k))


_attached.defjvp(_derivative, symbolic_zeros=True)
