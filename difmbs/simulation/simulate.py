"""From a system to its motion."""

import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp

from ..core.errors import ParameterError, SimulationError, did_you_mean
from ..core.parameters import ParameterPath, show
from ..core.status import Status
from ..core.types import Params
from ..dynamics.accelerations import named, split
from ..jaxtools.compile_messages import called
from ..jaxtools.unchecked import unchecked
from ..solvers.one_step import TERM, AbstractOneStep
from ..solvers.root_finders import patient
from ..solvers.runge_kutta_4 import RungeKutta4
from ..solvers.solver_steps import step_of
from ..system.system import System
from .adaptive_steps import AdaptiveSteps, GridController
from .arguments import (
    check_plain,
    check_solvable,
    check_system,
    check_times,
    check_ways,
    output_times,
    tolerances,
    warn_of_single_precision,
    with_numbers,
)
from .early_stops import raise_if_failed
from .fixed_steps import FixedSteps
from .moved_starts import warn_if_moved
from .pieces import PiecewiseRun
from .solution import Solution
from .trajectory import solve_trajectory


def simulate(
    system: System,
    *,
    t1: float,
    t0: float = 0.0,
    dt: float | None = None,
    solver: diffrax.AbstractSolver | None = None,
    saveat: Any = None,
    params: Params | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    adjoint: diffrax.AbstractAdjoint | None = None,
    throw: bool = True,
    max_steps: int = 100_000,
) -> Solution:
    """The motion from t0 to t1, starting from the system's initial state.

    **Arguments:** `dt`: size of fixed steps, None: adaptive steps by `rtol` and `atol`, which are 1e-8 and 1e-10, in
    single precision 1e-5 and 1e-6, if they are None; `solver`: a Runge-Kutta method
    of diffrax, `GeneralizedAlpha` or `TrapezoidalIndex2`, None: `diffrax.Tsit5()`, or `RungeKutta4()` for fixed steps;
    `saveat`: the output times, or a `diffrax.SaveAt`, None: 101 times; `params`: a part of `system.params()` to
    replace; `adjoint`: a diffrax adjoint, None: difmbs' own, which allows all of `grad`, `jacfwd`, `jvp`, `vmap` and
    `jit`; `throw`: raise `SimulationError` on an early stop instead of returning what there is; `max_steps`, accepted
    and rejected ones, bounds the memory that derivatives of adaptive runs take.

    Everything but `system` and `params` is a plain value, not to be traced or differentiated.
    """
    t0, t1, dt = check_times(t0, t1, dt)
    check_system("simulate", system)
    rtol, atol = tolerances(system, rtol, atol)
    check_solvable(system, solver, dt, rtol, atol, max_steps)
    check_ways(saveat, adjoint)
    by_diffrax = adjoint is not None or _needs_diffrax(saveat)
    if by_diffrax:
        check_plain(system, solver)
    system, values = with_numbers(system, params)
    warn_of_single_precision(system.gravity.dtype)
    if by_diffrax:
        solver = solver if solver is not None else _usual(dt)
        solution = _by_diffrax(
            system.with_values(values), (t0, t1, dt), solver, saveat, (rtol, atol), adjoint, max_steps
        )
    else:
        times = output_times(saveat, t0, t1)
        time_loop = _time_loop(system, solver, (t0, t1, dt), times, (rtol, atol), max_steps)
        solution = _simulate(system, values, time_loop, times)
    if throw and not isinstance(solution.code, jax.core.Tracer):
        raise_if_failed(solution)
        warn_if_moved(solution)
    return solution


def run_in_pieces(
    system: System,
    *,
    t1: float,
    t0: float = 0.0,
    dt: float | None = None,
    solver: diffrax.AbstractSolver | None = None,
    saveat: Any = None,
    params: Params | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
) -> PiecewiseRun:
    """A simulation that is made piece by piece, with the arguments of `simulate`."""
    t0, t1, dt = check_times(t0, t1, dt)
    check_system("simulate_in_pieces", system)
    rtol, atol = tolerances(system, rtol, atol)
    check_solvable(system, solver, dt, rtol, atol, max_steps)
    check_ways(saveat, None)
    system, values = with_numbers(system, params)
    if values or any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(system)):
        raise SimulationError("simulate_in_pieces cannot be traced or differentiated: use simulate for that.")
    if _needs_diffrax(saveat):
        raise SimulationError("simulate_in_pieces takes output times as saveat, not SaveAt(steps=True).")
    warn_of_single_precision(system.gravity.dtype)
    times = output_times(saveat, t0, t1)
    return PiecewiseRun(system, _time_loop(system, solver, (t0, t1, dt), times, (rtol, atol), max_steps))


def piecewise_run(function: str, system: System, arguments: Mapping[str, Any]) -> PiecewiseRun:
    """`run_in_pieces` with arguments that a function has been given."""
    known = [name for name in inspect.signature(run_in_pieces).parameters if name != "system"]
    for name in arguments:
        if name not in known:
            raise ParameterError(f"{function} has no argument {show(name)}. {did_you_mean(name, known)}")
    if "t1" not in arguments:
        raise ParameterError(f"{function} needs t1, the time at which the run ends.")
    return run_in_pieces(system, **arguments)


def _usual(dt: float | None) -> diffrax.AbstractSolver:
    return RungeKutta4() if dt is not None else diffrax.Tsit5()


def _time_loop(
    system: System,
    solver: diffrax.AbstractSolver | None,
    span: tuple[float, float, float | None],
    times: tuple[float, ...],
    tolerances: tuple[float, float],
    max_steps: int,
) -> FixedSteps | AdaptiveSteps:
    varying = span[2] is None or bool(system.structure.events)
    step = step_of(solver if solver is not None else _usual(span[2]), system, tolerances[0], span[2], varying)
    return time_loop_of(step, span, varying, times, tolerances, max_steps)


def time_loop_of(
    step: AbstractOneStep,
    span: tuple[float, float, float | None],
    varying: bool,
    times: tuple[float, ...],
    tolerances: tuple[float, float],
    max_steps: int,
) -> FixedSteps | AdaptiveSteps:
    """The time loop from t0 to t1, with fixed steps `dt` if that is given; `span`: t0, t1, dt."""
    called()
    t0, t1, dt = span
    if dt is None:
        return AdaptiveSteps(step, _controller(*tolerances, t0, t1), t0, t1, times, max_steps)
    if varying:
        return AdaptiveSteps(step, GridController(dt), t0, t1, times, 2 * math.ceil((t1 - t0) / dt) + max_steps)
    return FixedSteps(step, t0, t1, dt, times)


@eqx.filter_jit
def _simulate(
    system: System, values: dict[ParameterPath, Any], time_loop: FixedSteps | AdaptiveSteps, times: tuple[float, ...]
) -> Solution:
    system = system.with_values(values)
    result = solve_trajectory(time_loop, system, time_loop.t0, *system.initial_state())
    trajectory, summary = result.trajectory, result.summary
    t = jnp.asarray(times, system.gravity.dtype)
    code, reached, moments = summary.status, summary.time, trajectory.moments
    if moments is not None:
        # That of the event that ended it, the last one, moves with the parameters.
        last = moments[jnp.argmax(jnp.where(jnp.isnan(moments), -jnp.inf, moments))]
        reached = jnp.where(code == Status.event.value, last, reached)
    drifted = jnp.any(~result.kept) & ((code == Status.ok.value) | (code == Status.event.value))
    code = jnp.where(drifted, Status.constraint_drift.value, code)
    before = jnp.max(jnp.where(jnp.cumprod(result.kept), t, time_loop.t0))
    reached = jnp.where(drifted, before, reached)
    stats = dict(
        steps=summary.steps,
        rejected=summary.rejected,
        iterations=summary.iterations,
        time=jnp.where(result.possible, reached, time_loop.t0),
        start_moved=result.moved,
        start_turned=result.turned,
    )
    code = jnp.where(result.possible, code, Status.inconsistent_start.value)
    known = None
    if trajectory.u is not None:
        known = jax.vmap(lambda *x: named(system, *x))(t, trajectory.q, trajectory.v, trajectory.u)
    return Solution(system, t, trajectory.q, trajectory.v, code, stats, summary.on, moments, known)


def _controller(rtol: float, atol: float, t0: float, t1: float) -> diffrax.PIDController:
    return diffrax.PIDController(rtol=rtol, atol=atol, dtmin=1e-12 * (t1 - t0), force_dtmin=False)


def _needs_diffrax(saveat: Any) -> bool:
    """Whether diffrax' own loop is needed for what is to be saved."""
    return isinstance(saveat, diffrax.SaveAt) and bool(saveat.subs.steps)


def _by_diffrax(system, times, solver, saveat, tolerances, adjoint, max_steps) -> Solution:
    """The run in diffrax' own loop, with one of its adjoints or ways of saving."""
    t0, t1, dt = times
    rtol, atol = tolerances
    if not isinstance(saveat, diffrax.SaveAt):
        saveat = diffrax.SaveAt(ts=jnp.asarray(output_times(saveat, t0, t1), system.gravity.dtype))
    elif saveat.subs.ts is not None:
        output_times(saveat, t0, t1)
    controller = diffrax.ConstantStepSize() if dt is not None else _controller(rtol, atol, t0, t1)
    if dt is not None:
        max_steps = math.ceil((t1 - t0) / dt) + 2
    run = functools.partial(
        diffrax.diffeqsolve,
        TERM,
        t0=t0,
        t1=t1,
        dt0=dt,
        stepsize_controller=controller,
        adjoint=diffrax.RecursiveCheckpointAdjoint() if adjoint is None else adjoint,
        max_steps=max_steps,
        throw=False,
    )
    return _in_loop_of_diffrax(system, run, patient(solver, rtol), saveat, t0)


@eqx.filter_jit
def _in_loop_of_diffrax(system: System, run: Any, solver: Any, saveat: Any, t0: float) -> Solution:
    begin = jnp.concatenate(system.initial_state())
    result = unchecked(lambda s, y, system, at: run(s, y0=y, args=system, saveat=at), solver, begin, system, saveat)
    ok = result.result == diffrax.RESULTS.successful
    too_many = result.result == diffrax.RESULTS.max_steps_reached
    unsolved = result.result == diffrax.RESULTS.nonlinear_divergence
    unsolved |= result.result == diffrax.RESULTS.nonlinear_max_steps_reached
    why = jnp.where(unsolved, Status.newton_failed.value, Status.dt_min.value)
    code = jnp.where(ok, Status.ok.value, jnp.where(too_many, Status.max_steps.value, why))
    sound = jnp.all(jnp.isfinite(result.ys) | ~jnp.isfinite(result.ts)[:, None])
    code = jnp.where(sound, code, Status.non_finite.value)
    # Diffrax fills up what it did not reach with infinities.
    filled = jnp.isfinite(result.ts)
    t = jnp.where(filled, result.ts, jnp.nan)
    q, v = split(system, jnp.where(filled[:, None], result.ys, jnp.nan))
    reached = jnp.max(jnp.where(filled, result.ts, t0))
    stats = dict(steps=result.stats["num_accepted_steps"], rejected=result.stats["num_rejected_steps"], time=reached)
    return Solution(system, t, q, v, code, stats)
