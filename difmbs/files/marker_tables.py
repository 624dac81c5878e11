"""Markers as files have them: the name of a body, or a table that says where on it."""

from typing import Any

import numpy as np

from ..core.errors import ModelError, did_you_mean
from ..core.parameters import as_array, is_numbers, show
from ..modelling.markers import BodyHandle, MarkerRef
from ..modelling.model import Model

_KEYS = ("body", "at", "coordinate", "coordinates", "instance", "instances")


def markers_from(value: Any, model: Model) -> Any:
    """The marker, or list of markers, that a file describes."""
    if isinstance(value, list):
        return [_marker(item, model) for item in value]
    return _marker(value, model)


def marker_table(place: MarkerRef, count: int) -> Any:
    """What a file says of a marker; `count`: how many instances its body has."""
    table: dict[str, Any] = {"body": place.body}
    rows = place.rows.tolist()
    if rows != list(range(count)):
        table |= {"instance": rows[0]} if len(rows) == 1 else {"instances": rows}
    if place.coordinate is not None:
        table["coordinate"] = place.coordinate
    elif place.of_coordinates:
        table["coordinates"] = True
    elif place.points is not None and any(place.points.tobytes()):
        alike = len({point.tobytes() for point in place.points}) == 1
        table["at"] = place.points[0].tolist() if alike else place.points.tolist()
    return place.body if len(table) == 1 else table


def _marker(value: Any, model: Model) -> Any:
    if isinstance(value, str):
        return model.body(value)
    if not isinstance(value, dict) or not isinstance(value.get("body"), str):
        raise ModelError(f'a marker is the name of a body or a table {{ body = "name", ... }}, got {show(value)}.')
    for key in value:
        if key not in _KEYS:
            raise ModelError(f"a marker has no {show(key)}. {did_you_mean(key, _KEYS)}")
    places = [key for key in ("at", "coordinate", "coordinates") if key in value]
    if len(places) > 1 or ("instance" in value and "instances" in value):
        raise ModelError(f"a marker is at one place of one or some instances, got {show(value)}.")
    body = _instances(value, model.body(value["body"]))
    if "at" in value:
        return _at(value["at"], body)
    if "coordinate" in value:
        return body.coordinate(value["coordinate"])
    if "coordinates" in value:
        if value["coordinates"] is not True:
            raise ModelError(f"coordinates must be true, got {show(value['coordinates'])}.")
        return body.coordinates
    return body


def _instances(value: dict[str, Any], body: BodyHandle) -> BodyHandle:
    chosen = value.get("instances", [value["instance"]] if "instance" in value else None)
    if chosen is None:
        return body
    if not isinstance(chosen, list) or not all(type(i) is int for i in chosen):
        raise ModelError(f"instances must be whole numbers, got {show(chosen)}.")
    return body[chosen[0] if "instance" in value else chosen]


def _at(value: Any, body: BodyHandle) -> MarkerRef:
    point = as_array(value)
    if not is_numbers(point) or point.ndim not in (1, 2) or point.shape[-1] not in (2, 3):
        raise ModelError(f"at must be a point [x, y, z], or one for each instance, got {show(value)}.")
    return body.at(*np.moveaxis(point, -1, 0))
