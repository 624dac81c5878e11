"""What is kept of a fit or a design in a file: numbers and words by name."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.markup import tag
from ..core.parameters import nest, show
from ..core.reprs import limited

FIT, DESIGN = "fit", "design"


@dataclasses.dataclass(frozen=True, repr=False)
class AbstractSavedSearch:
    """What fits and designs have in common."""

    names: tuple[str, ...]
    values: Mapping[str, float]
    start: Mapping[str, float]
    status: str
    params: Mapping[str, Any]
    text: str
    fingerprint: str

    def __repr__(self) -> str:
        return limited(self.text)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return str(tag("pre", self.text))

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise ParameterError(f"there is no unknown {show(name)}. {did_you_mean(name, list(self.values))}")
        return self.values[name]


@dataclasses.dataclass(frozen=True, repr=False)
class SavedFit(AbstractSavedSearch):
    """A fit as `save_result` kept it. Prints as the fit did; `saved["spring.stiffness"]` is a value.

    `names` of the unknowns; `values`, `start` and `standard_errors` by name; `covariance` in the order of the names;
    `status`, `chi2`, `degrees_of_freedom`, `noise` by channel and `verdict` as in `Fit`; `params`: the values as
    parameters of the model, for `simulate(params=...)` and `model.with_params`; `text`: what it prints; `fingerprint`
    of the fitted system.
    """

    standard_errors: Mapping[str, float]
    covariance: np.ndarray
    chi2: float
    degrees_of_freedom: int
    noise: Mapping[str, float]
    verdict: str


@dataclasses.dataclass(frozen=True, repr=False)
class SavedDesign(AbstractSavedSearch):
    """A design as `save_result` kept it. Prints as the design did; `saved["rod.length"]` is a value.

    `names` of the unknowns; `values` and `start` by name; `objectives` by name, and `limits`, `met`: the limited
    quantities, and whether each limit is met; `status`; `params`, `text` and `fingerprint` as in `SavedFit`.
    """

    objectives: Mapping[str, float]
    limits: tuple[float, ...]
    met: tuple[bool, ...]


def to_arrays(saved: SavedFit | SavedDesign) -> dict[str, Any]:
    """As named arrays: of mappings one for each entry, "values:spring.stiffness"."""
    arrays: dict[str, Any] = {"kind": FIT if isinstance(saved, SavedFit) else DESIGN}
    for field in dataclasses.fields(saved):
        value = getattr(saved, field.name)
        if field.name == "params":
            value = _flat(value)
        if isinstance(value, Mapping):
            arrays |= {f"{field.name}:{key}": np.asarray(x) for key, x in value.items()}
        else:
            arrays[field.name] = np.asarray(value)
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray]) -> SavedFit | SavedDesign:
    kinds = {FIT: SavedFit, DESIGN: SavedDesign}
    kind = kinds[str(arrays["kind"])]
    expected = {"kind", "schema", *(field.name for field in dataclasses.fields(kind))}
    alien = {key.partition(":")[0] for key in arrays} - expected
    if alien:
        raise ValueError(f"a {arrays['kind']} has no '{min(alien)}'")
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in arrays:
            value = arrays[field.name]
            plain = value.item() if value.ndim == 0 else tuple(value.tolist())
            found[field.name] = value if field.name == "covariance" else plain
            continue
        entries = {key.partition(":")[2]: x for key, x in arrays.items() if key.startswith(f"{field.name}:")}
        if field.name == "params":
            found[field.name] = nest({tuple(key.split(".")): x for key, x in entries.items()})
        else:
            found[field.name] = {key: x.item() for key, x in entries.items()}
    saved = kind(**found)
    if not isinstance(saved.text, str) or set(saved.names) != set(saved.values) or set(saved.names) != set(saved.start):
        raise ValueError("names, values and text do not belong together")
    return saved


def _flat(params: Mapping[str, Any], before: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in params.items():
        path = (*before, str(key))
        found |= _flat(value, path) if isinstance(value, Mapping) else {".".join(path): value}
    return found
