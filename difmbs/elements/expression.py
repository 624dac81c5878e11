"""Functions of elements that are given as formulas in text."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ..core.errors import ModelError, did_you_mean
from ..core.expression_reader import CONSTANTS, FUNCTIONS, Formula, read_formula
from ..core.parameters import as_array, is_numbers, show


@jax.tree_util.register_pytree_with_keys_class
class Expression:
    """A function in text, such as `Expression("k*x + F*tanh(v/w)", k=10.0, F=2.0, w=0.01)`, for laws and loads.

    Its own numbers are parameters of the element: "spring.user_function.k". What is left are the arguments of the
    function that it stands for, by name; the element says which. A list of formulas is a vector. Formulas consist of
    numbers, names, + - * / ^, comparisons (1 or 0), and or not, pi, and the functions sin, cos, tan, asin, acos, atan,
    atan2, sinh, cosh, tanh, exp, log, log10, sqrt, abs, sign, floor, min, max and where(condition, yes, no).
    """

    def __init__(self, text: str | list[str] | tuple[str, ...], /, **parameters: Any):
        single = isinstance(text, str)
        formulas = tuple(read_formula(part, "the formula") for part in ([text] if single else text))
        for name, value in parameters.items():
            if not is_numbers(as_array(value)) or as_array(value).ndim:
                raise ModelError(f"Expression: {name} must be a number, got {show(value)}.")
            if name in FUNCTIONS or name in CONSTANTS:
                raise ModelError(f"Expression: {name} is a {'function' if name in FUNCTIONS else 'constant'}.")
            if not any(name in formula.names for formula in formulas):
                raise ModelError(f"Expression: no formula has a {name}.")
        self.formulas, self.single = formulas, single
        self.parameters = {name: as_array(value) for name, value in parameters.items()}
        self.arguments: tuple[str, ...] | None = None

    @property
    def text(self) -> str | list[str]:
        texts = [formula.text for formula in self.formulas]
        return texts[0] if self.single else texts

    def __repr__(self) -> str:
        numbers = "".join(f", {name}={value}" for name, value in self.parameters.items())
        return f"Expression({self.text!r}{numbers})"

    def taking(self, what: str, arguments: Iterable[str]) -> "Expression":
        """As a function of these arguments, in this order; refuses other names."""
        arguments = tuple(arguments)
        for formula in self.formulas:
            for name in formula.names:
                if name not in arguments and name not in self.parameters:
                    known = [*arguments, *self.parameters]
                    raise ModelError(
                        f"{what}: there is no '{name}', at character {formula.text.index(name) + 1}: {formula.text!r}. "
                        f"{did_you_mean(name, known)} Or give its value among the parameters."
                    )
        if taken := [name for name in self.parameters if name in arguments]:
            raise ModelError(f"{what}: {taken[0]} is given by the element; choose another name for the parameter.")
        return self._like(self.parameters, arguments)

    def __call__(self, *values: Any) -> Any:
        if self.arguments is None or len(values) != len(self.arguments):
            raise ModelError(f"{self!r} stands for a function of an element and is called by it.")
        known = {**self.parameters, **dict(zip(self.arguments, values, strict=True))}
        found = [formula(known) for formula in self.formulas]
        return found[0] if self.single else jnp.stack([jnp.asarray(x, values[0].dtype) for x in found])

    def _like(self, parameters: Mapping[str, Any], arguments: tuple[str, ...] | None) -> "Expression":
        new: Expression = object.__new__(Expression)
        new.formulas, new.single = self.formulas, self.single
        new.parameters, new.arguments = dict(parameters), arguments
        return new

    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        names = tuple(self.parameters)
        children = [(jax.tree_util.DictKey(name), value) for name, value in self.parameters.items()]
        return children, (self.formulas, self.single, names, self.arguments)

    @classmethod
    def tree_unflatten(cls, known: tuple[tuple[Formula, ...], bool, tuple[str, ...], Any], values: Any) -> "Expression":
        formulas, single, names, arguments = known
        new: Expression = object.__new__(cls)
        new.formulas, new.single, new.arguments = formulas, single, arguments
        new.parameters = dict(zip(names, values, strict=True))
        return new
