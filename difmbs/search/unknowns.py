"""What is to be found: parameters by name, with a start, a range, and what is known of them beforehand."""

import abc
import dataclasses
import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import ParameterPath, as_array, is_numbers, show
from ..core.reprs import of_fields

_KEY = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<index>[-\d:, ]*)\])?")
_SLICE = re.compile(r"-?\d*(?::-?\d*){0,2}")


@dataclasses.dataclass(frozen=True)
class AbstractUnknown(abc.ABC):
    """`start`: a number, or one for each of the named parameters; `prior`: mean and standard deviation of what is known
    beforehand; `shared`: one number for all parameters that the name matches; `own`: one for each experiment."""

    start: Any
    prior: tuple[float, float] | None = dataclasses.field(default=None, kw_only=True)
    shared: bool = dataclasses.field(default=False, kw_only=True)
    own: bool = dataclasses.field(default=False, kw_only=True)

    def __repr__(self) -> str:
        return of_fields(self)

    @abc.abstractmethod
    def limits(self) -> tuple[float, float]:
        """The least and the largest value."""

    @property
    def logarithmic(self) -> bool:
        """Whether the logarithm is searched for instead of the number."""
        return self.limits()[0] >= 0


class Free(AbstractUnknown):
    """An unknown that may have any value."""

    def limits(self) -> tuple[float, float]:
        return -np.inf, np.inf


class Positive(AbstractUnknown):
    """An unknown that is greater than 0; its logarithm is searched for."""

    def limits(self) -> tuple[float, float]:
        return 0.0, np.inf


@dataclasses.dataclass(frozen=True, repr=False)
class Interval(AbstractUnknown):
    """An unknown between two bounds, which may be infinite; its logarithm is searched for if `lower` is positive."""

    lower: float
    upper: float

    def limits(self) -> tuple[float, float]:
        return self.lower, self.upper

    @property
    def logarithmic(self) -> bool:
        return self.lower > 0


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A parameter with a given value, instead of that of the model."""

    value: Any

    def __repr__(self) -> str:
        return of_fields(self)


@dataclasses.dataclass(frozen=True)
class Tied:
    """A parameter that follows an unknown: factor times it plus offset."""

    to: str
    factor: float = 1.0
    offset: float = 0.0


@dataclasses.dataclass(frozen=True)
class Target:
    """Entries of one parameter that unknowns determine: entry `entries[i]` is factor * unknown[slots[e][i]] + offset in
    experiment e."""

    path: ParameterPath
    entries: tuple[int, ...]
    slots: tuple[tuple[int, ...], ...]
    factor: float = 1.0
    offset: float = 0.0

    @property
    def common(self) -> bool:
        """Whether it is the same in all experiments."""
        return len(set(self.slots)) == 1

    def put(self, parameter: Any, chosen: Any) -> Any:
        """The parameter with these entries replaced, for `chosen` values of the unknowns."""
        if (self.factor, self.offset) != (1.0, 0.0):
            chosen = self.factor * chosen + self.offset
        if self.entries == tuple(range(parameter.size)):
            return chosen.reshape(parameter.shape)
        whole = jnp.asarray(parameter).reshape(-1).at[np.asarray(self.entries)].set(chosen)
        return whole.reshape(parameter.shape)


def into(
    params: Mapping[ParameterPath, Any], targets: Sequence[Target], values: Any, slots: Sequence[Any] | None = None
) -> dict[ParameterPath, Any]:
    """The parameters with the values of the unknowns put in; `slots` of each target in one of the experiments, None:
    those that all have in common."""
    params = dict(params)
    for i, target in enumerate(targets):
        chosen = values[np.asarray(target.slots[0]) if slots is None else slots[i]]
        params[target.path] = target.put(params[target.path], chosen)
    return params


@dataclasses.dataclass(frozen=True)
class Unknowns:
    """All unknown numbers one after the other, and where they go."""

    names: tuple[str, ...]
    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    logarithmic: np.ndarray
    prior_mean: np.ndarray
    prior_deviation: np.ndarray
    """Infinite where nothing is known beforehand."""
    targets: tuple[Target, ...]
    fixed: dict[ParameterPath, np.ndarray]
    """Parameters that were given a value, as a whole."""

    @property
    def scale(self) -> np.ndarray:
        """The unit in which those that are not logarithmic are searched for: half of the range, or the start."""
        half = (self.upper - self.lower) / 2
        return np.where(np.isfinite(half), half, np.where(self.start == 0, 1.0, np.abs(self.start)))


def resolve(
    given: Mapping[str, Any], params: Mapping[ParameterPath, np.ndarray], experiments: tuple[str, ...]
) -> Unknowns:
    """The unknowns of a fit; `params` are all parameters that may be named."""
    if not isinstance(given, Mapping) or not given:
        example = '{"spring.stiffness": mbs.Positive(80.0)}'
        raise ParameterError(f"unknowns must be a dictionary such as {example}, got {show(given)}.")
    collected = _Collected(params, experiments)
    for key, what in given.items():
        if isinstance(what, AbstractUnknown):
            collected.add(key, what)
        elif not isinstance(what, (Fixed, Tied)):
            raise ParameterError(
                f"'{key}': expected mbs.Positive(start), mbs.Free(start), mbs.Interval(start, lower, upper), "
                f"mbs.Fixed(value) or mbs.Tied(name), got {show(what)}."
            )
    for key, what in given.items():
        if isinstance(what, Fixed):
            collected.fix(key, what)
        elif isinstance(what, Tied):
            collected.tie(key, what)
    return collected.finish()


class _Collected:
    def __init__(self, params: Mapping[ParameterPath, np.ndarray], experiments: tuple[str, ...]):
        self.params, self.experiments = params, experiments
        self.rows: list[tuple[str, float, AbstractUnknown]] = []
        self.targets: list[Target] = []
        self.slots_of: dict[str, np.ndarray] = {}
        """Slots by key, one row for each experiment."""
        self.taken: dict[tuple[ParameterPath, int], str] = {}
        self.fixed: dict[ParameterPath, np.ndarray] = {}

    def add(self, key: str, unknown: AbstractUnknown) -> None:
        found = entries_of(key, self.params)
        _check(key, unknown)
        names = (
            [key]
            if unknown.shared
            else [n for path, entries in found for n in names_of(path, entries, self.params[path].shape)]
        )
        starts = _start(key, unknown, len(names), [e.shape for _, e in found])
        slots = []
        for experiment in self.experiments if unknown.own else ("",):
            first = len(self.rows)
            prefix = f"{experiment}: " if experiment else ""
            self.rows += [(prefix + name, start, unknown) for name, start in zip(names, starts, strict=True)]
            slots.append(np.arange(first, len(self.rows)))
        self.slots_of[key] = np.broadcast_to(np.stack(slots), (len(self.experiments), len(names)))
        self._aim(key, found, self.slots_of[key])

    def tie(self, key: str, tied: Tied) -> None:
        if tied.to not in self.slots_of:
            raise ParameterError(f"'{key}' is tied to '{tied.to}', which is not an unknown. "
                                 f"{did_you_mean(tied.to, self.slots_of)}")  # fmt: skip
        if not np.all(np.isfinite([tied.factor, tied.offset])):
            raise ParameterError(f"'{key}': factor and offset must be finite, got {tied.factor} and {tied.offset}.")
        slots, found = self.slots_of[tied.to], entries_of(key, self.params)
        count = sum(entries.size for _, entries in found)
        if slots.shape[1] not in (1, count):
            raise ParameterError(f"'{key}' has {count} numbers, '{tied.to}', to which it is tied, {slots.shape[1]}.")
        self._aim(key, found, slots, tied.factor, tied.offset)

    def fix(self, key: str, fixed: Fixed) -> None:
        for path, (value, entries) in changed({key: fixed.value}, {**self.params, **self.fixed}).items():
            self._take(key, path, np.array(sorted(entries)))
            self.fixed[path] = value

    def finish(self) -> Unknowns:
        if not self.rows:
            raise ParameterError("there is no unknown: everything is fixed.")
        lower, upper = np.array([u.limits() for _, _, u in self.rows], float).T
        priors = [(start, np.inf) if u.prior is None else u.prior for _, start, u in self.rows]
        mean, deviation = np.array(priors, float).T
        return Unknowns(
            tuple(name for name, _, _ in self.rows),
            np.array([start for _, start, _ in self.rows], float),
            lower,
            upper,
            np.array([u.logarithmic for _, _, u in self.rows]),
            mean,
            deviation,
            tuple(self.targets),
            self.fixed,
        )

    def _aim(self, key, found, slots, factor=1.0, offset=0.0) -> None:
        first = 0
        for path, entries in found:
            self._take(key, path, entries)
            each = entries.size
            own = np.broadcast_to(slots, (len(slots), each)) if slots.shape[1] == 1 else slots[:, first : first + each]
            first += each
            rows = tuple(tuple(row.tolist()) for row in own)
            self.targets.append(Target(path, tuple(entries.reshape(-1).tolist()), rows, factor, offset))

    def _take(self, key: str, path: ParameterPath, entries: np.ndarray) -> None:
        for entry in entries.reshape(-1).tolist():
            if (path, entry) in self.taken:
                (name,) = names_of(path, np.array([entry]), self.params[path].shape)
                raise ParameterError(f"{name} is given by '{self.taken[path, entry]}' and by '{key}'. Leave one out.")
            self.taken[path, entry] = key


def entries_of(key: str, params: Mapping[ParameterPath, np.ndarray]) -> list[tuple[ParameterPath, np.ndarray]]:
    """The parameters that a key names, with the numbers of their entries in the shape that its index leaves."""
    match = _KEY.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        raise ParameterError(
            f"{show(key)} is not the name of a parameter such as 'spring.stiffness' or 'bob.position[0]'."
        )
    dotted = {".".join(path): path for path in params}
    names = [match["name"]] if match["name"] in dotted else fnmatch.filter(dotted, match["name"])
    if not names:
        element = match["name"].partition(".")[0]
        of_element = [n for n in dotted if n.startswith(f"{element}.")]
        raise ParameterError(
            f"there is no parameter '{match['name']}'. {did_you_mean(match['name'], of_element or dotted)}"
        )
    found = []
    for path in (dotted[name] for name in names):
        entries = np.arange(params[path].size).reshape(params[path].shape)
        found.append((path, entries if match["index"] is None else _indexed(key, entries, match["index"])))
    return found


def names_of(path: ParameterPath, entries: np.ndarray, shape: tuple[int, ...]) -> list[str]:
    """ "spring.stiffness", or "chain.stiffness[3]" of a parameter that has entries."""
    where = zip(*np.unravel_index(entries.reshape(-1), shape), strict=True) if shape else [()]
    return [".".join(path) + (f"[{','.join(str(int(i)) for i in at)}]" if at else "") for at in where]


def changed(
    given: Mapping[str, Any], params: Mapping[ParameterPath, np.ndarray], where: str = ""
) -> dict[ParameterPath, tuple[np.ndarray, frozenset[int]]]:
    """Values by name as whole parameters, with the entries that were given."""
    found: dict[ParameterPath, tuple[np.ndarray, frozenset[int]]] = {}
    for key, value in given.items():
        numbers = as_array(value)
        for path, entries in entries_of(key, params):
            if not is_numbers(numbers) or numbers.shape not in ((), entries.shape):
                raise ParameterError(
                    f"{where}'{key}': expected a number or an array of shape {entries.shape}, got {show(value)}."
                )
            whole, taken = found.get(path, (np.array(params[path], float), frozenset()))
            whole.reshape(-1)[entries.reshape(-1)] = np.broadcast_to(numbers, entries.shape).reshape(-1)
            found[path] = whole, taken | set(entries.reshape(-1).tolist())
    return found


def _indexed(key: str, entries: np.ndarray, text: str) -> np.ndarray:
    parts = [part.strip() for part in text.split(",")]
    if not all(part and _SLICE.fullmatch(part) for part in parts):
        raise ParameterError(f"'{key}': an index is made of numbers and slices, such as [0], [1:3] or [2, 0].")
    number = lambda text: int(text) if text else None
    index = tuple(slice(*map(number, p.split(":"))) if ":" in p else int(p) for p in parts)
    try:
        chosen = entries[index]
    except IndexError:
        raise ParameterError(f"'{key}': the parameter has shape {entries.shape}.") from None
    if np.size(chosen) == 0:
        raise ParameterError(f"'{key}' chooses nothing: the parameter has shape {entries.shape}.")
    return np.asarray(chosen)


def _check(key: str, unknown: AbstractUnknown) -> None:
    lower, upper = unknown.limits()
    if not lower < upper:
        raise ParameterError(f"'{key}': lower = {show(lower)} must be less than upper = {show(upper)}.")
    if unknown.prior is not None:
        prior = as_array(unknown.prior)
        if not is_numbers(prior) or prior.shape != (2,) or not np.all(np.isfinite(prior)) or not prior[1] > 0:
            raise ParameterError(
                f"'{key}': prior must be a mean and a standard deviation > 0, got {show(unknown.prior)}."
            )


def _start(key: str, unknown: AbstractUnknown, count: int, shapes: list[tuple[int, ...]]) -> np.ndarray:
    start = as_array(unknown.start)
    if not is_numbers(start) or not np.all(np.isfinite(start)):
        raise ParameterError(f"'{key}': the start must be finite numbers, got {show(unknown.start)}.")
    start = np.asarray(start, float)
    if start.shape != () and (start.size != count or (len(shapes) == 1 and start.shape != shapes[0])):
        raise ParameterError(f"'{key}' stands for {count} numbers, the start has shape {start.shape}.")
    lower, upper = unknown.limits()
    if np.any(start < lower) or np.any(start > upper):
        raise ParameterError(f"'{key}': the start {show(unknown.start)} is outside of {show(lower)} to {show(upper)}.")
    if unknown.logarithmic and np.any(start <= 0):
        raise ParameterError(f"'{key}': the start must be > 0, got {show(unknown.start)}.")
    return np.broadcast_to(start, (count,)) if start.shape == () else start.reshape(-1)
