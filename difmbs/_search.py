"""The way to an equilibrium from any start.

Newton's method where that leads there; elsewhere the path of a heavily damped motion in large steps,

    (drag M + h^2 K) x = -r,     q moves by h^2 x.

Each of them is corrected once, with the matrix of where it led: what is stiff is then as it should be. The size of this
correction, compared with that of the step, decides on the drag. A step must go with the forces: so what is found is a
stable equilibrium, unless the start is an unstable one.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._rest import Rest, at_rest, undisplaced
from ._status import Status
from ._types import Vector
from .system import System

_ITERATIONS = 300
"""For each load step."""

_NEAR = 0.1
"""The first step is at most this share of the system's size."""

_FAR = 1e6
"""What moves by so many times the system's size does not come to rest."""

_LEAST = 1e3
"""The least drag, in units of rounding. Motions that are not stiffer than that are free."""

_MOST = 1e20

_RAISED = 10.0
"""After a step too far the drag is raised by this, and after several in a row by more."""

_LARGE = 1e10
"""A value of h^2 for which constraints, which are divided by it, do not count."""

_GOING = -1


class Found(NamedTuple):
    """Coordinates and multipliers, h^2 for the equations there, `Status.ok` or what went wrong, and how the system
    moves where it is not held."""

    q: Vector
    multipliers: Vector
    square: Any
    iterations: Any
    code: Any
    drift: Vector


def come_to_rest(system: System, t: Any, q: Vector, load_steps: Any) -> Found:
    """The equilibrium that is reached from q."""
    t = jnp.asarray(t, q.dtype)
    count = system.structure.velocity_count
    forces = at_rest(system, t, q, _LARGE)
    multipliers = jnp.zeros(forces.layout.unknowns - count, q.dtype)
    u = undisplaced(system, multipliers)
    probe = _probe(system, q)
    along = jnp.zeros_like(u).at[:count].set(probe / _LARGE)
    force, change = (x[:count] for x in jax.jvp(forces.residual, (u,), (along,)))
    stiffness = jnp.sqrt(jnp.sum(change * system.inverse_mass(q, change)) / count)
    size = jnp.max(jnp.abs(q))
    size = jnp.where(size > 0, size, 1)
    push = jnp.max(jnp.abs(system.inverse_mass(q, force))) / (_NEAR * size)
    square = 1 / jnp.where(push + stiffness > 0, push + stiffness, 1)
    first = at_rest(system, t, q, square).residual(u)
    search = _Search(system, t, q, first, square, size, jnp.asarray(load_steps, q.dtype))
    s = lax.while_loop(search.going, search.advanced, search.start(multipliers, square * push, probe))
    code = jnp.where(s.code == _GOING, Status.newton_failed.value, s.code)
    return Found(s.q, s.multipliers, square, s.iterations, code, s.drift)


def _probe(system: System, q: Any) -> Any:
    """A displacement with about as much inertia in each coordinate, and not orthogonal to any motion by accident."""
    count = system.structure.velocity_count
    signs = jnp.asarray(np.random.default_rng(0).uniform(0.8, 1.2, count) * (-1) ** np.arange(count), q.dtype)
    return signs * jnp.sqrt(jnp.abs(system.inverse_mass(q, signs) / signs))


class _State(NamedTuple):
    """Where a search is and how it got there.

    `predicted`: (q, multipliers) is a step of length `moved` away from `base`, still to be corrected so that the
    residual becomes what was `foretold`; `raised`: by how much the drag is raised after a step too far; `soft`: a
    displacement that is resisted little; `drift` and `correction`: the last displacement and its size.
    """

    q: Any
    multipliers: Any
    base: tuple[Any, Any]
    foretold: Any
    moved: Any
    predicted: Any
    drag: Any
    raised: Any
    soft: Any
    drift: Any
    correction: Any
    step: Any
    iterations: Any
    code: Any


class _Quality(NamedTuple):
    """Of a displacement: its size relative to the step it corrects, whether it goes with the forces, and how a soft
    displacement is answered."""

    missed: Any
    with_the_forces: Any
    soft: Any


@dataclasses.dataclass(frozen=True, eq=False)
class _Search:
    """In each load step a part of the residual r0 of the start is let loose: r(q) - (1 - step / steps) r0 = 0."""

    system: System
    t: Any
    q0: Vector
    first: Vector
    square: Any
    size: Any
    steps: Any

    def start(self, multipliers: Any, drag: Any, probe: Any) -> _State:
        q, zero = self.q0, jnp.zeros((), int)
        infinite, drag = jnp.full((), jnp.inf, q.dtype), jnp.maximum(drag, _LEAST * jnp.finfo(q.dtype).eps)
        return _State(
            q, multipliers, (q, multipliers), jnp.zeros_like(self.first), infinite, jnp.asarray(False),
            drag, jnp.full((), _RAISED, q.dtype), probe, probe, infinite, zero, zero, jnp.full((), _GOING),
        )  # fmt: skip

    def going(self, s: _State) -> Any:
        return (s.code == _GOING) & (s.iterations < _ITERATIONS * self.steps.astype(int))

    def advanced(self, s: _State) -> _State:
        """After a step or the correction of one, or back with more drag where that led too far."""
        count = s.drift.size
        problem: Rest = at_rest(self.system, self.t, s.q, self.square, s.drag)
        u = undisplaced(self.system, s.multipliers)
        inverse = problem.inverse(u)
        residual = problem.residual(u) - (1 - (s.step + 1).astype(u.dtype) / self.steps) * self.first
        # Constraints, too, are approached the more slowly the larger the drag.
        part = jnp.where(jnp.arange(u.size) < count, 1, 1 / (1 + s.drag))
        wanted = jnp.where(s.predicted, residual - s.foretold, part * residual)
        du = -inverse.solve(wanted)
        x, change = jnp.split(du, [count])
        length = self._length(s.q, x)
        here = (s.q, s.multipliers)
        forward = s._replace(
            q=self.system.retract(s.q, self.square * x),
            multipliers=s.multipliers + change,
            base=jax.tree.map(lambda a, b: jnp.where(s.predicted, a, b), s.base, here),
            foretold=(1 - part) * residual - self._forces(s.drag * self._weighed(s.q, x)),
            moved=length,
            predicted=~s.predicted,
            drift=x,
            correction=problem.error(u, du),
        )
        work = jnp.sum(change * wanted[count:]) - jnp.sum(x * wanted[:count])
        soft = inverse.solve(self._forces(self._weighed(s.q, s.soft)))[:count]
        return self._judged(s, forward, _Quality(length / s.moved, s.predicted | (work > 0), soft))

    def _judged(self, s: _State, forward: _State, quality: _Quality) -> _State:
        least = _LEAST * jnp.finfo(s.q.dtype).eps
        finite = jnp.isfinite(forward.correction) & jnp.all(jnp.isfinite(forward.foretold))
        missed = jnp.where(s.predicted, quality.missed, 0)
        # So small that rounding may decide about its direction.
        tiny = forward.correction * jnp.finfo(s.q.dtype).eps ** 0.5 < 1
        good = finite & (tiny | ((missed <= 0.5) & quality.with_the_forces))
        settled = (forward.correction <= 1) | (tiny & (forward.correction > 0.5 * s.correction))
        arrived = good & settled & (s.drag <= least)
        softness = self._length(s.q, quality.soft)
        free = arrived & ~(softness * s.drag < 0.1)
        gone = good & (jnp.max(jnp.abs(forward.q - self.q0)) > _FAR * self.size)
        code = jnp.where(arrived & (s.step + 1 >= self.steps.astype(int)), Status.ok.value, _GOING)
        code = jnp.where(gone, Status.no_equilibrium.value, code)
        code = jnp.where(free, Status.singular.value, code)
        code = jnp.where(s.drag > _MOST, Status.newton_failed.value, code)
        code = jnp.where(~finite & ~s.predicted, Status.non_finite.value, code)
        less = jnp.maximum(jnp.where(tiny, 0, 4 * missed**2), jnp.where(s.raised > _RAISED, 0.3, 1e-6))
        less = jnp.where(s.predicted, less, 1)
        q, multipliers = forward.base
        back = s._replace(q=q, multipliers=multipliers, predicted=jnp.asarray(False))
        after = jax.tree.map(lambda a, b: jnp.where(good, a, b), forward, back)
        return after._replace(
            predicted=after.predicted & ~arrived,
            drag=jnp.maximum(s.drag * jnp.where(good, less, s.raised), least),
            raised=jnp.where(good, jnp.where(s.predicted, _RAISED, s.raised), _RAISED * s.raised),
            soft=jnp.where(jnp.isfinite(softness), quality.soft / softness, s.soft),
            drift=jnp.where(free, quality.soft, jnp.where(finite, forward.drift, s.drift)),
            correction=jnp.where(arrived, jnp.inf, after.correction),
            step=jnp.where(arrived, s.step + 1, s.step),
            iterations=s.iterations + 1,
            code=code,
        )

    def _weighed(self, q: Any, x: Any) -> Any:
        """M x."""
        products = self.system.each_body(lambda body, q, x: jnp.sum(body.mass_matrix(q) * x[None], axis=-1), q, x)
        return jnp.concatenate([product.reshape(-1) for product in products])

    def _length(self, q: Any, x: Any) -> Any:
        return jnp.sqrt(jnp.sum(x * self._weighed(q, x)))

    def _forces(self, forces: Any) -> Any:
        """Forces, and zeros for the equations of constraints."""
        return jnp.pad(forces, (0, self.first.size - forces.size))
