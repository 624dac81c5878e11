"""The result of a design optimization."""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import counted
from ..core.parameters import nest
from ..core.reprs import limited
from ..jaxtools.gradient_check import quotient_error
from ..search.progress import Iteration
from ..search.unknowns import Unknowns, into
from ..simulation.solution import Solution
from ..system.system import System
from .objectives import AbstractQuantity, number_names
from .task import DesignTask, evaluate

NOTICED = 0.01
"""Relative changes by shorter time steps that are larger are worth a word."""


@dataclasses.dataclass(frozen=True)
class Design:
    """What `optimize` found. Prints as a table.

    `values` of the unknowns and their `start` by name; `objective`, the sum of `objectives`, which are given by name;
    `limits`: the values of the limited quantities, in the order in which they were given - of several numbers the one
    that is nearest to its bound or farthest beyond -, `limited`, their names, and `met`, whether each limit is met;
    `status`: "converged", or the reason of an early end; `step_error`: the largest change, relative, of objective and
    limits by time steps half as long, 0 where a solver chooses them by its usual tolerances; `history`; `system` with
    the values put in, and `params` as `simulate` takes them.
    """

    task: DesignTask
    unknowns: Unknowns
    numbers: np.ndarray
    status: str
    objectives: dict[str, float]
    limits: tuple[float, ...]
    history: tuple[Iteration, ...]
    evaluations: int
    met: tuple[bool, ...]
    judged: tuple[int, ...]
    """Index, for each limited quantity, of the number that its value in `limits` is."""
    step_error: float

    @property
    def names(self) -> tuple[str, ...]:
        return self.unknowns.names

    @property
    def values(self) -> dict[str, float]:
        return dict(zip(self.names, self.numbers.tolist(), strict=True))

    @property
    def start(self) -> dict[str, float]:
        return dict(zip(self.names, self.unknowns.start.tolist(), strict=True))

    @property
    def objective(self) -> float:
        return sum(self.objectives.values())

    @property
    def params(self) -> dict[str, Any]:
        return nest(into(self.task.given, self.task.targets, jnp.asarray(self.numbers)))

    @property
    def system(self) -> System:
        return self.task.system.with_params(self.params)

    @functools.cached_property
    def limited(self) -> tuple[str, ...]:
        quantities = [limit.quantity for limit in self.task.limits]
        return tuple(number_names(q, self.task.system)[i] for q, i in zip(quantities, self.judged, strict=True))

    @property
    def steps_too_long(self) -> str:
        """What is to be said where `step_error` is noticeable."""
        settings, shorter = self.task.settings, self.task.settings.with_shorter_steps
        other = "" if shorter is None else f" with {shorter.steps} instead of {settings.steps}"
        change = f"change by {100 * self.step_error:.2g} %" if np.isfinite(self.step_error) else "are not finite"
        return f"The time steps are too long:{other} objective or limits {change}. Give shorter ones."

    def motions(self) -> tuple[Solution, Solution]:
        """The motions at the start and at the optimum."""
        at_start = dataclasses.replace(self, numbers=self.unknowns.start)
        first, last = (self.task.simulated(x.system, throw=False) for x in (at_start, self))
        return first, last

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output, picture_of

        rows = [(n, f"{self.values[n]:.8g}", f"{self.start[n]:.6g}") for n in self.names]
        rows += [(name, f"{value:.6g}", "") for name, value in self.objectives.items()]
        picture = picture_of(lambda axes: self.plot(*self._asked()[:3], ax=axes)) if self._asked() else None
        return cell_output(f"Design: {self.status}", rows, ("unknown or objective", "optimum", "start"), picture)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Outputs over time at the start and at the optimum, None of them: those that the goals ask about; returns the
        axes."""
        from ..plots.style import FIT, QUIET

        first, last = self.motions()
        shown = names or self._asked()
        axes = first.plot(*shown, ax=ax, label="start", color=QUIET)
        return last.plot(*shown, ax=axes, label="optimum", color=FIT)

    def _asked(self) -> tuple[str, ...]:
        """Outputs that objectives and limits are about."""
        quantities = [*self.task.objectives, *(limit.quantity for limit in self.task.limits)]
        return tuple(dict.fromkeys(q.output for q in quantities if isinstance(q, AbstractQuantity)))

    def check_gradient(self, seed: int = 0) -> float:
        """The difference, relative, between the derivative of all objectives and limits along a random direction and a
        central difference quotient: small if the derivatives are right."""
        # Of the start: at the optimum they may vanish.
        z = self.task.scaling.inverse(self.unknowns.start)
        direction = np.random.default_rng(seed).normal(size=z.size)

        def along(z):
            entries, jacobian = evaluate(self.task, jnp.asarray(z))
            return entries, np.asarray(jacobian) @ direction

        return quotient_error(along, z, direction, 1e-6 * max(1.0, float(np.max(np.abs(z)))))

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        width = max(7, *(len(n) for n in self.names))
        lines = [f"{'unknown':<{width}}  {'value':>14}  {'start':>12}  range"]
        for i, name in enumerate(self.names):
            lower, upper = self.unknowns.lower[i], self.unknowns.upper[i]
            at = " (at the bound)" if np.any(np.isclose(self.numbers[i], [lower, upper], rtol=1e-9, atol=0)) else ""
            lines.append(
                f"{name:<{width}}  {self.numbers[i]:>14.8g}  {self.start[name]:>12.6g}  {lower:g} to {upper:g}{at}"
            )
        simulations = counted(self.evaluations, "simulation")
        first = self.history[0].value if self.history else np.nan
        lines += [
            "",
            f"{self.status} after {simulations} with derivatives; objective {self.objective:.6g}, "
            f"at the start {first:.6g}",
        ]
        lines += [f"  {name}: {value:.6g}" for name, value in self.objectives.items() if len(self.objectives) > 1]
        for limit, name, value, met in zip(self.task.limits, self.limited, self.limits, self.met, strict=True):
            missed = "" if met else ", which it does not meet"
            lines.append(f"  {name}: {value:.6g} ({limit}{missed})")
        if not self.step_error <= NOTICED:
            lines.append(self.steps_too_long)
        return "\n".join(lines)
