"""What is asked of a motion: a number made of one output, or any function of the solution."""

import abc
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import ParameterError
from .._parameters import as_array, is_numbers, show, show_error
from ..outputs import component_of
from ..solution import Solution


@dataclasses.dataclass(frozen=True)
class AbstractQuantity(abc.ABC):
    """`output`: a sensor or output variable such as "tip" or "spring.force"; `component`: which entry of it, None: all
    of them; `weight` in a sum of objectives.
    """

    output: str
    component: int | None = None
    weight: float = dataclasses.field(default=1.0, kw_only=True)

    @abc.abstractmethod
    def entries(self, t: Any, values: Any) -> Any:
        """The numbers whose largest is the quantity, from the values of the output, with time along the first axis."""

    @property
    def is_size(self) -> bool:
        """Whether it is never negative and zero only where nothing happens."""
        return self.approach is not None and self.weight > 0

    @property
    def approach(self) -> "AbstractQuantity | None":
        """A smooth quantity that is least nearby, on which the way to the optimum is shorter; None: the quantity
        itself.
        """
        return None

    def read(self, solution: Solution) -> Any:
        values = component_of(self.output, solution[self.output], self.component)
        entries = jnp.ravel(self.entries(solution.t, values))
        # What is to be large has its kinks where no optimum is.
        return self.weight * (entries if self.weight > 0 else jnp.max(entries)[None])

    def __str__(self) -> str:
        of = self.output if self.component is None else f"{self.output}[{self.component}]"
        weight = "" if self.weight == 1 else f"{self.weight:g} * "
        return f"{weight}{type(self).__name__}({of})"


class Maximum(AbstractQuantity):
    """The largest value at the output times; exact, also where several are equally large."""

    def entries(self, t, values):
        return values


class LargestSize(AbstractQuantity):
    """The largest absolute value at the output times; exact, also where several are equally large."""

    @property
    def approach(self):
        return MeanSquare(self.output, self.component, weight=self.weight)

    def entries(self, t, values):
        return jnp.concatenate([jnp.ravel(values), -jnp.ravel(values)])


class MeanSquare(AbstractQuantity):
    """The mean square over time, summed over the entries of the output."""

    def entries(self, t, values):
        return jnp.sum(_mean(t, values**2))


class RootMeanSquare(AbstractQuantity):
    """The root of the mean square over time, summed over the entries of the output."""

    @property
    def approach(self):
        return MeanSquare(self.output, self.component, weight=self.weight)

    def entries(self, t, values):
        square = jnp.sum(_mean(t, values**2))
        return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


class Mean(AbstractQuantity):
    """The mean over time."""

    def entries(self, t, values):
        return _mean(t, values)


class Integral(AbstractQuantity):
    """The integral over time."""

    def entries(self, t, values):
        return _mean(t, values) * (t[-1] - t[0])


class Final(AbstractQuantity):
    """The value at the last output time."""

    def entries(self, t, values):
        return values[-1]


@dataclasses.dataclass(frozen=True)
class SmoothMaximum(AbstractQuantity):
    """A smooth function close to the largest value: width * log(sum(exp(value / width))).

    It is larger by at most `width` times the logarithm of the number of values, which is that of the output times, for
    vectors times that of their entries.
    """

    width: float = dataclasses.field(default=0.01, kw_only=True)

    def entries(self, t, values):
        return self.width * jax.nn.logsumexp(jnp.ravel(values) / self.width)


@dataclasses.dataclass(frozen=True)
class Limit:
    """An inequality: `quantity`, one of an output or a function of the solution, is at most `upper` and at least
    `lower`.
    """

    quantity: Any
    upper: float | None = None
    lower: float | None = None

    def __post_init__(self) -> None:
        if self.upper is None and self.lower is None:
            raise ParameterError(f"Limit({self.of}) needs upper=, lower= or both.")
        if self.lower is not None and self.upper is not None and not self.lower <= self.upper:
            raise ParameterError(f"Limit({self.of}): lower = {self.lower} is above upper = {self.upper}.")

    @property
    def of(self) -> str:
        return name_of(self.quantity)

    def __str__(self) -> str:
        sides = (("at least", self.lower), ("at most", self.upper))
        return " and ".join(f"{words} {bound:g}" for words, bound in sides if bound is not None)


def _mean(t: Any, values: Any) -> Any:
    """By trapezoids, of each entry."""
    h = jnp.diff(t).reshape(-1, *(1 for _ in values.shape[1:]))
    return jnp.sum(0.5 * h * (values[1:] + values[:-1]), axis=0) / (t[-1] - t[0])


def entries_of(quantity: Any, solution: Solution) -> Any:
    """A vector whose largest entry is the quantity."""
    if isinstance(quantity, AbstractQuantity):
        return quantity.read(solution)
    try:
        value = quantity(solution)
    except ParameterError:
        raise
    except Exception as error:
        raise ParameterError(f"{name_of(quantity)}, a function of the solution, fails: {show_error(error)}") from error
    number = as_array(value)
    if not is_numbers(number) or number.shape != ():
        raise ParameterError(
            f"{name_of(quantity)}, a function of the solution, must return one number, got {show(value)}."
        )
    return jnp.reshape(number, 1)


def name_of(quantity: Any) -> str:
    return str(quantity) if isinstance(quantity, AbstractQuantity) else getattr(quantity, "__name__", "the objective")


def names_of(quantities: tuple[Any, ...]) -> list[str]:
    """Each once: a number is added to those that are there before."""
    names: list[str] = []
    for quantity in quantities:
        name = base = name_of(quantity)
        count = 1
        while name in names:
            count += 1
            name = f"{base} ({count})"
        names.append(name)
    return names


def check_quantity(where: str, quantity: Any) -> None:
    if not isinstance(quantity, AbstractQuantity) and (not callable(quantity) or isinstance(quantity, type)):
        raise ParameterError(
            f"{where} must be a quantity such as mbs.LargestSize('frame.position', 0) or a function of the "
            f"solution, got {show(quantity)}."
        )
    if isinstance(quantity, AbstractQuantity) and not (np.isfinite(quantity.weight) and quantity.weight != 0):
        raise ParameterError(f"{name_of(quantity)}: weight must be a finite number other than 0.")
    if isinstance(quantity, SmoothMaximum) and not 0 < quantity.width < np.inf:
        raise ParameterError(f"{name_of(quantity)}: width must be > 0, got {show(quantity.width)}.")
