"""The results of a sweep."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import ParameterError, counted, did_you_mean
from ..core.parameters import as_array, is_numbers, show
from ..core.reprs import limited
from ..core.status import Status, words_of

INTERRUPTED = Status.interrupted.value
GOOD = (Status.ok.value, Status.event.value)


@dataclasses.dataclass(frozen=True, repr=False)
class SweepResult:
    """What `sweep` found; arrays have a row for each run. Prints as a table.

    `samples` by dotted names of parameters; `outputs` by name; `slopes`: derivatives of outputs by parameters, as
    `slopes["peak"]["damper.damping"]`; `code`: how each run ended, in words `status`; `time`: the time each reached;
    `rows`: numbers of the runs that these are, all of them unless it is a part. `result["peak"]` is an output.

    Of runs that failed numbers are NaN, of outputs over time from where they failed.
    """

    samples: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    slopes: Mapping[str, Mapping[str, np.ndarray]]
    code: np.ndarray
    time: np.ndarray
    rows: np.ndarray
    fingerprint: str

    def __len__(self) -> int:
        return len(self.code)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    @property
    def status(self) -> np.ndarray:
        return np.asarray(words_of(self.code))

    @property
    def good(self) -> np.ndarray:
        """Which runs arrived."""
        return np.isin(self.code, GOOD)

    @property
    def failed(self) -> np.ndarray:
        """Numbers of the runs that did not, those that were not made left out."""
        return self.rows[~self.good & (self.code != INTERRUPTED)]

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.outputs:
            return self.outputs[name]
        if name in self.samples:
            return self.samples[name]
        raise ParameterError(f"there is no output {show(name)}. {did_you_mean(name, [*self.outputs, *self.samples])}")

    # Statistics of the runs that arrived

    def mean(self, name: str) -> Any:
        """Of an output."""
        return np.mean(self._arrived(self[name]), axis=0)

    def deviation(self, name: str) -> Any:
        """The standard deviation of an output."""
        return np.std(self._arrived(self[name]), axis=0, ddof=min(1, int(np.sum(self.good)) - 1))

    def mean_error(self, name: str) -> Any:
        """The standard error of the mean of an output, if the samples are independent draws."""
        return self.deviation(name) / np.sqrt(np.sum(self.good))

    def quantile(self, name: str, q: Any) -> Any:
        """The value that a share q of the runs does not exceed; q may be a list, for an axis of them in front."""
        places = as_array(q)
        if not is_numbers(places) or np.any(~((places >= 0) & (places <= 1))):
            raise ParameterError(f"quantile takes shares from 0 to 1, got {show(q)}.")
        return np.quantile(self._arrived(self[name]), places, axis=0)

    def slope_of_mean(self, name: str) -> dict[str, np.ndarray]:
        """Derivatives of the mean of an output, by parameter: of what it would be, were the parameter larger in all
        runs."""
        return {by: np.mean(self._arrived(slope), axis=0) for by, slope in self._slopes(name).items()}

    def slope_of_quantile(self, name: str, q: float) -> dict[str, np.ndarray]:
        """Derivatives of a quantile of an output that is one number, by parameter: those of the two runs between which
        it is."""
        values = self._arrived(self[name])
        if values.ndim != 1:
            raise ParameterError(f"slope_of_quantile: '{name}' has shape {values.shape[1:]}, it must be one number.")
        if not 0 <= q <= 1:
            raise ParameterError(f"slope_of_quantile takes a share from 0 to 1, got {show(q)}.")
        place = q * (len(values) - 1)
        below, above, share = int(np.floor(place)), int(np.ceil(place)), place - np.floor(place)
        order = np.argsort(values, kind="stable")
        ends = order[below], order[above]
        slopes = {by: self._arrived(slope) for by, slope in self._slopes(name).items()}
        return {by: (1 - share) * slope[ends[0]] + share * slope[ends[1]] for by, slope in slopes.items()}

    def _slopes(self, name: str) -> Mapping[str, np.ndarray]:
        if not self.slopes:
            raise ParameterError("the sweep has no derivatives: pass derivatives=['spring.stiffness'] to sweep.")
        self[name]
        return self.slopes[name]

    def _arrived(self, values: np.ndarray) -> np.ndarray:
        if not np.any(self.good):
            raise ParameterError("no run of the sweep arrived.")
        return values[self.good]

    # Shown

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        lines = [f"{counted(len(self), 'run')}, {int(np.sum(self.good))} of them arrived"]
        table = [("output", "mean", "deviation", "5 %", "median", "95 %")]
        for name, values in self._numbers().items() if np.any(self.good) else ():
            kept = values[self.good]
            table.append(
                (name, *(f"{x:.6g}" for x in (kept.mean(), kept.std(), *np.quantile(kept, [0.05, 0.5, 0.95]))))
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table if len(table) > 1 else ():
            first, *rest = (
                x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(row, widths, strict=True))
            )
            lines.append("  ".join([first, *rest]))
        return "\n".join([*lines, *self._remarks()])

    def _numbers(self) -> dict[str, np.ndarray]:
        """Outputs that are one number for each run."""
        return {name: x for name, x in self.outputs.items() if x.ndim == 1}

    def _remarks(self) -> list[str]:
        said = [
            f"{name}: {' x '.join(map(str, x.shape[1:]))} numbers each"
            for name, x in self.outputs.items()
            if x.ndim > 1
        ]
        words, counts = np.unique(self.status[~self.good], return_counts=True)
        for word, count in zip(words, counts, strict=True):
            which = self.rows[self.status == word][:6]
            more = f" and {count - len(which)} more" if count > len(which) else ""
            said.append(f"{word}: {', '.join(map(str, which))}{more}")
        return said
