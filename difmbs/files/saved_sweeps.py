"""The results of a sweep, as they are kept in a file."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import ParameterError, counted, did_you_mean
from ..core.parameters import as_array, is_numbers, show
from ..core.reprs import limited, listed
from ..core.status import Status

SWEEP = "sweep"
INTERRUPTED = Status.interrupted.value
ARRIVED = (Status.ok.value, Status.event.value)
FAILED = tuple(status.value for status in Status if status.value not in (*ARRIVED, INTERRUPTED))
_WORDS = np.array([status.name for status in Status])
_NUMBERS = ("t", "code", "time", "rows", "count", "over_time", "fingerprint")
_PARTS = ("samples", "outputs", "derivatives", "units")
_BETWEEN = " by "
"""Between an output and a parameter."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SweepResult:
    """What `sweep` found; arrays have a row for each run. Prints as a table.

    `samples` by dotted names of parameters; `outputs` by name; `result["peak"]` is one of either; `derivatives` of
    outputs by parameters, as `derivatives["peak"]["damper.damping"]`; `t`: the times of outputs over time; `status` of
    each run in a word, `code` the number for it; `time`: the time that each run reached; `rows`: numbers of the runs,
    and `count` of all, of which these may be a part; `over_time`: names of outputs that are kept over time; `units` of
    the outputs, "" where unknown; `fingerprint` of the whole sweep.

    Of runs that failed or were not made numbers are NaN, of outputs over time from where they failed. Statistics are
    those of runs that `arrived`: with status "ok" or "event", and of these without what is not a finite number.
    """

    samples: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    derivatives: Mapping[str, Mapping[str, np.ndarray]]
    units: Mapping[str, str]
    t: np.ndarray
    code: np.ndarray
    time: np.ndarray
    rows: np.ndarray
    count: int
    over_time: tuple[str, ...]
    fingerprint: str

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, name: str) -> np.ndarray:
        for known in (self.outputs, self.samples):
            if name in known:
                return known[name]
        raise ParameterError(f"there is no output {show(name)}. {did_you_mean(name, [*self.outputs, *self.samples])}")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the outputs."""
        return tuple(self.outputs)

    @property
    def status(self) -> np.ndarray:
        return _WORDS[self.code]

    @property
    def arrived(self) -> np.ndarray:
        """Whether each run came to its end."""
        return np.isin(self.code, ARRIVED)

    @property
    def failed(self) -> np.ndarray:
        """Numbers of the runs that did not; those that were not made are not among them."""
        return self.rows[~self.arrived & (self.code != INTERRUPTED)]

    # Statistics of the runs that arrived

    def mean(self, name: str) -> Any:
        return np.mean(self._of_arrived(name), axis=0)

    def standard_deviation(self, name: str) -> Any:
        """How much the output differs from run to run; of one run alone NaN."""
        values = self._of_arrived(name)
        return np.std(values, axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)

    def standard_error(self, name: str) -> Any:
        """Of the mean, if the samples are independent draws."""
        return self.standard_deviation(name) / np.sqrt(np.sum(self.finite(name)))

    def quantile(self, name: str, share: Any) -> Any:
        """The value that this share of the runs does not exceed; of several shares an axis of them in front."""
        return np.quantile(self._of_arrived(name), _checked_shares("quantile", share), axis=0)

    def mean_derivatives(self, name: str) -> dict[str, Any]:
        """Derivatives of the mean of an output, by parameter: of what it becomes where a parameter is larger in all
        runs."""
        return {by: np.mean(self._of_arrived(name, x), axis=0) for by, x in self._derivatives_of(name).items()}

    def quantile_derivatives(self, name: str, share: Any) -> dict[str, Any]:
        """Derivatives of a quantile of an output that is one number, by parameter: those of the two runs between which
        it is, as `quantile` weighs them."""
        values = self._of_arrived(name)
        if values.ndim != 1:
            raise ParameterError(f"quantile_derivatives: '{name}' has shape {values.shape[1:]}, it must be one number.")
        if _checked_shares("quantile_derivatives", share).ndim:
            raise ParameterError(f"quantile_derivatives takes one share from 0 to 1, got {show(share)}.")
        place = share * (len(values) - 1)
        below, above, weight = int(np.floor(place)), int(np.ceil(place)), place - np.floor(place)
        order = np.argsort(values, kind="stable")
        of_runs = {by: self._of_arrived(name, x) for by, x in self._derivatives_of(name).items()}
        return {by: (1 - weight) * x[order[below]] + weight * x[order[above]] for by, x in of_runs.items()}

    def _derivatives_of(self, name: str) -> Mapping[str, np.ndarray]:
        if not self.derivatives:
            raise ParameterError("the sweep has no derivatives: pass derivatives=['spring.stiffness'] to sweep.")
        if name not in self.derivatives:
            raise ParameterError(f"there is no output {show(name)}. {did_you_mean(name, self.derivatives)}")
        return self.derivatives[name]

    def _of_arrived(self, name: str, values: np.ndarray | None = None) -> np.ndarray:
        """The rows of an output of the runs that count, or of other `values` of the same runs."""
        counts = self.finite(name)
        if not np.any(counts):
            raise ParameterError("no run of the sweep arrived." if not np.any(self.arrived) else f"'{name}' is NaN.")
        return (self[name] if values is None else values)[counts]

    def finite(self, name: str) -> np.ndarray:
        """Whether each run arrived and its output is a finite number, at all times."""
        return self.arrived & np.all(np.isfinite(self[name].reshape(len(self), -1)), axis=1)

    # Shown

    def plot(self, *names: str, against: str | None = None, ax: Any = None) -> Any:
        """How outputs are distributed: those that are one number as a histogram, or `against` a sample or another
        output as points; those over time as bands that hold 50 % and 90 % of the runs. Returns the axes."""
        from ..plots.distributions import band, histogram, points

        shown = names or self._first
        for name in shown:
            if not isinstance(name, str):
                raise ParameterError(f"plot takes names of outputs, got {show(name)}.")
        over_time = [name for name in shown if name in self.over_time]
        if not shown or any(self[name].ndim != 1 + (name in over_time) for name in shown):
            raise ParameterError(f"plot takes outputs that are one number, or one over time, got {listed(shown)}.")
        if over_time and (len(over_time) < len(shown) or against is not None):
            raise ParameterError(f"plot outputs over time by themselves: {listed(over_time)}.")
        label = lambda name: name + (f" [{self.units[name]}]" if self.units.get(name) else "")
        if over_time:
            return band(self.t, {label(name): self._of_arrived(name) for name in shown}, ax)
        if against is None:
            for name in shown:
                ax = histogram(self._of_arrived(name), label(name), ax)
            return ax
        if self[against].ndim != 1:
            raise ParameterError(
                f"plot: '{against}' has {self[against][0].size} numbers for each run, it must have one."
            )
        x = np.where(self.arrived, self[against], np.nan)
        return points(x, {label(name): self[name] for name in shown}, label(against), ax)

    def to_pandas(self) -> Any:
        """A table with a row for each run: status, time reached, samples and outputs, a column for each number."""
        try:
            import pandas
        except ImportError:
            raise ParameterError("to_pandas needs pandas, which is not installed: pip install pandas.") from None
        index = pandas.Index(self.rows, name="run")
        return pandas.DataFrame(self.columns() | {"status": self.status}, index=index)

    def columns(self) -> dict[str, np.ndarray]:
        """Samples and outputs, a column for each number; outputs over time are left out."""
        found: dict[str, np.ndarray] = {"time reached": self.time}
        for name, values in (*self.samples.items(), *self.outputs.items()):
            if name not in self.over_time:
                found |= _entries(name, values)
        return found

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        lines = [f"{self._counted()}, {int(np.sum(self.arrived))} of them arrived"]
        head, *rows = self._table()
        if rows:
            widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
            for first, *rest in (head, *rows):
                numbers = (x.rjust(width) for x, width in zip(rest, widths[1:], strict=True))
                lines.append("  ".join([first.ljust(widths[0]), *numbers]))
        return "\n".join([*lines, *self._remarks()])

    def _counted(self) -> str:
        part = f" of {self.count}" if len(self) < self.count else ""
        return f"{len(self)}{part} runs" if part else counted(len(self), "run")

    def _table(self) -> list[tuple[str, ...]]:
        """Outputs that are one number for each run."""
        rows: list[tuple[str, ...]] = [("output", "mean", "deviation", "5 %", "median", "95 %")]
        for name in self.outputs if np.any(self.arrived) else ():
            if self.outputs[name].ndim == 1 and np.any(self.finite(name)):
                numbers = (self.mean(name), self.standard_deviation(name), *self.quantile(name, [0.05, 0.5, 0.95]))
                rows.append((name, *(f"{x:.6g}" for x in numbers)))
        return rows

    def _remarks(self) -> list[str]:
        said = [
            f"{name}: {' x '.join(map(str, x.shape[1:]))} numbers each"
            for name, x in self.outputs.items()
            if x.ndim > 1
        ]
        for name in self.outputs:
            lacking = int(np.sum(self.arrived & ~self.finite(name)))
            if lacking:
                said.append(f"{name}: no finite number in {counted(lacking, 'run')} that arrived, left out")
        for code in np.unique(self.code[~self.arrived]):
            which = self.rows[self.code == code]
            more = f" and {len(which) - 6} more" if len(which) > 6 else ""
            said.append(f"{Status(int(code)).name}: {', '.join(map(str, which[:6]))}{more}")
        return said

    @property
    def _first(self) -> list[str]:
        """What one would ask for first: a number."""
        return [name for name, x in self.outputs.items() if x.ndim == 1][:1] or list(self.outputs)[:1]

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output, picture_of

        head, *rows = self._table()
        title = f"{self._counted()}, {int(np.sum(self.arrived))} of them arrived"
        notes = [(note,) for note in self._remarks()]
        return cell_output(title, [*rows, *notes], head, picture_of(lambda axes: self.plot(ax=axes)))


def sweep_arrays(result: SweepResult) -> dict[str, Any]:
    """As named arrays: of mappings one for each entry, "outputs:peak"."""
    arrays: dict[str, Any] = {"kind": SWEEP} | {name: np.asarray(getattr(result, name)) for name in _NUMBERS}
    # Without names an array would be one of numbers.
    arrays["over_time"] = np.asarray(result.over_time, str)
    by_name = {part: getattr(result, part) for part in _PARTS if part != "derivatives"}
    by_name["derivatives"] = {
        f"{name}{_BETWEEN}{by}": x for name, of in result.derivatives.items() for by, x in of.items()
    }
    return arrays | {f"{part}:{name}": np.asarray(x) for part, of in by_name.items() for name, x in of.items()}


def sweep_from_arrays(arrays: Mapping[str, np.ndarray]) -> SweepResult:
    parts: dict[str, Any] = {part: {} for part in _PARTS}
    for key, x in arrays.items():
        part, colon, name = key.partition(":")
        if colon:
            parts[part][name] = x
    numbers: dict[str, Any] = {name: arrays[name] for name in _NUMBERS}
    count = len(numbers["code"])
    rows = [*parts["samples"].values(), *parts["outputs"].values(), numbers["time"], numbers["rows"]]
    if any(len(x) != count for x in (*rows, *parts["derivatives"].values())):
        raise ValueError("not all arrays have a row for each run")
    if not np.all(np.isin(numbers["code"], [status.value for status in Status])):
        raise ValueError("it has a status that is not known")
    derivatives: dict[str, dict[str, np.ndarray]] = {}
    for key, x in parts.pop("derivatives").items():
        name, _, by = key.rpartition(_BETWEEN)
        derivatives.setdefault(name, {})[by] = x
    numbers["units"] = {name: str(unit) for name, unit in parts.pop("units").items()}
    numbers |= dict(count=int(numbers["count"]), fingerprint=str(numbers["fingerprint"]), derivatives=derivatives)
    numbers["over_time"] = tuple(map(str, np.atleast_1d(numbers["over_time"])))
    return SweepResult(**parts, **numbers)


def _checked_shares(where: str, share: Any) -> np.ndarray:
    shares = as_array(share)
    if not is_numbers(shares) or np.any(~((shares >= 0) & (shares <= 1))):
        raise ParameterError(f"{where} takes a share from 0 to 1, got {show(share)}.")
    return np.asarray(shares, float)


def _entries(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """A column for each number of an array with a row for each run."""
    if values.ndim == 1:
        return {name: values}
    places = np.ndindex(values.shape[1:])
    return {name + "".join(f"[{i}]" for i in place): values[(slice(None), *place)] for place in places}
