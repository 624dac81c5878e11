"""Replacing and removing what is in a model. What is refused leaves the model as it was."""

import copy
import warnings
from typing import Any

import jax
import numpy as np

from ..core.errors import ModelError, did_you_mean
from ..core.parameters import show
from ..elements.bodies.body import AbstractBody
from ..elements.connectors.connector import AbstractConnector
from ..elements.event import Event
from ..elements.sensors import Output
from .assembly import AddedElement
from .markers import GROUND

_SORTS = {AbstractBody: "a body", AbstractConnector: "a connector", Event: "an event"}


def replace(model: Any, name: str, element: Any, initial: dict[str, Any]) -> None:
    """Puts an element or a sensor of a `Model` in the place of one."""
    _check_known(model, name)
    if name in model._sensors:
        if initial:
            raise ModelError(f"'{name}' is a sensor and takes no '{next(iter(initial))}'.")
        model._sensors[name] = model._sensor(name, element)
        return
    old = model._elements[name]
    sort = next(kind for kind in _SORTS if isinstance(old.element, kind))
    if isinstance(element, tuple(_SORTS)) and not isinstance(element, sort):
        raise ModelError(
            f"'{name}' is {_SORTS[sort]}, a {type(old.element).__name__}, and can only be replaced by another one, not "
            f"by a {type(element).__name__}."
        )
    trial = copy.copy(model)
    trial._elements, trial._sensors = dict(model._elements), dict(model._sensors)
    if isinstance(element, AbstractBody):
        trial._elements[name] = _body(model, old, element, initial)
        _attach_again(trial, name)
    elif isinstance(element, AbstractConnector):
        trial._elements[name] = _connector(model, old, element, initial)
    else:
        trial._elements[name] = model._added(name, element, initial)
    model._elements, model._sensors = trial._elements, trial._sensors


def remove(model: Any, name: str) -> None:
    """Takes an element or a sensor out of a `Model`."""
    _check_known(model, name)
    if attached := _attached(model, name):
        said = ", ".join(attached[:12]) + (f" and {len(attached) - 12} more" if len(attached) > 12 else "")
        raise ModelError(f"'{name}' cannot be removed before what is attached to it: {said}.")
    for named in (model._elements, model._sensors):
        named.pop(name, None)


def _check_known(model: Any, name: Any) -> None:
    if name == GROUND:
        raise ModelError("'ground' is the fixed world, which every model has.")
    known = [n for n in (*model._elements, *model._sensors) if n != GROUND]
    if not isinstance(name, str) or name not in known:
        raise ModelError(f"there is no element or sensor {show(name)}. {did_you_mean(name, known)}")


def _attached(model: Any, name: str) -> list[str]:
    """The connectors, events and sensors that need an element."""
    connectors = [n for n, r in model._elements.items() if any(p.body == name for side in r.places for p in side)]
    events = [n for n, r in model._elements.items() if isinstance(r.element, Event) and name in dict(r.element.switch)]
    sensors = [n for n, quantity in model._sensors.items() if _reads(quantity, name)]
    return [*(f"'{n}'" for n in (*connectors, *events)), *(f"sensor '{n}'" for n in sensors)]


def _reads(quantity: Any, name: str) -> bool:
    if isinstance(quantity, Output):
        return quantity.element == name
    return isinstance(quantity, tuple) and quantity[1].body == name


def _body(model: Any, old: AddedElement, body: AbstractBody, initial: dict[str, Any]) -> AddedElement:
    """A body with the initial values and as many instances as the old one."""
    alike = [key for key, spec in body.initial.items() if old.element.initial.get(key) == spec]
    kept = {key: old.initial[key] for key in alike if key not in initial}
    lost = [key for key, value in old.initial.items() if key not in alike and _moves(value)]
    if lost and not initial:
        raise ModelError(
            f"'{old.name}': a {type(body).__name__} cannot have its initial value '{lost[0]}', "
            f"{show(old.initial[lost[0]])}. Pass new ones, of {', '.join(body.initial)}."
        )
    added: AddedElement = model._added(old.name, body, initial, kept=kept)
    if added.single and not old.single:
        # As many as before, all alike.
        key, value = next(iter(added.initial.items()))
        kept = added.initial | {key: np.broadcast_to(value, (old.count, *np.shape(value)))}
        added = model._added(old.name, body, {}, kept=kept)
    if (added.count, added.single) != (old.count, old.single):
        ours, theirs = (f"{r.count} instances" if not r.single else "a single one" for r in (old, added))
        raise ModelError(f"'{old.name}' holds {ours}, what is to replace it {theirs}.")
    return added


def _moves(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer) or bool(np.any(np.asarray(value) != 0))


def _connector(model: Any, old: AddedElement, law: AbstractConnector, initial: dict[str, Any]) -> AddedElement:
    sides = [list(side) for side in old.places]
    if len(law.ports) != len(sides):
        raise ModelError(f"'{old.name}' has {len(sides)} markers, and a {type(law).__name__} {len(law.ports)}.")
    between, on = (None, sides[0]) if len(sides) == 1 else (sides or None, None)
    kept = {key: old.initial[key] for key, spec in law.initial.items() if old.element.initial.get(key) == spec}
    return model._added(old.name, law, initial, between, on, old.active, kept)


def _attach_again(model: Any, name: str) -> None:
    """All that is attached to a body, which may be of another class now."""
    with warnings.catch_warnings():
        # Said when they were added.
        warnings.simplefilter("ignore")
        for n, added in model._elements.items():
            if any(place.body == name for side in added.places for place in side):
                model._elements[n] = _connector(model, added, added.element, {})
    for n, quantity in model._sensors.items():
        if isinstance(quantity, tuple) and quantity[1].body == name:
            kind, place = quantity
            model._sensors[n] = model._sensor(n, kind(place))
