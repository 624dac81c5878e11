"""The arguments of simulations and analyses, checked on plain values before anything is compiled."""

import functools
import math
import warnings
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from ..core.errors import SimulationError
from ..core.parameters import ParameterPath, as_array, is_numbers, show
from ..core.types import Params, Values
from ..jaxtools.compile_messages import called
from ..solvers.newmark import AbstractNewmark
from ..solvers.runge_kutta_4 import RungeKutta4
from ..system.system import System

_MOST_STEPS = 10**8
_TOLERANCES = {"float64": (1e-8, 1e-10), "float32": (1e-5, 1e-6)}
"""rtol and atol by precision; in single precision smaller ones bring little more."""

_ROOT_FINDERS = (diffrax.VeryChord, optimistix.Newton, optimistix.Chord)


def check_times(t0: Any, t1: Any, dt: Any) -> tuple[float, float, float | None]:
    t0, t1 = check_number("t0", t0), check_number("t1", t1)
    if t1 <= t0:
        raise SimulationError(f"t1 = {t1} must be after t0 = {t0}.")
    if dt is None:
        return t0, t1, None
    dt = check_number("dt", dt)
    if dt <= 0:
        raise SimulationError(f"dt = {dt} must be > 0.")
    if t1 - t0 > dt * _MOST_STEPS:
        raise SimulationError(f"dt = {dt} makes more than {_MOST_STEPS:.0e} steps from t0 = {t0} to t1 = {t1}.")
    return t0, t1, dt


def check_number(name: str, value: Any) -> float:
    if isinstance(value, jax.core.Tracer):
        raise SimulationError(f"{name} must be a plain number, not a traced one: it shapes the program.")
    number = as_array(value)
    if not is_numbers(number) or number.shape != ():
        raise SimulationError(f"{name} must be a number, got {show(value)}.")
    if not math.isfinite(number):
        raise SimulationError(f"{name} = {show(value)} is not finite.")
    return float(number)


def tolerances(system: System, rtol: Any, atol: Any) -> tuple[float, float]:
    """Those of adaptive steps; None: what suits the precision of the system."""
    default = _TOLERANCES[jnp.dtype(system.gravity.dtype).name]
    given = {"rtol": rtol, "atol": atol}
    numbers = [
        check_number(name, x if x is not None else y) for (name, x), y in zip(given.items(), default, strict=True)
    ]
    return numbers[0], numbers[1]


def difference_step(dtype: Any) -> float:
    """Relative, for central difference quotients: where their error is about as large as that of rounding."""
    return float(np.finfo(dtype).eps ** (1 / 3))


def check_whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise SimulationError(f"{name} must be a whole number from 1 on, got {show(value)}.")
    return int(value)


def check_system(function: str, system: Any) -> None:
    called()
    if not isinstance(system, System):
        raise SimulationError(f"{function} takes a System, got {type(system).__name__}. Call model.assemble() first.")


def check_uncontrolled(function: str, system: System, sampled: bool = False) -> None:
    """Refuses controllers, whose forces join bodies in ways that equations do not have; only those that are sampled."""
    controls = [control for control in system.structure.controls if control.sampled or not sampled]
    if controls:
        name = ".".join(controls[0].path)
        raise SimulationError(f"{function} leaves out controllers: assemble the model without that of '{name}'.")


def check_state(name: str, value: Any, size: int) -> Values:
    """Coordinates or velocity coordinates of a system, as an array."""
    state = as_array(value)
    if not is_numbers(state) or state.shape != (size,):
        got = f"shape {state.shape}" if is_numbers(state) else show(value)
        raise SimulationError(f"{name} must be numbers of shape ({size},), got {got}.")
    if not isinstance(state, jax.core.Tracer) and not np.all(np.isfinite(state)):
        raise SimulationError(f"{name}[{np.argmin(np.isfinite(state))}] is not finite.")
    return state


def with_numbers(system: System, params: Params | None) -> tuple[System, dict[ParameterPath, Any]]:
    """The system and the parameters that are still to be put in.

    Plain numbers are put in at once, so that any choice of them runs the same program.
    """
    values = {} if params is None else system.check_params(params)
    if any(isinstance(x, jax.core.Tracer) for x in values.values()):
        return system, values
    return system.with_values(values), {}


def check_solvable(system: System, solver: Any, dt: float | None, rtol: float, atol: float, max_steps: int) -> None:
    if solver is not None and not isinstance(solver, diffrax.AbstractSolver):
        raise SimulationError(f"solver must be a diffrax solver such as diffrax.Tsit5(), got {show(solver)}.")
    one_step = (diffrax.AbstractERK, diffrax.AbstractDIRK, diffrax.Euler, diffrax.ImplicitEuler, AbstractNewmark)
    if solver is not None and not isinstance(solver, one_step):
        raise SimulationError(
            f"{type(solver).__name__} is not among the solvers that simulate takes: diffrax's explicit and diagonally "
            "implicit Runge-Kutta methods. Use for example diffrax.Tsit5(), diffrax.Dopri8() or, for stiff systems, "
            "diffrax.Kvaerno5()."
        )
    if not (rtol > 0 and atol > 0):
        raise SimulationError(f"rtol and atol must be > 0, got {rtol} and {atol}.")
    if isinstance(solver, diffrax.AbstractImplicitSolver) and not isinstance(solver.root_finder, _ROOT_FINDERS):
        raise SimulationError(
            f"{type(solver).__name__}: root_finder must be diffrax.VeryChord or Newton or Chord of optimistix, got "
            f"{show(solver.root_finder)}."
        )
    if dt is None:
        if isinstance(solver, RungeKutta4) or not isinstance(solver, diffrax.AbstractAdaptiveSolver | None):
            raise SimulationError(f"{type(solver).__name__} has no error estimate: pass dt, the size of fixed steps.")
        if system.gravity.dtype == jnp.float32 and rtol < 1e-6:
            raise SimulationError(
                f"rtol = {rtol} cannot be reached in single precision. Switch on double precision with "
                'jax.config.update("jax_enable_x64", True) before building the model, or pass rtol=1e-6 or larger.'
            )
    check_whole("max_steps", max_steps)


def check_ways(saveat: Any, adjoint: Any) -> None:
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


def check_plain(system: System, solver: Any) -> None:
    """Whether diffrax' own loop can run the system."""
    what = None
    if isinstance(solver, AbstractNewmark):
        what = type(solver).__name__
    elif system.constrained:
        what = "a system with constraints"
    elif system.structure.events:
        what = "a system with events"
    elif system.structure.sampled:
        what = "a system with sampled controllers"
    if what is not None:
        raise SimulationError(
            f"adjoint= and SaveAt(steps=True) use diffrax' own loop, which cannot run {what}. Leave them out and pass "
            "the output times as saveat."
        )


@functools.cache
def warn_of_single_precision(dtype: Any) -> None:
    if dtype == jnp.float32:
        warnings.warn(
            "computing in single precision, with adaptive steps to rtol=1e-5 and atol=1e-6: expect errors of 1e-5 to "
            '1e-4 and gradients of 1e-3. For double precision call jax.config.update("jax_enable_x64", True) before '
            "building the model.",
            stacklevel=3,
        )


def output_times(saveat: Any, t0: float, t1: float) -> tuple[float, ...]:
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
    # Times computed by adding up steps may miss the ends by their rounding.
    inside = np.clip(times, t0, t1)
    times = np.where(np.abs(times - inside) <= 1e-9 * (t1 - t0), inside, times)
    if times[0] < t0 or times[-1] > t1:
        raise SimulationError(f"saveat reaches from {times[0]} to {times[-1]}, outside of t0 = {t0} to t1 = {t1}.")
    return tuple(times.tolist())
