"""What the user holds in hand: bodies by name, and places on them."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._errors import ModelError
from ._parameters import as_array
from .bodies import AbstractBody

GROUND = "ground"


@dataclasses.dataclass(frozen=True, eq=False)
class Place:
    """Points on, or coordinates of, some instances of a body. One row of `points` for each instance, or None."""

    body: str
    rows: np.ndarray
    points: Any = None
    of_coordinates: bool = False
    coordinate: int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> "Place":
        rows = np.atleast_1d(self.rows[key])
        points = None if self.points is None else self.points[key].reshape(-1, 3)
        return dataclasses.replace(self, rows=rows, points=points)

    def repeated(self, count: int) -> "Place":
        return self if len(self) == count else self[np.zeros(count, int)]


@dataclasses.dataclass(frozen=True, eq=False)
class BodyHandle:
    """A body of the model; with several instances it can be indexed like an array. Itself the marker at its origin."""

    name: str
    kind: type[AbstractBody]
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> "BodyHandle":
        return dataclasses.replace(self, rows=np.atleast_1d(self.rows[key]))

    def __iter__(self) -> Iterator["BodyHandle"]:
        return (self[i] for i in range(len(self)))

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0) -> Place:
        """The body-fixed point (x, y, z) [m] with the body's frame; numbers, or one for each instance."""
        point = as_array([x, y, z]) if not any(np.ndim(c) for c in (x, y, z)) else np.stack(
            np.broadcast_arrays(*(as_array(c) for c in (x, y, z))), axis=-1
        )
        if not isinstance(point, np.ndarray) or not np.all(np.isfinite(point)):
            raise ModelError(f"'{self.name}'.at takes three finite numbers, got ({x!r}, {y!r}, {z!r}).")
        if not self.kind.extended and np.any(point != 0):
            raise ModelError(
                f"'{self.name}' is a {self.kind.__name__}, which has no points but itself. Attach to the body, or use "
                "a rigid body."
            )
        if point.ndim == 2 and len(point) != len(self):
            raise ModelError(f"'{self.name}'.at got {len(point)} points for {len(self)} instances.")
        points = np.broadcast_to(point, (len(self), 3)) if self.kind.extended else None
        return Place(self.name, self.rows, points)

    def coordinate(self, i: int) -> Place:
        """The i-th coordinate, reference plus displacement."""
        if not isinstance(i, int) or not 0 <= i < self.kind.coordinates:
            raise ModelError(f"'{self.name}' has coordinates 0 to {self.kind.coordinates - 1}, got {i!r}.")
        return Place(self.name, self.rows, of_coordinates=True, coordinate=i)

    @property
    def coordinates(self) -> Place:
        """The vector of all coordinates, reference plus displacement."""
        return Place(self.name, self.rows, of_coordinates=True)


def places(where: str, what: Any, of_coordinates: bool) -> list[Place]:
    """The marker, or list of markers, that an element was given, as places of the sort its port needs."""
    if isinstance(what, Sequence) and not isinstance(what, (str, BodyHandle)):
        return [place for item in what for place in places(where, item, of_coordinates)]
    if isinstance(what, BodyHandle):
        what = what.coordinates if of_coordinates and what.name == GROUND else what
        place = what if isinstance(what, Place) else what.at()
        if of_coordinates and not place.of_coordinates:
            raise ModelError(
                f"'{where}' joins coordinates: pass {what.name}.coordinates or {what.name}.coordinate(i) instead of "
                f"'{what.name}'."
            )
        return [place]
    if not isinstance(what, Place):
        raise ModelError(f"'{where}': a marker is a body, body.at(x, y, z) or body.coordinates; got {what!r}.")
    if what.of_coordinates != of_coordinates:
        wanted = "coordinates (body.coordinates)" if of_coordinates else "a point (the body itself or body.at(x, y, z))"
        raise ModelError(f"'{where}' needs {wanted} on '{what.body}'.")
    return [what]
