"""What is asked of a motion: a number made of one output, or any function of the solution."""

import abc
import dataclasses
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError
from ..core.parameters import as_array, is_numbers, show, show_error
from ..dynamics.outputs import component_of, entry_names, is_single, output_shape
from ..simulation.solution import Solution
from ..system.system import System


@dataclasses.dataclass(frozen=True)
class AbstractQuantity(abc.ABC):
    """`output`: a sensor or output variable such as "tip.x" or "spring.force_local"; `component`: which entry of it,
    None: all of them; `weight` in a sum of objectives.
    """

    output: str
    component: int | tuple[int, ...] | None = None
    weight: float = dataclasses.field(default=1.0, kw_only=True)

    joins: ClassVar[str] = ""
    """What of an output with many entries it makes one number of: "all" entries, "instances", or none of them."""

    @abc.abstractmethod
    def rows(self, t: Any, values: Any) -> Any:
        """A row for each number that the quantity is; the largest entry of the row is that number. `values` of the
        output: times in rows, its entries in columns.
        """

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

    def read(self, solution: Solution, *, joined: bool) -> Any:
        """Its rows, weighted; `joined`: as one number, where instances count like more times."""
        values = component_of(self.output, solution[self.output], self.component)
        joined = joined and self.joins == "instances"
        rows = self.rows(solution.t, jnp.reshape(values, (-1, 1) if joined else (len(solution.t), -1)))
        # What is to be large has its kinks where no optimum is.
        return self.weight * (rows if self.weight > 0 else jnp.max(rows, axis=1, keepdims=True))

    def shape(self, system: System) -> tuple[int, ...]:
        """Shape of what it looks at, at one time; refused if the system has no such output."""
        values = np.broadcast_to(0.0, output_shape(system, self.output))
        return component_of(self.output, values, self.component, axis=0).shape

    def names(self, system: System) -> list[str]:
        """Names of the numbers that it is."""
        if self.joins == "all":
            return [str(self)]
        shape = output_shape(system, self.output)
        entries = np.array(entry_names(system, self.output, shape), dtype=object).reshape(shape)
        chosen = component_of(self.output, entries, self.component, axis=0)
        return [self._said(entry) for entry in np.ravel(chosen).tolist()]

    def _said(self, of: str) -> str:
        weight = "" if self.weight == 1 else f"{self.weight:g} * "
        return f"{weight}{type(self).__name__}({of})"

    def __str__(self) -> str:
        return self._said(said_of_entry(self.output, self.component))


class Maximum(AbstractQuantity):
    """The largest value at the output times; exact, also where several are equally large."""

    joins: ClassVar[str] = "instances"

    def rows(self, t: Any, values: Any) -> Any:
        return values.T


class LargestSize(AbstractQuantity):
    """The largest absolute value at the output times; exact, also where several are equally large."""

    joins: ClassVar[str] = "instances"

    @property
    def approach(self) -> "AbstractQuantity | None":
        return MeanSquare(self.output, self.component, weight=self.weight)

    def rows(self, t: Any, values: Any) -> Any:
        return jnp.concatenate([values, -values]).T


class MeanSquare(AbstractQuantity):
    """The mean square over time, summed over the entries of the output."""

    joins: ClassVar[str] = "all"

    def rows(self, t: Any, values: Any) -> Any:
        return jnp.sum(_mean(t, values**2), keepdims=True)[None]


class RootMeanSquare(AbstractQuantity):
    """The root of the mean square over time, summed over the entries of the output."""

    joins: ClassVar[str] = "all"

    @property
    def approach(self) -> "AbstractQuantity | None":
        return MeanSquare(self.output, self.component, weight=self.weight)

    def rows(self, t: Any, values: Any) -> Any:
        square = jnp.sum(_mean(t, values**2), keepdims=True)[None]
        return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


class Mean(AbstractQuantity):
    """The mean over time."""

    def rows(self, t: Any, values: Any) -> Any:
        return _mean(t, values)[:, None]


class Integral(AbstractQuantity):
    """The integral over time."""

    def rows(self, t: Any, values: Any) -> Any:
        return _mean(t, values)[:, None] * (t[-1] - t[0])


class Final(AbstractQuantity):
    """The value at the last output time."""

    def rows(self, t: Any, values: Any) -> Any:
        return values[-1][:, None]


@dataclasses.dataclass(frozen=True)
class SmoothMaximum(AbstractQuantity):
    """A smooth function close to the largest value: width * log(sum(exp(value / width))).

    It is larger by at most `width` times the logarithm of the number of values, which is that of the output times.
    """

    joins: ClassVar[str] = "instances"
    width: float = dataclasses.field(default=0.01, kw_only=True)

    def rows(self, t: Any, values: Any) -> Any:
        return self.width * jax.nn.logsumexp(values / self.width, axis=0)[:, None]


@dataclasses.dataclass(frozen=True)
class Limit:
    """An inequality: `quantity`, one of an output or a function of the solution, is at most `upper` and at least
    `lower`. Of an output with several entries each one is limited.
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
    """By trapezoids, of each column."""
    return jnp.sum(0.5 * jnp.diff(t)[:, None] * (values[1:] + values[:-1]), axis=0) / (t[-1] - t[0])


def rows_of(quantity: Any, solution: Solution, *, joined: bool) -> Any:
    """A row for each number that the quantity is; the largest entry of the row is that number."""
    if isinstance(quantity, AbstractQuantity):
        return quantity.read(solution, joined=joined)
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
    return jnp.reshape(number, (1, 1))


def said_of_entry(output: str, component: Any) -> str:
    """ "spring.force[1]", or the output if all of it is meant."""
    entry = component if isinstance(component, tuple) else () if component is None else (component,)
    return output + "".join(f"[{i}]" for i in entry)


def name_of(quantity: Any) -> str:
    return str(quantity) if isinstance(quantity, AbstractQuantity) else getattr(quantity, "__name__", "the objective")


def number_names(quantity: Any, system: System) -> list[str]:
    """Names of the numbers that a quantity is."""
    return quantity.names(system) if isinstance(quantity, AbstractQuantity) else [name_of(quantity)]


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


def check_objective(quantity: Any, system: System) -> None:
    """Refuses an objective that is several numbers: which of them is to be small, nobody has said."""
    if not isinstance(quantity, AbstractQuantity):
        return
    shape = quantity.shape(system)
    many = bool(shape) and quantity.component is None and not is_single(system, quantity.output)
    count = math.prod(shape[1:] if many and quantity.joins == "instances" else shape)
    if quantity.joins != "all" and count > 1:
        raise ParameterError(
            f"{name_of(quantity)} would be {math.prod(shape)} numbers, but an objective is one. "
            f"{_choices(quantity.output, system)} MeanSquare and RootMeanSquare sum over all of them."
        )


def _choices(output: str, system: System) -> str:
    """How one of the entries is chosen."""
    shape, single = output_shape(system, output), is_single(system, output)
    inner = shape if single else shape[1:]
    if inner not in ((2,), (3,)):
        return f"Choose one of them with component, for example {0 if len(shape) == 1 else (0,) * len(shape)}."
    names = [f"'{output}.{letter}'" for letter in "xyz"[: inner[0]]]
    instance = "" if single else ", and the instance with component, from 0 on"
    return f"Choose one of them: {', '.join(names[:-1])} or {names[-1]}{instance}."
