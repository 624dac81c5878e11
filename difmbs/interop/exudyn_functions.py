"""User functions of Exudyn's items, called with its signatures and traced by JAX."""

import contextlib
import dis
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx

from ..core.errors import ModelError
from .numpy_code import Assignable, as_array, names_in, with_jax


class Reading(NamedTuple):
    """What a function reads: a method of the system, such as GetObjectOutput, and its arguments."""

    method: str
    arguments: tuple[Any, ...]


class Written(NamedTuple):
    """What a function sets: a field of an "object" or "load", by its number, one of mbs.variables ("variables", 0), or
    a global variable of Python code ("globals", the number of its module in the order of being met)."""

    what: str
    number: int
    name: str

    @property
    def is_variable(self) -> bool:
        return self.what in ("variables", "globals")


_CONSTANTS = ("GetObjectParameter", "GetNodeParameter", "GetMarkerParameter", "GetLoadParameter", "GetSensorParameter",
              "GetObject", "GetNode", "GetMarker", "GetLoad", "GetSensor")  # fmt: skip
_MOVING = ("GetObjectOutput", "GetObjectOutputBody", "GetNodeOutput", "GetMarkerOutput", "GetSensorValues")
_SETS = {"SetObjectParameter": "object", "SetLoadParameter": "load"}


Values = dict[tuple[tuple[str, int], Any], Any]
_NOTHING = object()


class ExudynSystem:
    """What user functions are given as `mbs`: its variables and numbers that stay, and what moves as JAX traces it.

    `reads`: what is read, as it is asked for; None: nothing may be. `writes`: what was set; None: nothing may be.
    """

    def __init__(self, mbs: Any):
        self._mbs = mbs
        self._reads: Callable[[Reading], Any] | None = None
        self._writes: dict[Written, Any] | None = None
        self._translated: dict[int, Any] = {}
        self._modules: dict[int, dict[str, Any]] = {}
        self.variables: dict[Any, Any] = dict(getattr(mbs, "variables", {}))
        self.used: set[Any] = set()

    def __getattr__(self, name: str) -> Any:
        if name in _CONSTANTS:
            return getattr(self._mbs, name)
        if name in _MOVING and self._reads is not None:
            reads = self._reads
            return lambda *given, **more: reads(_reading(name, given, more))
        if name in _SETS and self._writes is not None:
            return lambda number, field, value: self._set(Written(_SETS[name], int(number), field), value)
        raise ModelError(
            f"a user function calls mbs.{name}, which has no values here. Write it as a function of its arguments, or "
            "of outputs of objects, nodes, markers and sensors."
        )

    def translate(self, function: Any) -> Any:
        """The function as it is called, with the variables around it."""
        return with_jax(function, self._translated, self._modules)

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """What a function returns, written with numpy and math or with JAX."""
        function = self.translate(function)
        arrays = self._arrays()
        try:
            return as_array(function(self, *arguments))
        finally:
            if self._writes is None:
                # What a function left in arrays around it is of this call, as JAX traces it.
                _restore(arrays)

    @contextlib.contextmanager
    def during(self, reads: Any, writes: Any = None, variables: dict[Written, Any] | None = None) -> Iterator[None]:
        """Answers reads, notes what is set, and gives variables other values."""
        before = self._reads, self._writes, dict(self.variables), {k: dict(v) for k, v in self._modules.items()}
        arrays = self._arrays()
        self._reads, self._writes = reads, writes
        for written, value in (variables or {}).items():
            known = self._place(written)
            known[written.name] = Assignable(value) if isinstance(known[written.name], Assignable) else value
        try:
            yield
        finally:
            self._reads, self._writes = before[:2]
            _restore(arrays)
            self.variables.clear()
            self.variables.update(before[2])
            for key, known in self._modules.items():
                if key in before[3]:
                    known.clear()
                    known.update(before[3][key])

    def changed(self, before: Values) -> dict[Written, Any]:
        """Variables that are not what they were."""
        found = {}
        for place, known in self._places():
            for name, value in known.items():
                old = before.get((place, name), _NOTHING)
                if _content(value) is not old and not callable(value):
                    found[Written(*place, name)] = _content(value)
        return found

    def values(self) -> Values:
        """All variables now."""
        return {(place, name): _content(value) for place, known in self._places() for name, value in known.items()}

    def may_read(self, function: Any) -> bool:
        """Whether a function mentions what moves."""
        return not isinstance(function, types.FunctionType) or not _mentioned(function).isdisjoint(_MOVING)

    def uses(self, function: Any) -> set[Written]:
        """The variables that a function mentions; all of mbs.variables, if it mentions these."""
        found, mentioned = set(), _mentioned(function)
        for place, known in self._places():
            every = place[0] == "variables" and "variables" in mentioned
            found |= {Written(*place, x) for x in known if every or (place[0] == "globals" and x in mentioned)}
        return found

    def _arrays(self) -> list[tuple[Assignable, Any]]:
        return [(array, array.value) for array in self._translated.values() if isinstance(array, Assignable)]

    def _places(self) -> list[tuple[tuple[str, int], dict[Any, Any]]]:
        modules = [(("globals", i), known) for i, known in enumerate(self._modules.values())]
        return [(("variables", 0), self.variables), *modules]

    def _place(self, written: Written) -> dict[Any, Any]:
        return dict(self._places())[written.what, written.number]

    def _set(self, written: Written, value: Any) -> None:
        assert self._writes is not None
        self._writes[written] = value


def _restore(arrays: list[tuple[Assignable, Any]]) -> None:
    for array, value in arrays:
        array.value = value


def _content(value: Any) -> Any:
    return value.value if isinstance(value, Assignable) else value


def _reading(method: str, given: tuple[Any, ...], more: dict[str, Any]) -> Reading:
    names = {
        "GetObjectOutputBody": ("objectNumber", "variableType", "localPosition", "configuration"),
        "GetObjectOutput": ("objectNumber", "variableType", "configuration"),
        "GetNodeOutput": ("nodeNumber", "variableType", "configuration"),
        "GetMarkerOutput": ("markerNumber", "variableType", "configuration"),
        "GetSensorValues": ("sensorNumber", "configuration"),
    }[method]
    known = dict(zip(names, given, strict=False)) | more
    configuration = str(known.pop("configuration", "Current")).rpartition(".")[2]
    if configuration != "Current":
        raise ModelError(f"mbs.{method} is converted for the current configuration, not for {configuration}.")
    number = int(known[names[0]])
    kind = str(known.get("variableType", "")).rpartition(".")[2]
    place = tuple(map(float, known.get("localPosition", (0.0, 0.0, 0.0))))
    return Reading(method, (number, kind, place))


def _mentioned(function: Any, done: set[int] | None = None) -> set[str]:
    """The names that a function uses, with those of the functions that it calls."""
    done = set() if done is None else done
    if not isinstance(function, types.FunctionType) or id(function) in done:
        return set()
    done.add(id(function))
    found = set(names_in(function.__code__))
    around = [function.__globals__[name] for name in found if name in function.__globals__]
    around += [cell.cell_contents for cell in function.__closure__ or ()]
    return found.union(*(_mentioned(other, done) for other in around))


class ExudynFunction(eqx.Module):
    """A user function (mbs, t, ...) of an item as one of (t, ...).

    `number`: of the item, passed where Exudyn does; 0 where the function does not look at it, so that items with the
    same function are of one kind. `through`: how it is called, None: with the arguments as they are; `reads`,
    `variables`: values of what it reads and of what is set before steps, which are controlled.
    """

    function: Any = eqx.field(static=True)
    system: ExudynSystem = eqx.field(static=True)
    number: int | None = eqx.field(static=True)
    through: Any = eqx.field(static=True)
    reads: dict[str, Any] = eqx.field(default_factory=dict)
    variables: dict[str, Any] = eqx.field(default_factory=dict)
    readings: tuple[Reading, ...] = eqx.field(default=(), static=True)
    written: tuple[Written, ...] = eqx.field(default=(), static=True)

    def __post_init__(self) -> None:
        if self.number is not None and not _looks_at(self.function, 2):
            self.number = 0

    def __call__(self, t: Any, *arguments: Any) -> Any:
        if not self.readings and not self.written:
            return self._called(t, *arguments)
        known = dict(zip(self.readings, self.reads.values(), strict=True))
        variables = dict(zip(self.written, self.variables.values(), strict=True))
        with self.system.during(known.__getitem__, None, variables):
            return self._called(t, *arguments)

    def _called(self, t: Any, *arguments: Any) -> Any:
        def plain(t: Any, *given: Any) -> Any:
            number = () if self.number is None else (self.number,)
            return self.system.call(self.function, (t, *number, *given))

        return plain(t, *arguments) if self.through is None else self.through(plain, t, *arguments)


def _looks_at(function: Any, place: int) -> bool:
    """Whether a function uses the argument at a place."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount <= place:
        return True
    name = code.co_varnames[place]
    return name in code.co_cellvars or any(x.argval == name for x in dis.get_instructions(code))
