"""Pieces of a time series, simulated side by side: each starts from a state of its own, at a time of its own."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import ParameterPath
from ..dynamics.outputs import Outputs, component_of
from ..simulation.simulate import time_loop_of
from ..simulation.trajectory import solve_trajectory
from ..solvers.runge_kutta_4 import RungeKutta4
from ..solvers.solver_steps import step_of
from ..system.system import System
from .predictions import MotionPrediction


@dataclasses.dataclass(frozen=True)
class Segmentation:
    """Where a time series is cut.

    `begins` of the pieces [s]; `outputs`: the times since the begin of a piece at which any of them has a sample;
    `ends`: which of these is the end of each piece; `piece` and `place`: in which piece each sample is, and at which of
    the outputs.
    """

    begins: tuple[float, ...]
    outputs: tuple[float, ...]
    ends: tuple[int, ...]
    piece: tuple[int, ...]
    place: tuple[int, ...]

    @property
    def pieces(self) -> int:
        return len(self.begins)


def cut(experiment: str, motion: MotionPrediction, segments: int) -> Segmentation:
    """Cuts at samples, into pieces that last equally long as nearly as the samples allow."""
    times, t0 = np.asarray(motion.times), motion.t0
    # Two samples to a piece: with one, its state could follow any noise.
    if 2 * segments > times.size:
        raise ParameterError(
            f"experiment '{experiment}': {times.size} samples are too few for {segments} segments. Take "
            f"{times.size // 2} at most."
        )
    if any(span is not None for *_, span in motion.channels):
        name = next(name for name, *_, span in motion.channels if span is not None)
        raise ParameterError(
            f"experiment '{experiment}': channel '{name}' has a delay, with which there can be no segments. Shift its "
            "times instead, or leave out segments."
        )
    ideal = t0 + (times[-1] - t0) / segments * np.arange(1, segments)
    nearest = np.clip(np.searchsorted(times, (ideal - 1e-9 * (times[-1] - t0))), 1, times.size - 2)
    firsts = np.unique(nearest[times[nearest] > t0])
    begins = np.concatenate([[t0], times[firsts]])
    piece = np.searchsorted(firsts, np.arange(times.size), side="right")
    lasts = np.append(begins[1:], times[-1])
    # Equal times of several pieces differ by rounding.
    unit = 1e-9 * np.min(np.diff(times))
    steps = np.round(np.concatenate([times - begins[piece], lasts - begins]) / unit)
    outputs, place = np.unique(steps, return_inverse=True)
    return Segmentation(
        tuple(begins.tolist()),
        tuple((outputs * unit).tolist()),
        tuple(place[times.size :].tolist()),
        tuple(piece.tolist()),
        tuple(place[: times.size].tolist()),
    )


class SegmentState(NamedTuple):
    """Coordinates and velocity coordinates."""

    q: Any
    v: Any


def run_piece(
    motion: MotionPrediction, cuts: Segmentation, system: System, begin: Any, at: SegmentState
) -> tuple[SegmentState, SegmentState, Any]:
    """A piece from a state that need not meet the constraints: the state that it starts from, those at all outputs, and
    a function that reads outputs by name."""
    settings = motion.settings
    solver = settings.solver
    if solver is None:
        solver = RungeKutta4() if settings.dt is not None else diffrax.Tsit5()
    step = step_of(solver, system, settings.rtol, settings.dt, settings.dt is None)
    span, tolerances = (0.0, cuts.outputs[-1], settings.dt), (settings.rtol, settings.atol)
    time_loop = time_loop_of(step, span, settings.dt is None, cuts.outputs, tolerances, settings.max_steps)
    path = solve_trajectory(time_loop, system, begin, at.q, at.v).trajectory
    t = begin + jnp.asarray(cuts.outputs, at.q.dtype)
    read = lambda output: jax.vmap(lambda *x: Outputs(system, *x)[output])(t, path.q, path.v)
    return SegmentState(path.first_q, path.first_v), SegmentState(path.q, path.v), read


def measured_by(motion: MotionPrediction, read: Any, sensors: Mapping[ParameterPath, Any]) -> dict[str, Any]:
    """What each channel would show at all outputs of a piece."""
    values = {output: read(output) for output in dict.fromkeys(output for _, output, *_ in motion.channels)}
    return {
        name: sensors[name, "gain"] * component_of(output, values[output], component) + sensors[name, "bias"]
        for name, output, component, _ in motion.channels
    }


def apart(system: System, a: SegmentState, b: SegmentState) -> Any:
    """The displacement from a to b, in the sense of the velocity coordinates, and the difference of velocities."""
    zero = jnp.zeros_like(a.v)
    # dq/dt = T v. The columns of T are at right angles to what is no motion, such as the length of a quaternion.
    T = jax.jacfwd(lambda v: system.rate(a.q, v))(zero)
    return jnp.concatenate([jnp.linalg.solve(T.T @ T, T.T @ (b.q - a.q)), b.v - a.v])
