"""A model with other numbers, for example those that were identified."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..core.parameters import ParameterPath, key_name, specs_of
from ..core.types import Params
from ..elements.connectors.connector import AbstractField
from ..modelling.assembly import AddedElement
from ..modelling.markers import MarkerRef
from ..modelling.model import Model


def changed(model: Model, params: Params) -> Model:
    """The model with some parameters replaced; `params` has the form of a part of `model.assemble().params()`.

    It assembles to the same system as `model.assemble().with_params(params)`: what was measured in the initial state
    is kept.
    """
    system = model.assemble(redundant="min_norm")
    values: dict[ParameterPath, Any] = {
        path: np.asarray(x, np.float64) for path, x in system.check_params(params).items()
    }
    known = system.params()
    other = copy.copy(model)
    other._records = {name: _changed(r, values, known.get(name, {})) for name, r in model._records.items()}
    other._sensors = {name: _moved(name, sensor, values) for name, sensor in model._sensors.items()}
    other._gravity = values.get(("gravity", "acceleration"), model._gravity)
    return other


def _changed(record: AddedElement, values: Mapping[ParameterPath, Any], known: Mapping[str, Any]) -> AddedElement:
    def replaced(tree: Any) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, leaf: values.get((record.name, *map(key_name, path)), leaf), tree
        )

    missing = [field for field in specs_of(record.element) if getattr(record.element, field) is None]
    measured = {field: np.asarray(known[field], np.float64) for field in missing if field in known}
    return dataclasses.replace(
        record,
        element=replaced(dataclasses.replace(record.element, **measured)),
        initial=replaced(record.initial),
        places=_places(record, values),
    )


def _places(record: AddedElement, values: Mapping[ParameterPath, Any]) -> tuple[tuple[MarkerRef, ...], ...]:
    if isinstance(record.element, AbstractField):
        # Each place of its only side has points of its own.
        (side,) = record.places
        alone = [_at((place,), values.get((record.name, f"marker{i}"))) for i, place in enumerate(side)]
        return (tuple(place for (place,) in alone),)
    return tuple(_at(side, values.get((record.name, f"marker{i}"))) for i, side in enumerate(record.places))


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
