"""The motion of a system, and what to say when it stopped early."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.errors import ParameterError
from ..core.reprs import times, value
from ..core.status import words_of
from ..core.types import Coordinates, Count, MaybeValues, Switches, Time, Velocities
from ..dynamics.every_output import every_output
from ..dynamics.outputs import Outputs, multiplier_outputs, output_names
from ..jaxtools.unreached import marked, replaced
from ..system.system import System


class Solution(eqx.Module):
    """The motion of a system at the output times.

    `t` (n,), `q` (n, coordinates), `v` (n, velocity coordinates); `multipliers` by name of constraint; `status`, "ok"
    or the reason of an early stop, after which the rows are NaN; `stats`, of the run up to the last output;
    `solution["tip"]` and `solution["spring.force"]`: sensors and output variables, with time along the first axis;
    `names`: all of them. In a batch made by `vmap` all of them have its axis in front.
    """

    system: System
    t: Time
    q: Coordinates
    v: Velocities
    code: Count
    stats: dict[str, Any]
    on: Switches = None
    moments: MaybeValues = None
    accelerations: Any = None
    """Accelerations and multipliers at the output times; None: computed where an output needs them."""

    @property
    def events(self) -> dict[str, Any]:
        """When each event happened last; NaN if it did not."""
        groups = self.system.structure.events
        return {group.name: self.moments[..., i] for i, group in enumerate(groups)}

    @property
    def status(self) -> Any:
        """One word; for a batch of simulations an array of words; under a JAX transformation the number."""
        return words_of(self.code)

    @property
    def multipliers(self) -> dict[str, Any]:
        return {name: self[output] for name, output in multiplier_outputs(self.system).items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The sensors, and the output variables of every element. Of vectors there are .x, .y and .z too."""
        return output_names(self.one_system)

    @property
    def one_system(self) -> System:
        """The system; of a batch that of its first member."""
        first = (0,) * (self.t.ndim - 1)
        return jax.tree.map(lambda x: x[first], self.system) if first else self.system

    def keys(self) -> tuple[str, ...]:
        """`names`, for `dict(solution)`."""
        return self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __repr__(self) -> str:
        status = value(self.status) if np.ndim(self.code) else self.status
        return f"Solution(status={status}, {times(self.t)}, of {self.system})"

    def _repr_html_(self) -> str:
        from .solution_plots import solution_cell

        return solution_cell(self)

    def __getitem__(self, name: str) -> Any:
        happened = self.events
        if str(name).partition(".")[0] in happened:
            raise ParameterError(f"'{name}' is an event: when it happened last is solution.events['{name}'].")
        try:
            return _read(self, str(name))
        except ParameterError as error:
            raise ParameterError(str(error)) from None

    def plot(self, *names: Any, ax: Any = None, label: Any = None, **options: Any) -> Any:
        """Outputs over time, a panel for each unit; returns the axes, one pair or an array.

        `names`: None of them: the sensors, or where the bodies are; `ax`: axes to draw on, such as those of another
        run; `label`: what this run is called in the legend; `options` of matplotlib's lines.
        """
        from .solution_plots import plot

        return plot(self, names, ax, label, **options)

    def plot_energy(self, ax: Any = None) -> Any:
        """Kinetic and potential energy, and the work of all that has no potential, over time; returns the axes."""
        from .health import check

        return check(self).plot_energy(ax)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Violations of constraints over time; returns the axes."""
        from .health import check

        return check(self).plot_residuals(ax)

    def plot_spectrum(self, *names: Any, ax: Any = None, label: Any = None) -> Any:
        """Amplitudes of outputs over frequency; returns the axes."""
        from .solution_plots import plot_spectrum

        return plot_spectrum(self, names, ax, label)

    def plot_phase(self, x: Any, y: Any, ax: Any = None, label: Any = None) -> Any:
        """One output over another, with a dot at the start; returns the axes."""
        from .solution_plots import plot_phase

        return plot_phase(self, x, y, ax, label)

    def to_pandas(self, *names: Any) -> Any:
        """A `pandas.DataFrame` with a column for each number of these outputs, None of them: of all, and the times as
        its index. Needs pandas."""
        from .solution_plots import numbers_by_name

        columns = numbers_by_name(self, names)
        return data_frame(np.asarray(self.t), columns)

    def outputs(self, i: int) -> Outputs:
        """All named outputs at the i-th output time, of a single simulation."""
        system = self.system if self.on is None else self.system.switched(self.on[i])
        known = jax.tree.map(lambda x: x[i], self.accelerations)
        return Outputs(system, self.t[i], self.q[i], self.v[i], accelerations=known)


@eqx.filter_jit
def _read(solution: Solution, name: str) -> Any:
    if solution.t.ndim > 1:
        # A batch, whose members have parameters of their own.
        return eqx.filter_vmap(_read)(solution, name)
    system = solution.system
    start = lax.stop_gradient(system.initial_state())

    def read(on, known, t, q, v):
        """At a state that was reached; in place of another one the start serves, where all is defined."""
        missing = ~jnp.all(jnp.isfinite(jnp.concatenate([t[None], q, v])))
        t, q, v = (replaced(missing, x, by) for x, by in zip((t, q, v), (0, *start), strict=True))
        known = jax.tree.map(lambda x: replaced(missing, x, 0), known)
        return marked(missing, Outputs(system.switched(on), t, q, v, accelerations=known)[name])

    return jax.vmap(read)(solution.on, solution.accelerations, solution.t, solution.q, solution.v)


def reached(solution: Solution) -> np.ndarray:
    """Which outputs were."""
    states = np.concatenate([np.asarray(solution.q), np.asarray(solution.v)], axis=-1)
    return np.all(np.isfinite(states), axis=-1)


def all_outputs(solution: Solution) -> dict[str, np.ndarray]:
    """All output variables of all elements by name, of one simulation, in one program; NaN where nothing was
    reached."""
    good = reached(solution)
    rows = np.flatnonzero(good)
    pick = lambda x: None if x is None else jax.tree.map(lambda y: np.asarray(y)[rows], x)
    kept = map(pick, (solution.on, solution.accelerations, solution.t, solution.q, solution.v))
    if len(rows):
        found = every_output(solution.system, *kept)
    else:
        q, v = (np.asarray(x)[None] for x in solution.system.initial_state())
        found = {name: x[:0] for name, x in every_output(solution.system, None, None, np.zeros(1), q, v).items()}
    if len(rows) == len(good):
        return found
    full = {name: np.full((len(good), *x.shape[1:]), np.nan) for name, x in found.items()}
    for name, x in found.items():
        full[name][rows] = x
    return full


def at_rows(solution: Solution, rows: Any) -> Solution:
    """The solution with some of its outputs."""
    pick = lambda x: None if x is None else jax.tree.map(lambda y: y[rows], x)
    on, known = pick(solution.on), pick(solution.accelerations)
    return dataclasses.replace(
        solution, t=solution.t[rows], q=solution.q[rows], v=solution.v[rows], on=on, accelerations=known
    )


def data_frame(t: np.ndarray, columns: dict[str, np.ndarray]) -> Any:
    """A table of pandas with times as its index."""
    try:
        import pandas
    except ImportError:
        raise ParameterError("to_pandas needs pandas, which is not installed: pip install pandas.") from None
    return pandas.DataFrame(columns, index=pandas.Index(t, name="t"))


def poses(solution: Solution) -> dict[str, np.ndarray]:
    """`position` of every body in space, and `rotation` of those that turn, by name, all in one program."""
    structure, found = solution.system.structure, _poses(solution)
    named = {}
    for name, element in structure.elements.items():
        if element.kind != "bodies" or name == "ground":
            continue
        (part,) = element.parts
        rows = part.instances.rows[0] if element.single else part.instances.rows
        for variable, values in zip(("position", "rotation"), found[part.group], strict=True):
            if values is not None:
                named[f"{name}.{variable}"] = np.take(np.asarray(values), rows, axis=solution.t.ndim)
    return named


@eqx.filter_jit
def _poses(solution: Solution) -> Any:
    """Positions and rotations of each group of bodies."""
    if solution.t.ndim > 1:
        return eqx.filter_vmap(_poses)(solution)
    return jax.vmap(lambda q, v: solution.system.each_body(_pose, q, v))(solution.q, solution.v)


def _pose(body: Any, q: Coordinates, v: Velocities) -> tuple[Any, Any]:
    if not body.in_space:
        return None, None
    point = jnp.zeros(3, q.dtype) if body.extended else None
    return body.point(q, point), body.pose(q).rotation.reading() if body.rotates else None
