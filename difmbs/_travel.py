"""From a start to the states at all outputs, as one function that JAX traces late, with its derivatives.

The start is brought onto the constraints, the time loop runs, and what is between steps is brought back onto the
constraints. Differentiated, the loop records its steps; the derivatives of the three parts are chained by hand.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ._integrate import Adaptive, Fixed, Trace
from ._late import Linear, late
from ._problems import ACCELERATION, POSITION, VELOCITY
from ._projection import ROUNDS, Route, Visited, judged
from ._replay import Chain, backwards, forwards
from .equations import split
from .system import System


class Path(NamedTuple):
    """What can be differentiated: at the outputs coordinates, velocity coordinates, and accelerations and multipliers
    as one vector (None: not known), the start, and the moments at which events happened last."""

    q: Any
    v: Any
    u: Any
    first_q: Any
    first_v: Any
    moments: Any


class Travel(NamedTuple):
    """`moved` and `turned`: by how much the start differs from what was given; `possible`: whether there is one."""

    path: Path
    on: Any
    moved: Any
    turned: Any
    possible: Any
    steps: Any
    rejected: Any
    iterations: Any
    status: Any
    time: Any


class _Record(NamedTuple):
    """What derivatives need to know of a run. `outputs`: the states there before they were brought onto constraints;
    `start` and `ends`: the states on the way to the start, and from there to what is shown."""

    trace: Trace
    outputs: Any
    on: Any
    possible: Any
    start: Visited | None
    ends: Visited | None


def travel(method: Fixed | Adaptive, system: System, begin: Any, q: Any, v: Any) -> Travel:
    """The motion from q and v, which need not meet the constraints; `begin` is the time there."""
    begin = jnp.asarray(begin, q.dtype)
    arrays, rest = eqx.partition((method, system, begin, q, v), eqx.is_array)
    operands, treedef = jax.tree.flatten(arrays)
    program = _Program(treedef, rest, *_shapes(method, system, begin, q, v))
    flat, structure = jax.tree.flatten(program.of_travel)
    return jax.tree.unflatten(structure, late(program.run, tuple(flat), program.derivative, operands))


@dataclasses.dataclass(frozen=True)
class _Program:
    """The run as a function of flat arrays, the last three of which are the start."""

    treedef: Any
    rest: Any
    of_travel: Travel
    of_record: _Record

    def run(self, *operands):
        method, system, *start = self._parts(operands)
        return self._flat(self._gone(method, system, start, record=False)[0], self.of_travel)

    def recorded(self, *operands):
        method, system, *start = self._parts(operands)
        return self._flat(self._gone(method, system, start, record=True), (self.of_travel, self.of_record))

    def derivative(self, operands, moving, changes):
        flat, structure = jax.tree.flatten((self.of_travel, self.of_record))
        found = late(self.recorded, tuple(flat), _refuse, operands)
        gone, record = jax.tree.unflatten(structure, found)
        linear = Linear(
            lambda known, dx: self._forwards(known, moving, dx), lambda known, w: self._backwards(known, moving, w),
            _SENTENCE,
        )  # fmt: skip
        of_path = tuple(jax.tree.leaves(self.of_travel.path))
        change = linear(of_path, [*operands, *jax.tree.leaves(record)], changes)
        results = jax.tree.leaves(gone)
        return results, [*change, *(None for _ in results[len(change) :])]

    def _forwards(self, known, moving, dx):
        chain, method, system, start, record = self._again(known, moving)
        dp, dstart = tuple(dx[: len(chain.p)]), [jnp.zeros_like(x) for x in start]
        for i, change in zip(moving[len(dp) :], dx[len(dp) :], strict=True):
            dstart[i - self.treedef.num_leaves] = change
        dend, dvisited = _beginning(method, system).push(chain.system_of, chain.p, record.start, dp, dstart)
        y0 = lambda p, *x: method.step.start(chain.system_of(p), *x)
        end = split(system, record.trace.y[0])
        dy0 = jax.jvp(y0, (chain.p, start[0], end, record.start), (dp, dstart[0], dend, dvisited))[1]
        outputs, moments = forwards(chain, dp, dy0)
        route = _ending(method, system, self.of_travel.path.u is not None)
        each = lambda on, *x: route.push(lambda p: chain.system_of(p).switched(on), chain.p, x[0], dp, x[1:])
        dbegin = jnp.broadcast_to(dstart[0], chain.count)
        (q, v), dvisited = jax.vmap(each)(record.on, record.ends, dbegin, *split(system, outputs))
        u = None if self.of_travel.path.u is None else dvisited.u[:, -1]
        of_path = [None if x is None else x * _sound(record.possible) for x in (q, v, u)]
        return jax.tree.leaves(Path(*of_path, *split(system, dy0), moments if chain.watched else None))

    def _backwards(self, known, moving, weights):
        chain, method, system, start, record = self._again(known, moving)
        fill = lambda shape, weight: jnp.zeros(shape.shape, shape.dtype) if weight is None else weight
        shapes, structure = jax.tree.flatten(self.of_travel.path)
        wanted = jax.tree.unflatten(structure, [weight is not None for weight in weights]).u is True
        weight = jax.tree.unflatten(structure, map(fill, shapes, weights))
        q, v, u = (None if x is None else x * _sound(record.possible) for x in weight[:3])
        route = _ending(method, system, wanted)
        ends = jax.tree.map(lambda x: x[:, : len(route.levels)], record.ends) if route.levels else None
        of_ends = jax.tree.map(jnp.zeros_like, ends)
        if wanted:
            of_ends = of_ends._replace(u=of_ends.u.at[:, -1].set(u))
        each = lambda on, *x: route.pull(lambda p: chain.system_of(p).switched(on), chain.p, *x)
        dp, (dbegin, *core) = jax.vmap(each)(record.on, ends, (q, v), of_ends)
        dp, dbegin = jax.tree.map(lambda x: jnp.sum(x, axis=0), (dp, dbegin))
        rest = jnp.zeros((chain.count, record.outputs.shape[1] - q.shape[1] - v.shape[1]), q.dtype)
        moments = jnp.zeros(0, q.dtype) if weight.moments is None else weight.moments
        more, dy0 = backwards(chain, jnp.concatenate([*core, rest], axis=1), moments)
        dp = jax.tree.map(jnp.add, dp, more)
        first = jnp.concatenate([weight.first_q, weight.first_v])
        y0 = lambda p, *x: method.step.start(chain.system_of(p), *x)
        _, pull = jax.vjp(y0, chain.p, start[0], split(system, record.trace.y[0]), record.start)
        more, sooner, of_end, of_visited = pull(dy0.at[: first.size].add(first))
        dp = jax.tree.map(jnp.add, dp, more)
        more, of_start = _beginning(method, system).pull(chain.system_of, chain.p, record.start, of_end, of_visited)
        of_start = (of_start[0] + dbegin + sooner, *of_start[1:])
        return [*map(jnp.add, dp, more), *(of_start[i - self.treedef.num_leaves] for i in moving[len(dp) :])]

    def _parts(self, operands):
        return eqx.combine(jax.tree.unflatten(self.treedef, list(operands)), self.rest)

    def _moved(self, operands, moving, x):
        """The parts with the moving operands replaced."""
        replaced = dict(zip(moving, x, strict=True))
        return self._parts([replaced.get(i, operand) for i, operand in enumerate(operands)])

    def _again(self, known, moving):
        """The chain of steps, method, system and start of a run that is known, and its record."""
        count = self.treedef.num_leaves
        operands, record = known[:count], jax.tree.unflatten(jax.tree.structure(self.of_record), known[count:])
        method, system, *start = self._parts(operands)
        moving = moving[: sum(i < count - 3 for i in moving)]
        system_of = lambda p: self._moved(operands, moving, p)[1]
        return Chain(method, system_of, record.trace, tuple(operands[i] for i in moving)), method, system, start, record

    def _gone(self, method, system, start, record):
        begin, *given = start
        end, visited = _beginning(method, system).follow(system, *start)
        y0 = method.step.start(system, begin, end, visited)
        first = judged(system, begin, tuple(given), split(system, y0))
        run = method.run(system, y0, record)
        # Once for all outputs that will be read, each of which would compile the equations of motion.
        route = _ending(method, system, self.of_travel.path.u is not None)
        times = begin - method.t0 + jnp.asarray(method.outputs, y0.dtype)
        each = lambda on, *x: route.follow(system.switched(on), *x)
        (q, v), ends = jax.vmap(each)(run.on, times, *split(system, run.outputs))
        u = None if self.of_travel.path.u is None else ends.u[:, -1]
        of_path = [None if x is None else x * _sound(first.possible) for x in (q, v, u)]
        gone = Travel(
            Path(*of_path, first.q, first.v, run.moments), run.on, first.moved, first.turned, first.possible, run.steps,
            run.rejected, run.iterations, run.status, run.time,
        )  # fmt: skip
        return gone, _Record(run.trace, run.outputs, run.on, first.possible, visited, ends)

    @staticmethod
    def _flat(results, shapes):
        pairs = zip(jax.tree.leaves(results), jax.tree.leaves(shapes), strict=True)
        return [jnp.asarray(x, s.dtype) for x, s in pairs]


def _beginning(method: Any, system: System) -> Route:
    """To where the time loop starts."""
    return method.step.route(ROUNDS if system.constrained else ())


def _ending(method: Any, system: System, wanted: bool) -> Route:
    """From the states at the outputs to what is shown of them; `wanted`: with accelerations and multipliers."""
    between = system.constrained and not method.on_grid and method.step.on_constraints
    return Route((POSITION, VELOCITY) * between + (ACCELERATION,) * wanted)


def _sound(possible: Any) -> Any:
    """A factor for what can only be known if there is a start: so derivatives are not numbers either."""
    return jnp.where(possible, 1, jnp.nan)


def _shapes(method: Fixed | Adaptive, system: System, begin: Any, q: Any, v: Any) -> tuple[Travel, _Record]:
    structure, outputs, size = system.structure, len(method.outputs), method.step.size(system)
    events, switches = len(structure.events), len(structure.switches)
    steps, whole = method.room, jnp.zeros((), int).dtype
    number = lambda *shape: jax.ShapeDtypeStruct(shape, q.dtype)
    count = lambda *shape: jax.ShapeDtypeStruct(shape, whole)
    flag = lambda *shape: jax.ShapeDtypeStruct(shape, bool)
    moments, on = (number(events), flag(outputs, switches)) if events else (None, None)
    known = system.constrained and not system.redundant
    u = number(outputs, v.size + structure.multiplier_count) if known else None
    path = Path(number(outputs, q.size), number(outputs, v.size), u, number(q.size), number(v.size), moments)
    going = (number(), number(), flag(), count(), count(), count(), count(), number())
    happened = (count(steps), flag(steps, switches)) if events else (None, None)
    states = number(steps // method.spacing(size) + 2, size)
    trace = Trace(number(steps), number(steps), states, number(outputs), count(outputs), count(), *happened)
    unknowns = v.size + structure.multiplier_count
    visited = lambda *rows: Visited(number(*rows), *(number(*rows, n) for n in (q.size, v.size, unknowns)))
    beginning, ending = (len(route.levels) for route in (_beginning(method, system), _ending(method, system, known)))
    rows = visited(beginning) if beginning else None, visited(outputs, ending) if ending else None
    return Travel(path, on, *going), _Record(trace, number(outputs, size), on, flag(), *rows)


def _refuse(operands, moving, changes):
    raise TypeError(_SENTENCE)


_SENTENCE = (
    "simulate has first derivatives only: its derivative holds the trajectory fixed. For second derivatives pass "
    "adjoint=diffrax.DirectAdjoint(), or use Gauss-Newton, which needs first ones only."
)
