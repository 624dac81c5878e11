"""Runs with samples of parameters, side by side, as a piece of work that other processes can do."""

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
from ..core.status import Status
from ..design.objectives import AbstractQuantity, check_quantity, name_of, names_of
from ..search.run_settings import RunSettings
from ..simulation.solution import Solution
from ..system.system import System

STATUS, REACHED = "status", "time"


class SweepTask(eqx.Module):
    """`outputs`: by name a quantity, an output, or a function of the solution; `derivatives`: parameters by which all
    of them are differentiated."""

    system: System
    outputs: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    derivatives: tuple[ParameterPath, ...] = eqx.field(static=True)
    settings: RunSettings = eqx.field(static=True)
    times: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    """`t0`, `t1` and `saveat`, as `simulate` takes them."""

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
        solution = self.settings.simulate(system, throw=False, **dict(self.times))
        good = (solution.code == Status.ok.value) | (solution.code == Status.event.value)
        found = {name: _read(what, solution, good) for name, what in self.outputs}
        return found, {STATUS: solution.code, REACHED: solution.stats["time"]}


def _read(what: Any, solution: Solution, good: Any) -> Any:
    """One of the outputs; NaN where the run failed, of what is kept over time only from there on."""
    if isinstance(what, str):
        return solution[what]
    if isinstance(what, AbstractQuantity):
        rows = jnp.max(what.read(solution, joined=False), axis=1)
        value = rows.reshape(() if what.joins == "all" else what.shape(solution.system))
    else:
        value = _called(what, solution)
    return jnp.where(good, value, jnp.nan)


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


def derivative_name(output: str, path: ParameterPath) -> str:
    """Of the derivative of an output by a parameter, among results."""
    return f"d {output} / d {'.'.join(path)}"


def named_outputs(outputs: Any, system: System) -> tuple[tuple[str, Any], ...]:
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
        if not isinstance(what, str):
            check_quantity(f"outputs: '{name}'", what)
        if name in (STATUS, REACHED) or names.count(name) > 1:
            raise ParameterError(f"outputs: '{name}' is taken. Give another name with a dictionary.")
    return tuple(zip(names, whats, strict=True))


@dataclasses.dataclass(frozen=True)
class SweepWork:
    """The runs of some chunks. It can be pickled, and is compiled once in each process: `key` stands for all of it."""

    task: SweepTask
    key: str
    double: bool

    def __call__(self, samples: Mapping[ParameterPath, Any]) -> dict[str, np.ndarray]:
        """`samples`: with axes of chunks, of runs side by side, and their own."""
        if self.double and not jax.config.read("jax_enable_x64"):
            # In a process of its own.
            jax.config.update("jax_enable_x64", True)
        known = _KNOWN.setdefault(self.key, self)
        chunks = len(next(iter(samples.values())))
        results = [_side_by_side(known.task, {k: x[i] for k, x in samples.items()}) for i in range(chunks)]
        return {name: np.stack([np.asarray(r[name]) for r in results]) for name in results[0]}


_KNOWN: dict[str, SweepWork] = {}
"""The works of this process: those that are unpickled later have other functions, which would be compiled again."""


@eqx.filter_jit
def _side_by_side(task: SweepTask, samples: Mapping[ParameterPath, Any]) -> dict[str, Any]:
    return jax.vmap(task.run)(samples)


def shapes_of(task: SweepTask, values: Mapping[ParameterPath, np.ndarray]) -> dict[str, Any]:
    """Shapes of what is kept of a run."""
    first = {path: jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for path, x in values.items()}
    return eqx.filter_eval_shape(task.run, first)


def bytes_of_run(shapes: Mapping[str, Any]) -> int:
    return sum(math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in shapes.values())
