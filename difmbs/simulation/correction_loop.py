"""Projects the start and the outputs onto the constraints and solves for accelerations there, in one compiled loop.

The start is station 0, the outputs are the stations behind it. At each of them the state is visited a few times, in the
order of a table: first at the start, then, after the time loop, at one output after the other. So the equations of
motion are compiled once for all of that. To treat all outputs side by side takes a processor as long, and twice as long
to compile.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..core.types import Count, Level
from ..dynamics.implicit_equations import ACCELERATION
from ..dynamics.projection import ProjectionPlan
from ..linalg.rows import row, with_row


class Visit(NamedTuple):
    """One evaluation of the equations of motion at a station, or as columns all of them."""

    number: Count
    """Among all visits that derivatives need; the others share the next number."""
    station: Count
    level: Level
    """Level of the constraints: what is corrected, or accelerations."""
    ahead: Any
    """Whether the state goes ahead in time (`ProjectionPlan`)."""
    evaluation: Count
    """Its number in the search for the fastest vibration; -1 if the visit is none of that."""


@dataclasses.dataclass(frozen=True)
class CorrectionLoop:
    """The visits of a run.

    `plan`: the corrections of the start; `evaluations`: how many visits search for the fastest vibration about it;
    `levels`: those of the visits to each of the `outputs`.
    """

    plan: ProjectionPlan
    evaluations: int
    levels: tuple[int, ...]
    outputs: int

    @property
    def visits(self) -> int:
        """Number of visits that derivatives need."""
        return self.start_visits + self.outputs * len(self.levels)

    @property
    def start_visits(self) -> int:
        return len(self.plan.levels)

    @property
    def last_visits(self) -> np.ndarray:
        """The numbers of the last visits of all outputs."""
        return self.start_visits + np.arange(1, self.outputs + 1) * len(self.levels) - 1

    def run(
        self,
        visit: Callable[[Any, Visit, Any], tuple[Any, Any]],
        between: Callable[[Any, Any], tuple[Any, Any, Any]],
        stations: Any,
        rest: Any,
        backwards: bool = False,
        searches: bool = False,
        shown: bool = True,
    ) -> tuple[Any, Any, Any]:
        """The states at all stations and the rest after all visits, and what `between` gives.

        `visit(state, what, rest)`: the next state at a station, and the rest; `between(stations, rest)`: these two, and
        something else, called once between the visits to the start and those to the outputs (backwards: the reverse).
        `searches`: with the visits that search for the fastest vibration; `shown`: with those that solve for
        accelerations at the outputs, which a derivative can leave out where their cotangents are zero.
        """
        table = self._table(searches, shown)
        if backwards:
            table = jax.tree.map(lambda column: column[::-1], table)
        cut = int(np.sum((table.station == 0) != backwards))
        spans = np.asarray([[0, cut], [cut, len(table.station)]])
        enters = np.diff(table.station, prepend=-1) != 0
        enters, table = jax.tree.map(jnp.asarray, (enters, table))

        def make(stations, rest, begin, end):
            def one(k, carry):
                # What is written in the loop is not read there, so that nothing needs to be copied.
                state, after, rest = carry
                here = at(table, k)
                state = jax.tree.map(lambda x, y: jnp.where(enters[k], x, y), at(stations, here.station), state)
                state, rest = visit(state, here, rest)
                return state, put(after, here.station, state), rest

            return lax.fori_loop(begin, end, one, (at(stations, 0), stations, rest))[1:]

        # Where one span is empty there is no loop to share.
        if not all(begin < end for begin, end in spans):
            for number, span in enumerate(spans.tolist()):
                if span[0] < span[1]:
                    stations, rest = make(stations, rest, *span)
                if number == 0:
                    stations, rest, more = between(stations, rest)
            return stations, rest, more

        # Both spans in one scan, so that `visit` is compiled once; `between` runs after the first.
        between = jax.jit(between)

        def part(carry, now):
            *state, more = carry
            span, is_first = now
            # Already sorted. XLA does not make one function of a loop that sorts: here that would hold the whole
            # simulation, and take a third longer to compile than several side by side.
            state = make(*state, *lax.sort(span))
            return lax.cond(is_first, lambda *x: between(*x[:2]), lambda *x: x, *state, more), None

        more = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(between, stations, rest)[2])
        return lax.scan(part, (stations, rest, more), (jnp.asarray(spans), jnp.asarray([True, False])))[0]

    def _table(self, searches: bool, shown: bool) -> Visit:
        first, each = self.start_visits, len(self.levels)
        level = np.asarray((*self.plan.levels, *(ACCELERATION,) * self.evaluations, *self.levels * self.outputs), int)
        station = np.repeat(range(self.outputs + 1), [first + self.evaluations, *[each] * self.outputs])
        none = np.full(self.outputs * each, -1)
        evaluation = np.concatenate([np.full(first, -1), np.arange(self.evaluations), none])
        number = np.where(evaluation < 0, np.cumsum(evaluation < 0) - 1, self.visits)
        ahead = (level == ACCELERATION) & (station == 0) & (evaluation < 0)
        kept = (searches | (evaluation < 0)) & (shown | (station == 0) | (level != ACCELERATION))
        return Visit(*(column[kept] for column in (number, station, level, ahead, evaluation)))


def at(rows: Any, i: Count) -> PyTree:
    """Row i of all arrays."""
    return jax.tree.map(lambda x: row(x, i), rows)


def put(rows: Any, i: Count, new: Any) -> PyTree:
    """The arrays with row i replaced."""
    return jax.tree.map(lambda x, y: with_row(x, i, y), rows, new)


def stations_of(start: Any, outputs: int) -> tuple[Any, ...]:
    """The start, and room for the outputs."""
    return tuple(jnp.zeros((outputs + 1, *jnp.shape(x)), x.dtype).at[0].set(x) for x in start)


def with_outputs(stations: Any, outputs: Any) -> tuple[Any, ...]:
    """Stations with the same start and these outputs."""
    return tuple(jnp.concatenate([x[:1], y]) for x, y in zip(stations, outputs, strict=True))


def first_rows(visited: PyTree, count: int) -> PyTree:
    return jax.tree.map(lambda x: x[:count], visited)
