"""Multiple shooting: pieces of long records as a least-squares problem that does not follow the motion for long.

The states at the begins of all pieces but the first are unknowns beside z: u displaces them from where they are
assumed, along the constraints. Residuals are those of the data, and the gaps between the end of each piece and the
begin of the next one, in standard deviations of what they would change in the data, times a weight.
"""

import functools
import math
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..search.least_squares import AbstractLeastSquares, differentiated, linearized
from ..search.scaling import Scaling
from ..system.system import System
from .fit_problem import LOSSES, ExperimentGroup, FitProblem, flat
from .predictions import MotionPrediction
from .segments import Segmentation, SegmentState, apart, measured_by, run_piece


class SegmentStates(NamedTuple):
    """States at the begins of all segments but the first of a group of experiments, in which directions they may
    move (experiments, pieces, entries, directions), and what a gap in each entry counts."""

    at: SegmentState
    basis: Any
    scale: Any


class SegmentedSeries(eqx.Module):
    """A group of experiments that is cut."""

    group: ExperimentGroup
    assumed: SegmentStates
    cuts: Segmentation = eqx.field(static=True)

    def predict(self, values: Any, u: Any) -> Any:
        """The samples by channel, the gaps, and the states at the begins of the later pieces."""
        return self.group.each(values, self._one, self.assumed.at, self.assumed.basis, u)

    def _one(self, system: System, loads: Any, sensors: Any, at: SegmentState, basis: Any, u: Any) -> Any:
        motion, cuts = cast(MotionPrediction, self.group.program), self.cuts
        moved = jnp.einsum("kij,kj->ki", basis, u)
        nv = at.v.shape[1]
        first = system.initial_state()
        q = jnp.concatenate([first[0][None], jax.vmap(system.retract)(at.q, moved[:, :nv])])
        v = jnp.concatenate([first[1][None], at.v + moved[:, nv:]])

        def piece(begin, q, v):
            start, states, read = run_piece(motion, cuts, system, begin, SegmentState(q, v))
            return start, states, measured_by(motion, read, sensors)

        starts, states, measured = jax.vmap(piece)(jnp.asarray(cuts.begins, q.dtype), q, v)
        before = jax.tree.map(lambda x: x[np.arange(cuts.pieces - 1), np.asarray(cuts.ends[:-1])], states)
        later = jax.tree.map(lambda x: x[1:], starts)
        gaps = jax.vmap(functools.partial(apart, system))(later, before)
        samples = {name: x[np.asarray(cuts.piece), np.asarray(cuts.place)] for name, x in measured.items()}
        return samples, gaps, later


class MultipleShooting(AbstractLeastSquares):
    """A fit in pieces. Its z is that of the fit, and behind it u: by group, experiment, piece."""

    problem: FitProblem
    series: tuple[SegmentedSeries | None, ...]
    """By group; None for what is no time series."""
    weight: Any
    """Of gaps."""
    scaling: Scaling
    lower: Any
    upper: Any

    @classmethod
    def of(
        cls,
        problem: FitProblem,
        cuts: tuple[Segmentation | None, ...],
        assumed: tuple[SegmentStates, ...],
        weight: float,
    ) -> "MultipleShooting":
        rest = iter(assumed)
        groups = zip(problem.groups, cuts, strict=True)
        series = tuple(None if c is None else SegmentedSeries(group, next(rest), c) for group, c in groups)
        more = sum(math.prod(_u_shape(s)) for s in series if s is not None)
        widened = lambda x, fill: jnp.concatenate([x, jnp.full(more, fill, x.dtype)])
        return cls(
            problem=problem,
            series=series,
            weight=jnp.asarray(weight, problem.lower.dtype),
            scaling=Scaling(widened(problem.scaling.logarithmic, False), widened(problem.scaling.scale, 1)),
            lower=widened(problem.lower, -jnp.inf),
            upper=widened(problem.upper, jnp.inf),
        )

    @property
    def unknowns(self) -> int:
        """Number of entries of z that are those of the fit."""
        return self.problem.lower.size

    @property
    def count(self) -> int:
        states = [s.assumed.at for s in self.series if s is not None]
        return self.problem.count + sum(x.size for x in jax.tree.leaves(states)) + 1

    def residuals(self, z: Any) -> tuple[Any, Any]:
        """The residuals; the predicted samples, the states at the begins of pieces, and chi^2 without gaps."""
        values = self.problem.scaling.values(z[: self.unknowns])
        rows, gaps, states = [], [], []
        for group, series, u in zip(self.problem.groups, self.series, self._u(z), strict=True):
            if series is None:
                rows.append(flat(group, group.predict(values)))
                continue
            samples, gap, later = series.predict(values, u)
            rows.append(flat(group, samples))
            gaps.append((self.weight * series.assumed.scale[None, None] * gap).reshape(-1))
            states += [x.reshape(-1) for x in later]
        predictions = jnp.concatenate(rows)
        of_data = self.problem.weighted(z[: self.unknowns], predictions)
        chi2 = jnp.sum(of_data**2)[None]
        return jnp.concatenate([of_data, *gaps]), jnp.concatenate([predictions, *states, chi2])

    def linearized(self, z: Any) -> tuple[Any, Any, Any]:
        """A sample depends on the state of its piece, a gap on those of two pieces: so all even pieces are displaced at
        once, and all odd ones, however many there are."""
        color, column, row = self._pattern()
        colors = int(color.max()) + 1
        directions = jnp.asarray(np.eye(colors)[color].T, z.dtype)
        along = lambda c: self.residuals(z + c @ directions)
        jacobian, residuals, predictions = differentiated(along, jnp.zeros(colors, z.dtype))
        touched = (column < 0)[None] | np.any(row[:, :, None] == column, axis=1)
        return jnp.where(touched, jacobian[:, color], 0), residuals, predictions

    def states(self, predictions: Any) -> tuple[SegmentState, ...]:
        """The states at the begins of pieces, from what `residuals` predicted."""
        place, found = self.problem.count, []
        for series in self.series:
            if series is not None:
                shapes = [x.shape for x in series.assumed.at]
                parts = []
                for shape in shapes:
                    size = math.prod(shape)
                    parts.append(predictions[place : place + size].reshape(shape))
                    place += size
                found.append(SegmentState(*parts))
        return tuple(found)

    def _u(self, z: Any) -> list[Any]:
        found: list[Any] = []
        place = self.unknowns
        for series in self.series:
            if series is None:
                found.append(None)
            else:
                shape = _u_shape(series)
                size = math.prod(shape)
                found.append(z[place : place + size].reshape(shape))
                place += size
        return found

    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column by column: with which others it is displaced, and to which piece it belongs (-1: z); of each row the
        pieces it depends on."""
        p = self.unknowns
        color, column = [np.arange(p)], [np.full(p, -1)]
        samples, gaps, first = [], [], 0
        for group, series in zip(self.problem.groups, self.series, strict=True):
            sizes = {name: int(np.prod(x.shape[2:])) for name, x in group.measured.items()}
            if series is None:
                samples.append(np.full(sum(x.size for x in group.measured.values()), -2))
                continue
            members, pieces, n = _u_shape(series)
            number = first + np.arange(members * pieces).reshape(members, pieces)
            column.append(np.repeat(number.reshape(-1), n))
            color.append((p + np.arange(pieces)[:, None] % 2 * n + np.arange(n) + 0 * number[..., None]).reshape(-1))
            # The first piece begins where the parameters say.
            owner = np.concatenate([np.full((members, 1), -2), number], axis=1)
            per_sample = owner[:, np.asarray(series.cuts.piece)]
            samples += [
                np.concatenate([np.repeat(row, sizes[name]) for name, *_ in group.program.channels])
                for row in per_sample
            ]
            two = np.stack([owner[:, :-1], owner[:, 1:]], axis=-1)
            gaps.append(np.repeat(two.reshape(-1, 2), series.assumed.scale.size, axis=0))
            first += members * pieces
        of_data = np.concatenate([*samples, np.full(self.problem.prior_weight.size * self.problem.has_prior, -2)])
        return (
            np.concatenate(color),
            np.concatenate(column),
            np.concatenate([np.stack([of_data, of_data], axis=-1), *gaps]),
        )


def _u_shape(series: SegmentedSeries) -> tuple[int, int, int]:
    members, pieces, _, directions = series.assumed.basis.shape
    return members, pieces, directions


class SegmentStart(AbstractLeastSquares):
    """The state at the begin of a piece of one experiment, from the data of this piece alone."""

    group: ExperimentGroup
    values: Any
    begin: Any
    at: SegmentState
    basis: Any
    place: Any
    """Of its samples among all outputs, filled up to the same number for each piece."""
    end: Any
    measured: dict[str, Any]
    weights: dict[str, Any]
    scaling: Scaling
    lower: Any
    upper: Any
    cuts: Segmentation = eqx.field(static=True)
    loss: str = eqx.field(static=True)

    @property
    def count(self) -> int:
        return 2 * sum(x.size for x in self.at)

    def linearized(self, z: Any) -> tuple[Any, Any, Any]:
        return linearized(self, z)

    def residuals(self, u: Any) -> tuple[Any, Any]:
        """The residuals; the states at the begin and the end."""
        samples, states = jax.tree.map(lambda x: x[0], self.group.each(self.values, self._one, u[None]))
        rows = []
        for name, measured in self.measured.items():
            counts = self.weights[name] > 0
            off = jnp.where(counts, measured, 0) - jnp.where(counts, samples[name], 0)
            rows.append(jnp.where(counts, self.weights[name] * off, 0).reshape(-1))
        return LOSSES[self.loss](jnp.concatenate(rows)), states

    def _one(self, system: System, loads: Any, sensors: Any, u: Any) -> Any:
        motion, nv = cast(MotionPrediction, self.group.program), self.at.v.size
        moved = self.basis @ u
        at = SegmentState(system.retract(self.at.q, moved[:nv]), self.at.v + moved[nv:])
        start, states, read = run_piece(motion, self.cuts, system, self.begin, at)
        samples = {name: x[self.place] for name, x in measured_by(motion, read, sensors).items()}
        return samples, jnp.concatenate([start.q, start.v, states.q[self.end], states.v[self.end]])
