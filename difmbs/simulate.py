"""From a system to its motion."""

import functools
import math
import warnings
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._errors import ParameterError, SimulationError
from ._integrate import Adaptive, Fixed, Status
from ._parameters import as_array, is_numbers, show
from ._replay import integrate
from ._types import Params
from .equations import split
from .outputs import Outputs
from .solvers import TERM, RungeKutta4, one_step
from .system import System

_MOST_STEPS = 10**8


class Solution(eqx.Module):
    """The motion of a system at the output times.

    `t` (n,), `q` (n, coordinates), `v` (n, velocity coordinates); `multipliers` by name of constraint; `status`, "ok"
    or the reason of an early stop, after which the rows are NaN; `stats`; `solution["tip"]` and
    `solution["spring.force"]`: sensors and output variables, with time along the first axis.
    """

    system: System
    t: Any
    q: Any
    v: Any
    code: Any
    stats: dict[str, Any]

    @property
    def status(self) -> Any:
        """One word; for a batch of simulations an array of words; under a JAX transformation the number."""
        if isinstance(self.code, jax.core.Tracer):
            return self.code
        words = np.vectorize(lambda code: Status(int(code)).name)(np.asarray(self.code))
        return str(words) if words.ndim == 0 else words

    @property
    def multipliers(self) -> dict[str, Any]:
        names = [n for n, e in self.system.structure.elements.items() if e.kind == "constraints"]
        return {name: self[f"{name}.force"] for name in names}

    def __getitem__(self, name: str) -> Any:
        try:
            return _read(self.system, self.t, self.q, self.v, str(name))
        except ParameterError as error:
            raise ParameterError(str(error)) from None

    def outputs(self, i: int) -> Outputs:
        """All named outputs at the i-th output time."""
        return Outputs(self.system, self.t[i], self.q[i], self.v[i])


@eqx.filter_jit
def _read(system: System, t: Any, q: Any, v: Any, name: str) -> Any:
    return jax.vmap(lambda t, q, v: Outputs(system, t, q, v)[name])(t, q, v)


def simulate(
    system: System,
    *,
    t1: float,
    t0: float = 0.0,
    dt: float | None = None,
    solver: diffrax.AbstractSolver | None = None,
    saveat: Any = None,
    params: Params | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    adjoint: diffrax.AbstractAdjoint | None = None,
    throw: bool = True,
    max_steps: int = 4096,
) -> Solution:
    """The motion from t0 to t1, starting from the system's initial state.

    **Arguments:** `dt`: size of fixed steps, None: adaptive steps by `rtol` and `atol`; `solver`: any diffrax solver
    for ordinary differential equations, None: `diffrax.Tsit5()`, or `RungeKutta4()` for fixed steps; `saveat`: the
    output times, or a `diffrax.SaveAt`, None: 101 times; `params`: a part of `system.params()` to replace; `adjoint`: a
    diffrax adjoint, None: difmbs' own, which allows all of `grad`, `jacfwd`, `jvp`, `vmap` and `jit`; `throw`: raise
    `SimulationError` on an early stop instead of returning what there is; `max_steps`, accepted and rejected ones,
    bounds the memory that derivatives of adaptive runs take.

    Everything but `system` and `params` is a plain value, not to be traced or differentiated.
    """
    t0, t1, dt = _check_times(t0, t1, dt)
    rtol, atol = _check_number("rtol", rtol), _check_number("atol", atol)
    _check_solvable(system, solver, dt, rtol, atol, max_steps)
    _check_ways(saveat, adjoint)
    if params is not None:
        system = system.with_params(params)
    _warn_of_single_precision(system.gravity.dtype)
    if solver is None:
        solver = RungeKutta4() if dt is not None else diffrax.Tsit5()
    if adjoint is not None or _needs_diffrax(saveat):
        solution = _by_diffrax(system, (t0, t1, dt), solver, saveat, (rtol, atol), adjoint, max_steps)
    else:
        times = _output_times(saveat, t0, t1)
        if dt is not None:
            method: Any = Fixed(one_step(solver, rtol), t0, t1, dt, times)
        else:
            method = Adaptive(one_step(solver, rtol), _controller(rtol, atol, t0, t1), t0, t1, times, max_steps)
        solution = _simulate(system, method, times)
    if throw and not isinstance(solution.code, jax.core.Tracer):
        _raise_if_failed(solution)
    return solution


@eqx.filter_jit
def _simulate(system: System, method: Fixed | Adaptive, times: tuple[float, ...]) -> Solution:
    y0 = jnp.concatenate(system.initial_state())
    run = integrate(method, system, y0)
    q, v = split(system, run.outputs)
    stats = dict(steps=run.steps, rejected=run.rejected, time=run.time)
    return Solution(system, jnp.asarray(times, y0.dtype), q, v, run.status, stats)


def _controller(rtol: float, atol: float, t0: float, t1: float) -> diffrax.PIDController:
    return diffrax.PIDController(rtol=rtol, atol=atol, dtmin=1e-12 * (t1 - t0), force_dtmin=False)


def _check_times(t0: Any, t1: Any, dt: Any) -> tuple[float, float, float | None]:
    t0, t1 = _check_number("t0", t0), _check_number("t1", t1)
    if t1 <= t0:
        raise SimulationError(f"t1 = {t1} must be after t0 = {t0}.")
    if dt is None:
        return t0, t1, None
    dt = _check_number("dt", dt)
    if dt <= 0:
        raise SimulationError(f"dt = {dt} must be > 0.")
    if t1 - t0 > dt * _MOST_STEPS:
        raise SimulationError(f"dt = {dt} makes more than {_MOST_STEPS:.0e} steps from t0 = {t0} to t1 = {t1}.")
    return t0, t1, dt


def _check_number(name: str, value: Any) -> float:
    if isinstance(value, jax.core.Tracer):
        raise SimulationError(f"{name} must be a plain number, not a traced one: it shapes the program.")
    number = as_array(value)
    if not is_numbers(number) or number.shape != ():
        raise SimulationError(f"{name} must be a number, got {show(value)}.")
    if not math.isfinite(number):
        raise SimulationError(f"{name} = {show(value)} is not finite.")
    return float(number)


def _check_solvable(system: Any, solver: Any, dt: float | None, rtol: float, atol: float, max_steps: int) -> None:
    if not isinstance(system, System):
        raise SimulationError(f"simulate takes a System, got {type(system).__name__}. Call model.assemble() first.")
    if any(group.active for group in system.structure.constraints):
        names = [n for n, e in system.structure.elements.items() if e.kind == "constraints"]
        raise SimulationError(f"constrained systems cannot be simulated yet; this one has {', '.join(names[:5])}.")
    if solver is not None and not isinstance(solver, diffrax.AbstractSolver):
        raise SimulationError(f"solver must be a diffrax solver such as diffrax.Tsit5(), got {show(solver)}.")
    one_step = solver is None or isinstance(solver, (diffrax.AbstractERK, diffrax.AbstractDIRK))
    if not one_step:
        raise SimulationError(
            f"{type(solver).__name__} is not a Runge-Kutta method for ordinary differential equations. Use for "
            "example diffrax.Tsit5(), diffrax.Dopri8() or, for stiff systems, diffrax.Kvaerno5()."
        )
    if dt is None:
        if isinstance(solver, RungeKutta4) or not isinstance(solver, diffrax.AbstractAdaptiveSolver | None):
            raise SimulationError(f"{type(solver).__name__} has no error estimate: pass dt, the size of fixed steps.")
        if not (rtol > 0 and atol >= 0):
            raise SimulationError(f"rtol must be > 0 and atol >= 0, got {rtol} and {atol}.")
        if system.gravity.dtype == jnp.float32 and rtol < 1e-6:
            raise SimulationError(
                f"rtol = {rtol} cannot be reached in single precision. Switch on double precision with "
                'jax.config.update("jax_enable_x64", True) before building the model, or pass rtol=1e-6 or larger.'
            )
    if isinstance(max_steps, bool) or not isinstance(max_steps, (int, np.integer)) or max_steps < 1:
        raise SimulationError(f"max_steps must be a whole number from 1 on, got {show(max_steps)}.")


def _check_ways(saveat: Any, adjoint: Any) -> None:
    if adjoint is not None and not isinstance(adjoint, diffrax.AbstractAdjoint):
        raise SimulationError(f"adjoint must be a diffrax adjoint or None, got {show(adjoint)}.")
    if not isinstance(saveat, diffrax.SaveAt):
        return
    subs = saveat.subs
    extra = saveat.dense or saveat.solver_state or saveat.controller_state or saveat.made_jump
    if extra or not isinstance(subs, diffrax.SubSaveAt) or subs.fn is not diffrax.SubSaveAt(t0=True).fn:
        raise SimulationError(
            "saveat takes ts, t0, t1 and steps; dense output, functions, states of the solver and several SubSaveAt "
            "are not offered."
        )


@functools.cache
def _warn_of_single_precision(dtype: Any) -> None:
    if dtype == jnp.float32:
        warnings.warn(
            "simulating in single precision: expect errors of 1e-6 and gradients of 1e-3. For double precision call "
            'jax.config.update("jax_enable_x64", True) before building the model.',
            stacklevel=3,
        )


def _needs_diffrax(saveat: Any) -> bool:
    """Whether diffrax' own loop is needed for what is to be saved."""
    return isinstance(saveat, diffrax.SaveAt) and bool(saveat.subs.steps)


def _output_times(saveat: Any, t0: float, t1: float) -> tuple[float, ...]:
    if isinstance(saveat, diffrax.SaveAt):
        subs = saveat.subs
        if isinstance(subs.ts, jax.core.Tracer):
            raise SimulationError("saveat must be plain numbers, not traced ones: they shape the program.")
        inner = [] if subs.ts is None else np.asarray(subs.ts).tolist()
        saveat = [t0] * bool(subs.t0) + inner + [t1] * bool(subs.t1)
    times = np.linspace(t0, t1, 101) if saveat is None else as_array(saveat)
    if isinstance(times, jax.core.Tracer):
        raise SimulationError("saveat must be plain numbers, not traced ones: they shape the program.")
    if not is_numbers(times) or times.ndim != 1 or times.size == 0:
        raise SimulationError(f"saveat must be a list of times or a diffrax.SaveAt, got {show(saveat)}.")
    times = np.asarray(times, np.float64)
    if not np.all(np.isfinite(times)):
        raise SimulationError(f"saveat[{np.argmin(np.isfinite(times))}] is not finite.")
    if np.any(np.diff(times) < 0):
        raise SimulationError("saveat must be in ascending order.")
    if times[0] < t0 or times[-1] > t1:
        raise SimulationError(f"saveat reaches from {times[0]} to {times[-1]}, outside of t0 = {t0} to t1 = {t1}.")
    return tuple(times.tolist())


def _by_diffrax(system, times, solver, saveat, tolerances, adjoint, max_steps) -> Solution:
    """The same run in diffrax' own loop, with one of its adjoints or ways of saving."""
    t0, t1, dt = times
    rtol, atol = tolerances
    if not isinstance(saveat, diffrax.SaveAt):
        saveat = diffrax.SaveAt(ts=jnp.asarray(_output_times(saveat, t0, t1), system.gravity.dtype))
    elif saveat.subs.ts is not None:
        _output_times(saveat, t0, t1)
    controller = diffrax.ConstantStepSize() if dt is not None else _controller(rtol, atol, t0, t1)
    if dt is not None:
        max_steps = math.ceil((t1 - t0) / dt) + 2
    result = diffrax.diffeqsolve(
        TERM,
        solver,
        t0,
        t1,
        dt,
        jnp.concatenate(system.initial_state()),
        args=system,
        saveat=saveat,
        stepsize_controller=controller,
        adjoint=diffrax.RecursiveCheckpointAdjoint() if adjoint is None else adjoint,
        max_steps=max_steps,
        throw=False,
    )
    ok = result.result == diffrax.RESULTS.successful
    too_many = result.result == diffrax.RESULTS.max_steps_reached
    code = jnp.where(ok, Status.ok.value, jnp.where(too_many, Status.max_steps.value, Status.dt_min.value))
    # Diffrax fills up what it did not reach with infinities.
    filled = jnp.isfinite(result.ts)
    t = jnp.where(filled, result.ts, jnp.nan)
    q, v = split(system, jnp.where(filled[:, None], result.ys, jnp.nan))
    reached = jnp.max(jnp.where(filled, result.ts, t0))
    stats = dict(steps=result.stats["num_accepted_steps"], rejected=result.stats["num_rejected_steps"], time=reached)
    return Solution(system, t, q, v, code, stats)


def _raise_if_failed(solution: Solution) -> None:
    codes = np.asarray(solution.code)
    if np.all(codes == Status.ok):
        return
    first = np.argwhere(np.atleast_1d(codes) != Status.ok)[0][0]
    status = Status(int(np.atleast_1d(codes)[first])).name
    # While gradients are taken, all that may be looked at is that it failed.
    traced = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(solution))
    time = None if traced else float(np.atleast_1d(solution.stats["time"])[first])
    reason = {
        "max_steps": "the number of steps reached max_steps; raise it, loosen rtol and atol, or use a stiff solver",
        "dt_min": "the step size went to zero: the motion is too stiff or singular there",
        "non_finite": "the forces are not finite there",
    }.get(status, status)
    if traced:
        raise SimulationError(f"stopped early: {reason}.", status)
    where = _loudest(solution) if codes.ndim == 0 else f" (simulation {first} of the batch)"
    raise SimulationError(f"stopped at t = {time:.6g}: {reason}{where}.", status, time, solution)


def _loudest(solution: Solution) -> str:
    """The body with the largest acceleration in the last good state."""
    good = np.flatnonzero(np.all(np.isfinite(np.asarray(solution.v)), axis=-1))
    if good.size == 0:
        return ""
    i = int(good[-1])
    system = solution.system
    acceleration = np.abs(np.asarray(solution.outputs(i).accelerations()[0]))
    acceleration = np.where(np.isfinite(acceleration), acceleration, np.inf)
    bodies = [n for n, e in system.structure.elements.items() if e.kind == "bodies" and n != "ground"]
    largest = {name: acceleration[system.velocities(name)].max() for name in bodies}
    name = max(largest, key=lambda n: largest[n])
    return f". Largest acceleration at t = {float(solution.t[i]):.6g}: '{name}' ({largest[name]:.3g})"
