"""What user functions read of a moving system, and what functions before steps set, as controllers."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ModelError
from ..core.parameters import key_name, show_error, specs_of
from ..elements.connectors.connector import AbstractConnector, AbstractConstraint
from ..modelling.assembly import SWITCH, preliminary, try_out
from ..modelling.model import Model
from .exudyn_functions import ExudynFunction, ExudynSystem, Reading, Written

_FIELDS: dict[str, tuple[str, int | None]] = {
    "stiffness": ("stiffness", None), "damping": ("damping", None), "force": ("force", None),
    "torque": ("torque", None), "offset": ("offset", None), "velocityOffset": ("velocity_offset", None),
    "referenceLength": ("reference_length", None), "valveOpening0": ("valve_openings", 0),
    "valveOpening1": ("valve_openings", 1), "load": ("load", None), "loadVector": ("load_vector", None),
    "activeConnector": (SWITCH, None),
}  # fmt: skip
"""Fields of items that functions before steps can set: the parameter here, and which of its entries."""

_TRIED = (0.0, 0.05, 0.5, 2.0, 20.0)
"""Times at which a function before steps is called to see what it sets."""


@dataclasses.dataclass(frozen=True)
class Named:
    """Names of the model: of the element of an item of a sort and number, and of the sensor for a reading."""

    element: Callable[[str, int], str | None]
    sensor: Callable[[Reading], str]
    value: Callable[[Reading], Any]
    """What Exudyn says now."""


def add_controls(model: Model, system: ExudynSystem, named: Named, before_steps: Any, dt: float) -> None:
    """Gives user functions what they read, and makes a function before steps, at the end of steps dt, controllers."""
    read, written = _read(model, system, named), dict[Written, Any]()
    if before_steps is not None:
        written = _written(system, named, before_steps)
    before = _BeforeSteps(system, named, before_steps, dt)
    used = set[Written]()
    for name, added in model.contents().elements.items():
        for path, function in _functions(added.element):
            variables = [x for x in written if x.is_variable and x in system.uses(function.function)]
            readings = sorted(read.get(name, ()))
            if not variables and not readings:
                continue
            if isinstance(added.element, AbstractConstraint) or "mass_user_function" in path:
                what = f"mbs.{readings[0].method}" if readings else f"'{variables[0].name}', which is set before steps"
                raise ModelError(f"'{name}': its user function reads {what}. Force laws and loads can.")
            used |= set(variables)
            values = {f"read{i}": np.asarray(named.value(x), float) for i, x in enumerate(readings)}
            shapes = {f"set{i}": np.asarray(written[x], float) for i, x in enumerate(variables)}
            new = dataclasses.replace(
                function, reads=values, variables=shapes, readings=tuple(readings), written=tuple(variables)
            )
            current = model.contents().elements[name].element
            model.replace(name, _with(current, path, new))
            for i, reading in enumerate(readings):
                rule = _Reads(named.sensor(reading), np.shape(named.value(reading)))
                model.control(".".join((name, *path, "reads", f"read{i}")), rule)
            for i, variable in enumerate(variables):
                model.control(".".join((name, *path, "variables", f"set{i}")), before.sets(variable), sampled=True)
    _control_fields(model, named, written, before)


def _control_fields(model: Model, named: Named, written: dict[Written, Any], before: "_BeforeSteps") -> None:
    entries: dict[tuple[str, str], dict[int | None, Written]] = {}
    for x in written:
        if x.is_variable:
            continue
        name = named.element(x.what, x.number)
        field, entry = _FIELDS.get(x.name, (None, None))
        known = () if name is None else (SWITCH, *specs_of(model.contents().elements[name].element))
        if name is None or field not in known:
            of = f"'{x.name}' of {x.what} {x.number}"
            raise ModelError(f"the function before steps sets {of}, which is not converted.")
        entries.setdefault((name, field), {})[entry] = x
    for (name, field), parts in entries.items():
        if None in parts:
            rule: Any = before.sets(parts[None])
        else:
            element = model.contents().elements[name].element
            rule = before.sets_entries(np.asarray(getattr(element, field), float), parts)
        model.control(f"{name}.{field}", rule, sampled=True)


@dataclasses.dataclass(frozen=True)
class _Reads:
    """A controller that hands on what a sensor says."""

    sensor: str
    shape: tuple[int, ...]

    def __call__(self, t: Any, outputs: Any, p: Any) -> Any:
        return jnp.reshape(outputs[self.sensor], self.shape)


@dataclasses.dataclass(frozen=True)
class _BeforeSteps:
    """The function before steps, with the time at the end of the step, as Exudyn calls it."""

    system: ExudynSystem
    named: Named
    function: Any
    dt: float

    def _all(self, t: Any, outputs: Any) -> dict[Written, Any]:
        def reads(reading: Reading) -> Any:
            return jnp.reshape(outputs[self.named.sensor(reading)], np.shape(self.named.value(reading)))

        return _called(self.system, self.function, t + self.dt, reads)

    def sets(self, written: Written) -> Callable[..., Any]:
        return lambda t, outputs, p: jnp.asarray(self._all(t, outputs)[written])

    def sets_entries(self, given: Any, parts: dict[int | None, Written]) -> Callable[..., Any]:
        def rule(t: Any, outputs: Any, p: Any) -> Any:
            found, value = self._all(t, outputs), jnp.asarray(given)
            for entry, written in parts.items():
                value = value.at[entry].set(found[written])
            return value

        return rule


def _called(system: ExudynSystem, function: Any, t: Any, reads: Any) -> dict[Written, Any]:
    """All that a function before steps sets."""
    writes: dict[Written, Any] = {}
    system.translate(function)
    with system.during(reads, writes):
        try:
            before = system.values()
            system.call(function, (t,))
            return system.changed(before) | writes
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                "the function before steps cannot be traced by JAX: write 'if' as numpy.where(condition, yes, no). "
                + show_error(error)
            ) from error


def _written(system: ExudynSystem, named: Named, function: Any) -> dict[Written, Any]:
    """What a function before steps sets, with the values of now."""
    found: dict[Written, Any] = {}

    def reads(reading: Reading) -> Any:
        # The model gets the sensor that it is going to be read from.
        named.sensor(reading)
        return named.value(reading)

    for t in _TRIED:
        found |= {x: value for x, value in _called(system, function, t, reads).items() if x not in found}
    return found


def _read(model: Model, system: ExudynSystem, named: Named) -> dict[str, set[Reading]]:
    """What the user functions of each element read: they are called once with what Exudyn says now."""
    found: dict[str, set[Reading]] = {}
    contents = model.contents()
    names = [
        name
        for name, added in contents.elements.items()
        if any(system.may_read(function.function) for _, function in _functions(added.element))
    ]
    if not names:
        return found

    current = ""

    def reads(reading: Reading) -> Any:
        found.setdefault(current, set()).add(reading)
        return named.value(reading)

    with jax.ensure_compile_time_eval(), system.during(reads):
        trial = preliminary(dataclasses.replace(contents, sensors={}, controls={}))
        for current in names:
            if isinstance(contents.elements[current].element, AbstractConnector):
                try_out(trial, contents.elements[current])
    return found


def _functions(element: Any) -> Any:
    """The user functions of an element, with the names of the fields that lead to them."""
    is_function = lambda x: isinstance(x, ExudynFunction)
    for path, leaf in jax.tree_util.tree_flatten_with_path(element, is_leaf=is_function)[0]:
        if is_function(leaf):
            yield tuple(map(key_name, path)), leaf


def _with(element: Any, path: tuple[str, ...], new: ExudynFunction) -> Any:
    is_function = lambda x: isinstance(x, ExudynFunction)
    replaced = lambda at, leaf: new if is_function(leaf) and tuple(map(key_name, at)) == path else leaf
    return jax.tree_util.tree_map_with_path(replaced, element, is_leaf=is_function)
