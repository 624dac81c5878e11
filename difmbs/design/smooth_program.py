"""A design task as a nonlinear program with smooth functions.

A largest value has a kink where two samples are equally large, and there optima like to be. So each goal that is one
becomes an unknown of its own, which none of the samples may exceed: smooth inequalities, for which sequential quadratic
programming converges quadratically.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .task import DesignTask, unit_of

_LOST = 1e6
"""Times the first objective: what counts where the simulation fails, so that the search turns back."""

At = Callable[[np.ndarray], tuple[list[np.ndarray], list[np.ndarray]]]


class SmoothProgram:
    """The least sum of some quantities, `goals`, of a task. Its unknowns are z and the goals that have kinks, in units
    of their first values; the objective is in units of its own, or of its slope where it is 0.
    """

    def __init__(self, task: DesignTask, at: At, shapes: list[tuple[int, int]], goals: range, z: np.ndarray):
        self._task, self._at, self._shapes, self._count = task, at, shapes, z.size
        self.kinks = [k for k in goals if shapes[k] != (1, 1)]
        self._smooth = [k for k in goals if shapes[k] == (1, 1)]
        entries, jacobians = at(z)
        tops = np.array([np.max(entries[k]) for k in self.kinks])
        self._units = np.where(np.abs(tops) > 0, np.abs(tops), 1.0)
        self._firsts = [abs(float(np.max(x))) for x in entries]
        slopes = [float(np.max(np.abs(jacobians[k]), initial=0)) for k in goals]
        self._scale = unit_of(sum(self._firsts[k] for k in goals), sum(slopes))
        self.start = np.concatenate([z, tops / self._units])

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        found = self._sound(x)
        if found is None:
            return _LOST, np.zeros(x.size)
        entries, jacobians = found
        value = sum(entries[k].item() for k in self._smooth) + self._units @ x[self._count :]
        slope = sum((jacobians[k][0] for k in self._smooth), np.zeros(self._count))
        return value / self._scale, np.concatenate([slope, self._units]) / self._scale

    def inequalities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What must not be negative, and its Jacobian."""
        found = self._sound(x)
        # Where the simulation fails, everything is violated.
        entries, jacobians = found or (
            [np.ones(shape) for shape in self._shapes],
            [np.zeros((math.prod(shape), self._count)) for shape in self._shapes],
        )
        rows, slopes = [], []

        def add(values, by_z, by_tops=0.0):
            rows.append(values if found else -np.ones_like(values))
            slopes.append(np.concatenate([by_z, np.broadcast_to(by_tops, (len(values), len(self.kinks)))], axis=1))

        for place, k in enumerate(self.kinks):
            unit, which = self._units[place], np.eye(len(self.kinks))[place]
            add(x[self._count + place] - entries[k].ravel() / unit, -jacobians[k] / unit, which)
        for k, limit in enumerate(self._task.limits, len(self._task.objectives)):
            if limit.upper is not None:
                size = unit_of(abs(limit.upper), self._firsts[k])
                add((limit.upper - entries[k].ravel()) / size, -jacobians[k] / size)
            if limit.lower is not None:
                # The largest of a row is large enough if the one that is largest now is.
                number, row = self._shapes[k]
                tops = np.argmax(entries[k], axis=1) + row * np.arange(number)
                size = unit_of(abs(limit.lower), self._firsts[k])
                add((entries[k].ravel()[tops] - limit.lower) / size, jacobians[k][tops] / size)
        return np.concatenate(rows), np.concatenate(slopes)

    def _sound(self, x: np.ndarray) -> Any:
        entries, jacobians = self._at(x[: self._count])
        return (entries, jacobians) if all(np.all(np.isfinite(a)) for a in (*entries, *jacobians)) else None
