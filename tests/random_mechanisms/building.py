"""Models of one or more plans that stand side by side, and the numbers that their systems take."""

from typing import Any

import numpy as np

import difmbs as mbs

from .plans import Connector, Plan


def build(plans: list[Plan], params: dict[str, Any], order: np.random.Generator | None = None) -> mbs.Model:
    """The model of all plans with these numbers; elements in a random order if there is a generator for one."""
    model = mbs.Model(gravity=params["gravity"]["acceleration"])
    bodies = [item for plan in plans for item in plan.bodies.items()]
    connectors = [item for plan in plans for item in plan.connectors.items()]
    if order is not None:
        bodies, connectors = ([items[i] for i in order.permutation(len(items))] for items in (bodies, connectors))
    for name, kind in bodies:
        body = getattr(mbs, kind)
        initial = {field: x for field, x in params[name].items() if field in body.initial}
        own = {field: x for field, x in params[name].items() if field not in body.initial}
        model.add(name, body(**own), **initial)
    for name, connector in connectors:
        _add(model, name, connector, params[name])
    return model


def _add(model: mbs.Model, name: str, connector: Connector, numbers: dict[str, Any]) -> None:
    values = {field: x for field, x in numbers.items() if not field.startswith("marker")}
    for field, curve in connector.curves.items():
        values[field] = mbs.Piecewise(**values[field], smooth=curve.smooth)
    law = getattr(mbs, connector.kind)(**values, **connector.options)
    markers: list[Any] = []
    for i, end in enumerate(connector.ends):
        body = model.body(end.body)
        if isinstance(end.at, int):
            markers.append(body.coordinate(end.at))
        elif end.at == "coordinates":
            markers.append(body.coordinates)
        elif f"marker{i}" in numbers:
            markers.append(body.at(*np.ravel(numbers[f"marker{i}"])))
        else:
            markers.append(body)
    if connector.kind == "AllPairsGravity":
        model.add(name, law, on=markers)
    elif len(markers) == 1:
        model.add(name, law, on=markers[0])
    else:
        model.add(name, law, between=tuple(markers))


def completed(system: mbs.System, params: dict[str, Any]) -> dict[str, Any]:
    """These numbers, with what the system found by itself for those that are left out."""
    return _merged(system.params(), params)


def _merged(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _merged(value, other.get(key, {}))
        if isinstance(value, dict)
        else np.asarray(other.get(key, value), np.float64)
        for key, value in base.items()
    }
