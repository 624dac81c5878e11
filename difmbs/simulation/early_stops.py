"""Why a simulation stopped early, in words."""

import jax
import numpy as np

from ..core.errors import SimulationError
from ..core.status import Status
from ..core.types import Coordinates, Time, Velocities
from ..dynamics.projection import consistent, violations
from ..system.structure import equation_names
from ..system.system import System
from .solution import Solution

_MANY_POINTS = 200
_OF_ROUNDING = ("max_steps", "dt_min", "newton_failed", "constraint_drift")


def raise_if_failed(solution: Solution) -> None:
    codes = np.asarray(solution.code)
    failed = (codes != Status.ok) & (codes != Status.event)
    if not np.any(failed):
        return
    first = np.argwhere(np.atleast_1d(failed))[0][0]
    status = Status(int(np.atleast_1d(codes)[first])).name
    # While gradients are taken, all that may be looked at is that it failed.
    traced = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(solution))
    time = None if traced else float(np.atleast_1d(solution.stats["time"])[first])
    reason = {
        "max_steps": f"the number of steps reached max_steps; {_fewer_steps(solution.system)}",
        "dt_min": "the step size went to zero: the motion is too stiff or singular there",
        "non_finite": "the forces are not finite there",
        "newton_failed": "the equations of a step could not be solved; a smaller dt may help",
        "singular": "the constraints contradict or repeat each other there, so that the accelerations are undefined",
        "inconsistent_start": "no start near the one given meets the constraints",
        "event_undefined": "the function of an event does not cross zero: it is no number there, jumps, or stays zero",
        "interrupted": "it was interrupted",
        "constraint_drift": "after that the motion leaves the constraints; they cannot be met, or dt is too large",
    }.get(status, status)
    if status in _OF_ROUNDING and solution.t.dtype == np.float32:
        reason += "; single precision may be too coarse for it, see jax_enable_x64"
    if traced:
        raise SimulationError(f"stopped early: {reason}.", status)
    where = f" (simulation {first} of the batch)" if codes.ndim else _WHERE.get(status, _loudest)(solution)
    raise SimulationError(f"stopped at t = {time:.6g}: {reason}{where}.", status, time, solution)


def _fewer_steps(system: System) -> str:
    """What would take fewer steps."""
    homes = system.structure.homes
    points = {path[:-1]: home.shape[-1] for path, home in homes.items() if path[-1] == "times"}
    recorded = {path: count for path, count in points.items() if count >= _MANY_POINTS and (*path, "values") in homes}
    if not recorded:
        return "loosen rtol and atol, use a stiff solver, or raise it"
    path, count = max(recorded.items(), key=lambda item: item[1])
    return f"adaptive steps end at each of the {count} points of '{'.'.join(path)}': pass dt, such as their distance"


def _at_the_start(solution: Solution) -> str:
    system, t = solution.system, solution.t[0]
    given, start = system.initial_state(), consistent(system, t, *system.initial_state())
    # Where constraints contradict each other, the attempt to meet them may lead far away from all of them.
    off = [np.nan_to_num(violations(system, t, *state)[0], nan=np.inf).max() for state in (given, start[:2])]
    lost = off[1] > off[0] + 1e-8 * np.abs(given[0]).max()
    return farthest_off(system, t, *(given if lost else start[:2]))


def _after_it_left(solution: Solution) -> str:
    """In the first output that is off."""
    i = int(np.argmax(np.asarray(solution.t) > np.asarray(solution.stats["time"])))
    return farthest_off(solution.outputs(i).system, solution.t[i], solution.q[i], solution.v[i])


def farthest_off(system: System, t: Time, q: Coordinates, v: Velocities) -> str:
    """The constraint that is violated most, on positions if any, else on velocities."""
    position, velocity = (np.asarray(x) for x in violations(system, t, q, v))
    on_position = bool(np.nanmax(position) > 1e-8 * np.abs(q).max())
    sizes, unit = (position, "m or rad") if on_position else (velocity, "m/s or rad/s")
    owners = equation_names(system.structure)
    i = int(np.nanargmax(sizes))
    return f". Farthest off: '{owners[i]}', by {sizes[i]:.3g} {unit}"


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


def _undefined(solution: Solution) -> str:
    """The events whose functions jump; else all."""
    moments = {name: np.asarray(moment) for name, moment in solution.events.items()}
    jumps = [name for name, moment in moments.items() if np.isinf(moment)]
    return f": {', '.join(repr(name) for name in jumps or moments)}"


_WHERE = {"inconsistent_start": _at_the_start, "constraint_drift": _after_it_left, "event_undefined": _undefined}
