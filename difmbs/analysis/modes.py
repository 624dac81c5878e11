"""Natural frequencies, damping and mode shapes about a state."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import SimulationError
from ..core.reprs import value
from ..core.types import Coordinates, MaybeValues, Params
from ..dynamics.projection import consistent
from ..linalg.constrained_eigen import Eigen, Modal, eigen, freedoms, modal, unrefused, values, vectors
from ..simulation.arguments import (
    check_number,
    check_system,
    check_uncontrolled,
    check_whole,
    warn_of_single_precision,
    with_numbers,
)
from ..system.system import System
from .linearize import Linearization, about, checked_state

_SHOWN = 12
"""Frequencies in a line."""


class Modes(eqx.Module):
    r"""Motions $x\,e^{s t}$ about the state q, sorted by frequency; of each conjugate pair the one with Im s > 0.

    `eigenvalues` s [1/s]; `angular_frequencies` |s| [rad/s] and `frequencies` |s| / 2 pi [Hz]: those without damping,
    with it it is Im s; `damping_ratios` -Re s / |s|, negative where the motion grows; `shapes`, complex, in rows over
    the velocity coordinates, with $x^H M x = 1$ and the largest entry positive. Rigid-body motions have s = 0 and a
    damping ratio of 0. Where there are not as many modes as were asked for, the last ones are NaN.
    """

    system: System
    given_q: MaybeValues
    """None: the initial coordinates, brought onto the constraints."""
    found: Eigen

    @property
    def q(self) -> Coordinates:
        """The coordinates of the state."""
        if self.given_q is not None:
            return self.given_q
        return consistent(self.system, jnp.zeros(()), *self.system.initial_state()).q

    @property
    def eigenvalues(self) -> Any:
        return values(self.found)

    @property
    def angular_frequencies(self) -> Any:
        return _size(self.eigenvalues)

    @property
    def frequencies(self) -> Any:
        return self.angular_frequencies / (2 * jnp.pi)

    @property
    def damping_ratios(self) -> Any:
        s = self.eigenvalues
        size = _size(s)
        return jnp.where(size == 0, 0, (0 - s.real) / jnp.where(size == 0, 1, size))

    @property
    def shapes(self) -> Any:
        return vectors(self.found)

    def __repr__(self) -> str:
        values = self.found.values
        if isinstance(values, jax.core.Tracer):
            return "Modes(traced)"
        first = np.asarray(self.frequencies)[..., :_SHOWN]
        more = f" and {values.shape[-1] - _SHOWN} more" if values.shape[-1] > _SHOWN else ""
        return f"Modes(frequencies={first if first.ndim == 1 else value(first)}{more} Hz)"

    def shape(self, name: str) -> Any:
        """The part of a body in each mode, over its velocity coordinates; by instance if the name holds many."""
        return self.shapes[..., self.system.velocities(name)]

    def plot(self, number: int = 0, ax: Any = None) -> Any:
        """A mode at its largest, over the mechanism at rest; returns the axes."""
        from ..pictures.scene import scene_of
        from ..pictures.sketch import sketch
        from ..pictures.swings import swing
        from ..plots.style import axes_or_new, style

        number = _checked(number, self.found.values.shape[-1])
        states = jnp.concatenate(
            [self.q[None], swing(self.system, self.q, np.asarray(self.shapes)[number], np.zeros(1))]
        )
        scene = scene_of(self.system, np.zeros(2), states, jnp.zeros((2, self.shapes.shape[-1])), loads=False)
        with style():
            axes = axes_or_new(ax, 6.4, 4.8)
            sketch(axes, scene, 0, names=False, alpha=0.3)
            sketch(axes, scene, 1, names=False)
            axes.set_title(f"mode {number}: {float(self.frequencies[number]):.4g} Hz")
        return axes

    def only(self, *numbers: int | np.integer) -> "Modes":
        """Some of the modes, so that those with repeated eigenvalues are out of the way of derivatives."""
        if not numbers:
            raise SimulationError("only takes the numbers of some modes, for example modes.only(0, 1).")
        all_values, shapes, *others = self.found
        rows = jnp.asarray([_checked(n, all_values.shape[-1]) for n in numbers])
        return Modes(
            self.system,
            self.given_q,
            Eigen(all_values[..., rows], shapes[..., rows, :], *(x[..., rows] for x in others)),
        )


def modes(
    system: System,
    *,
    q: Any = None,
    t: float = 0.0,
    params: Params | None = None,
    count: int | None = None,
    throw: bool = True,
) -> Modes:
    r"""The natural motions about a state at rest: $(s^2 M + s D + K)\,x + G^T \nu = 0$, $G x = 0$.

    The state should be an equilibrium. Eigenvalues, frequencies and damping ratios can be differentiated, once,
    forwards and backwards; repeated eigenvalues refuse it, inside `jit` their derivatives are NaN.

    **Arguments:** `q`: the coordinates, such as those of `static_equilibrium`, None: the initial ones; `t`: the time,
    a plain value; `params`: a part of `system.params()` to replace; `count`: how many modes, from the lowest frequency
    on, None: all; inside `jit`, where they cannot be counted, as many as coordinates less constraints. There is one for
    each motion that constraints leave, and a second one where damping keeps it from oscillating; `throw`: False makes
    derivatives of repeated eigenvalues NaN instead of an error.
    """
    check_system("modes", system)
    check_uncontrolled("modes", system, sampled=True)
    t = check_number("t", t)
    count = None if count is None else check_whole("count", count)
    q, rest = checked_state(system, q, jnp.zeros(system.structure.velocity_count))
    system, replaced = with_numbers(system, params)
    warn_of_single_precision(system.gravity.dtype)
    linear = about(system, replaced, jnp.asarray(t, system.gravity.dtype), q, rest)
    # By themselves, so that derivatives run the same programs.
    still = jax.tree.map(jax.lax.stop_gradient, linear)
    found = _modal(still, _most(still, count))
    if not isinstance(found.values, jax.core.Tracer):
        known = np.count_nonzero(~np.isnan(found.values))
        if known == 0:
            raise SimulationError("the stiffness or damping is not finite in this state.", "non_finite")
        found = Modal(*(x[:known] for x in found)) if count is None else found
    result = _eigen(linear, found)
    return Modes(system, q, result if throw else unrefused(result))


@eqx.filter_jit
def _modal(linear: Linearization, count: int) -> Modal:
    return modal(*linear, count)


@eqx.filter_jit
def _eigen(linear: Linearization, found: Modal) -> Eigen:
    return eigen(*linear, found)


@jax.jit
def _freedoms(linear: Linearization) -> Any:
    return freedoms(linear.M, linear.G)


def _most(linear: Linearization, count: int | None) -> int:
    """How many modes to look for."""
    free = _freedoms(linear)
    equations, size = linear.G.shape
    if isinstance(free, jax.core.Tracer):
        # Redundant constraints leave more than this, which only numbers tell.
        if count is None and size <= equations:
            raise SimulationError("inside jit the motions that constraints leave cannot be counted: pass count.")
        return size - equations if count is None else min(count, 2 * size)
    if free == 0:
        raise SimulationError("the constraints leave no motion, so there are no modes.")
    if count is not None and count > 2 * free:
        raise SimulationError(
            f"count = {count}, but the constraints leave only {free} motions, and each has two modes at most."
        )
    if count is None:
        return int(free) if isinstance(linear.K + linear.D, jax.core.Tracer) else 2 * int(free)
    return count


def _checked(number: Any, count: int) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < count:
        raise SimulationError(f"modes are numbered from 0 to {count - 1}, got {number!r}.")
    return int(number)


def _size(s: Any) -> Any:
    square = s.real**2 + s.imag**2
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), jax.lax.stop_gradient(square))
