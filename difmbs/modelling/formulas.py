"""Formulas in the fields of elements."""

import dataclasses
from typing import Any

from ..core.parameters import specs_of
from ..elements.element import AbstractElement
from ..elements.expression import Expression


def with_formulas(name: str, element: Any) -> Any:
    """The element, whose formulas know what their fields give them; refuses names that they do not."""
    if not isinstance(element, AbstractElement):
        return element
    found = {}
    for field, spec in specs_of(element).items():
        if spec.of_time and isinstance(getattr(element, field), Expression):
            found[field] = getattr(element, field).taking(f"'{name}': {field}", ("t",))
    for field, arguments in element.arguments.items():
        if isinstance(getattr(element, field), Expression):
            found[field] = getattr(element, field).taking(f"'{name}': {field}", arguments)
    return dataclasses.replace(element, **found) if found else element
