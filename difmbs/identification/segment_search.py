"""The search in pieces: first each piece follows its data, then the gaps between them are closed."""

import dataclasses
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import SimulationError
from ..search import levenberg_marquardt as lm
from .fit_problem import ExperimentGroup, FitProblem, Scaling
from .multiple_shooting import MultipleShooting, SegmentStart, SegmentStates
from .segments import Segmentation, SegmentState
from .setup import FitSetup

_WEIGHTS = (0.01, 0.01, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6)
"""Weights of the gaps, stage by stage: at first they hardly count, in the end hardly anything else does."""
_FOLLOWING = 2
"""Number of stages that begin with states that follow the data. With the start values, some of them may have lost
their way."""
_LITTLE = 0.01
"""Relative improvement below which gaps count more from there on."""
_MOST = 20
"""Iterations with the same weight."""
_MOST_OF_A_PIECE = 8
_AS_GOOD = 4.0
"""The motion as a whole may have so many times the chi^2 of its pieces, for the search to go on with it as a whole."""
_LEAST_OF_GAPS = 0.1
"""Where the data say nothing about a state, a gap as large as the state counts at least so many samples' deviation."""


@dataclasses.dataclass(frozen=True)
class SegmentSearch:
    """A fit in pieces: the problem of a stage, and where the search is in it."""

    setup: FitSetup
    shooting: MultipleShooting
    state: lm.LeastSquaresState
    stage: int

    @classmethod
    def begin(cls, setup: FitSetup, problem: FitProblem, z: Any) -> "SegmentSearch":
        """The first stage."""
        return cls._following(setup, problem, z, 0)

    @classmethod
    def _following(cls, setup: FitSetup, problem: FitProblem, z: Any, stage: int) -> "SegmentSearch":
        """With the states of the pieces that their data suggest."""
        values = problem.scaling.values(z)
        cut = [(g, c) for g, c in zip(problem.groups, setup.cuts, strict=True) if c is not None]
        assumed = tuple(_followed(setup, problem, group, cuts, values) for group, cuts in cut)
        return cls._staged(setup, problem, z, assumed, stage)

    @classmethod
    def _staged(
        cls, setup: FitSetup, problem: FitProblem, z: Any, assumed: tuple[SegmentStates, ...], stage: int
    ) -> "SegmentSearch":
        weight = _WEIGHTS[stage]
        shooting = MultipleShooting.of(problem, setup.cuts, assumed, weight)
        state = lm.begin(shooting, jnp.concatenate([z, jnp.zeros(shooting.lower.size - z.size, z.dtype)]))
        # Where gaps count much, damping in proportion to that would hold what moves all pieces together.
        return cls(setup, shooting, state._replace(damping=state.damping / max(weight, 1.0) ** 2), stage)

    @property
    def z(self) -> Any:
        return self.state.z[: self.shooting.unknowns]

    @property
    def step(self) -> float:
        """That is tried next."""
        step = np.asarray(self.state.trial) - np.asarray(self.state.z)
        return float(np.max(np.abs(step[: self.shooting.unknowns])))

    def iterated(self) -> "SegmentSearch":
        free = jnp.ones(self.state.z.size, bool)
        return dataclasses.replace(self, state=lm.one_iteration(self.shooting, self.state, free))

    def finished(self, before: "SegmentSearch") -> bool:
        """Whether this stage is, after an iteration."""
        state, previous = self.state, float(before.state.chi2)
        little = bool(state.accepted) and previous - float(state.chi2) <= _LITTLE * previous
        return (np.isfinite(previous) and little) or int(state.code) != lm.RUNNING or int(state.iterations) >= _MOST

    @property
    def last(self) -> bool:
        return self.stage == len(_WEIGHTS) - 1

    def next(self) -> "SegmentSearch":
        """The next stage: from the states that were found, along the constraints as they are there."""
        problem, z = self.shooting.problem, self.z
        if self.stage + 1 < _FOLLOWING:
            return self._following(self.setup, problem, z, self.stage + 1)
        values = problem.scaling.values(z)
        series = [s for s in self.shooting.series if s is not None]
        assumed = [
            SegmentStates(at, jnp.asarray(_all_directions(s.group, s.cuts, values, at)), s.assumed.scale)
            for s, at in zip(series, self.shooting.states(self.state.predictions), strict=True)
        ]
        return self._staged(self.setup, problem, z, tuple(assumed), self.stage + 1)

    def whole(self, z: Any = None) -> lm.LeastSquaresState:
        """The search for the motion as a whole, after the first evaluation."""
        problem, z = self.shooting.problem, self.z if z is None else z
        return lm.one_iteration(problem, lm.begin(problem, z), jnp.ones(z.size, bool))

    def joined(self, whole: lm.LeastSquaresState) -> bool:
        """Whether the motion as a whole is about as good as its pieces, which cannot be worse than the best one."""
        weights = [w for g in self.shooting.problem.groups for w in g.weights.values()]
        samples = float(sum(np.sum(np.asarray(w) > 0) for w in weights))
        # Where the noise is not known, residuals are compared with the signal.
        noise = samples * (1e-6 if self.setup.estimated else 1.0)
        return float(whole.chi2) <= _AS_GOOD * max(float(self.state.predictions[-1]), noise)

    def warn_unless_joined(self, z: Any) -> None:
        if not self.joined(self.whole(z)):
            warnings.warn(
                f"the {self.setup.segments} segments could not be joined to one motion that fits as well. Take more "
                "segments, or start nearer.",
                stacklevel=4,
            )

    # On the disk

    @property
    def numbers(self) -> tuple[Any, ...]:
        return tuple(jax.tree.leaves([s.assumed for s in self.shooting.series if s is not None]))

    @classmethod
    def restored(
        cls, setup: FitSetup, problem: FitProblem, state: lm.LeastSquaresState, stage: int, numbers: Any
    ) -> "SegmentSearch":
        rows = [numbers[i : i + 4] for i in range(0, len(numbers), 4)]
        assumed = tuple(SegmentStates(SegmentState(q, v), basis, scale) for q, v, basis, scale in rows)
        return cls(setup, MultipleShooting.of(problem, setup.cuts, assumed, _WEIGHTS[stage]), state, stage)


def _followed(
    setup: FitSetup, problem: FitProblem, group: ExperimentGroup, cuts: Segmentation, values: Any
) -> SegmentStates:
    """One piece after the other: from where the one before it ends, the state goes to where its own data want it.

    What no data tell is what the start values predict, angles make as many turns as they do in the motion, and errors
    have no time to grow.
    """
    found, information, speeds = [], [], []
    for number in range(len(group.members)):
        member = group.only(number)
        at, basis = SegmentState(*(x[0] for x in _first_state(member, values))), None
        for k in range(cuts.pieces):
            directions = _directions(member, values, cuts.begins[k], at)
            # Where the first one begins is known.
            piece = _piece(setup.loss, member, cuts, values, k, at, directions * (k > 0))
            state = lm.begin(piece, jnp.zeros(directions.shape[1], at.q.dtype))
            free = jnp.full(directions.shape[1], k > 0)
            for _ in range(_MOST_OF_A_PIECE):
                state = lm.one_iteration(piece, state, free)
                if int(state.code) != lm.RUNNING:
                    break
            if not np.isfinite(float(state.chi2)):
                raise SimulationError(
                    f"with the start values, experiment '{setup.experiments[group.members[number]].name}' cannot be "
                    f"predicted after t = {cuts.begins[k]:.6g}. Start elsewhere, or take more segments."
                )
            begin, end = _two_states(state.predictions, at)
            speeds.append(np.stack([begin.v, end.v]))
            if k > 0:
                found.append((begin.q, begin.v, _directions(member, values, cuts.begins[k], begin)))
                information.append(directions @ np.asarray(state.R).T @ np.asarray(state.R) @ directions.T)
            at = end
    shaped = lambda rows: jnp.asarray(np.array(rows)).reshape(len(group.members), cuts.pieces - 1, *rows[0].shape)
    q, v, basis = (shaped(column) for column in zip(*found, strict=True))
    told = np.sqrt(np.mean([np.diag(x) for x in information], axis=0))
    return SegmentStates(
        SegmentState(q, v), basis, jnp.asarray(np.maximum(told, _least(group, cuts, np.array(speeds))))
    )


def _least(group: ExperimentGroup, cuts: Segmentation, speeds: np.ndarray) -> np.ndarray:
    """What gaps count where the data say nothing: compared with how far and how fast everything moves in a piece."""
    speed = np.sqrt(np.mean(speeds**2, axis=(0, 1)))
    samples = sum(x[0].size for x in group.measured.values()) / cuts.pieces
    size = np.concatenate([speed * cuts.outputs[-1], speed])
    return _LEAST_OF_GAPS * np.sqrt(samples) / np.where(size > 0, size, 1)


def _piece(
    loss: str, group: ExperimentGroup, cuts: Segmentation, values: Any, k: int, at: SegmentState, basis: np.ndarray
) -> SegmentStart:
    mine = np.flatnonzero(np.asarray(cuts.piece) == k)
    most = int(np.bincount(cuts.piece).max())
    # All pieces run the same program: filled up with samples that do not count.
    rows = np.concatenate([mine, np.zeros(most - mine.size, int)])
    real = np.arange(most) < mine.size
    weights = {
        n: jnp.where(real.reshape(-1, *(1 for _ in w.shape[2:])), w[0][rows], 0) for n, w in group.weights.items()
    }
    size = basis.shape[1]
    return SegmentStart(
        group=group,
        values=values,
        begin=jnp.asarray(cuts.begins[k], at.q.dtype),
        at=at,
        basis=jnp.asarray(basis),
        place=jnp.asarray(np.asarray(cuts.place)[rows]),
        end=jnp.asarray(cuts.ends[k]),
        measured={n: x[0][rows] for n, x in group.measured.items()},
        weights=weights,
        scaling=Scaling(jnp.zeros(size, bool), jnp.ones(size, at.q.dtype)),
        lower=jnp.full(size, -jnp.inf, at.q.dtype),
        upper=jnp.full(size, jnp.inf, at.q.dtype),
        cuts=cuts,
        loss=loss,
    )


@eqx.filter_jit
def _first_state(group: ExperimentGroup, values: Any) -> Any:
    return group.each(values, lambda system, *_: system.initial_state())


def _two_states(x: Any, like: SegmentState) -> tuple[SegmentState, SegmentState]:
    nq, nv = like.q.size, like.v.size
    return SegmentState(x[:nq], x[nq : nq + nv]), SegmentState(x[nq + nv : 2 * nq + nv], x[2 * nq + nv :])


def _directions(group: ExperimentGroup, values: Any, begin: float, at: SegmentState) -> np.ndarray:
    """Directions of positions and velocities that do not leave the constraints, as columns at right angles."""
    on_position, on_velocity = (np.asarray(x[0]) for x in _constraint_rows(group, values, jnp.asarray(begin), at))
    blocks = [_null_space(on_position), _null_space(on_velocity)]
    nv, sizes = at.v.size, [x.shape[1] for x in blocks]
    result = np.zeros((2 * nv, sum(sizes)))
    result[:nv, : sizes[0]], result[nv:, sizes[0] :] = blocks
    return result


def _all_directions(group: ExperimentGroup, cuts: Segmentation, values: Any, at: SegmentState) -> np.ndarray:
    """Those of each experiment at the begins of all pieces but the first."""
    members = [group.only(number) for number in range(len(group.members))]
    of_piece = lambda m, k: _directions(members[m], values, cuts.begins[k + 1], SegmentState(at.q[m, k], at.v[m, k]))
    return np.array([[of_piece(m, k) for k in range(cuts.pieces - 1)] for m in range(len(members))])


@eqx.filter_jit
def _constraint_rows(group: ExperimentGroup, values: Any, begin: Any, at: SegmentState) -> Any:
    """The derivatives of all constraints with respect to displacements, and with respect to velocities."""

    def rows(system, *_):
        levels = system.constraint_levels(begin, at.q, at.v).values()
        none = jnp.zeros((0, at.v.size), at.q.dtype)
        on_position = [level.jacobian for level in levels if level.position is not None]
        return jnp.concatenate([none, *on_position]), jnp.concatenate([none, *(level.jacobian for level in levels)])

    return group.each(values, rows)


def _null_space(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    _, sizes, directions = np.linalg.svd(rows / np.where(lengths > 0, lengths, 1))
    return directions[np.sum(sizes > 1e-8) :].T
