"""What is in a model with other numbers, for example those that were identified."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..core.parameters import ParameterPath, key_name, specs_of
from ..core.types import Params
from ..elements.connectors.connector import AbstractField
from .assembly import AddedElement, ModelContents
from .markers import MarkerRef


def with_values(contents: ModelContents, values: Mapping[ParameterPath, Any], known: Params) -> ModelContents:
    """The contents with some parameters replaced; `known`: all of the assembled model, from which what is measured in
    the initial state is kept."""
    elements = {name: _changed(added, values, known.get(name, {})) for name, added in contents.elements.items()}
    sensors = {name: _moved(name, sensor, values) for name, sensor in contents.sensors.items()}
    gravity = values.get(("gravity", "acceleration"), contents.gravity)
    numbers = {path: (values.get(path, value), spec) for path, (value, spec) in contents.numbers.items()}
    return ModelContents(elements, sensors, gravity, numbers, contents.derived, contents.controls)


def _changed(added: AddedElement, values: Mapping[ParameterPath, Any], known: Mapping[str, Any]) -> AddedElement:
    def replaced(tree: Any) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, leaf: values.get((added.name, *map(key_name, path)), leaf), tree
        )

    missing = [field for field in specs_of(added.element) if getattr(added.element, field) is None]
    measured = {field: np.asarray(known[field], np.float64) for field in missing if field in known}
    return dataclasses.replace(
        added,
        element=replaced(dataclasses.replace(added.element, **measured)),
        initial=replaced(added.initial),
        places=_places(added, values),
    )


def _places(added: AddedElement, values: Mapping[ParameterPath, Any]) -> tuple[tuple[MarkerRef, ...], ...]:
    if isinstance(added.element, AbstractField):
        # Each place of its only side has points of its own.
        (side,) = added.places
        alone = [_at((place,), values.get((added.name, f"marker{i}"))) for i, place in enumerate(side)]
        return (tuple(place for (place,) in alone),)
    return tuple(_at(side, values.get((added.name, f"marker{i}"))) for i, side in enumerate(added.places))


def _at(side: tuple[MarkerRef, ...], points: Any) -> tuple[MarkerRef, ...]:
    """The places of one side with other points: one after the other, where a single one serves all instances too."""
    if points is None:
        return side
    points, moved = points.reshape(-1, 3), []
    for place in side:
        if place.points is not None:
            place, points = dataclasses.replace(place, points=points[: len(place)]), points[len(place) :]
        moved.append(place)
    return tuple(moved)


def _moved(name: str, sensor: Any, values: Mapping[ParameterPath, Any]) -> Any:
    if not isinstance(sensor, tuple):
        return sensor
    kind, place = sensor
    return kind, *_at((place,), values.get((name, "marker0")))
