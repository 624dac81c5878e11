"""What is done with each set of parameters, as a program that other processes can run."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import ParameterPath, as_array, is_numbers, show, show_error
from ..design.objectives import AbstractQuantity, check_quantity, name_of, names_of
from ..dynamics.output_units import of_output
from ..dynamics.outputs import output_shape
from ..files.saved_sweeps import ARRIVED
from ..search.run_settings import RunSettings
from ..simulation.solution import Solution, at_rows
from ..system.system import System

STATUS, REACHED = "status", "time"
_RESERVED, _DERIVATIVE = (STATUS, REACHED, "time reached", "run", "code"), "d "
_MOST_BYTES = 5e7
"""Of what one call of the program is given and returns."""
_MOST_CHUNKS = 256


class SweepTask(eqx.Module):
    """`outputs`: by name a quantity, an output, or a function of the solution; `derivatives`: parameters by which all
    of them are differentiated."""

    system: System
    outputs: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    derivatives: tuple[ParameterPath, ...] = eqx.field(static=True)
    settings: RunSettings = eqx.field(static=True)
    t0: float = eqx.field(static=True)
    t1: float = eqx.field(static=True)
    saveat: tuple[float, ...] = eqx.field(static=True)

    def run(self, values: Mapping[ParameterPath, Any]) -> dict[str, Any]:
        """All that is kept of a run with these parameters, and how it ended."""
        system = self.system.with_values(values)
        if not self.derivatives:
            found, how = self._outputs(system)
            return {**found, **how}
        chosen = {path: system.value(path) for path in self.derivatives}

        def outputs(chosen):
            found, how = self._outputs(system.with_values(chosen))
            return found, (found, how)

        slopes, (found, how) = jax.jacfwd(outputs, has_aux=True)(chosen)
        by_name = {derivative_name(name, path): slope for name, of in slopes.items() for path, slope in of.items()}
        return {**found, **by_name, **how}

    def _outputs(self, system: System) -> tuple[dict[str, Any], dict[str, Any]]:
        solution = self.settings.simulate(system, t0=self.t0, t1=self.t1, saveat=self.saveat, throw=False)
        ended = _until_the_end(solution) if system.structure.events else solution
        arrived = jnp.isin(solution.code, jnp.asarray(ARRIVED))
        found = {name: _read(what, solution, ended, arrived) for name, what in self.outputs}
        return found, {STATUS: solution.code, REACHED: solution.stats["time"]}

    def units(self) -> dict[str, str]:
        """Of the outputs; "" where nobody knows."""
        of = {name: getattr(what, "output", what) for name, what in self.outputs}
        squared = {name for name, what in self.outputs if type(what).__name__ in ("MeanSquare", "Integral")}
        known = lambda what: isinstance(what, str) and of_output(self.system, what)
        return {name: (name not in squared and known(what)) or "" for name, what in of.items()}


@dataclasses.dataclass(frozen=True)
class SweepProgram:
    """The runs of some chunks: from samples with axes of chunks, of runs side by side, and their own. At most `most`
    chunks in one call, always by the same compiled program."""

    task: SweepTask
    most: int

    def __call__(self, samples: Mapping[ParameterPath, np.ndarray]) -> dict[str, np.ndarray]:
        count = len(next(iter(samples.values())))
        filled = {
            path: np.concatenate([x, np.repeat(x[-1:], self.most - count, axis=0)]) for path, x in samples.items()
        }
        results = _chunk_by_chunk(self.task, filled, np.asarray(count))
        # Copied, so that the rest is given back.
        return {name: np.array(np.asarray(x)[:count]) for name, x in results.items()}


@eqx.filter_jit
def _chunk_by_chunk(task: SweepTask, samples: Mapping[ParameterPath, Any], count: Any) -> dict[str, Any]:
    """Results of the first `count` chunks, one after the other, the runs of each side by side."""
    run = jax.vmap(task.run)
    most = len(next(iter(samples.values())))
    of_one = jax.eval_shape(run, jax.tree.map(lambda x: x[0], samples))
    empty = jax.tree.map(lambda x: jnp.zeros((most, *x.shape), x.dtype), of_one)

    def next_one(i, found):
        results = run(jax.tree.map(lambda x: x[i], samples))
        return jax.tree.map(lambda rows, x: rows.at[i].set(x), found, results)

    return jax.lax.fori_loop(0, count, next_one, empty)


def shapes_of(task: SweepTask, values: Mapping[ParameterPath, np.ndarray]) -> dict[str, Any]:
    """Shapes of what is kept of a run."""
    return eqx.filter_eval_shape(task.run, row_shapes(values))


def row_shapes(values: Mapping[ParameterPath, np.ndarray]) -> dict[ParameterPath, Any]:
    """Of what is given to one run."""
    return {path: jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for path, x in values.items()}


def bytes_of(shapes: Mapping[Any, Any]) -> int:
    return sum(math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in shapes.values())


def most_chunks(bytes_of_chunk: float | int) -> int:
    """Number of chunks that are made in one call at most."""
    return int(np.clip(_MOST_BYTES // max(bytes_of_chunk, 1), 1, _MOST_CHUNKS))


def derivative_name(output: str, path: ParameterPath) -> str:
    """Of the derivative of an output by a parameter, among results."""
    return f"{_DERIVATIVE}{output} / d {'.'.join(path)}"


def code_of(what: Any) -> str:
    """What a function does, as far as that can be told: another one of the same name is another one."""
    code = getattr(what, "__code__", None)
    if code is None:
        return repr(what)
    cells = [_contents(cell) for cell in what.__closure__ or ()]
    return repr((code.co_code, code.co_names, code.co_consts, cells, what.__defaults__, what.__kwdefaults__))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def named_outputs(outputs: Any, system: System, samples: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Outputs with names, from a dictionary or a list of them."""
    single = isinstance(outputs, str | AbstractQuantity) or callable(outputs)
    given = [outputs] if single else outputs
    if isinstance(given, Mapping):
        names, whats = list(given), list(given.values())
    else:
        whats = list(given) if isinstance(given, list | tuple) else []
        # Outputs over time are known by their own names.
        others = iter(names_of(tuple(x for x in whats if not isinstance(x, str))))
        names = [x if isinstance(x, str) else next(others) for x in whats]
    if not whats or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            "outputs must be a list such as ['tip.x', mbs.Maximum('spring.force')] or a dictionary of such, got "
            f"{show(outputs)}."
        )
    for name, what in zip(names, whats, strict=True):
        if isinstance(what, str):
            output_shape(system, what)
        else:
            check_quantity(f"outputs: '{name}'", what)
        if isinstance(what, AbstractQuantity):
            what.shape(system)
        if name in (*_RESERVED, *samples) or names.count(name) > 1 or name.startswith(_DERIVATIVE):
            raise ParameterError(f"outputs: the name '{name}' is taken. Give it another name.")
    return tuple(zip(names, whats, strict=True))


def _until_the_end(solution: Solution) -> Solution:
    """With the last output that was reached in place of those behind an event that has ended the run."""
    reached = jnp.all(jnp.isfinite(solution.v), axis=1)
    rows = jnp.minimum(jnp.arange(len(reached)), jnp.maximum(jnp.sum(reached) - 1, 0))
    return at_rows(solution, rows)


def _read(what: Any, solution: Solution, ended: Solution, arrived: Any) -> Any:
    """One of the outputs; NaN where the run failed, of what is kept over time only from there on."""
    if isinstance(what, str):
        return solution[what]
    if isinstance(what, AbstractQuantity):
        # Of a row of candidates the largest one is the number.
        numbers = jnp.max(what.read(ended, joined=False), axis=1)
        value = numbers.reshape(() if what.joins == "all" else what.shape(solution.system))
    else:
        value = _called(what, solution)
    return jnp.where(arrived, value, jnp.nan)


def _called(function: Any, solution: Solution) -> Any:
    try:
        value = as_array(function(solution))
    except ParameterError:
        raise
    except Exception as error:
        raise ParameterError(f"{name_of(function)}, a function of the solution, fails: {show_error(error)}") from error
    if not is_numbers(value):
        raise ParameterError(
            f"{name_of(function)}, a function of the solution, must return numbers, got {show(value)}."
        )
    return value
