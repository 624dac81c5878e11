"""What is in a model, as tables to read."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..core.errors import ModelError, ParameterError, did_you_mean
from ..core.parameters import Spec, flatten, show, specs_of
from ..core.reprs import limited
from ..dynamics.outputs import variables
from ..elements.bodies.body import AbstractBody
from ..elements.connectors.connector import AbstractField
from ..elements.expression import Expression
from ..elements.piecewise import Piecewise
from ..elements.sensors import Output
from .assembly import AddedElement, ModelContents, preliminary
from .derived import DerivedFormulas
from .markers import GROUND, MarkerRef

_MOST_ROWS = 60
_MOST_NUMBERS = 6

Row = tuple[str, str, str]


@dataclasses.dataclass(frozen=True, repr=False)
class Description:
    """`elements`: name, kind and markers; `parameters`: name, value and unit; `outputs`: the names to ask for.

    Printed it is all of this, or the beginning of what is long; in a shell 30 lines.
    """

    elements: tuple[Row, ...]
    parameters: tuple[Row, ...]
    outputs: tuple[str, ...]

    def __repr__(self) -> str:
        return limited(str(self))

    def _repr_html_(self) -> str:
        from ..plots.notebook import cell_output

        parameters = cell_output("Parameters", self.parameters, ("name", "value", "unit"))
        outputs = cell_output("Outputs", [(name,) for name in self.outputs])
        return cell_output("Elements", self.elements, ("name", "kind", "markers")) + parameters + outputs

    def __str__(self) -> str:
        names = [name for name, *_ in self.elements]
        of = {name: name.partition(".")[0] for name in self.outputs if name not in names}
        rows = [(f"{name}.", ", ".join(o.partition(".")[2] for o in of if of[o] == name)) for name in names]
        outputs = [(name, "") for name in self.outputs if name not in of] + [row for row in rows if row[1]]
        tables = {"elements": self.elements, "parameters": self.parameters, "outputs": outputs}
        return "\n\n".join(f"{title}\n{_table(rows)}" for title, rows in tables.items())


def describe(contents: ModelContents, names: tuple[str, ...]) -> Description:
    """The elements and sensors of these names, or all of them."""
    known = [name for name in (*contents.elements, *contents.sensors) if name != GROUND]
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise ModelError(f"there is no element or sensor {show(name)}. {did_you_mean(name, known)}")
    chosen = [added for name, added in contents.elements.items() if name in (names or known)]
    read = {name: quantity for name, quantity in contents.sensors.items() if name in (names or known)}
    elements = [(r.name, _kind(r), "; ".join(map(_side, r.places))) for r in chosen]
    elements += [(name, *_sensor(quantity)) for name, quantity in read.items()]
    field = [] if names else [("gravity.acceleration", _value(contents.gravity, Spec((3,))), "m/s^2")]
    parameters = [] if names else [(".".join(p), _value(x, s), _unit(s)) for p, (x, s) in contents.numbers.items()]
    follows = {".".join(path): rule for path, rule in contents.derived.items()}
    parameters += [_said(row, follows) for added in chosen for row in _parameters(added)]
    parameters += [row for name, quantity in read.items() for row in _of_sensor(name, quantity)]
    found = _variables(contents, [added.name for added in chosen])
    outputs = [f"{r.name}.{variable}" for r in chosen for variable in found.get(r.name, ())]
    return Description(tuple(elements), (*field, *parameters), (*read, *outputs))


def _said(row: Row, follows: Mapping[str, Any]) -> Row:
    name, _, unit = row
    if name not in follows:
        return row
    rule = follows[name]
    return name, f"{rule.texts}" if isinstance(rule, DerivedFormulas) else "a function of others", unit


def _kind(added: AddedElement) -> str:
    """The class, how many there are, and what is not a number and not left at its default."""
    element, said = added.element, []
    for field in dataclasses.fields(element):
        value = getattr(element, field.name)
        if field.name not in specs_of(element) and value is not None and value != field.default:
            said.append(f"{field.name}={_name(value)}")
    arguments = f"({', '.join(said)})" if said else ""
    many = "" if added.single else f", {added.count} instances"
    return f"{type(element).__name__}{arguments}{many}" + ("" if added.active else ", off")


def _name(value: Any) -> str:
    if isinstance(value, Expression):
        return show(value.text)
    return getattr(value, "__name__", type(value).__name__) if callable(value) else show(value)


def _side(side: tuple[MarkerRef, ...]) -> str:
    """The markers of one side of a connector."""
    if len(side) > 3:
        bodies = list(dict.fromkeys(place.body for place in side))
        more = f" and {len(bodies) - 3} more" if len(bodies) > 3 else ""
        return f"{sum(map(len, side))} on {', '.join(bodies[:3])}{more}"
    return " and ".join(map(_place, side))


def _place(place: MarkerRef) -> str:
    said = place.body
    if len(place) != 1:
        said = f"{len(place)} of {said}"
    elif place.rows[0]:
        said += f"[{place.rows[0]}]"
    if place.coordinate is not None:
        return f"{said}.coordinate({place.coordinate})"
    if place.of_coordinates:
        return f"{said}.coordinates"
    if place.points is None or not np.any(place.points):
        return said
    return f"{said}.at({', '.join(f'{x:.6g}' for x in place.points[0])})" if len(place) == 1 else f"points on {said}"


def _sensor(quantity: Any) -> tuple[str, str]:
    if isinstance(quantity, Output):
        return "Output, a sensor", f"{quantity.element}.{quantity.variable}"
    if isinstance(quantity, tuple):
        return f"{quantity[0].__name__}, a sensor", _place(quantity[1])
    return "function, a sensor", ""


def _parameters(added: AddedElement) -> Iterator[Row]:
    fields = [field.name for field in dataclasses.fields(added.element)]
    yield from _of_fields(added, {field: getattr(added.element, field) for field in fields}, specs_of(added.element))
    if added.initial:
        yield from _of_fields(added, added.initial, added.element.initial)
    yield from _points(added)


def _of_fields(added: AddedElement, values: Mapping[str, Any], specs: Mapping[str, Spec]) -> Iterator[Row]:
    for field, value in values.items():
        leaves = {path: leaf for path, leaf in flatten({field: value}).items() if eqx.is_array(leaf)}
        if not leaves and field in specs:
            yield f"{added.name}.{field}", _left_out(added, field, value), _unit(specs[field])
        for path, leaf in leaves.items():
            spec = specs[field] if path == (field,) and field in specs else Spec(None)
            if isinstance(value, Piecewise) and field in specs:
                spec = Spec(None, "s" if path[-1] == "times" else specs[field].unit)
            yield f"{added.name}.{'.'.join(path)}", _value(leaf, spec), _unit(spec)


def _points(added: AddedElement) -> Iterator[Row]:
    sides = added.places
    if isinstance(added.element, AbstractField):
        # Each place of its only side has points of its own.
        sides = tuple((place,) for place in sides[0])
    for i, side in enumerate(sides):
        points = [place.points for place in side if place.points is not None]
        if points:
            together = np.concatenate(points)
            value = together[0] if len(together) == 1 else together
            yield f"{added.name}.marker{i}", _value(value, Spec((3,))), "m"


def _of_sensor(name: str, quantity: Any) -> Iterator[Row]:
    if isinstance(quantity, tuple) and quantity[1].points is not None:
        points = quantity[1].points
        yield f"{name}.marker0", _value(points[0] if len(points) == 1 else points, Spec((3,))), "m"


def _left_out(added: AddedElement, field: str, value: Any) -> str:
    """What stands for numbers that are not given."""
    if value is not None:
        return f"function {_name(value)}"
    if field in getattr(added.element, "measured", ()):
        return "as at the start"
    return "that of the body" if field in getattr(added.element, "ties", {}) else "none"


def _unit(spec: Spec) -> str:
    return "" if spec.unit == "-" else spec.unit


def _value(value: Any, spec: Spec) -> str:
    if isinstance(value, jax.core.Tracer):
        return f"traced, shape {value.shape}"
    numbers = np.asarray(value, float)
    if numbers.size <= _MOST_NUMBERS or numbers.shape == spec.shape:
        said = np.array2string(numbers, separator=", ", formatter={"float_kind": lambda x: f"{x:.6g}"})
        return " ".join(said.split())
    return f"{' x '.join(map(str, numbers.shape))} numbers from {np.min(numbers):.6g} to {np.max(numbers):.6g}"


def _variables(contents: ModelContents, names: list[str]) -> dict[str, list[str]]:
    """The output variables of elements; none, where the model cannot be put together yet or a user function fails."""
    elements = contents.elements.items()
    if not any(isinstance(added.element, AbstractBody) for name, added in elements if name != GROUND):
        return {}
    try:
        with jax.ensure_compile_time_eval():
            system = preliminary(dataclasses.replace(contents, sensors={}))
    except (ModelError, ParameterError):
        return {}
    found = {}
    for name in names:
        # A function of the user may raise what it likes.
        with contextlib.suppress(Exception):
            found[name] = variables(system, name)
    return found


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    shown = rows[:_MOST_ROWS]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  " + "  ".join(f"{x:<{w}}" for x, w in zip(row, widths, strict=True)).rstrip() for row in shown]
    more = [f"  and {len(rows) - len(shown)} more; describe(name) shows those of one element"]
    return "\n".join([*lines, *more * (len(rows) > len(shown))]) or "  none"
