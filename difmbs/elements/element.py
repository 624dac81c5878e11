"""What bodies and connectors have in common."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx

from ..core.errors import ParameterError, did_you_mean
from ..core.reprs import of_fields


class AbstractElement(eqx.Module):
    """A part of a model; its fields are its parameters."""

    arguments: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What functions of one's own in its fields are given, by the names that formulas have for it. Those in the place
    of a number that may depend on time are given t."""

    def __new__(cls, *_: Any, **given: Any) -> "AbstractElement":
        # Python's own refusal does not say what the arguments are.
        parameters = inspect.signature(cls.__init__).parameters.values()
        known = [parameter.name for parameter in parameters][1:]
        takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
        for name in given if not takes_all else ():
            if name not in known and name in ("name", "between", *getattr(cls, "initial", ())):
                place = f"model.add(..., {name}=...)"
                raise ParameterError(f"{cls.__name__} has no argument '{name}': it is one of {place}.")
            if name not in known:
                raise ParameterError(f"{cls.__name__} has no argument '{name}'. {did_you_mean(name, known)}")
        return super().__new__(cls)

    def __repr__(self) -> str:
        return of_fields(self)
