"""What can be animated, as motions: solutions, modes, fits, designs."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..analysis.modes import Modes
from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import show
from ..design.design import Design
from ..dynamics.output_units import of_output
from ..dynamics.outputs import component_index, is_single
from ..identification.experiments import Experiment
from ..identification.fit import Fit
from ..pictures.swings import swing
from ..simulation.solution import Solution

_CYCLE = 60
"""Frames of one period of a mode."""
_GHOST = 0.35


@dataclasses.dataclass(frozen=True)
class ShownMotion:
    """A solution, what it is called, how solid it looks, and points that were measured: (n, 3) by name."""

    solution: Solution
    label: str = ""
    alpha: float = 1.0
    measured: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)


def motions_of(motion: Any, experiment: str | None) -> tuple[list[ShownMotion], bool, str]:
    """The motions, whether all of them are shown at once, and the unit of time."""
    if experiment is not None and not isinstance(motion, Fit):
        raise ParameterError(f"experiment = {show(experiment)} is for fits.")
    if isinstance(motion, Modes):
        return _of_modes(motion), False, "periods"
    if isinstance(motion, Fit):
        return _of_fit(motion, experiment), True, "s"
    if isinstance(motion, Design):
        first, last = motion.motions()
        return [ShownMotion(last, "optimum"), ShownMotion(first, "start", _GHOST)], True, "s"
    several = list(motion) if isinstance(motion, (list, tuple)) else [motion]
    if not several or not all(isinstance(x, Solution) for x in several):
        raise ParameterError(
            "animate takes a Solution, a list of them, Modes, a Fit or a Design, got "
            f"{show(next((x for x in several if not isinstance(x, Solution)), motion))}. "
            "A Result becomes a Solution by result.solution(system)."
        )
    for x in several:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(x)) or np.ndim(x.t) != 1:
            raise ParameterError("animate takes finished simulations: not batches, and not inside of transformations.")
    names = [str(i + 1) if len(several) > 1 else "" for i in range(len(several))]
    return (
        [
            ShownMotion(x, name, 1.0 if i == 0 else _GHOST)
            for i, (x, name) in enumerate(zip(several, names, strict=True))
        ],
        True,
        "s",
    )


def _of_modes(found: Modes) -> list[ShownMotion]:
    """One period of each."""
    shapes, system, q = np.asarray(found.shapes), found.system, found.q
    if shapes.ndim != 2:
        raise ParameterError("animate takes the modes of one system, not of a batch.")
    phases, motions = np.linspace(0, 1, _CYCLE + 1), []
    frequencies, ratios = np.asarray(found.frequencies), np.asarray(found.damping_ratios)
    for i, x in enumerate(shapes):
        if np.all(np.isfinite(x)):
            v = jnp.zeros((len(phases), x.size))
            solution = Solution(system, jnp.asarray(phases), swing(system, q, x, phases), v, jnp.zeros((), int), {})
            damped = f", damping ratio {ratios[i]:.3g}" if abs(ratios[i]) > 1e-9 else ""
            motions.append(ShownMotion(solution, f"mode {i}: {frequencies[i]:.4g} Hz{damped}"))
    return motions


def _of_fit(fit: Fit, experiment: str | None) -> list[ShownMotion]:
    """The fitted motion, with what was measured of positions."""
    known = [e.name for e in fit.experiments if isinstance(e, Experiment)]
    if not known:
        raise ParameterError("none of the experiments of this fit is a motion.")
    if experiment is not None and experiment not in known:
        raise ParameterError(f"there is no motion {show(experiment)}. {did_you_mean(experiment, known)}")
    name = known[0] if experiment is None else experiment
    solution = fit.motion(name)
    record = next(e for e in fit.experiments if e.name == name)
    points: dict[str, np.ndarray] = {}
    for channel, described in record.channels.items():
        output, component = described.output or channel, described.component
        base, _, letter = output.rpartition(".")
        if letter in ("x", "y", "z") and base in solution.names:
            output, component = base, component_index(base, (3,), letter)
        if of_output(solution.system, output) != "m" or not is_single(solution.system, output):
            continue
        fitted = np.asarray(solution[output])
        if fitted.shape[1:] != (3,) or not (
            output in solution.system.structure.readings or output.endswith(".position")
        ):
            continue
        place = points.setdefault(output, fitted.copy())
        place[:, slice(None) if component is None else component] = record.data[channel]
    kept = {name: np.where(np.all(np.isfinite(x), axis=1)[:, None], x, np.nan) for name, x in points.items()}
    return [ShownMotion(solution, "fitted" if kept else "", measured=kept)]


def positions_measured(fit: Fit) -> bool:
    """Whether the first motion of a fit was measured where it can be shown."""
    records = [e for e in fit.experiments if isinstance(e, Experiment)]
    if not records:
        return False
    system, outputs = fit.setup.system, [d.output or name for name, d in records[0].channels.items()]
    return any(of_output(system, output) == "m" and is_single(system, output) for output in outputs)
