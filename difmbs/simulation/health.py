"""Is a motion, or a gradient, right? What can be checked without knowing the answer."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.integrate import cumulative_simpson

from ..core.errors import SimulationError, counted
from ..core.reprs import limited
from ..core.types import Coordinates, Switches, Time, Velocities
from ..dynamics.accelerations import accelerations
from ..dynamics.implicit_equations import VELOCITY
from ..dynamics.projection import ProjectionPlan, violations
from ..jaxtools.gradient_check import quotient_error
from ..system.control import controlled
from ..system.structure import equation_names
from ..system.system import System
from .arguments import difference_step
from .solution import Solution

_TOO_FEW = 0.1
"""Of the energy that changes: where the work is known no better, the balance says nothing."""
_AT_REST = 1e-12
"""Of the energy: what changes less is rounding."""


@dataclasses.dataclass(frozen=True)
class Health:
    """What `check` found. Prints as a table.

    `position`, `velocity`, `acceleration`: by how much constraints are violated at most, as a displacement, a velocity
    and an acceleration, and `worst`, the names of the constraints; `energy`, kinetic and potential, at the outputs, and
    `kinetic`, that part of it; `work` done since the first output by all that has no potential; `balance`: the largest
    difference between the change of energy and that work; `quadrature`: by how much the work may be off because the
    outputs are too few; `stats` of the solution; `times` of the outputs, and `residuals` there: by level the largest
    one at each.
    """

    position: float
    velocity: float
    acceleration: float
    worst: dict[str, str]
    energy: np.ndarray
    kinetic: np.ndarray
    work: np.ndarray
    balance: float
    quadrature: float
    stats: dict[str, float]
    times: np.ndarray
    residuals: dict[str, np.ndarray]

    def __repr__(self) -> str:
        return limited(str(self))

    @property
    def work_known(self) -> bool:
        """Whether the outputs are near enough to each other to tell the work."""
        scale = max(np.abs(self.kinetic).max(), np.abs(self.energy - self.energy[0]).max())
        return bool(self.quadrature <= max(_TOO_FEW * scale, _AT_REST * np.abs(self.energy).max()))

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output, picture_of

        lines = [line.partition(": ")[::2] for line in str(self).splitlines()]
        return cell_output("Health", lines, picture=picture_of(self.plot_energy))

    def plot_energy(self, ax: Any = None) -> Any:
        """Energy, and the work of all that has no potential where it is known, over time; returns the axes."""
        from ..plots.curves import over_time

        named = {"kinetic": self.kinetic, "potential": self.energy - self.kinetic, "sum": self.energy}
        named |= {"work put in": self.work} if self.work_known else {}
        return over_time(self.times, named, "energy [J]", ax)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Violations of constraints over time; returns the axes."""
        from ..plots.curves import over_time

        units = {"position": "m or rad", "velocity": "1/s", "acceleration": "1/s²"}
        named = {f"{level} [{units[level]}]": x for level, x in self.residuals.items()}
        return over_time(self.times, named, "violation of constraints", ax, log=True)

    def __str__(self) -> str:
        lines = [
            f"constraints, {level}: {value:.2g}" + (f" ('{self.worst[level]}')" if level in self.worst else "")
            for level, value in (
                ("position", self.position),
                ("velocity", self.velocity),
                ("acceleration", self.acceleration),
            )
        ]
        # Where potential energy is zero is anybody's choice, so its size says nothing.
        scale = max(np.abs(self.kinetic).max(), np.abs(self.energy - self.energy[0]).max())
        start, end = self.energy[[0, -1]]
        lines.append(f"energy: {start:.6g} J at the start, {end:.6g} J at the end (kinetic and potential)")
        rounding = _AT_REST * np.abs(self.energy).max()
        if not self.work_known:
            count = counted(len(self.energy), "output")
            lines.append(
                f"work of dampers, loads and moving constraints in between: not known from {count}, between which "
                "their power changes too fast; with more of them the balance of energy can be checked"
            )
        else:
            balance = f"{self.balance:.2g} J"
            if scale > rounding:
                balance += f", {self.balance / scale:.1g} of the largest kinetic energy"
            lines += [
                f"work of dampers, loads and moving constraints in between: {self.work[-1]:.6g} J",
                f"change of energy less this work, which should be 0: at most {balance} (the work is known to "
                f"{self.quadrature:.1g} J from these outputs)",
            ]
        lines.append(", ".join(f"{name}: {value:.6g}" for name, value in self.stats.items()))
        return "\n".join(lines)


def check(solution: Solution) -> Health:
    """The health of a single simulation: constraint residuals on all levels, the balance of energy, the statistics."""
    if not isinstance(solution, Solution):
        raise SimulationError(f"check takes a Solution, got {type(solution).__name__}.")
    if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(solution)) or np.ndim(solution.t) != 1:
        raise SimulationError("check takes one finished simulation: not a batch, and not inside of a transformation.")
    good = np.all(np.isfinite(np.asarray(solution.q)), axis=-1)
    if not np.any(good):
        raise SimulationError("check needs at least one output that was reached.", str(solution.status))
    on = None if solution.on is None else solution.on[good]
    times = np.asarray(solution.t)[good]
    states = (solution.system, on, solution.t[good], solution.q[good], solution.v[good])
    residuals, energy, kinetic, power = jax.tree.map(np.asarray, _at_outputs(*states))
    work, quadrature = _work(times, power, kinetic, _before(residuals["velocity"], *states))
    names = equation_names(solution.system.structure)
    worst = {level: names[int(np.argmax(x.max(axis=0)))] for level, x in residuals.items() if x.size}
    sizes = {level: float(x.max(initial=0)) for level, x in residuals.items()}
    balance = float(np.abs(energy - energy[0] - work).max())
    stats = {name: float(value) for name, value in solution.stats.items()}
    return Health(
        **sizes,
        worst=worst,
        energy=energy,
        kinetic=kinetic,
        work=work,
        balance=balance,
        quadrature=quadrature,
        stats=stats,
        times=times,
        residuals={level: x.max(axis=1, initial=0) for level, x in residuals.items()},
    )


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What `certify` found: relative differences, small if the gradient is right.

    `adjoint`: between w (J d), forwards, and (J^T w) d, backwards, for random d and w; `difference`: between J d and
    the central difference quotient along d.
    """

    adjoint: float
    difference: float

    def __str__(self) -> str:
        return f"forward and reverse mode differ by {self.adjoint:.1g}, from differences by {self.difference:.1g}"


def certify(function: Callable[[Any], Any], params: Any, *, step: float | None = None, seed: int = 0) -> Certificate:
    """Checks the derivatives of a function of params along one random direction.

    The function returns arrays, for example a loss or sensors of a simulation. It is evaluated twice more for the
    difference quotient, a relative `step` before and behind. For simulations use fixed steps: the quotient of adaptive
    ones is as noisy as their tolerance.
    """
    flat, unravel = ravel_pytree(jax.tree.map(lambda x: jnp.asarray(x, float), params))
    step = difference_step(flat.dtype) if step is None else step
    random = np.random.default_rng(seed)
    # Each parameter moves by a fraction of itself.
    direction = jnp.asarray(random.standard_normal(flat.size) * np.where(flat == 0, 1, np.abs(flat)), flat.dtype)

    @jax.jit
    def of(x):
        return ravel_pytree(function(unravel(x)))[0]

    along = lambda x: jax.jvp(of, (x,), (direction,))
    value, forwards = along(flat)
    weights = jnp.asarray(random.standard_normal(value.size), value.dtype)
    backwards = jax.vjp(of, flat)[1](weights)[0]
    size = float(jnp.sum(jnp.abs(weights * forwards))) or 1.0
    adjoint = abs(float(weights @ forwards) - float(backwards @ direction)) / size
    return Certificate(adjoint, quotient_error(along, flat, direction, step))


@eqx.filter_jit
def _at_outputs(system: System, on: Switches, t: Time, q: Coordinates, v: Velocities) -> Any:
    """At each output residuals of the constraints by level, energy, its kinetic part, and the power of all that has no
    potential."""

    def at(on, t, q, v):
        here = controlled(system.switched(on), t, q, v)
        position, velocity = violations(here, t, q, v)
        acceleration, multipliers = accelerations(here, t, q, v)
        lengths = jnp.maximum(here.row_lengths(t, q), jnp.finfo(q.dtype).tiny)
        nothing = jnp.zeros(0, q.dtype)
        levels = here.constraint_levels(t, q, v).values()
        jacobian = jnp.concatenate([jnp.zeros((0, v.size), q.dtype), *(x.jacobian for x in levels)])
        off = jacobian @ acceleration - jnp.concatenate([nothing, *(x.acceleration for x in levels)])
        reaction = jacobian.T @ jnp.concatenate([nothing, *(x.reshape(-1) for x in multipliers.values())])
        kinetic = here.kinetic_energy(q, v)
        energy = kinetic + here.potential_energy(t, q)
        rate = jax.jvp(lambda t, q: jnp.asarray(here.potential_energy(t, q)), (t, q), (0 * t, here.rate(q, v)))[1]
        power = v @ (here.applied_forces(t, q, v) - reaction) + rate
        residuals = dict(position=position, velocity=velocity, acceleration=jnp.abs(off) / lengths)
        return residuals, energy, kinetic, power

    return jax.vmap(at)(on, t, q, v)


def _before(
    residual: np.ndarray, system: System, on: Switches, t: Time, q: Coordinates, v: Velocities
) -> tuple[np.ndarray, np.ndarray] | None:
    """Kinetic energy and power just before each output, if velocities jump there, else nothing; `residual`: of the
    constraints on velocities, at the outputs.

    A prescribed motion through points has another rate before than after each of them, and the constraint strikes the
    bodies. What it strikes with is the least change of velocities, so that is also the way back.
    """
    # A jump at the first output is before all that is looked at.
    earlier = t.at[1:].add(-8 * jnp.finfo(t.dtype).eps * jnp.abs(t[1:]))
    little = float(jnp.finfo(v.dtype).eps) ** 0.5 * np.abs(v).max(initial=0)
    late, _, _, _ = _at_outputs(system, on, earlier, q, v)
    if np.all(np.abs(late["velocity"] - residual) <= little):
        return None
    slower = v + _as_prescribed(system, on, earlier, q, v) - _as_prescribed(system, on, t, q, v)
    _, _, kinetic, power = _at_outputs(system, on, earlier, q, slower)
    return np.asarray(kinetic), np.asarray(power)


@eqx.filter_jit
def _as_prescribed(system: System, on: Switches, t: Time, q: Coordinates, v: Velocities) -> Any:
    """Velocities that meet the constraints at these times."""
    route = ProjectionPlan((VELOCITY,))
    return jax.vmap(lambda on, t, q, v: route.follow(system.switched(on), t, q, v)[0][1])(on, t, q, v)


def _work(t: np.ndarray, power: np.ndarray, kinetic: np.ndarray, before: Any) -> tuple[np.ndarray, float]:
    """Work of all that has no potential since the first output, and an estimate of its error."""
    if before is None:
        return _integrated(t, power)
    slower, earlier = before
    # From just after an output to just before the next: no rule of higher order would see a smooth power. By how much
    # it is curved in between shows in how its slope changes.
    step, rise = np.diff(t), earlier[1:] - power[:-1]
    pieces = step * (power[:-1] + earlier[1:]) / 2
    work = np.concatenate([[0], np.cumsum(pieces)]) + np.cumsum(kinetic - slower)
    return work, float(np.sum(step[1:] * np.abs(np.diff(rise))) / 12)


def _integrated(t: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, float]:
    """The integral of the power, and an estimate of its error."""
    distinct = np.concatenate([[True], np.diff(t) > 0])
    if distinct.sum() < 3:
        return np.zeros_like(t), float("inf") if np.any(power) else 0.0
    fine = cumulative_simpson(power[distinct], x=t[distinct], initial=0)
    coarse = np.concatenate([[0], np.cumsum(np.diff(t[distinct]) * (power[distinct][1:] + power[distinct][:-1]) / 2)])
    return fine[np.cumsum(distinct) - 1], float(np.abs(fine - coarse).max())
