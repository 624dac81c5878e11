"""The derivative of a run that is known, forwards and backwards: of the way to its start, of its steps, and of the way
from the states at its outputs to what is shown of them.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..dynamics.accelerations import known, split
from ..dynamics.projection import VisitedStates
from ..system.system import System
from .correction_loop import CorrectionLoop, Visit, at, behind, first_rows, put, stations_of
from .step_replay import Chain, backwards, forwards
from .time_loops import AcceptedSteps


class Trajectory(NamedTuple):
    """What can be differentiated: at the outputs coordinates, velocity coordinates, and accelerations and multipliers
    as one vector (None: not known), the start, and the moments at which events happened last."""

    q: Any
    v: Any
    u: Any
    first_q: Any
    first_v: Any
    moments: Any


class RunRecord(NamedTuple):
    """What derivatives need to know of a run. `on`: the switches at start and outputs; `visited`: states on the way to
    the start, and from the states at the outputs to what is shown."""

    trace: AcceptedSteps
    on: Any
    possible: Any
    visited: VisitedStates | None


@dataclasses.dataclass(frozen=True)
class RecordedRun:
    """The run. `start`: the time there, q and v."""

    chain: Chain
    system: System
    start: Any
    record: RunRecord
    walk: CorrectionLoop

    def push(self, dp: Any, dstart: Any, shown: bool) -> Trajectory:
        """Tangents of the results; `shown`: also of accelerations and multipliers."""
        chain, walk, record = self.chain, self.walk, self.record

        def visit(dstate, what, dvisited):
            here = at(record.visited, what.number)
            dnext, du = jax.jvp(self._passing(here, what), (chain.p, *here[:3]), (dp, *dstate))[1]
            return dnext, put(dvisited, what.number, VisitedStates._make((*dstate, du)))

        def between(dstations, dvisited):
            dt, *dcore = dstations
            dparts = dp, dstart[0], tuple(x[0] for x in dcore), self._to_start(dvisited)
            dy0 = jax.jvp(self._starting, self._parts, dparts)[1]
            outputs, moments = forwards(chain, dp, dy0)
            dcore = behind(dcore, split(self.system, outputs))
            return (jnp.full_like(dt, dstart[0]), *dcore), dvisited, (dy0, moments)

        dvisited: Any = jax.tree.map(jnp.zeros_like, record.visited)
        (_, q, v), dvisited, (dy0, moments) = walk.go(visit, between, stations_of(dstart, chain.count), dvisited)
        first_q, first_v = split(self.system, dy0)
        q, v, u = sound(record.possible, q[1:], v[1:], dvisited.u[walk.last] if shown else None)
        return Trajectory(q, v, u, first_q, first_v, moments if chain.watched else None)

    def pull(self, weight: Trajectory, shown: bool) -> tuple[Any, Any]:
        """Cotangents of the parameters and of the start; `shown`: accelerations and multipliers count."""
        chain, walk, record = self.chain, self.walk, self.record
        q, v, u = sound(record.possible, *weight[:3])

        def visit(state, what, rest):
            dp, own = rest
            here, (*of_state, of_u) = at(record.visited, what.number), at(own, what.number)
            more, *before = jax.vjp(self._passing(here, what), chain.p, *here[:3])[1]((state, of_u))
            # Of an output that was not reached nothing is a number; that only matters where it counts.
            counts = jnp.all(jnp.isfinite(here.q)) | jnp.any(of_u != 0) | jnp.any(jnp.concatenate(state[1:]) != 0)
            more, before = jax.tree.map(lambda x: lax.select(counts, x, jnp.zeros_like(x)), (more, before))
            return tuple(map(jnp.add, before, of_state)), (jax.tree.map(jnp.add, dp, more), own)

        def between(stations, rest):
            (t, *core), (dp, own) = stations, rest
            others = jnp.zeros((chain.count, record.trace.y.shape[1] - sum(x.shape[1] for x in core)), t.dtype)
            moments = jnp.zeros(0, t.dtype) if weight.moments is None else weight.moments
            more, dy0 = backwards(chain, jnp.concatenate([*(x[1:] for x in core), others], axis=1), moments)
            first = jnp.concatenate([weight.first_q, weight.first_v])
            of_p, begin, end, on_the_way = jax.vjp(self._starting, *self._parts)[1](dy0.at[: first.size].add(first))
            dp = tuple(a + b + c for a, b, c in zip(dp, more, of_p, strict=True))
            own = jax.tree.map(lambda x, y: x.at[: walk.first].add(y), own, on_the_way)
            stations = jnp.zeros_like(t), *(x.at[0].set(y) for x, y in zip(core, end, strict=True))
            return stations, (dp, own), begin + jnp.sum(t)

        own = jax.tree.map(jnp.zeros_like, record.visited)
        if shown:
            own = own._replace(u=own.u.at[walk.last].set(u))
        t, *core = stations_of([jnp.zeros_like(x) for x in self.start], chain.count)
        stations, rest = (t, *behind(core, (q, v))), (tuple(map(jnp.zeros_like, chain.p)), own)
        stations, (dp, _), dbegin = walk.go(visit, between, stations, rest, backwards=True, shown=shown)
        dt, dq, dv = (x[0] for x in stations)
        return dp, (dt + dbegin, dq, dv)

    def _passing(self, here: VisitedStates, what: Visit) -> Any:
        """The next state and the accelerations or corrections, as a function of parameters and state."""

        def passing(p, t, q, v):
            system = switched(self.chain.system_of(p), self.record.on, what.station)
            u = known(system, t, q, v, what.level, here.u)
            return self.walk.route.after(system, t, q, v, u, what.level, what.goes), u

        return passing

    def _starting(self, p: Any, begin: Any, end: Any, visited: Any) -> Any:
        """The state at the start."""
        return self.chain.method.step.start(self.chain.system_of(p), begin, end, visited)

    @property
    def _parts(self) -> tuple[Any, ...]:
        """What that depends on."""
        end = split(self.system, self.record.trace.y[0])
        return self.chain.p, self.start[0], end, self._to_start(self.record.visited)

    def _to_start(self, visited: Any) -> Any:
        return first_rows(visited, self.walk.first)


def switched(system: System, on: Any, station: Any) -> System:
    return system if on is None else system.switched(at(on, station))


def sound(possible: Any, *results: Any) -> list[Any]:
    """What can only be known if there is a start. Products, so that derivatives are not numbers either."""
    return [None if x is None else x * jnp.where(possible, 1, jnp.nan) for x in results]
