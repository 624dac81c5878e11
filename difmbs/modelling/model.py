"""The builder: elements by name, checked as they are added, put together by `assemble`."""

import contextlib
import copy
import dataclasses
import itertools
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..core.errors import ModelError, ParameterError, did_you_mean
from ..core.parameters import (
    ParameterPath,
    Spec,
    as_array,
    check_value,
    is_numbers,
    show,
    show_error,
    specs_of,
    warn_if_negative,
)
from ..core.reprs import listed
from ..core.types import Numbers, Params
from ..dynamics.outputs import Outputs
from ..elements.bodies.body import AbstractBody
from ..elements.bodies.ground import Ground
from ..elements.connectors.connector import (
    AbstractConnector,
    AbstractConstraint,
    AbstractField,
    check_function,
    returned,
)
from ..elements.event import Event
from ..elements.sensors import AbstractSensor, Output
from ..system.system import System
from .assembly import SWITCH, AddedElement, ModelContents, assemble
from .attitude import CALLED_OTHERWISE, rotation_vector
from .controllers import Controller, check_controls
from .derived import checked_number, checked_rule, path_of, resolved
from .description import Description, describe
from .editing import remove, replace
from .formulas import with_formulas
from .markers import GROUND, BodyHandle, MarkerRef, fitted, of_instances, places
from .replaced_numbers import with_values

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ \-]{0,99}(?<! )")
_SENSOR_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .\-]{0,99}(?<! )")
_NUMBERS = itertools.count()
_KINDS = ("bodies", "forces", "constraints", "sensors", "events")


class Model:
    """A mechanism under construction.

    **Arguments:** `gravity` [m/s^2], the uniform field, a 3-vector.
    """

    def __init__(self, gravity: Numbers = (0.0, 0.0, 0.0)):
        field = as_array(gravity)
        if is_numbers(field) and field.shape != (3,):
            raise ParameterError(f"'gravity': acceleration must have shape (3,), got shape {field.shape}.")
        check_value("gravity", "acceleration", field, Spec((3,), "m/s^2"))
        self._gravity = field
        self._number = next(_NUMBERS)
        self._elements: dict[str, AddedElement] = {}
        self._sensors: dict[str, Any] = {}
        self._parameters: dict[ParameterPath, tuple[Any, Spec]] = {}
        self._controls: dict[ParameterPath, Controller] = {}
        self._derived: dict[ParameterPath, Callable[[Mapping[str, Any]], Any]] = {}
        self._elements[GROUND] = AddedElement(GROUND, Ground(), {}, (), 1, True, True)

    def __repr__(self) -> str:
        kinds: dict[str, list[str]] = {}
        for name, added in self._elements.items():
            if name != GROUND:
                kinds.setdefault(_kind(added.element), []).append(name)
        if self._sensors:
            kinds["sensors"] = list(self._sensors)
        said = "; ".join(f"{kind} {listed(kinds[kind])}" for kind in sorted(kinds, key=_KINDS.index))
        return f"Model({said or 'empty'})"

    def _repr_html_(self) -> str:
        from .sketches import model_cell

        system = None
        with contextlib.suppress(ModelError, ParameterError):
            system = self.assemble(redundant="min_norm")
        return model_cell(system, self.contents(), "Model")

    @property
    def ground(self) -> BodyHandle:
        """The fixed world; `ground.at(x, y, z)` is a fixed point."""
        return self.body(GROUND)

    def body(self, name: str) -> BodyHandle:
        """The body of this name, as `add` returned it; "ground" is the fixed world."""
        added = self._elements.get(name) if isinstance(name, str) else None
        if added is None or not isinstance(added.element, AbstractBody):
            raise ModelError(f"there is no body {show(name)}. {did_you_mean(name, self._bodies())}")
        return BodyHandle(self._number, name, added.element, np.arange(added.count))

    def add(
        self, name: str, element: Any, between: Any = None, on: Any = None, *, active: bool = True, **initial: Any
    ) -> BodyHandle | None:
        """Adds a body (with initial values), a connector (`between` two markers) or a load (`on` one marker).

        Parameters may have a leading axis: then the name holds that many instances, and `between` or `on` takes bodies
        with as many instances, or lists of markers. The name of a body is a marker too. Returns a handle for a body.
        """
        self._check_name(name, _NAME)
        self._elements[name] = self._added(name, element, initial, between, on, active)
        return self.body(name) if isinstance(element, AbstractBody) else None

    def replace(self, name: str, element: Any, **initial: Any) -> None:
        """Puts another element, or another sensor, in the place of one.

        A connector keeps its markers and is on or off as before; a body keeps its initial values, but for those that
        are given here, and all that is attached to it.
        """
        replace(self, name, element, initial)

    def remove(self, name: str) -> None:
        """Removes an element or a sensor, to which nothing may be attached any more."""
        remove(self, name)

    def describe(self, *names: str) -> Description:
        """What is in the model, or the elements of these names: kinds and markers, parameters, and outputs."""
        return describe(self.contents(), names)

    def draw(self, ax: Any = None, *, names: bool = True) -> Any:
        """A sketch of the mechanism in its initial state, with names; returns the axes."""
        from .sketches import draw_model

        return draw_model(self.assemble(redundant="min_norm"), ax, names)

    def draw_graph(self, ax: Any = None) -> Any:
        """Which bodies are connected by what; returns the axes."""
        from .sketches import draw_connections

        return draw_connections(self.contents(), ax)

    def contents(self) -> ModelContents:
        """All that was added, as it was checked: for what writes or draws models."""
        numbers, derived, controls = dict(self._parameters), dict(self._derived), dict(self._controls)
        return ModelContents(dict(self._elements), dict(self._sensors), self._gravity, numbers, derived, controls)

    def with_params(self, params: Params) -> "Model":
        """The model with some parameters replaced; `params` has the form of a part of `model.assemble().params()`.

        It assembles to the same system as `model.assemble().with_params(params)`: what was measured in the initial
        state is kept.
        """
        system = self.assemble(redundant="min_norm")
        values = {path: np.asarray(x, np.float64) for path, x in system.check_params(params).items()}
        follows = system.with_params(params)
        derived = {path: np.asarray(follows.value(path), np.float64) for path in self._derived}
        changed, other = with_values(self.contents(), values | derived, system.params()), copy.copy(self)
        other._elements, other._sensors = dict(changed.elements), dict(changed.sensors)
        other._gravity, other._parameters = changed.gravity, dict(changed.numbers)
        other._derived, other._controls = dict(self._derived), dict(self._controls)
        return other

    def parameter(self, name: str, value: Any, *, unit: str = "", range: str | None = None) -> None:
        """A number of the model itself, such as "crank.length", for `derive`; a parameter like those of elements.

        `range`: "positive", "nonnegative", "direction" ..., as elements' parameters have them; None: any.
        """
        path = path_of(name)
        if path in self._parameters:
            raise ModelError(f"there is already a parameter '{name}'.")
        self._parameters[path] = checked_number(name, value, unit, range)

    def derive(self, name: str, rule: Any) -> None:
        """Makes a parameter of an element follow from others: in the model, in fits and in designs.

        `rule`: a formula of parameters, "crank.mass * crank.length^2 / 12", a list of them for a vector, or a function
        of all parameters by name, `lambda p: p["crank.mass"] * p["crank.length"] ** 2 / 12`. The parameter is none of
        `params()` any more.
        """
        self._derived[path_of(name)] = checked_rule(name, rule)

    def control(self, name: str, rule: Any, *, sampled: bool = False) -> None:
        """Sets a parameter of a force law or load, or the switch of a connector, while the model moves: feedback.

        `name`: such as "motor.force", or "clutch.active" for a switch; `rule`: a function of (t, outputs, p), the time,
        the outputs and all parameters by name; `sampled`: it is called at the start of each time step, and what it
        returns holds until the next, so that the size `dt` of the steps is the controller's sampling time.
        """
        if not callable(rule):
            raise ModelError(f"the controller of {show(name)} must be a function of (t, outputs, p), got {show(rule)}.")
        if not isinstance(sampled, bool):
            raise ModelError(f"the controller of {show(name)}: sampled must be True or False, got {show(sampled)}.")
        path = path_of(name)
        if path[1:] == (SWITCH,) and not sampled:
            raise ModelError(f"'{name}' switches between steps: pass sampled=True, or use an Event.")
        self._controls[path] = Controller(name, rule, sampled)

    def switch(self, name: str, active: bool) -> None:
        """Switches a connector on or off in systems assembled from now on."""
        connectors = [n for n, r in self._elements.items() if isinstance(r.element, AbstractConnector)]
        if not isinstance(name, str) or name not in connectors:
            raise ModelError(f"there is no connector {show(name)}. {did_you_mean(show(name), connectors)}")
        if not isinstance(active, bool):
            raise ModelError(f"'{name}': active must be True or False, got {show(active)}.")
        self._elements[name] = dataclasses.replace(self._elements[name], active=active)

    def sense(self, name: str, quantity: AbstractSensor | Output | Callable[..., Any]) -> None:
        """Names an output: a sensor on a marker, an `Output`, or a function of (t, outputs)."""
        self._check_name(name, _SENSOR_NAME)
        self._sensors[name] = self._sensor(name, quantity)

    def assemble(self, *, redundant: str = "warn") -> System:
        """The system: what can be simulated, differentiated and identified.

        `redundant`: what to do about constraints that repeat what others fix. They are allowed, and their multipliers
        the smallest possible ones: with a warning ("warn") or without ("min_norm"), or refused ("error").
        """
        if redundant not in ("warn", "min_norm", "error"):
            raise ModelError(f"redundant must be 'warn', 'min_norm' or 'error', got {show(redundant)}.")
        if len(self._bodies()) == 1:
            raise ModelError("the model has no body. Add one, for example model.add('bob', MassPoint(mass=1.0)).")
        # Also what is built inside jit has numbers of its own.
        with jax.ensure_compile_time_eval():
            contents = resolved(self.contents())
            system = assemble(contents, redundant)
            check_controls(contents, system)
            for name, quantity in self._sensors.items():
                if not isinstance(quantity, tuple):
                    _try_sensor(system, name)
            for name, added in self._elements.items():
                if isinstance(added.element, Event):
                    _try_event(system, name, added.element)
        return system

    def _bodies(self) -> dict[str, AddedElement]:
        """With the ground."""
        return {name: added for name, added in self._elements.items() if isinstance(added.element, AbstractBody)}

    def _added(
        self,
        name: str,
        element: Any,
        initial: dict[str, Any],
        between: Any = None,
        on: Any = None,
        active: Any = True,
        kept: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> AddedElement:
        """`kept`: initial values of a body that another one had."""
        element = with_formulas(name, element)
        if isinstance(element, AbstractBody):
            if between is not None or on is not None or active is not True:
                raise ModelError(f"'{name}' is a body: it takes initial values, not between, on or active.")
            added = self._body(name, element, initial, kept)
        elif isinstance(element, AbstractConnector):
            for key in initial:
                if key not in element.initial:
                    known = did_you_mean(key, [*element.initial, "between", "on", "active"])
                    raise ModelError(f"'{name}' is a connector and takes no '{key}'. {known}")
            added = self._connector(name, element, between, on, active, {**kept, **initial})
        elif isinstance(element, Event):
            if initial or between is not None or on is not None or active is not True:
                raise ModelError(f"'{name}' is an event: it takes no markers, values or active.")
            added = self._event(name, element)
        else:
            kind = f"the class {element.__name__} itself" if isinstance(element, type) else show(element)
            raise ModelError(
                f"'{name}': expected a body, connector, load or event such as SpringDamper(...), got {kind}."
            )
        for field in dataclasses.fields(element):
            if eqx.is_array(getattr(element, field.name)) and field.name not in specs_of(element):
                kind = type(element).__name__
                raise ModelError(f"'{name}': declare the array {kind}.{field.name} with difmbs.parameter(...).")
            if _holds_traced(getattr(element, field.name)):
                raise ModelError(
                    f"'{name}': the function {field.name} uses a traced value of its surroundings. Pass a function "
                    "that is an eqx.Module with the value as a field; then it is a parameter, for simulate(params=...)."
                )
        return added

    def _sensor(self, name: str, quantity: Any) -> Any:
        if isinstance(quantity, AbstractSensor):
            marker = quantity.marker
            if quantity.of_coordinates and isinstance(marker, (str, BodyHandle)):
                marker = (self._named(name, marker) if isinstance(marker, str) else marker).coordinates
            attached = self._places(name, marker, of_coordinates=quantity.of_coordinates)
            if len(attached) != 1 or len(attached[0]) == 0:
                raise ModelError(f"'{name}': a sensor has one marker, got {_shown(quantity.marker)}.")
            (place,) = attached
            kind = type(self._elements[place.body].element)
            if quantity.turning and not kind.rotates:
                raise ModelError(f"'{name}': '{place.body}' is a {kind.__name__}, which does not rotate.")
            return type(quantity), place
        if isinstance(quantity, Output) or (callable(quantity) and not isinstance(quantity, type)):
            return quantity
        raise ModelError(
            f"'{name}': expected a sensor such as Position(marker), an Output(element, variable) or a function of "
            f"(t, outputs), got {show(quantity)}."
        )

    def _body(self, name: str, body: AbstractBody, initial: dict[str, Any], kept: Mapping[str, Any]) -> AddedElement:
        for key in initial:
            if key not in body.initial:
                raise ModelError(f"'{name}': {type(body).__name__} has no initial value '{key}'. "
                                 f"{did_you_mean(CALLED_OTHERWISE.get(key, key), body.initial)}")  # fmt: skip
        values = {
            key: as_array(initial.get(key, np.zeros([body.coordinates if n is None else n for n in spec.shape or ()])))
            for key, spec in body.initial.items()
        }
        values |= kept
        counts = self._counts(name, body)
        # Last, because how many instances there are decides what a rotation of shape (3, 3) is.
        for key in sorted(values, key="rotation".__eq__):
            if key == "rotation" and key not in kept:
                values[key] = rotation_vector(name, values[key], one_count(name, counts))
            if check_value(name, key, values[key], body.initial[key]):
                counts[key] = len(values[key])
        count = one_count(name, counts)
        body.check(name, values)
        return AddedElement(name, body, values, (), count or 1, count is None, True)

    def _connector(
        self, name: str, law: AbstractConnector, between: Any, on: Any, active: bool, initial: Mapping[str, Any]
    ) -> AddedElement:
        if not isinstance(active, bool):
            raise ModelError(f"'{name}': active must be True or False, got {show(active)}.")
        for field in dataclasses.fields(law):
            if field.type is bool and not isinstance(value := getattr(law, field.name), bool):
                raise ModelError(f"'{name}': {field.name} must be True or False, got {show(value)}.")
        kind, ports = type(law).__name__, law.ports
        keyword, given, other = ("on", on, between) if len(ports) == 1 else ("between", between, on)
        sides = (given,) if len(ports) == 1 else () if given is None and not ports else given
        if other is not None or not isinstance(sides, (tuple, list)) or len(sides) != len(ports) or sides == (None,):
            markers = ", ".join(f"marker{i}" for i in range(len(ports)))
            wanted = "on=marker" if len(ports) == 1 else f"between=({markers})" if ports else "no markers"
            raise ModelError(f"'{name}': {kind} needs {wanted}, got between={_shown(between)}, on={_shown(on)}.")
        attached = tuple(
            tuple(self._places(name, side, port.of_coordinates)) for side, port in zip(sides, ports, strict=True)
        )
        for side, port in zip(attached, ports, strict=True):
            for place in side:
                body = self._elements[place.body].element
                if port.turning and not body.rotates:
                    raise ModelError(
                        f"'{name}': {kind} acts on rotation, but '{place.body}' is a {type(body).__name__}, which does "
                        "not rotate."
                    )
        counts = self._counts(name, law)
        if isinstance(law, AbstractField):
            self._check_field(name, law, attached[0], counts)
        else:
            counts |= {f"{keyword}[{i}]": n for i, side in enumerate(attached) if (n := sum(map(len, side))) != 1}
        values = {}
        for key, spec in law.initial.items():
            if key not in initial and None in (spec.shape or ()):
                raise ModelError(f"'{name}': give {key}, its initial values: model.add(..., {key}=[...]).")
            values[key] = as_array(initial[key] if key in initial else np.zeros([n or 0 for n in spec.shape or ()]))
        counts |= {key: len(x) for key, x in values.items() if check_value(name, key, x, law.initial[key])}
        count = one_count(name, counts)
        if attached:
            self._check_partners(name, law, attached)
        self._check_ties(name, law, attached)
        for sizes in sorted(set(zip(*of_instances(attached, self._coordinates), strict=True))) if attached else [()]:
            law.check(name, tuple(int(n) for n in sizes))
        return AddedElement(name, law, values, attached, count or 1, count is None, active)

    def _event(self, name: str, event: Event) -> AddedElement:
        if self._counts(name, event):
            raise ModelError(f"'{name}': when must be one time, got {show(event.when)}. Add an event for each.")
        if event.direction not in (-1, 0, 1) or isinstance(event.direction, bool):
            raise ModelError(f"'{name}': direction must be -1, 0 or 1, got {show(event.direction)}.")
        if not isinstance(event.stop, bool):
            raise ModelError(f"'{name}': stop must be True or False, got {show(event.stop)}.")
        check_function(name, "jump", event.jump)
        pairs = event.switch if isinstance(event.switch, tuple) else None
        if pairs is None or not all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[1], bool) for p in pairs):
            raise ModelError(
                f"'{name}': switch must be a dict of connectors and True or False, got {show(event.switch)}."
            )
        connectors = [n for n, r in self._elements.items() if isinstance(r.element, AbstractConnector)]
        for connector, _ in pairs:
            if connector not in connectors:
                raise ModelError(
                    f"'{name}': there is no connector {show(connector)}. {did_you_mean(connector, connectors)}"
                )
        return AddedElement(name, event, {}, (), 1, True, True)

    def _counts(self, name: str, element: Any) -> dict[str, int]:
        """The parameters that have an axis of instances, with its length. Checks all of them."""
        counts = {}
        for field, spec in specs_of(element).items():
            value = getattr(element, field)
            if value is None and spec.optional:
                continue
            if spec.of_time and callable(value) and not isinstance(value, jax.Array):
                continue
            if check_value(name, field, value, spec):
                counts[field] = len(value)
            warn_if_negative(name, field, value, spec)
        return counts

    def _coordinates(self, place: MarkerRef) -> int:
        return 1 if place.coordinate is not None else self._elements[place.body].element.coordinates

    def _places(self, name: str, side: Any, of_coordinates: bool) -> list[MarkerRef]:
        """The marker, or list of markers, that an element was given."""
        given = side if isinstance(side, (list, tuple)) else [side]
        markers = [self._named(name, item) if isinstance(item, str) else item for item in given]
        return self._known(name, places(name, markers, of_coordinates))

    def _named(self, name: str, marker: str) -> BodyHandle:
        body, dot, place = marker.partition(".")
        if dot and body in self._bodies():
            raise ModelError(
                f"'{name}': a name stands for a body, not for a place on it. Pass model.body('{body}').{place}."
            )
        try:
            return self.body(marker)
        except ModelError as error:
            raise ModelError(f"'{name}': {error}") from None

    def _known(self, name: str, attached: list[MarkerRef]) -> list[MarkerRef]:
        for place in attached:
            if place.model != self._number:
                raise ModelError(f"'{name}': '{place.body}' belongs to another model.")
            added = self._elements.get(place.body)
            # A copy of a model shares its number.
            if added is None or (len(place) and place.rows.max() >= added.count):
                raise ModelError(
                    f"'{name}': the model has no such instances of a body '{place.body}'. They were removed, or added "
                    "to another copy of the model."
                )
        return [fitted(name, place, self._elements[place.body].element) for place in attached]

    def _check_partners(self, name: str, law: AbstractConnector, attached: tuple[tuple[MarkerRef, ...], ...]) -> None:
        bodies = of_instances(attached, lambda place: place.body)
        grounded = np.all([side == GROUND for side in bodies], axis=0)
        if np.all(grounded) if isinstance(law, AbstractField) else np.any(grounded):
            raise ModelError(f"'{name}' acts on ground only. Attach one of its markers to a body.")
        if len(attached) != 2:
            return
        coordinates = of_instances(attached, lambda place: -1 if place.coordinate is None else place.coordinate)
        rows = np.broadcast_arrays(*(np.concatenate([place.rows for place in side]) for side in attached))
        same = np.all([a == b for a, b in (bodies, rows, coordinates)], axis=0)
        if np.any(same):
            raise ModelError(f"'{name}' joins '{bodies[0][np.argmax(same)]}' with itself.")

    def _check_field(self, name: str, law: AbstractField, side: tuple[MarkerRef, ...], counts: dict[str, int]) -> None:
        kind, total = type(law).__name__, sum(map(len, side))
        if total == 0:
            raise ModelError(f"'{name}': {kind} needs at least one marker, got none.")
        if counts:
            field = next(iter(counts))
            raise ModelError(f"'{name}': one {kind} acts among all its markers, so {field} has no axis of instances.")
        for field in law.ties:
            value = getattr(law, field)
            if value is not None and value.shape[0] != total:
                raise ModelError(f"'{name}': {field} needs a value for each of the {total} markers, got {len(value)}.")
        instances = [(place.body, row) for place in side for row in place.rows.tolist()]
        for (body, row), again in itertools.pairwise(sorted(instances)):
            if (body, row) == again:
                raise ModelError(f"'{name}': '{body}' is among the markers twice.")

    def _check_ties(self, name: str, law: AbstractConnector, attached: tuple[tuple[MarkerRef, ...], ...]) -> None:
        for field, (marker, of_body) in law.ties.items():
            for place in attached[marker]:
                if getattr(law, field) is None and of_body not in specs_of(self._elements[place.body].element):
                    raise ModelError(f"'{name}': give {field}; '{place.body}' has no {of_body} to take it from.")

    def _check_name(self, name: Any, pattern: re.Pattern[str]) -> None:
        if not isinstance(name, str) or not pattern.fullmatch(name):
            more = " and '.'" if pattern is _SENSOR_NAME else ""
            raise ModelError(
                f"{show(name)} is not a valid name: use 1 to 100 letters (a-z), digits, spaces, '_' and '-'{more}, "
                "a letter or digit first and no space last."
            )
        if name in ("gravity", GROUND):
            raise ModelError(f"'{name}' is reserved for the {'uniform field' if name == 'gravity' else 'fixed world'}.")
        if name in self._elements or name in self._sensors:
            raise ModelError(f"there is already an element '{name}'. Names must be unique.")
        for sensor in (name, *self._sensors):
            element, dot, _ = sensor.partition(".")
            if dot and (element == name or (sensor == name and element in self._elements)):
                raise ModelError(f"sensor '{sensor}' would hide the outputs of '{element}'. Choose another name.")


def _kind(element: Any) -> str:
    """What a name stands for, in the plural."""
    classes = (AbstractBody, AbstractConstraint, Event)
    return next((kind for kind, of in zip(_KINDS[::2], classes, strict=True) if isinstance(element, of)), "forces")


def one_count(where: str, counts: dict[str, int]) -> int | None:
    """The number of instances on which everything agrees, None if nothing has an axis of instances."""
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{what} {n}" for what, n in counts.items())
        raise ModelError(f"'{where}': the numbers of instances differ: {said}.")
    if 0 in counts.values():
        raise ModelError(f"'{where}' has no instances: {next(iter(counts))} is empty.")
    return next(iter(counts.values()), None)


def _shown(markers: Any) -> str:
    if isinstance(markers, BodyHandle):
        return markers.name
    if isinstance(markers, (tuple, list)):
        return f"{len(markers)} markers"
    return show(markers)


def _holds_traced(function: Any) -> bool:
    """Whether it is a function whose surroundings JAX is about to differentiate or compile."""
    if not isinstance(function, types.FunctionType):
        return False
    around: list[Any] = [function.__defaults__]
    for cell in function.__closure__ or ():
        # Of what is defined later there is nothing yet.
        with contextlib.suppress(ValueError):
            around.append(cell.cell_contents)
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(around))


def _try_sensor(system: System, name: str) -> None:
    """Traces a sensor that is a function or refers to an output, so that what is wrong with it is said here."""
    try:
        q, v = system.initial_state()
        jax.eval_shape(lambda t, q, v: Outputs(system, t, q, v)[name], np.zeros((), q.dtype), q, v)
    except ParameterError as error:
        raise ModelError(f"'{name}': {error}") from None
    except Exception as error:
        raise ModelError(f"'{name}': the function of (t, outputs) fails: {show_error(error)}") from error


def _try_event(system: System, name: str, event: Event) -> None:
    """Traces the functions of an event, so that what is wrong with them is said here."""

    def functions(t: Any, q: Any, v: Any) -> Any:
        if callable(event.when):
            returned("when", (), event.when, t, Outputs(system, t, q, v))
        if event.jump is None:
            return
        try:
            after = event.jump(t, q, v)
        except Exception as error:
            raise ModelError(f"jump fails: {show_error(error)}") from error
        sizes = [np.size(x) for x in after] if isinstance(after, (tuple, list)) else None
        if sizes != [q.size, v.size]:
            raise ModelError(f"jump must return new q and v, {q.size} and {v.size} numbers, got {show(after)}.")

    q, v = system.initial_state()
    try:
        jax.eval_shape(functions, np.zeros((), q.dtype), q, v)
    except ModelError as error:
        raise ModelError(f"'{name}': {error}") from error.__cause__
