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
from ._projection import ROUNDS, judged, visit
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
    """What derivatives need to know of a run. `outputs`: the states there before they were brought onto constraints."""

    trace: Trace
    outputs: Any
    on: Any
    possible: Any


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
        operands, record = self._known(known)
        x = [operands[i] for i in moving]
        count = sum(i < len(operands) - 3 for i in moving)
        dy0, first_q, first_v = jax.jvp(lambda *x: self._beginning(operands, moving, x), x, list(dx))[1]
        chain = self._chain(operands, moving[:count], record)
        outputs, moments = forwards(chain, tuple(dx[:count]), dy0)
        end = lambda outputs, *x: self._ending(operands, moving, record, outputs, x, self.of_travel.path.u is not None)
        q, v, u = jax.jvp(end, (record.outputs, *x), (outputs, *dx))[1]
        return jax.tree.leaves(Path(q, v, u, first_q, first_v, None if record.trace.event is None else moments))

    def _backwards(self, known, moving, weights):
        operands, record = self._known(known)
        x = [operands[i] for i in moving]
        count = sum(i < len(operands) - 3 for i in moving)
        fill = lambda shape, weight: jnp.zeros(shape.shape, shape.dtype) if weight is None else weight
        shapes, structure = jax.tree.flatten(self.of_travel.path)
        wanted = jax.tree.unflatten(structure, [weight is not None for weight in weights]).u is True
        weight = jax.tree.unflatten(structure, map(fill, shapes, weights))
        chain = self._chain(operands, moving[:count], record)
        end = lambda outputs, *x: self._ending(operands, moving, record, outputs, x, wanted)
        outputs, *at_end = jax.vjp(end, record.outputs, *x)[1]((weight.q, weight.v, weight.u if wanted else None))
        moments = jnp.zeros(0, outputs.dtype) if weight.moments is None else weight.moments
        on_the_way, dy0 = backwards(chain, outputs, moments)
        at_start = jax.vjp(lambda *x: self._beginning(operands, moving, x), *x)[1](
            (dy0, weight.first_q, weight.first_v)
        )
        total = [a + b for a, b in zip(at_start, at_end, strict=True)]
        return [*(a + b for a, b in zip(total, on_the_way, strict=False)), *total[count:]]

    def _parts(self, operands):
        return eqx.combine(jax.tree.unflatten(self.treedef, list(operands)), self.rest)

    def _moved(self, operands, moving, x):
        """The parts with the moving operands replaced."""
        replaced = dict(zip(moving, x, strict=True))
        return self._parts([replaced.get(i, operand) for i, operand in enumerate(operands)])

    def _known(self, known):
        count = self.treedef.num_leaves
        return known[:count], jax.tree.unflatten(jax.tree.structure(self.of_record), known[count:])

    def _chain(self, operands, moving, record):
        method = self._parts(operands)[0]
        return Chain(
            method, lambda p: self._moved(operands, moving, p)[1], record.trace, tuple(operands[i] for i in moving)
        )

    def _beginning(self, operands, moving, x):
        method, system, *start = self._moved(operands, moving, x)
        y0 = _begun(method, system, *start)
        return y0, *split(system, y0)

    def _ending(self, operands, moving, record, outputs, x, wanted):
        method, system, begin, *_ = self._moved(operands, moving, x)
        return _ended(method, system, begin, outputs, record.on, record.possible, wanted)

    def _gone(self, method, system, start, record):
        y0 = _begun(method, system, *start)
        first = judged(system, start[0], tuple(start[1:]), split(system, y0))
        run = method.run(system, y0, record)
        ends = _ended(method, system, start[0], run.outputs, run.on, first.possible, self.of_travel.path.u is not None)
        gone = Travel(
            Path(*ends, first.q, first.v, run.moments), run.on, first.moved, first.turned, first.possible, run.steps,
            run.rejected, run.iterations, run.status, run.time,
        )  # fmt: skip
        return gone, _Record(run.trace, run.outputs, run.on, first.possible)

    @staticmethod
    def _flat(results, shapes):
        pairs = zip(jax.tree.leaves(results), jax.tree.leaves(shapes), strict=True)
        return [jnp.asarray(x, s.dtype) for x, s in pairs]


def _begun(method: Any, system: System, begin: Any, q: Any, v: Any) -> Any:
    """The state in which the time loop starts."""
    return method.step.start(system, begin, q, v, ROUNDS if system.constrained else ())


def _ended(
    method: Any, system: System, begin: Any, outputs: Any, on: Any, possible: Any, wanted: bool
) -> tuple[Any, Any, Any]:
    """Coordinates and velocity coordinates at the outputs, from the states there, and if `wanted` accelerations and
    multipliers: once for all outputs that will be read, each of which would compile the equations of motion."""
    between = system.constrained and not method.on_grid and method.step.on_constraints
    levels = (POSITION, VELOCITY) * between + (ACCELERATION,) * wanted
    q, v = split(system, outputs)
    # A product, so that derivatives are not numbers either.
    known = jnp.where(possible, 1, jnp.nan)
    if not levels:
        return q * known, v * known, None

    def end(on, t, q, v):
        (q, v), visited = visit(system.switched(on), t, q, v, levels)
        return q * known, v * known, visited.u[-1] * known if wanted else None

    return jax.vmap(end)(on, begin - method.t0 + jnp.asarray(method.outputs, q.dtype), q, v)


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
    return Travel(path, on, *going), _Record(trace, number(outputs, size), on, flag())


def _refuse(operands, moving, changes):
    raise TypeError(_SENTENCE)


_SENTENCE = (
    "simulate has first derivatives only: its derivative holds the trajectory fixed. For second derivatives pass "
    "adjoint=diffrax.DirectAdjoint(), or use Gauss-Newton, which needs first ones only."
)
