"""The results of many fits at once."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.reprs import limited
from ..search import levenberg_marquardt as lm
from .fit_batches import BatchResults
from .fit_problem import FitProblem
from .identifiability import RANK, analyse
from .noise import at_bounds, taken_up
from .setup import FitSetup
from .uncertainty import covariance


class Parameter(NamedTuple):
    """A parameter, entry by entry: factors times the unknowns in `slots` plus offsets; `shape`, or how many entries are
    unknown if not all are."""

    slots: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Fits:
    """The results of `identify_each`, named as in a `Fit`; arrays have an entry for each experiment.

    `names` of the unknowns; `values`, `start` and `standard_errors` by name; `numbers` and `errors`: the same in rows,
    in the order of the names; `fits["spring.stiffness"]`: the values of a parameter, with the axes that it has;
    `experiments`: their names; `chi2`; `degrees_of_freedom`; `status`: "converged", or the reason of an early end,
    "interrupted" of those that were not made; `iterations`.

    Values are NaN where a fit failed or was not made. Standard errors are those of the linearization, infinite where
    the data do not determine an unknown by itself, 0 where it is at a bound.
    """

    names: tuple[str, ...]
    experiments: tuple[str, ...]
    numbers: np.ndarray
    errors: np.ndarray
    chi2: np.ndarray
    degrees_of_freedom: np.ndarray
    status: np.ndarray
    iterations: np.ndarray
    start: dict[str, float]
    parameters: Mapping[str, Parameter] = dataclasses.field(repr=False)
    """By name those that unknowns determine."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def values(self) -> dict[str, np.ndarray]:
        return dict(zip(self.names, self.numbers.T, strict=True))

    @property
    def standard_errors(self) -> dict[str, np.ndarray]:
        return dict(zip(self.names, self.errors.T, strict=True))

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of one unknown, or of a parameter whose entries are unknowns."""
        if name in self.names:
            return self.values[name]
        if name not in self.parameters:
            raise ParameterError(f"there is no unknown '{name}'. {did_you_mean(name, (*self.names, *self.parameters))}")
        slots, factors, offsets, shape = self.parameters[name]
        return (factors * self.numbers[:, slots] + offsets).reshape(len(self), *shape)

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        good = self.status == "converged"
        width = max(len("unknown"), *(len(n) for n in self.names))
        lines = [
            f"{good.sum()} of {len(self)} fits converged",
            f"{'unknown':<{width}}  {'mean':>13}  {'spread':>10}  {'+- std':>10}",
        ]
        for i, name in enumerate(self.names):
            values, errors = self.numbers[good, i], self.errors[good, i]
            mean, spread, typical = (
                float(f(x)) if x.size else np.nan for f, x in ((np.mean, values), (np.std, values), (np.median, errors))
            )
            lines.append(f"{name:<{width}}  {mean:>13.7g}  {spread:>10.3g}  {typical:>10.3g}")
        return "\n".join([*lines, *self._remarks(good)])

    def _remarks(self, good: np.ndarray) -> list[str]:
        said = []
        known = good & (self.degrees_of_freedom > 0)
        if np.any(known):
            each = self.chi2[known] / self.degrees_of_freedom[known]
            worst = np.array(self.experiments)[known][np.argmax(each)]
            said.append(
                f"chi^2 per degree of freedom: median {np.median(each):.3g}, at most {each.max():.3g} ({worst})"
            )
        missing = int(np.sum(self.status == "interrupted"))
        if missing:
            said.append(f"{missing} of them were not made: interrupted")
        others = ("converged", "interrupted")
        lost = [f"{n} ({s})" for n, s in zip(self.experiments, self.status, strict=True) if s not in others]
        if lost:
            said.append(f"not converged: {', '.join(lost[:6])}{f' and {len(lost) - 6} more' if len(lost) > 6 else ''}")
        return said


def collected(setup: FitSetup, problem: FitProblem, found: BatchResults) -> Fits:
    values = problem.scaling.values(found.z)
    sound = found.done & np.all(np.isfinite(found.R), axis=(1, 2)) & np.isfinite(found.chi2)
    weights = [np.asarray(w).reshape(len(values), -1) for w in problem.groups[0].weights.values()]
    counted = np.sum(np.concatenate(weights, axis=1) > 0, axis=1) + int(np.sum(np.asarray(problem.prior_weight) > 0))
    errors, ranks = _plain_errors(problem, found.R, values)
    for row in np.flatnonzero(sound & ~(_inside(problem, found.z) & (ranks == values.shape[1]))):
        errors[row], ranks[row] = _errors(setup, problem, found, int(row), values[row])
    freedom = counted - ranks
    if setup.estimated:
        with np.errstate(all="ignore"):
            errors = errors * np.sqrt(found.chi2 / freedom)[:, None]
    values, errors = (np.where(sound[:, None], x, np.nan) for x in (values, errors))
    words = {**lm.WORDS, lm.RUNNING: lm.WORDS[lm.TOO_MANY]}
    status = [words[int(code)] if made else "interrupted" for code, made in zip(found.code, found.done, strict=True)]
    unknowns = setup.unknowns
    return Fits(
        unknowns.names,
        tuple(e.name for e in setup.experiments),
        values,
        errors,
        found.chi2,
        freedom,
        np.array(status),
        found.iterations,
        dict(zip(unknowns.names, unknowns.start.tolist(), strict=True)),
        _parameters(setup),
    )


def _parameters(setup: FitSetup) -> dict[str, Parameter]:
    entries: dict[str, dict[int, tuple[int, float, float]]] = {}
    for t in setup.unknowns.targets:
        found = entries.setdefault(".".join(t.path), {})
        found |= {at: (slot, t.factor, t.offset) for at, slot in zip(t.entries, t.slots[0], strict=True)}
    shapes = {".".join(t.path): setup.params[t.path].shape for t in setup.unknowns.targets}
    result = {}
    for name, found in entries.items():
        slots, factors, offsets = (np.array(x) for x in zip(*(found[at] for at in sorted(found)), strict=True))
        whole = len(found) == int(np.prod(shapes[name], dtype=int))
        result[name] = Parameter(slots, factors, offsets, shapes[name] if whole else (len(found),))
    return result


def _inside(problem: FitProblem, z: np.ndarray) -> np.ndarray:
    """Whether no unknown is at a bound, fit by fit."""
    return np.all((z > np.asarray(problem.lower)) & (z < np.asarray(problem.upper)), axis=1)


def _plain_errors(problem: FitProblem, R: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors and ranks of all fits, where everything is determined and free."""
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(R, axis=1)
        scaled = np.nan_to_num(R / lengths[:, None, :], posinf=0.0, neginf=0.0)
        _, singular, rows = np.linalg.svd(scaled)
        errors = np.sqrt(np.sum((rows / singular[:, :, None]) ** 2, axis=1)) / lengths
        return errors * np.stack([problem.scaling.slopes(v) for v in values]), np.sum(singular > RANK, axis=1)


def _errors(setup: FitSetup, problem: FitProblem, found: BatchResults, row: int, values: Any) -> tuple[np.ndarray, int]:
    """Standard errors and rank of one fit."""
    state = lm.begin(problem, found.z[row])._replace(R=found.R[row], g=found.g[row], chi2=found.chi2[row])
    slopes, free = problem.scaling.slopes(values), ~at_bounds(problem, state)
    known = analyse(setup.unknowns.names, state.R, values, slopes)
    return np.sqrt(np.diag(covariance(state.R, known, slopes, free))), taken_up(problem, state, free)[0]
