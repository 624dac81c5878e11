"""What the user holds in hand: bodies by name, and places on them."""

import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from ..core.errors import ModelError
from ..core.parameters import as_array, is_numbers, show
from ..core.reprs import value
from ..elements.bodies.body import AbstractBody

GROUND = "ground"


@dataclasses.dataclass(frozen=True, eq=False)
class MarkerRef:
    """Points on, or coordinates of, some instances of a body. One row of `points` for each instance, or None.

    `model`: the number of the model that the body was added to.
    """

    model: int
    body: str
    rows: np.ndarray
    points: Any = None
    of_coordinates: bool = False
    coordinate: int | None = None

    def __repr__(self) -> str:
        where = "" if self.points is None else f", at {value(self.points[0] if len(self) == 1 else self.points)}"
        which = ", coordinates" if self.coordinate is None else f", coordinate {self.coordinate}"
        return f"Place({self.body!r}{_instances(self.rows)}{which if self.of_coordinates else where})"

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> "MarkerRef":
        rows = _chosen(self.body, self.rows, key)
        points = None if self.points is None else self.points[key].reshape(-1, 3)
        return dataclasses.replace(self, rows=rows, points=points)

    def repeated(self, count: int) -> "MarkerRef":
        return self if len(self) == count else self[np.zeros(count, int)]


@dataclasses.dataclass(frozen=True, eq=False)
class BodyHandle:
    """A body of the model; with several instances it can be indexed like an array. Itself the marker at its origin."""

    model: int
    name: str
    element: AbstractBody
    rows: np.ndarray

    @property
    def kind(self) -> type[AbstractBody]:
        return type(self.element)

    def __repr__(self) -> str:
        return f"BodyHandle({self.name!r}, {self.kind.__name__}{_instances(self.rows)})"

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> "BodyHandle":
        return dataclasses.replace(self, rows=_chosen(self.name, self.rows, key))

    def __iter__(self) -> Iterator["BodyHandle"]:
        return (self[i] for i in range(len(self)))

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0) -> MarkerRef:
        """The body-fixed point (x, y, z) [m] with the body's frame; numbers, or one for each instance."""
        numbers = [as_array(c) for c in (x, y, z)]
        if not all(is_numbers(c) and not isinstance(c, jax.core.Tracer) and np.all(np.isfinite(c)) for c in numbers):
            said = ", ".join(show(c) for c in (x, y, z))
            raise ModelError(f"'{self.name}'.at takes three finite numbers x, y and z, got ({said}).")
        for c in numbers:
            if c.shape not in ((), (len(self),)):
                raise ModelError(
                    f"'{self.name}'.at takes numbers x, y and z, or for each a list as long as there are instances "
                    f"({len(self)}); got shape {c.shape}. Write at(x, y, z), not at((x, y, z))."
                )
        point = np.stack(np.broadcast_arrays(*(np.asarray(c, float) for c in numbers)), axis=-1)
        if not self.kind.extended and np.any(point != 0):
            raise ModelError(
                f"'{self.name}' is a {self.kind.__name__}, which has no points but itself. Attach to the body, or use "
                "a rigid body."
            )
        points = np.broadcast_to(point, (len(self), 3)) if self.kind.extended else None
        return MarkerRef(self.model, self.name, self.rows, points)

    def coordinate(self, i: int) -> MarkerRef:
        """The i-th coordinate, reference plus displacement."""
        count = self.element.coordinates
        try:
            number = -1 if isinstance(i, (bool, np.bool_)) else operator.index(i)
        except TypeError:
            number = -1
        if not 0 <= number < count:
            has = f"coordinates 0 to {count - 1}" if count else "no coordinates"
            raise ModelError(f"'{self.name}' has {has}, got {show(i)}.")
        return MarkerRef(self.model, self.name, self.rows, of_coordinates=True, coordinate=number)

    @property
    def coordinates(self) -> MarkerRef:
        """The vector of all coordinates, reference plus displacement."""
        return MarkerRef(self.model, self.name, self.rows, of_coordinates=True)


def _instances(rows: np.ndarray) -> str:
    return "" if len(rows) == 1 else f", {len(rows)} instances"


def places(where: str, what: Any, of_coordinates: bool) -> list[MarkerRef]:
    """The marker, or list of markers, that an element was given, as places of the sort its port needs."""
    return [_place(where, item, of_coordinates) for item in (what if isinstance(what, (list, tuple)) else [what])]


def of_instances(attached: tuple[tuple[MarkerRef, ...], ...], quantity: Callable[[MarkerRef], Any]) -> list[np.ndarray]:
    """A quantity of the places, for each instance of each marker."""
    values = [np.repeat([quantity(place) for place in side], [len(place) for place in side]) for side in attached]
    return [np.asarray(x) for x in np.broadcast_arrays(*values)]


def _place(where: str, what: Any, of_coordinates: bool) -> MarkerRef:
    if isinstance(what, BodyHandle):
        place = what.coordinates if of_coordinates and what.name == GROUND else what.at()
        if of_coordinates and not place.of_coordinates:
            raise ModelError(
                f"'{where}' joins coordinates: pass {what.name}.coordinates or {what.name}.coordinate(i) instead of "
                f"'{what.name}', where {what.name} = model.body('{what.name}')."
            )
        return place
    if isinstance(what, AbstractBody):
        kind = type(what).__name__
        raise ModelError(f"'{where}': a marker is what model.add(name, {kind}(...)) returns, not the {kind} itself.")
    if not isinstance(what, MarkerRef):
        raise ModelError(
            f"'{where}': a marker is a body as model.add returned it or its name, body.at(x, y, z) or "
            f"body.coordinates; got {show(what)}."
        )
    if what.of_coordinates != of_coordinates:
        wanted = "coordinates (body.coordinates)" if of_coordinates else "a point (the body itself or body.at(x, y, z))"
        raise ModelError(f"'{where}' needs {wanted} on '{what.body}'.")
    return what


def fitted(where: str, place: MarkerRef, body: AbstractBody) -> MarkerRef:
    """The place on a body that may have become one of another class."""
    kind = type(body)
    if place.coordinate is not None and place.coordinate >= body.coordinates:
        raise ModelError(
            f"'{where}' is on coordinate {place.coordinate} of '{place.body}', but a {kind.__name__} has only "
            f"{body.coordinates}."
        )
    if not place.of_coordinates and not kind.in_space:
        raise ModelError(
            f"'{where}' is at a point of '{place.body}', but a {kind.__name__} has none. Attach to "
            "body.coordinate(i) or body.coordinates."
        )
    if place.of_coordinates or kind.extended == (place.points is not None):
        return place
    if place.points is not None and np.any(place.points != 0):
        raise ModelError(f"'{where}' is at a point of '{place.body}', but a {kind.__name__} has no points but itself.")
    return dataclasses.replace(place, points=np.zeros((len(place), 3)) if kind.extended else None)


def _chosen(name: str, rows: np.ndarray, key: Any) -> np.ndarray:
    try:
        chosen = np.atleast_1d(rows[key])
    except (IndexError, TypeError, ValueError):
        raise ModelError(f"'{name}' has instances 0 to {len(rows) - 1}, got [{show(key)}].") from None
    if chosen.ndim != 1:
        raise ModelError(f"'{name}': instances are chosen by one index or list, got [{show(key)}].")
    return chosen
