"""Fit files: what was measured, what is unknown, and of which model."""

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

from ..files import Document, ModelFile, SimulationSettings, read_document, read_settings
from ..identification.experiments import AbstractExperiment
from ..identification.fit import Fit
from ..identification.pose import Posed
from ..identification.progress import Lines, Progress, Watch
from ..identification.search import Search, identify, posed_problem
from ..system import System
from . import _fields as fields
from ._experiments import EXPERIMENTS, read_experiments
from ._head import read_model_of, read_search, said_of_task
from ._unknowns import read_unknowns

_SEARCH = {
    "starts": fields.WHOLE,
    "seed": fields.INDEX,
    "segments": fields.WHOLE,
    "loss": fields.WORD,
    "max_iterations": fields.WHOLE,
}
_SIMULATION = ("dt", "solver", "rtol", "atol", "max_steps")


@dataclasses.dataclass(frozen=True)
class FitFile:
    """A fit as a file describes it.

    `system`, `experiments` and `unknowns` are what `identify` takes, `simulation` and `search` its settings by name;
    `model`: the file of the model.
    """

    document: Document
    model: ModelFile
    system: System
    experiments: tuple[AbstractExperiment, ...]
    unknowns: Mapping[str, Any]
    simulation: Mapping[str, Any]
    search: Mapping[str, Any]

    @property
    def unknown_numbers(self) -> dict[str, float]:
        """All unknown numbers by name, where they start."""
        return dict(zip(self.posed.unknowns.names, self.posed.unknowns.start.tolist(), strict=True))

    def run(
        self,
        *,
        starts: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: Progress = None,
        watch: Watch = None,
    ) -> Fit:
        """Makes the fit; the arguments are those of `identify`, `starts` instead of what the file says."""
        search = dict(self.search) if starts is None else {**self.search, "starts": starts}
        with said_of_task(self.document):
            return identify(
                self.system,
                self.experiments,
                self.unknowns,
                **self.simulation,
                **search,
                folder=folder,
                resume=resume,
                progress=progress,
                watch=watch,
            )

    def stored(self, folder: str | os.PathLike[str]) -> Fit:
        """The fit as far as it is on the disk, without going on."""
        posed = self.posed
        return Search(posed, 1, Lines(posed.unknowns.names, False), folder).stored()

    @functools.cached_property
    def posed(self) -> Posed:
        """As a least-squares problem."""
        with said_of_task(self.document):
            options = {key: self.search[key] for key in ("loss", "segments") if key in self.search}
            return posed_problem(self.system, self.experiments, self.unknowns, **self.simulation, **options)


def load_fit(path: str | os.PathLike[str], *, allow_outside: bool = False) -> FitFile:
    """The fit that a file describes, with all that can be checked before a simulation.

    **Arguments:** `allow_outside`: the files that it names may be outside of its folder.
    """
    document = read_document(path, ["model", "unknown", *EXPERIMENTS, "simulation", "search"])
    search = read_search(document, _SEARCH)
    simulation = read_settings(document.path, document.content.get("simulation"), timed=False)
    unknowns = read_unknowns(document, of_fit=True)
    model = read_model_of(document, allow_outside)
    settings = (simulation or model.simulation or SimulationSettings(t_end=1.0)).arguments()
    fit = FitFile(
        document,
        model,
        model.assemble(),
        read_experiments(document, allow_outside),
        unknowns,
        {key: settings[key] for key in _SIMULATION},
        search,
    )
    _ = fit.posed  # refuses what does not fit together
    return fit
