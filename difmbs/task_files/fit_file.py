"""Fit files: what was measured, what is unknown, and of which model."""

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

from ..core.errors import counted
from ..core.reprs import listed
from ..files import fields
from ..files.file_kinds import EXPERIMENTS
from ..files.simulation_settings import SimulationSettings, read_settings
from ..files.toml import read_document
from ..identification.experiments import AbstractExperiment
from ..identification.fit import Fit
from ..identification.identify import FitSearch, checked_setup, identify
from ..identification.setup import FitSetup
from ..search.progress import Lines
from ..search.unknowns import Unknowns
from .experiment_tables import read_experiments
from .task_file import AbstractTaskFile, read_model_of, read_search, said_of_task
from .unknown_tables import read_unknowns

_SEARCH = {
    "starts": fields.WHOLE,
    "seed": fields.INDEX,
    "segments": fields.WHOLE,
    "loss": fields.WORD,
    "max_iterations": fields.WHOLE,
}
_SIMULATION = ("dt", "solver", "rtol", "atol", "max_steps")


@dataclasses.dataclass(frozen=True, kw_only=True)
class FitFile(AbstractTaskFile[Fit]):
    """A fit as a file describes it.

    `system`, `experiments` and `unknowns` are what `identify` takes, `simulation` and `search` its settings by name;
    `model`: the file of the model.
    """

    experiments: tuple[AbstractExperiment, ...]
    simulation: Mapping[str, Any]

    def __repr__(self) -> str:
        unknowns, names = counted(len(self.unknowns), "unknown"), [experiment.name for experiment in self.experiments]
        said = f"{unknowns} ({listed(self.unknowns)}), {counted(len(names), 'experiment')} ({listed(names)})"
        return f"FitFile({self.document.path!r}: {said}, model {self.model.document.path!r})"

    @property
    def resolved(self) -> Unknowns:
        return self.setup.unknowns

    def _searched(self, **options: Any) -> Fit:
        return identify(self.system, self.experiments, self.unknowns, **self.simulation, **options)

    def stored(self, folder: str | os.PathLike[str]) -> Fit:
        """The fit as far as it is on the disk, without going on."""
        setup = self.setup
        return FitSearch(setup, 1, Lines(setup.unknowns.names, False), folder).stored()

    @functools.cached_property
    def setup(self) -> FitSetup:
        """As a least-squares problem."""
        with said_of_task(self.document):
            options = {key: self.search[key] for key in ("loss", "segments") if key in self.search}
            return checked_setup(self.system, self.experiments, self.unknowns, **self.simulation, **options)


def load_fit(path: str | os.PathLike[str], *, allow_outside: bool = False) -> FitFile:
    """The fit that a file describes, with all that can be checked before a simulation.

    **Arguments:** `allow_outside`: the files that it names may be outside of its folder.
    """
    document = read_document(path, "fit", ["model", "unknown", *EXPERIMENTS, "simulation", "search"])
    search = read_search(document, _SEARCH)
    simulation = read_settings(document.path, document.content.get("simulation"), timed=False)
    unknowns = read_unknowns(document, of_fit=True)
    model = read_model_of(document, allow_outside)
    settings = (simulation or model.simulation or SimulationSettings(t_end=1.0)).arguments()
    system = model.assemble()
    experiments, hashes = read_experiments(document, allow_outside)
    fit = FitFile(
        document=document,
        model=model,
        system=system,
        experiments=experiments,
        hashes=hashes,
        unknowns=unknowns,
        simulation={key: settings[key] for key in _SIMULATION},
        search=search,
    )
    _ = fit.setup  # refuses what does not fit together
    return fit
