"""The builder: elements by name, checked as they are added, put together by `assemble`."""

import dataclasses
import re
import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ._assembly import Record, assemble
from ._errors import ModelError, ParameterError, did_you_mean
from ._markers import GROUND, BodyHandle, Place, places
from ._parameters import Spec, as_array, check_value, specs_of
from ._types import Numbers
from .bodies import AbstractBody, Ground, RigidBody
from .connectors import AbstractConnector, AbstractField
from .sensors import AbstractSensor, Output
from .system import System

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ \-]{0,99}")
_SENSOR_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .\-]{0,99}")


class Model:
    """A mechanism under construction.

    **Arguments:** `gravity` [m/s^2], the uniform field, a 3-vector.
    """

    def __init__(self, gravity: Numbers = (0.0, 0.0, 0.0)):
        field = as_array(gravity)
        check_value("gravity", "acceleration", field, Spec((3,), "m/s^2"))
        if np.shape(field) != (3,):
            raise ParameterError(f"'gravity': acceleration must have shape (3,), got shape {np.shape(field)}.")
        self._gravity = field
        self._records: dict[str, Record] = {}
        self._sensors: dict[str, Any] = {}
        self._handles: dict[str, BodyHandle] = {}
        self._records[GROUND] = Record(GROUND, Ground(), {}, (), 1, True, True)

    @property
    def ground(self) -> BodyHandle:
        """The fixed world; `ground.at(x, y, z)` is a fixed point."""
        return BodyHandle(GROUND, Ground, np.zeros(1, int))

    def add(
        self, name: str, element: Any, between: Any = None, on: Any = None, *, active: bool = True, **initial: Any
    ) -> BodyHandle | None:
        """Adds a body (with initial values), a connector (`between` two markers) or a load (`on` one marker).

        Parameters may have a leading axis: then the name holds that many instances, and `between` or `on` takes bodies
        with as many instances, or lists of markers. Returns a handle for a body.
        """
        self._check_name(name, _NAME)
        if isinstance(element, AbstractBody):
            if between is not None or on is not None or active is not True:
                raise ModelError(f"'{name}' is a body: it takes initial values, not between, on or active.")
            record = self._body(name, element, initial)
        elif isinstance(element, AbstractConnector):
            if initial:
                raise ModelError(f"'{name}' is a connector, it has no initial value '{next(iter(initial))}'.")
            record = self._connector(name, element, between, on, active)
        else:
            kind = "the class itself" if isinstance(element, type) else f"{element!r}"
            raise ModelError(f"'{name}': expected a body, connector or load such as SpringDamper(...), got {kind}.")
        self._records[name] = record
        if record.places:
            return None
        handle = BodyHandle(name, type(element), np.arange(record.count))
        self._handles[name] = handle
        return handle

    def switch(self, name: str, active: bool) -> None:
        """Switches a connector on or off in systems assembled from now on."""
        record = self._records.get(name)
        if record is None or not record.places:
            connectors = [n for n, r in self._records.items() if r.places]
            raise ModelError(f"there is no connector '{name}'. {did_you_mean(name, connectors)}")
        self._records[name] = dataclasses.replace(record, active=bool(active))

    def sense(self, name: str, quantity: AbstractSensor | Output | Callable[..., Any]) -> None:
        """Names an output: a sensor on a marker, an `Output`, or a function of (t, outputs)."""
        self._check_name(name, _SENSOR_NAME)
        if isinstance(quantity, AbstractSensor):
            (place,) = self._known(name, places(name, quantity.marker, of_coordinates=False))
            kind = type(self._records[place.body].element)
            if quantity.turning and not kind.rotates:
                raise ModelError(f"'{name}': '{place.body}' is a {kind.__name__}, which does not rotate.")
            self._sensors[name] = (type(quantity), place)
        elif isinstance(quantity, Output) or callable(quantity):
            self._sensors[name] = quantity
        else:
            raise ModelError(
                f"'{name}': expected a sensor such as Position(marker), an Output(element, variable) or a function of "
                f"(t, outputs), got {quantity!r}."
            )

    def assemble(self) -> System:
        """The system: what can be simulated, differentiated and identified."""
        if len(self._handles) == 0:
            raise ModelError("the model has no body. Add one, for example model.add('bob', MassPoint(mass=1.0)).")
        return assemble(tuple(self._records.values()), self._sensors, self._gravity)

    def _body(self, name: str, body: AbstractBody, initial: dict[str, Any]) -> Record:
        for key in initial:
            if key not in body.initial:
                raise ModelError(f"'{name}': {type(body).__name__} has no initial value '{key}'. "
                                 f"{did_you_mean(key, body.initial)}")  # fmt: skip
        values = {key: as_array(initial.get(key, np.zeros(spec.shape))) for key, spec in body.initial.items()}
        if isinstance(body, RigidBody):
            check_inertia(name, body.inertia)
            values["rotation"] = rotation_vector(name, values["rotation"], many=np.ndim(values["position"]) == 2)
        counts = self._counts(name, body) | {
            key: len(values[key]) for key, spec in body.initial.items() if check_value(name, key, values[key], spec)
        }
        count = one_count(name, counts)
        return Record(name, body, values, (), count or 1, count is None, True)

    def _connector(self, name: str, law: AbstractConnector, between: Any, on: Any, active: bool) -> Record:
        if not isinstance(active, bool):
            raise ModelError(f"'{name}': active must be True or False, got {active!r}.")
        kind, ports = type(law).__name__, law.ports
        keyword, given, other = ("between", between, on) if len(ports) == 2 else ("on", on, between)
        sides = given if len(ports) == 2 else (given,)
        if other is not None or given is None or not isinstance(sides, (tuple, list)) or len(sides) != len(ports):
            wanted = "between=(marker0, marker1)" if len(ports) == 2 else "on=marker"
            raise ModelError(f"'{name}': {kind} needs {wanted}, got between={between!r}, on={on!r}.")
        attached = tuple(
            tuple(self._known(name, places(name, side, port.of_coordinates))) for side, port in zip(sides, ports, strict=True)
        )
        for side, port in zip(attached, ports, strict=True):
            for place in side:
                body = self._records[place.body].element
                if port.turning and not body.rotates:
                    raise ModelError(
                        f"'{name}': {kind} acts on rotation, but '{place.body}' is a {type(body).__name__}, which does "
                        "not rotate."
                    )
        counts = self._counts(name, law)
        if not isinstance(law, AbstractField):
            counts |= {f"{keyword}[{i}]": n for i, side in enumerate(attached) if (n := sum(map(len, side))) != 1}
        count = one_count(name, counts)
        self._check_partners(name, attached)
        sizes = tuple(self._coordinates(side[0]) for side in attached)
        law.check(name, sizes)
        return Record(name, law, {}, attached, count or 1, count is None, active)

    def _counts(self, name: str, element: Any) -> dict[str, int]:
        """The parameters that have an axis of instances, with its length. Checks all of them."""
        counts = {}
        for field, spec in specs_of(element).items():
            value = getattr(element, field)
            if value is None and spec.optional:
                continue
            if callable(value) and not isinstance(value, jax.Array):
                continue
            if check_value(name, field, value, spec):
                counts[field] = len(value)
            if spec.range == "expected nonnegative" and not isinstance(value, jax.core.Tracer) and np.any(value < 0):
                warnings.warn(f"'{name}': {field} is negative.", stacklevel=4)
        return counts

    def _coordinates(self, place: Place) -> int:
        return 1 if place.coordinate is not None else type(self._records[place.body].element).coordinates

    def _known(self, name: str, attached: list[Place]) -> list[Place]:
        for place in attached:
            record = self._records.get(place.body)
            if record is None:
                raise ModelError(f"'{name}': body '{place.body}' does not exist in this model. "
                                 f"{did_you_mean(place.body, self._handles)}")  # fmt: skip
            if len(place.rows) and place.rows.max() >= record.count:
                raise ModelError(f"'{name}': '{place.body}' has {record.count} instances.")
        return attached

    def _check_partners(self, name: str, attached: tuple[tuple[Place, ...], ...]) -> None:
        if all(place.body == GROUND for side in attached for place in side):
            raise ModelError(f"'{name}' acts on ground only. Attach one of its markers to a body.")
        if len(attached) != 2:
            return
        first, second = attached
        if len(first) == len(second) == 1 and first[0].body == second[0].body:
            a, b = first[0], second[0]
            count = max(len(a), len(b))
            a, b = a.repeated(count), b.repeated(count)
            same_point = a.coordinate == b.coordinate and (a.points is None or np.all(a.points == b.points, axis=-1))
            if np.any((a.rows == b.rows) & same_point):
                raise ModelError(f"'{name}' joins '{a.body}' with itself.")

    def _check_name(self, name: Any, pattern: re.Pattern[str]) -> None:
        if not isinstance(name, str) or not pattern.fullmatch(name):
            shown = repr(name) if len(repr(name)) < 60 else repr(name)[:57] + "..."
            raise ModelError(
                f"{shown} is not a valid name: use 1 to 100 letters (a-z), digits, spaces, '_' and '-'"
                + (" and '.'." if pattern is _SENSOR_NAME else ".")
            )
        if name in ("gravity", GROUND):
            raise ModelError(f"'{name}' is reserved for the {'uniform field' if name == 'gravity' else 'fixed world'}.")
        if name in self._records or name in self._sensors:
            raise ModelError(f"there is already an element '{name}'. Names must be unique.")


def one_count(where: str, counts: dict[str, int]) -> int | None:
    """The number of instances on which everything agrees, None if nothing has an axis of instances."""
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{what} {n}" for what, n in counts.items())
        raise ModelError(f"'{where}': the numbers of instances differ: {said}.")
    if 0 in counts.values():
        raise ModelError(f"'{where}' has no instances: {next(iter(counts))} is empty.")
    return next(iter(counts.values()), None)


def check_inertia(where: str, inertia: Any) -> None:
    """Refuses a tensor that no body can have."""
    if isinstance(inertia, jax.core.Tracer) or np.shape(inertia)[-2:] != (3, 3):
        return
    tensor = np.asarray(inertia)
    scale = np.abs(tensor).max()
    if not np.all(np.isfinite(tensor)):
        return
    if np.any(np.abs(tensor - np.swapaxes(tensor, -1, -2)) > 1e-9 * scale):
        raise ModelError(f"'{where}': inertia must be symmetric, got {tensor.tolist()}.")
    moments = np.linalg.eigvalsh(tensor)
    if np.any(moments[..., 0] <= 1e-14 * scale):
        raise ModelError(f"'{where}': inertia must be positive definite; its principal moments are {moments.tolist()}.")
    if np.any(moments[..., 2] > (moments[..., 0] + moments[..., 1]) * (1 + 1e-9)):
        raise ModelError(
            f"'{where}': no body has the principal moments {moments.tolist()}: each must be at most the sum of the "
            "other two."
        )


def rotation_vector(where: str, rotation: Any, many: bool) -> Any:
    """A rotation vector, quaternion (w, x, y, z) or rotation matrix as rotation vector."""
    shape = np.shape(rotation)[1:] if many and np.ndim(rotation) > 1 else np.shape(rotation)
    if shape == (3,) or isinstance(rotation, jax.Array) or not isinstance(rotation, np.ndarray):
        return rotation
    if shape not in ((4,), (3, 3)) or not np.all(np.isfinite(rotation)):
        raise ModelError(
            f"'{where}': rotation must be a rotation vector (3,), a quaternion (4,) or a rotation matrix (3, 3) of "
            f"finite numbers; got shape {shape}."
        )
    from scipy.spatial.transform import Rotation

    if shape == (4,):
        if np.any(np.abs(np.linalg.norm(rotation, axis=-1) - 1) > 1e-6):
            raise ModelError(f"'{where}': the quaternion must have length 1.")
        return Rotation.from_quat(rotation, scalar_first=True).as_rotvec()
    if np.any(np.abs(rotation @ np.swapaxes(rotation, -1, -2) - np.eye(3)) > 1e-6) or np.any(
        np.linalg.det(rotation) < 0
    ):
        raise ModelError(f"'{where}': the rotation matrix is not orthogonal with determinant 1.")
    return Rotation.from_matrix(rotation).as_rotvec()
