"""Sweep files: which parameters are sampled, what is kept of each run, and of which model."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..batches.chunks import Chunks
from ..core.errors import FileError, ParameterError, counted
from ..core.parameters import show
from ..core.reprs import listed
from ..files import fields
from ..files.error_locations import said_of, said_of_item, said_of_part
from ..files.fields import check_fields
from ..files.model_files import ModelFile
from ..files.reading import beside
from ..files.saved_sweeps import SweepResult
from ..files.simulation_settings import SimulationSettings, read_settings
from ..files.tables import read_table
from ..files.toml import Document, read_document
from ..simulation.arguments import check_whole
from ..sweeps.sample_plans import grid_samples, latin_hypercube_samples, random_samples
from ..sweeps.sweep import checked_part, run_sweep, sweep_plan
from ..sweeps.sweep_run import SweepPlan, SweepRun
from ..system.system import System
from .objective_tables import QUANTITY_FIELDS, read_quantity
from .task_file import read_model_of, said_of_task

_SWEEP = {
    "plan": fields.WORD,
    "count": fields.WHOLE,
    "seed": fields.INDEX,
    "file": fields.WORD,
    "chunk": fields.WHOLE,
    "derivatives": fields.WORDS,
    "max_memory": fields.POSITIVE,
}
_DRAWN: Mapping[str, Callable[..., Any]] = {"random": random_samples, "latin_hypercube": latin_hypercube_samples}
_OF_PLANS = {"count": tuple(_DRAWN), "seed": tuple(_DRAWN), "file": ("table",)}
_UNIFORM, _NORMAL = ("lower", "upper"), ("mean", "deviation")
_SAMPLE = dict.fromkeys(_UNIFORM + _NORMAL, fields.NUMBER)
_VALUES = {"values": fields.LIST}
_AGAIN = {"max_steps": fields.WHOLE, "rtol": fields.POSITIVE, "atol": fields.POSITIVE, "dt": fields.POSITIVE}
_MOST_MEMORY = 2e9


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepFile:
    """A sweep as a file describes it: `system`, `samples` and `outputs` are what `sweep` takes, `simulation` and
    `options` its settings; `plan`: all of it, checked; `model`: the file of the model.
    """

    document: Document
    model: ModelFile
    system: System
    samples: Mapping[str, np.ndarray]
    outputs: Mapping[str, Any]
    simulation: SimulationSettings
    options: Mapping[str, Any]
    plan: SweepPlan

    def __repr__(self) -> str:
        outputs = f"{counted(len(self.outputs), 'output')} ({listed(self.outputs)})"
        return f"SweepFile({self.document.path!r}: {self.summary}, {outputs}, model {self.model.document.path!r})"

    @property
    def summary(self) -> str:
        """What there is in it."""
        samples = f"{counted(len(self.samples), 'sampled parameter')} ({listed(self.samples)})"
        return f"{counted(self.plan.count, 'run')}, {samples}"

    def run(
        self,
        *,
        part: Any = (0, 1),
        executor: Any = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        force: bool = False,
        progress: bool | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> SweepResult:
        """Makes it; the arguments are those of `sweep`, `stopped`: asked between chunks whether to stop."""
        size = self.options.get("chunk") or self.plan.chunk_size()
        with said_of_task(self.document):
            chunks = Chunks(self.plan.count, min(size, self.plan.count), checked_part(part))
            run = SweepRun(self.plan, chunks, self.options.get("max_memory", _MOST_MEMORY))
            return run_sweep(run, executor, folder, resume, force, progress, stopped)


def load_sweep(path: str | os.PathLike[str], *, allow_outside: bool = False) -> SweepFile:
    """The sweep that a file describes, with all that can be checked before a simulation.

    **Arguments:** `allow_outside`: the files that it names may be outside of its folder.
    """
    document = read_document(path, "sweep", ["model", "sample", "output", "simulation", "sweep", "again"])
    options = document.content.get("sweep", {})
    with said_of(f"{document.path}: [sweep]:"):
        check_fields(options, _SWEEP)
    simulation = read_settings(document.path, document.content.get("simulation"))
    samples = _samples(document, options, allow_outside)
    model = read_model_of(document, allow_outside)
    simulation = simulation or model.simulation
    if simulation is None:
        raise FileError(f"{document.path}: neither it nor the model has a table [simulation]. Add one with t_end.")
    again = document.content.get("again")
    if again is not None:
        with said_of(f"{document.path}: [again]:"):
            check_fields(again, _AGAIN)
    system = model.assemble()
    outputs = _outputs(document, system)
    derivatives = options.get("derivatives", [])
    with said_of_task(document):
        plan = sweep_plan(system, samples, outputs, **simulation.arguments(), derivatives=derivatives, again=again)
    return SweepFile(
        document=document,
        model=model,
        system=system,
        samples=samples,
        outputs=outputs,
        simulation=simulation,
        options=options,
        plan=plan,
    )


def _samples(document: Document, options: Mapping[str, Any], allow_outside: bool) -> dict[str, np.ndarray]:
    parts = document.parts("sample")
    plan = options.get("plan", "table" if "file" in options else "random")
    if plan not in (*_DRAWN, "grid", "table"):
        known = "Known: random, latin_hypercube, grid, table."
        raise FileError(f"{document.path}: [sweep]: there is no plan {show(plan)}. {known}")
    for key, plans in _OF_PLANS.items():
        if key in options and plan not in plans:
            raise FileError(f"{document.path}: [sweep]: {key} is for plan = {' and '.join(map(repr, plans))}.")
    if plan == "table":
        if parts or "file" not in options:
            raise FileError(
                f"{document.path}: plan = 'table' takes all samples from file = '...' in [sweep], and only."
            )
        table = read_table(beside(document.path, options["file"], allow_outside=allow_outside))
        return dict(table.columns)
    if not parts:
        raise FileError(f'{document.path}: nothing is sampled. Add a table such as [sample."spring.stiffness"].')
    if plan == "grid":
        return grid_samples({name: _of_part(document, name, table, _grid_values) for name, table in parts.items()})
    with said_of(f"{document.path}: [sweep]:"):
        for key in ("count", "seed"):
            if key not in options:
                raise ParameterError(f"plan = '{plan}' needs {key}.")
        check_whole("count", options["count"])
    given = {name: _of_part(document, name, table, _distribution) for name, table in parts.items()}
    return _DRAWN[plan](given, options["count"], seed=options["seed"])


def _of_part(document: Document, name: str, table: Any, read: Callable[[Any], Any]) -> Any:
    with said_of_part(document, "sample", name):
        return read(table)


def _grid_values(table: Any) -> Any:
    check_fields(table, _VALUES, ("values",))
    return table["values"]


def _distribution(table: Any) -> Any:
    check_fields(table, _SAMPLE)
    given = set(table)
    if given == set(_UNIFORM):
        if not table["lower"] < table["upper"]:
            raise ParameterError(f"lower = {table['lower']} is not below upper = {table['upper']}.")
        return table["lower"], table["upper"]
    if given == set(_NORMAL):
        if not table["deviation"] > 0:
            raise ParameterError(f"deviation must be > 0, got {table['deviation']}.")
        # Here, because it takes half a second to import.
        from scipy.stats import norm

        return norm(table["mean"], table["deviation"])
    raise ParameterError("needs lower and upper, or mean and deviation.")


def _outputs(document: Document, system: System) -> dict[str, Any]:
    tables, found = document.tables("output"), dict[str, Any]()
    if not tables:
        raise FileError(f"{document.path}: nothing is kept. Add a table [[output]] with quantity and output.")
    for i, table in enumerate(tables):
        with said_of_item(document, "output", i, table):
            check_fields(table, {**QUANTITY_FIELDS, "name": fields.WORD}, ("output",))
            rest = {key: x for key, x in table.items() if key != "name"}
            if "quantity" not in table and len(rest) > 1:
                raise ParameterError("component and width are for quantities: add quantity.")
            what = read_quantity(rest, system) if "quantity" in table else table["output"]
            name = table.get("name", str(what))
            if name in found:
                raise ParameterError(f"there are two outputs '{name}': give one of them another name.")
            found[name] = what
    return found
