"""What difmbs simulate wrote: its results, and the system that they belong to."""

import json
from pathlib import Path
from typing import Any

import click

RESULT, MANIFEST = "solution.npz", "manifest.json"


def read_results(run: str) -> Any:
    """The `Result` in a folder, or in a file."""
    from ..core.errors import FileError
    from ..files.results import Result, load_result

    path = Path(run)
    if path.is_dir() and not (path / RESULT).exists():
        _ask_for_view(path)
    result = load_result(path / RESULT if path.is_dir() else path)
    if not isinstance(result, Result):
        raise FileError(f"{path} holds a fit, a design or a sweep, not a simulation.")
    return result


def motion_of(run: str, *, model: str | None = None, allow_outside: bool = False) -> Any:
    """What a folder holds, to be animated: a `Solution`, a `Fit` or a `Design`."""
    from ..core.errors import FileError
    from ..task_files.task_folder import PARAMETERS, stored

    folder = Path(run)
    if not folder.is_dir():
        raise click.UsageError(
            f"there is no folder '{run}'. Pass one that difmbs simulate, identify or optimize wrote."
        )
    if not (folder / RESULT).exists() and (folder / PARAMETERS).exists():
        if model is not None:
            raise click.UsageError(
                "--model is for simulations; fits and designs say in parameters.toml what they are of."
            )
        return stored(folder, allow_outside=allow_outside)
    result = read_results(run)
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        file, changes, inputs = manifest["model"]["file"], manifest["set"], tuple(manifest["inputs"])
    except (OSError, ValueError, KeyError, TypeError):
        raise FileError(f"{folder / MANIFEST} is missing or damaged: it says which model was simulated.") from None
    return result.solution(_system(_found(file, model, folder), changes, inputs, allow_outside))


def _ask_for_view(folder: Path) -> None:
    """Says what a folder without results of a simulation is."""
    from ..core.errors import FileError
    from ..task_files.task_folder import PARAMETERS

    if (folder / PARAMETERS).exists():
        raise FileError(f"{folder} is the folder of a fit or a design: see difmbs report and difmbs view.")
    raise FileError(f"{folder} holds no results of a simulation: there is no {RESULT} in it.")


def _found(file: str, given: str | None, folder: Path) -> str:
    """The model file, from here or from beside the folder."""
    from ..core.errors import FileError

    for path in (
        [Path(given)] if given is not None else [Path(file), folder.parent / file, folder.parent / Path(file).name]
    ):
        if path.is_file():
            return str(path)
    raise FileError(f"the model '{given or file}' of these results is not found. Say where it is with --model FILE.")


def _system(file: str, changes: dict[str, Any], inputs: tuple[str, ...], allow_outside: bool) -> Any:
    from ..files.model_files import read_model
    from ..files.simulation_settings import SimulationSettings
    from .input_options import driven, recorded_inputs
    from .simulate_command import changed

    described = read_model(file, allow_outside=allow_outside)
    settings = described.simulation or SimulationSettings(t_end=1.0)
    return driven(changed(described.assemble(), changes), settings, recorded_inputs(inputs))[0]
