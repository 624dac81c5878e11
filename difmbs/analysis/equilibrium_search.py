"""The way to an equilibrium from any start.

Newton's method where that leads there; elsewhere the path of a heavily damped motion in large steps,

    (drag M + h^2 K) x = -r,     q moves by h^2 x.

Each step is corrected once, with the matrix of where it led: what is stiff is then as it should be. The length of this
correction, compared with that of the step, decides on the drag. And the matrix must resist all displacements that the
constraints leave, so that the motion goes with the forces, never back to an equilibrium that it would leave by itself.
What is found is stable therefore, unless the start is an unstable one.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.status import Status
from ..core.types import Vector
from ..dynamics.matrix_layout import FactorizedMatrix
from ..system.system import System
from .static_equations import Rest, at_rest, undisplaced

_ITERATIONS = 3000
"""For each load step."""

_NEAR = 0.1
"""The first step is at most this share of the system's size."""

_FAR = 1e6
"""What moves by so many times the system's size does not come to rest."""

_LEAST = 1e3
"""The least drag, in units of rounding. Motions that are not stiffer than that are free."""

_MOST = 1e20

_PACE = 3.0
"""The drag is first changed by this, and by powers of it as long as steps are taken, or as long as none is."""

_LARGE = 1e10
"""A value of h^2 for which constraints, which are divided by it, do not count."""

_GOING = -1


class FoundEquilibrium(NamedTuple):
    """Where the system rests and multipliers, h^2 for the equations there, `Status.ok` or what went wrong, whether
    displacements are resisted, and how the system moves where it is not held."""

    rest: Rest
    multipliers: Vector
    square: Any
    iterations: Any
    code: Any
    stable: Any
    drift: Vector


def come_to_rest(system: System, t: Any, rest: Rest, load_steps: Any) -> FoundEquilibrium:
    """The equilibrium that is reached from there."""
    q = rest.q
    t = jnp.asarray(t, q.dtype)
    count = system.structure.velocity_count
    forces = at_rest(system, t, rest, _LARGE)
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
    first = at_rest(system, t, rest, square).residual(u)
    search = _Search(system, t, rest, first, square, size, jnp.asarray(load_steps, q.dtype))
    s = lax.while_loop(search.going, search.advanced, search.start(multipliers, square * push))
    return search.judged(s, probe)


def _probe(system: System, q: Any) -> Any:
    """A displacement with about as much inertia in each coordinate, and not orthogonal to any motion by accident."""
    count = system.structure.velocity_count
    signs = jnp.asarray(np.random.default_rng(0).uniform(0.8, 1.2, count) * (-1) ** np.arange(count), q.dtype)
    return signs * jnp.sqrt(jnp.abs(system.inverse_mass(q, signs) / signs))


class _SearchState(NamedTuple):
    """Where a search is. `good`: whether the last step was taken; `pace`: by how much the next one like it changes the
    drag; `drift` and `change`: the last displacement and its size, 1 where it does not count."""

    rest: Any
    multipliers: Any
    drag: Any
    good: Any
    pace: Any
    drift: Any
    change: Any
    step: Any
    iterations: Any
    code: Any


class _Step(NamedTuple):
    """Where a step and its correction lead. `missed`: the length of the correction over that of the step; `resisted`:
    whether all displacements were; `possible`: whether there was a residual to begin with; `finite`: all numbers."""

    rest: Any
    multipliers: Any
    drift: Any
    change: Any
    missed: Any
    resisted: Any
    possible: Any
    finite: Any


@dataclasses.dataclass(frozen=True, eq=False)
class _Search:
    """In each load step a part of the residual r0 of the start is let loose: r(q) - (1 - step / steps) r0 = 0."""

    system: System
    t: Any
    first_rest: Rest
    first: Vector
    square: Any
    size: Any
    steps: Any

    @property
    def least(self) -> Any:
        return _LEAST * jnp.finfo(self.first.dtype).eps

    def start(self, multipliers: Any, drag: Any) -> _SearchState:
        dtype, zero = self.first.dtype, jnp.zeros((), int)
        nowhere = jnp.zeros(self.system.structure.velocity_count, dtype)
        pace, infinite = jnp.full((), _PACE, dtype), jnp.full((), jnp.inf, dtype)
        return _SearchState(
            self.first_rest, multipliers, jnp.maximum(drag, self.least), jnp.asarray(True), pace, nowhere, infinite,
            zero, zero, jnp.full((), _GOING),
        )  # fmt: skip

    def going(self, s: _SearchState) -> Any:
        return (s.code == _GOING) & (s.iterations < _ITERATIONS * self.steps.astype(int))

    def advanced(self, s: _SearchState) -> _SearchState:
        """After a step, or with more drag where that would lead too far."""
        new = self._stepped(s)
        # So small that rounding may decide about its direction.
        tiny = new.change * jnp.finfo(self.first.dtype).eps ** (1 / 3) < 1
        good = new.finite & (tiny | ((new.missed <= 0.5) & new.resisted))
        settled = (new.change <= 1) | (tiny & (new.change > 0.5 * s.change))
        arrived = good & settled & (s.drag <= self.least)
        code = jnp.where(arrived & (s.step + 1 >= self.steps.astype(int)), Status.ok.value, _GOING)
        gone = good & (jnp.max(jnp.abs(new.rest.q - self.first_rest.q)) > _FAR * self.size)
        code = jnp.where(gone, Status.no_equilibrium.value, code)
        code = jnp.where(s.drag > _MOST, Status.newton_failed.value, code)
        code = jnp.where(~new.possible, Status.non_finite.value, code)
        # Faster and faster one way, slowly again after each turn.
        pace = jnp.where(good == s.good, _PACE * s.pace, _PACE)
        less = jnp.maximum(jnp.where(tiny, 0, 4 * new.missed**2), 1 / pace)
        return _SearchState(
            rest=jax.tree.map(lambda a, b: jnp.where(good, a, b), new.rest, s.rest),
            multipliers=jnp.where(good, new.multipliers, s.multipliers),
            drag=jnp.maximum(s.drag * jnp.where(good, less, pace), self.least),
            good=good,
            pace=pace,
            drift=jnp.where(new.finite, new.drift, s.drift),
            change=jnp.where(arrived | ~good, jnp.inf, new.change),
            step=jnp.where(arrived, s.step + 1, s.step),
            iterations=s.iterations + 1,
            code=code,
        )

    def _stepped(self, s: _SearchState) -> _Step:
        count = s.drift.size
        kept = (1 - (s.step + 1).astype(self.first.dtype) / self.steps) * self.first
        problem = at_rest(self.system, self.t, s.rest, self.square, s.drag)
        u = undisplaced(self.system, s.multipliers)
        inverse = problem.inverse(u)
        residual = problem.residual(u) - kept
        # Constraints, too, are approached the more slowly the larger the drag.
        part = jnp.where(jnp.arange(u.size) < count, 1, 1 / (1 + s.drag))
        du = -inverse.solve(part * residual)
        rest, multipliers = self._moved(s.rest, s.multipliers, du)
        there, u1 = at_rest(self.system, self.t, rest, self.square, s.drag), undisplaced(self.system, multipliers)
        foretold = (1 - part) * residual - self._forces(s.drag * self.system.momentum(s.rest.q, du[:count]))
        correction = -there.inverse(u1).solve(there.residual(u1) - kept - foretold)
        length, missed = (self._length(s.rest.q, x[:count]) for x in (du, correction))
        return _Step(
            *self._moved(rest, multipliers, correction),
            drift=du[:count],
            change=problem.error(u, du),
            missed=jnp.where(missed > 0, missed / length, 0),
            resisted=self._unresisted(inverse) == 0,
            possible=jnp.all(jnp.isfinite(residual)),
            finite=jnp.all(jnp.isfinite(du) & jnp.isfinite(correction)),
        )

    def judged(self, s: _SearchState, probe: Any) -> FoundEquilibrium:
        """Where the search has ended, and whether displacements from there are resisted: a little more, or less, of
        drag than none must make no difference."""
        u = undisplaced(self.system, s.multipliers)
        most, least = (
            at_rest(self.system, self.t, s.rest, self.square, sign * self.least).inverse(u) for sign in (1, -1)
        )
        unresisted = self._unresisted(least)
        free = (s.code == Status.ok.value) & (unresisted != self._unresisted(most))
        soft = most.solve(self._forces(self.system.momentum(s.rest.q, probe)))[: probe.size]
        code = jnp.where(s.code == _GOING, Status.newton_failed.value, s.code)
        code = jnp.where(free, Status.singular.value, code)
        drift = jnp.where(free, soft, s.drift)
        stable = (code == Status.ok.value) & (unresisted == 0)
        return FoundEquilibrium(s.rest, s.multipliers, self.square, s.iterations, code, stable, drift)

    def _unresisted(self, inverse: FactorizedMatrix) -> Any:
        """How many independent displacements are not resisted: how many more of the matrix's eigenvalues are negative
        than there are constraints. By Sylvester's law as many as in all of the pivots, or their inverses."""
        pivots = inverse.factors.inverses[:, ::-1, ::-1]
        negative = jnp.zeros((), int)
        for _ in range(pivots.shape[-1]):
            pivot = pivots[:, :1, :1]
            negative += jnp.sum(pivot < 0)
            pivots = pivots[:, 1:, 1:] - pivots[:, 1:, :1] * pivots[:, :1, 1:] / pivot
        return negative - self._equations()

    def _equations(self) -> Any:
        """How many equations of constraints are in force."""
        structure, total = self.system.structure, jnp.zeros((), int)
        for group, coupling in zip(structure.constraints, structure.couplings, strict=True):
            if group.active:
                on = True if group.switch is None else self.system.is_on(group)
                total += jnp.where(on, group.count * coupling.equations, 0)
        return total

    def _moved(self, rest: Rest, multipliers: Any, du: Any) -> tuple[Any, Any]:
        x, change = jnp.split(du, [du.size - multipliers.size])
        return rest.displaced(self.system, self.square * x), multipliers + change

    def _length(self, q: Any, x: Any) -> Any:
        return jnp.sqrt(jnp.sum(x * self.system.momentum(q, x)))

    def _forces(self, forces: Any) -> Any:
        """Forces, and zeros for the equations of constraints."""
        return jnp.pad(forces, (0, self.first.size - forces.size))
