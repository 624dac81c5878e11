"""Corrections on the way to a start, and on the way from the states at the outputs to what is shown of them.

They are one loop, which runs before and after what is between, the time loop: so the equations of motion are compiled
once. It goes from state to state instead of treating all outputs at once: that takes a processor as long, and half as
long to compile.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..dynamics.implicit_equations import ACCELERATION
from ..dynamics.projection import ProjectionPlan
from ..linalg.rows import row, with_row


class Visit(NamedTuple):
    """`number`: among all that derivatives need; `goes`: whether the state goes ahead; `look`: how often it has been
    looked at what is around it, -1 if that is not what the visit is for."""

    number: Any
    station: Any
    level: Any
    goes: Any
    look: Any


@dataclasses.dataclass(frozen=True)
class CorrectionLoop:
    """The start is station 0, the outputs are the others; the states there change with each visit.

    `route`: the corrections at station 0; `looks`: so often it is looked around there; `ending`: the levels of the
    corrections at each of the `outputs`.
    """

    route: ProjectionPlan
    looks: int
    ending: tuple[int, ...]
    outputs: int

    @property
    def visits(self) -> int:
        """Without looks, which have the next number."""
        return self.first + self.outputs * len(self.ending)

    @property
    def first(self) -> int:
        """So many visits lead to the start."""
        return len(self.route.levels)

    @property
    def last(self) -> np.ndarray:
        """The numbers of the last visits of all outputs."""
        return self.first + np.arange(1, self.outputs + 1) * len(self.ending) - 1

    def go(
        self,
        visit: Callable[[Any, Visit, Any], tuple[Any, Any]],
        between: Callable[[Any, Any], tuple[Any, Any, Any]],
        stations: Any,
        rest: Any,
        backwards: bool = False,
        looks: bool = False,
        shown: bool = True,
    ) -> tuple[Any, Any, Any]:
        """The states at all stations and the rest after all visits, and what `between` gives.

        `visit(state, what, rest)`: the next state at a station, and the rest; `between(stations, rest)`: these two, and
        something else. `looks`: with those; `shown`: with accelerations and multipliers at the outputs.
        """
        table = self._table(looks, shown)
        if backwards:
            table = jax.tree.map(lambda column: column[::-1], table)
        cut = int(np.sum((table.station == 0) != backwards))
        spans = np.asarray([[0, cut], [cut, len(table.station)]])
        enters = np.diff(table.station, prepend=-1) != 0
        enters, table = jax.tree.map(jnp.asarray, (enters, table))

        def run(stations, rest, begin, end):
            def one(k, carry):
                # What is written in the loop is not read there, so that nothing needs to be copied.
                state, after, rest = carry
                here = at(table, k)
                state = jax.tree.map(lambda x, y: jnp.where(enters[k], x, y), at(stations, here.station), state)
                state, rest = visit(state, here, rest)
                return state, put(after, here.station, state), rest

            return lax.fori_loop(begin, end, one, (at(stations, 0), stations, rest))[1:]

        if not all(begin < end for begin, end in spans):
            for number, span in enumerate(spans.tolist()):
                if span[0] < span[1]:
                    stations, rest = run(stations, rest, *span)
                if number == 0:
                    stations, rest, more = between(stations, rest)
            return stations, rest, more

        between = jax.jit(between)

        def part(carry, now):
            *state, more = carry
            span, is_first = now
            # Already sorted. XLA does not make one function of a loop that sorts: here that would hold the whole
            # simulation, and take a third longer to compile than several side by side.
            state = run(*state, *lax.sort(span))
            return lax.cond(is_first, lambda *x: between(*x[:2]), lambda *x: x, *state, more), None

        more = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(between, stations, rest)[2])
        return lax.scan(part, (stations, rest, more), (jnp.asarray(spans), jnp.asarray([True, False])))[0]

    def _table(self, looks: bool, shown: bool) -> Visit:
        at_outputs = self.outputs * len(self.ending)
        level = np.asarray((*self.route.levels, *(ACCELERATION,) * self.looks, *self.ending * self.outputs), int)
        station = np.repeat(range(self.outputs + 1), [self.first + self.looks, *[len(self.ending)] * self.outputs])
        look = np.concatenate([np.full(self.first, -1), np.arange(self.looks), np.full(at_outputs, -1)])
        number = np.where(look < 0, np.cumsum(look < 0) - 1, self.visits)
        visits = Visit(number, station, level, (level == ACCELERATION) & (station == 0) & (look < 0), look)
        kept = (looks | (look < 0)) & (shown | (station == 0) | (level != ACCELERATION))
        return Visit(*(column[kept] for column in visits))


def at(rows: Any, i: Any) -> Any:
    """Row i of all arrays."""
    return jax.tree.map(lambda x: row(x, i), rows)


def put(rows: Any, i: Any, new: Any) -> Any:
    """The arrays with row i replaced."""
    return jax.tree.map(lambda x, y: with_row(x, i, y), rows, new)


def stations_of(start: Any, outputs: int) -> tuple[Any, ...]:
    """The start, and room for the outputs."""
    return tuple(jnp.zeros((outputs + 1, *jnp.shape(x)), x.dtype).at[0].set(x) for x in start)


def behind(core: Any, outputs: Any) -> tuple[Any, ...]:
    """The same start with these outputs."""
    return tuple(jnp.concatenate([x[:1], y]) for x, y in zip(core, outputs, strict=True))


def first_rows(visited: Any, count: int) -> Any:
    return jax.tree.map(lambda x: x[:count], visited)
