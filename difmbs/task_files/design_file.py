"""Design files: what is to be small, what is unknown, and of which model."""

import dataclasses
import os
from typing import Any

from ..core.errors import FileError, counted
from ..core.reprs import listed
from ..design.design import Design
from ..design.objectives import AbstractQuantity, Limit
from ..design.optimize import DesignSearch, optimize, set_up_design
from ..files import fields
from ..files.simulation_settings import SimulationSettings, read_settings
from ..files.toml import read_document
from ..search.unknowns import Unknowns
from .objective_tables import read_limits, read_objectives
from .task_file import AbstractTaskFile, read_model_of, read_search, said_of_task
from .unknown_tables import read_unknowns

_SEARCH = {
    "starts": fields.WHOLE,
    "seed": fields.INDEX,
    "max_iterations": fields.WHOLE,
    "tolerance": fields.POSITIVE,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DesignFile(AbstractTaskFile[Design]):
    """A design task as a file describes it.

    `system`, `objectives`, `unknowns` and `limits` are what `optimize` takes, `simulation` and `search` its settings;
    `model`: the file of the model.
    """

    objectives: tuple[AbstractQuantity, ...]
    limits: tuple[Limit, ...]
    simulation: SimulationSettings

    def __repr__(self) -> str:
        unknowns = f"{counted(len(self.unknowns), 'unknown')} ({listed(self.unknowns)})"
        said = f"{unknowns}, {counted(len(self.objectives), 'objective')}, {counted(len(self.limits), 'limit')}"
        return f"DesignFile({self.document.path!r}: {said}, model {self.model.document.path!r})"

    @property
    def resolved(self) -> Unknowns:
        return self.setup().unknowns

    def _searched(self, **options: Any) -> Design:
        simulation = self.simulation.arguments()
        return optimize(self.system, self.objectives, self.unknowns, limits=self.limits, **simulation, **options)

    def stored(self, folder: str | os.PathLike[str], starts: int | None = None) -> Design:
        """The design as far as its evaluations are on the disk, without going on."""
        count = self.search.get("starts", 1) if starts is None else starts
        return self.setup().stored(folder, count, self.search.get("seed", 0))

    def setup(self) -> DesignSearch:
        """The search before it begins."""
        with said_of_task(self.document):
            search = set_up_design(
                self.system, self.objectives, self.unknowns, self.limits, **self.simulation.arguments()
            )
        search.most = self.search.get("max_iterations", search.most)
        search.tolerance = self.search.get("tolerance", search.tolerance)
        return search


def load_design(path: str | os.PathLike[str], *, allow_outside: bool = False) -> DesignFile:
    """The design task that a file describes, with all that can be checked before a simulation.

    **Arguments:** `allow_outside`: the model may be outside of the folder of the file.
    """
    document = read_document(path, "design", ["model", "unknown", "objective", "limit", "simulation", "search"])
    search = read_search(document, _SEARCH)
    simulation = read_settings(document.path, document.content.get("simulation"))
    unknowns = read_unknowns(document, of_fit=False)
    model = read_model_of(document, allow_outside)
    simulation = simulation or model.simulation
    if simulation is None:
        raise FileError(f"{document.path}: neither it nor the model has a table [simulation]. Add one with t_end.")
    system = model.assemble()
    design = DesignFile(
        document=document,
        model=model,
        system=system,
        objectives=read_objectives(document, system),
        limits=read_limits(document, system),
        unknowns=unknowns,
        simulation=simulation,
        search=search,
    )
    design.setup()  # refuses what does not fit together
    return design
