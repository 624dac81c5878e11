"""What was run: versions, the model, settings. No times: the page of the same result is the same, byte by byte."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from ..core.formatting import count, listed, short
from ..core.markup import Html, facts, table
from ..files.fingerprint import fingerprint
from ..identification.experiments import AbstractExperiment, Experiment, ModalTest, StaticTest
from ..identification.fit import Fit
from ..identification.predictions import MotionPrediction
from ..system.structure import KINDS
from ..system.system import System

_PACKAGES = ("difmbs", "jax", "numpy", "scipy")
_WORDS: Mapping[type, str] = {Experiment: "time series", StaticTest: "static test", ModalTest: "modal test"}


def experiment_table(fit: Fit) -> Html:
    rows = []
    for experiment in (*fit.setup.experiments, *fit.setup.validation):
        rows.append(
            (
                experiment.name,
                kind_of(experiment),
                _extent(experiment),
                listed([f"{name} ({_noise(fit, experiment, name)})" for name in experiment.channels]),
                _differences(experiment),
                "validation" if experiment.validation else f"fit, weight {short(experiment.weight)}",
            )
        )
    return table(["experiment", "kind", "extent", "channels (noise)", "different from the model", "use"], rows)


def kind_of(experiment: AbstractExperiment) -> str:
    return next((word for kind, word in _WORDS.items() if isinstance(experiment, kind)), type(experiment).__name__)


def _extent(experiment: AbstractExperiment) -> str:
    if isinstance(experiment, Experiment):
        first, last = experiment.times[[0, -1]]
        return f"{experiment.times.size} times, {short(first)} to {short(last)} s"
    return count(experiment.samples, "mode" if isinstance(experiment, ModalTest) else "case")


def _noise(fit: Fit, experiment: AbstractExperiment, channel: str) -> str:
    given = experiment.noise(channel)
    if given is None:
        return f"estimated: {short(fit.noise[channel])}" if channel in fit.noise else "unknown"
    low, high = float(np.min(given)), float(np.max(given))
    return short(low) if low == high else f"{short(low)} to {short(high)}"


def _differences(experiment: AbstractExperiment) -> str:
    changed = [f"{key} = {_values(value)}" for key, value in experiment.params.items()]
    changed += [f"{key} as recorded" for key in experiment.inputs]
    if isinstance(experiment, StaticTest):
        changed += [f"{key} in each case" for key in experiment.loads]
    return listed(changed) if changed else "–"


def _values(value: Any) -> str:
    numbers = np.ravel(np.asarray(value, float))
    shown = ", ".join(short(x) for x in numbers[:4]) + (", …" if numbers.size > 4 else "")
    return f"({shown})" if numbers.size > 1 else shown


def model_facts(system: System) -> Iterator[tuple[str, str]]:
    structure = system.structure
    for kind in KINDS:
        names = [name for name, e in structure.elements.items() if e.kind == kind and name != "ground"]
        if names:
            yield kind, f"{len(names)}: {listed(names, 20)}"
    yield "sensors by name", listed(list(structure.readings), 20)
    yield "fingerprint of the model", fingerprint(system)


def versions() -> Iterator[tuple[str, str]]:
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (not installed as a package)")
    yield "software", ", ".join([*found, f"Python {platform.python_version()}"])


def fit_facts(fit: Fit) -> Html:
    pairs = [
        *versions(),
        *model_facts(fit.setup.system),
        ("precision of numbers", str(fit.setup.system.gravity.dtype)),
        ("loss", fit.setup.loss),
        ("simulations with derivatives", str(fit.evaluations)),
    ]
    programs = [group.program for group in fit.setup.groups]
    used = dict.fromkeys(p.settings for p in programs if isinstance(p, MotionPrediction))
    for settings in used:
        pairs.append(("time integration", settings_in_words(settings.arguments)))
    return facts(pairs)


def settings_in_words(settings: Mapping[str, Any]) -> str:
    """Arguments of `simulate`; what was left to it is not named."""
    words = []
    for name, value in settings.items():
        if isinstance(value, bool | int | float):
            words.append(f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}")
        elif isinstance(value, tuple):
            words.append(f"{count(len(value), 'output time')} from {value[0]:g} to {value[-1]:g} s")
        elif value is not None:
            words.append(f"{name} = {type(value).__name__}")
    return ", ".join(words)
