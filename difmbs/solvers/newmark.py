"""Implicit methods of Newmark's family for constrained systems: generalized-alpha and the trapezoidal rule."""

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.errors import ParameterError
from ..core.parameters import show
from ..core.status import Status
from ..core.types import Coordinates, Multipliers, State, Time, Values, Variables, Velocities
from ..dynamics.implicit_equations import AbstractEquations, Held, PlacedBody
from ..dynamics.newton import newton
from ..dynamics.projection import VisitedStates, settle
from ..system.system import System


class NewmarkCoefficients(NamedTuple):
    """With v' the accelerations and a those of the method, of which q and v at the end of a step are made:

    (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) v'1 + alpha_f v'0,
    q1 = q0 (+) (h v0 + h^2 ((1/2 - beta) a0 + beta a1)),   v1 = v0 + h ((1 - gamma) a0 + gamma a1).
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @property
    def gain(self) -> float:
        """da1 / dv'1."""
        return (1 - self.alpha_f) / (1 - self.alpha_m)

    @property
    def shift(self) -> float:
        """a is v' at a time later by so many steps."""
        return self.alpha_m - self.alpha_f


class NewmarkState(NamedTuple):
    """What goes from step to step. The method's own acceleration is a = v' + h drift, whatever the step size h."""

    q: Coordinates
    v: Velocities
    acceleration: Velocities
    drift: Values
    multipliers: Multipliers

    def joined(self) -> State:
        return jnp.concatenate(self)


class AbstractNewmark(diffrax.AbstractAdaptiveSolver):
    """Solves M v' - f + G^T lambda = 0 at the end of each step together with the constraints there."""

    as_exudyn: eqx.AbstractVar[bool]

    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar = diffrax.LocalLinearInterpolation

    @property
    @abc.abstractmethod
    def coefficients(self) -> NewmarkCoefficients: ...

    @property
    @abc.abstractmethod
    def on_velocity(self) -> bool:
        """Whether the constraints are met on velocity level, not on position level."""

    def order(self, terms):
        return 2

    def func(self, terms, t0, y0, args):
        state = state_of(args, y0)
        rates = args.rate(state.q, state.v), state.acceleration
        return jnp.concatenate([*rates, jnp.zeros(2 * state.v.size + state.multipliers.size, y0.dtype)])

    def init(self, terms, t0, t1, y0, args):
        return None

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        end, error, code, _ = advance(self, args, t0, t1 - t0, y0, settles=True)
        worked = code == Status.ok.value
        result = diffrax.RESULTS.where(worked, diffrax.RESULTS.successful, diffrax.RESULTS.internal_error)
        return end, error, dict(y0=y0, y1=end), None, result


def _radius(given: Any) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        # A traced number, too.
        number = math.nan
    if not 0 <= number <= 1:
        raise ParameterError(
            f"GeneralizedAlpha: spectral_radius must be from 0 to 1, a plain number; got {show(given)}."
        )
    return number


class GeneralizedAlpha(AbstractNewmark):
    """The generalized-alpha method (Chung, Hulbert; Arnold, Brüls), constraints on position level: index 3.

    Of second order in positions, velocities and multipliers, also for steps of varying size; fast motions are damped.

    **Arguments:** `spectral_radius`, 0 to 1: what is left of the fastest motions after a step; 1 damps nothing;
    `as_exudyn`: the method's own accelerations start as those of the motion, for comparisons, with more error.
    """

    spectral_radius: Any = eqx.field(default=0.8, static=True, converter=_radius)
    as_exudyn: bool = eqx.field(default=False, static=True, kw_only=True)

    @property
    def coefficients(self) -> NewmarkCoefficients:
        r = self.spectral_radius
        alpha_m, alpha_f = (2 * r - 1) / (r + 1), r / (r + 1)
        gamma = 0.5 + alpha_f - alpha_m
        return NewmarkCoefficients(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)

    @property
    def on_velocity(self) -> bool:
        return False


class TrapezoidalIndex2(AbstractNewmark):
    """The trapezoidal rule with the constraints on velocity level: index 2. It damps nothing.

    **Arguments:** `as_exudyn`: accelerations start as those of the motion, also where a step does not resolve them.
    """

    as_exudyn: bool = eqx.field(default=False, static=True, kw_only=True)

    @property
    def coefficients(self) -> NewmarkCoefficients:
        return NewmarkCoefficients(0.0, 0.0, 0.25, 0.5)

    @property
    def on_velocity(self) -> bool:
        return True


class EndOfStep(AbstractEquations):
    """The equations of a step: unknown are v' and the multipliers at its end.

    Of each body the data are q at the start, and the displacement and the velocity at the end if v' is zero there.
    """

    system: System
    t: Time
    h: Time
    data: tuple[Any, ...]
    coefficients: NewmarkCoefficients = eqx.field(static=True)
    on_velocity: bool = eqx.field(static=True)

    def place(self, body: Any, data: Any, x: Values) -> tuple[Any, Any]:
        q, displacement, v = data
        c, h = self.coefficients, self.h
        return body.retract(q, displacement + (h * h * c.beta * c.gain) * x), v + (h * c.gamma * c.gain) * x

    def inertia(self, body: Any, placed: PlacedBody, x: Values) -> Values:
        return body.momentum(placed.q, x) - body.bias(placed.q, placed.v, self.system.gravity[0])

    def of_constraint(self, held: Held, multiplier: Multipliers) -> tuple[tuple[Any, ...], Any]:
        (position, velocity), pulled = held.there.reaction(self.t, multiplier)
        # Divided so that the derivative with respect to the accelerations is G, whatever the step size.
        c = self.coefficients
        if self.on_velocity or held.connector.law.on_velocity:
            return pulled, velocity / (c.gain * c.gamma * self.h)
        return pulled, position / (c.gain * c.beta * self.h**2)

    def error(self, u: Variables, du: Variables) -> Values:
        c, h = self.coefficients, self.h
        count = self.system.structure.velocity_count
        change, now = jnp.max(jnp.abs(du[:count])), jnp.max(jnp.abs(u[:count]))
        q, v = (jnp.max(jnp.asarray([jnp.max(jnp.abs(x[i]), initial=0) for x in self.data])) for i in (0, 2))
        eps = jnp.finfo(u.dtype).eps
        of_velocity = h * c.gain * c.gamma * change / (eps**0.7 * jnp.maximum(v, h * now) + jnp.finfo(u.dtype).tiny)
        of_position = h * h * c.gain * c.beta * change / (4 * eps * q + jnp.finfo(u.dtype).tiny)
        return jnp.where(change == 0, 0, jnp.minimum(of_velocity, of_position))


def own_acceleration(c: NewmarkCoefficients, now: Values, before: Values, a: Values) -> Values:
    """a at the end of a step from v' at its end, and v' and a at its start."""
    return (c.gain * now) + (c.alpha_f * before - c.alpha_m * a) / (1 - c.alpha_m)


def ahead(h: Time) -> Callable[..., Time]:
    """How far apart the two states are from which a start is made; h is the size of the first step, 0 if unknown."""
    return (lambda *_: h / 8) if h else _moment


def start(solver: AbstractNewmark, system: System, h: Time, visited: VisitedStates) -> Any:
    """The state at the last but one of the states visited, with accelerations and multipliers that agree with the
    equations of motion there."""
    _, q, v, u = (x[-2] for x in visited)
    acceleration = u[: v.size]
    # To first order, which is enough: without any drift the first accelerations are of first order.
    jerk = (visited.u[-1, : v.size] - acceleration) / ahead(h)(q, v, acceleration)
    if solver.as_exudyn:
        return NewmarkState(q, v, acceleration, 0 * jerk, u[v.size :]).joined()
    parts = zip(*(system.world(q, x).v for x in (v, acceleration, jerk)), strict=True)
    accelerations, jerks = zip(*(_resolved(h, *part) for part in parts), strict=True)
    own, drift = (jnp.concatenate([x.reshape(-1) for x in y]) for y in (accelerations, jerks))
    return NewmarkState(q, v, own, solver.coefficients.shift * drift, u[v.size :]).joined()


def _moment(q: Coordinates, v: Velocities, acceleration: Velocities) -> Any:
    """A time in which a motion changes by about a thousandth."""
    far, fast, strong = (lax.stop_gradient(jnp.max(jnp.abs(x))) for x in (q, v, acceleration))
    far = jnp.maximum(far, jnp.finfo(q.dtype).eps ** 0.5)
    over = lambda x: far / jnp.where(x > 0, x, far)
    return 1e-3 * jnp.minimum(over(fast), jnp.sqrt(over(strong)))


def _resolved(h: Time, v: Velocities, acceleration: Velocities, jerk: Velocities) -> tuple[Any, Any]:
    """What steps of size h resolve of accelerations and their rates, by body.

    Of a motion that dies out within a step they say nothing and are huge: along the rate they count the less the larger
    it is.
    """
    tiny = jnp.finfo(v.dtype).tiny ** 0.5
    total = lambda x: jnp.sum(x, axis=1, keepdims=True)
    size, lost = total(v**2 + (h * acceleration) ** 2) + tiny, h**4 * total(jerk**2)
    along = total(acceleration * jerk) / (total(jerk**2) + tiny)
    return acceleration - lost / (size + lost) * along * jerk, size / (size + lost) * jerk


def state_of(system: System, y: State) -> NewmarkState:
    nq, nv = system.structure.coordinate_count, system.structure.velocity_count
    ends = np.cumsum([nq, nv, nv, nv]).tolist()
    return NewmarkState(*jnp.split(y, ends))


def problem_of(solver: AbstractNewmark, system: System, t: Time, h: Time, state: NewmarkState) -> EndOfStep:
    c, own = solver.coefficients, state.acceleration + h * state.drift
    end = own_acceleration(c, jnp.zeros_like(own), state.acceleration, own)
    displacement = h * state.v + h * h * ((0.5 - c.beta) * own + c.beta * end)
    v = state.v + h * ((1 - c.gamma) * own + c.gamma * end)
    moved, placed = system.world(state.q, displacement), system.world(state.q, v)
    data = tuple(zip(moved.q, moved.v, placed.v, strict=True))
    return EndOfStep(system=system, t=t + h, h=h, data=data, coefficients=c, on_velocity=solver.on_velocity)


def advance(
    solver: AbstractNewmark, system: System, t: Time, h: Time, y: State, settles: bool
) -> tuple[Any, Any, Any, Any]:
    """The state after a step, an error estimate, `Status.ok` or what went wrong, and the iterations it took.

    `settles`: whether it is brought back onto the constraints on both levels.
    """
    state = state_of(system, y)
    problem = problem_of(solver, system, t, h, state)
    found = newton(problem, jnp.concatenate([state.acceleration, state.multipliers]))
    end = after(problem, state, found.u, settles)
    return end.joined(), error(solver, system, h, state, end), found.code, found.iterations


def after(problem: EndOfStep, state: NewmarkState, u: Variables, settles: bool) -> NewmarkState:
    """The state after a step, from the solution of its equations."""
    system, h = problem.system, problem.h
    count = system.structure.velocity_count
    x = u[:count]
    own = own_acceleration(problem.coefficients, x, state.acceleration, state.acceleration + h * state.drift)
    world = system.world(state.q, x)
    placed = [
        group.each(problem.place, *parts)
        for group, *parts in zip(system.structure.bodies, world.bodies, problem.data, world.v, strict=True)
    ]
    q, v = (jnp.concatenate([pair[i].reshape(-1) for pair in placed]) for i in (0, 1))
    if settles:
        q, v = settle(system, problem.t, q, v)
    return NewmarkState(q, v, x, (own - x) / h, u[count:])


def error(solver: AbstractNewmark, system: System, h: Time, state: NewmarkState, end: NewmarkState) -> State:
    """The leading error of a step in q, and in first-order states; as large as if these alone were judged.

    After a jump of forces a keeps a part of them for some steps: what it does not have from the rate of v' counts too.
    """
    c = solver.coefficients
    change = end.acceleration - state.acceleration
    left = h * state.drift - c.shift * change
    position = h * h * ((1 / 6 - c.beta - c.shift / 2) * change + left / 2)
    # The rate of v' in this step less that in the last one; where the method does not keep it, more than that.
    curved = left / c.shift if c.shift else change
    states = system.structure.is_state
    of_states = jnp.where(states, h / 12 * curved, 0)
    rest = jnp.zeros(2 * state.v.size + state.multipliers.size, state.v.dtype)
    judged = state.q.size + int(np.sum(states))
    part = math.sqrt((rest.size + state.v.size + state.q.size) / judged)
    return jnp.concatenate([part * system.rate(end.q, position), part * of_states, rest])
