"""Formulas in text, read into functions of JAX arrays. Nothing in them is ever run as Python.

A formula is parsed by Python's own parser and then walked, node by node; whatever is not in the lists below is refused,
with the character where it stands.
"""

import ast
import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .errors import ModelError, did_you_mean

_LONGEST = 2000
_DEEPEST = 300

FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int, int]] = {
    **{
        name: (getattr(jnp, of), 1, 1)
        for name, of in dict(
            sin="sin", cos="cos", tan="tan", asin="arcsin", acos="arccos", atan="arctan", sinh="sinh", cosh="cosh",
            tanh="tanh", exp="exp", log="log", log10="log10", sqrt="sqrt", abs="abs", sign="sign", floor="floor",
        ).items()
    },
    "atan2": (jnp.arctan2, 2, 2),
    "min": (lambda *x: _folded(jnp.minimum, x), 2, 20),
    "max": (lambda *x: _folded(jnp.maximum, x), 2, 20),
    "where": (lambda condition, yes, no: jnp.where(_truth(condition), yes, no), 3, 3),
}  # fmt: skip
"""By name: the function, and the least and largest numbers of its arguments."""

CONSTANTS = {"pi": math.pi}

_OPERATIONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
_COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


_PLAIN = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula that was read; `names`: the quantities it needs, dotted ones such as "rod.length" as they are written.

    Compared and hashed by its text.
    """

    text: str
    names: tuple[str, ...] = dataclasses.field(compare=False)
    _tree: ast.expr = dataclasses.field(compare=False, repr=False)

    def __call__(self, known: Mapping[str, Any]) -> Any:
        """Its value where the names have these values. Comparisons are 1 or 0."""
        return _number(_value(self._tree, known))


def read_formula(text: Any, what: str) -> Formula:
    """Reads a formula; `what`: what it is, for errors."""
    reader = _FormulaReader(text, what)
    return Formula(text, tuple(dict.fromkeys(reader.names)), reader.tree)


class _FormulaReader:
    """Walks the tree of a formula and refuses what does not belong into one."""

    def __init__(self, text: Any, what: str):
        self.text, self.what, self.names = text, what, list[str]()
        if not isinstance(text, str):
            raise ModelError(f"{what} must be a formula in quotes, got {text!r:.60}.")
        if len(text) > _LONGEST:
            raise ModelError(f"{what}: a formula has at most {_LONGEST} characters, this one has {len(text)}.")
        for i, letter in enumerate(text):
            if not (" " <= letter <= "~") or letter in "#\"'\\`;{}@$?":
                self.refuse(i, f"{letter!r} does not belong into a formula")
        start = len(text) - len(text.lstrip())
        if not text.strip():
            self.refuse(0, "the formula is empty")
        # As most people write powers.
        self.source = " " * start + text.strip().replace("^", "**")
        self.moved = [i for i, letter in enumerate(text.rstrip()) for _ in range(2 if letter == "^" else 1)]
        try:
            self.tree = ast.parse(self.source.lstrip(), mode="eval").body
        except SyntaxError as error:
            column = len(self.source) if not error.offset else start + error.offset - 1
            self.refuse(self.place(column), "the formula cannot be read here")
        except (RecursionError, MemoryError, ValueError):
            self.refuse(0, "the formula is nested too deeply")
        self.start = start
        self.check(self.tree, 0)
        self.check_constants()

    def place(self, column: int) -> int:
        """The character of the text at a column of what is parsed."""
        return self.moved[column] if 0 <= column < len(self.moved) else len(self.text.rstrip())

    def refuse(self, position: int, why: str, advice: str = "") -> Any:
        position = min(max(position, 0), len(self.text))
        near = self.text[max(0, position - 30) : position + 30]
        raise ModelError(f"{self.what}: {why}, at character {position + 1}: {near!r}.{advice}")

    def at(self, node: ast.AST, why: str, advice: str = "") -> Any:
        return self.refuse(self.place(self.start + getattr(node, "col_offset", 0)), why, advice)

    def check(self, node: ast.AST, depth: int) -> None:
        if depth > _DEEPEST:
            self.at(node, "the formula is nested too deeply")
        match node:
            case ast.Constant():
                self.constant(node)
            case ast.Name() | ast.Attribute():
                self.names += [] if (name := self.dotted(node)) in CONSTANTS else [name]
            case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Constant(value=int() as i)) if (
                not isinstance(i, bool) and i < 100
            ):
                self.names.append(self.dotted(node.value))
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Not()):
                self.check(node.operand, depth + 1)
            case ast.BinOp(left, op, right) if type(op) in _OPERATIONS:
                self.check(left, depth + 1)
                self.check(right, depth + 1)
            case ast.BoolOp(values=parts):
                for part in parts:
                    self.check(part, depth + 1)
            case ast.Compare(left, ops, comparators) if all(type(op) in _COMPARISONS for op in ops):
                for part in (left, *comparators):
                    self.check(part, depth + 1)
            case ast.Call():
                self.call(node, depth)
            case _:
                self.at(node, "only numbers, names, + - * / ^, comparisons and functions make a formula")

    def check_constants(self) -> None:
        """Refuses parts without names that have no value, such as 1 / 0."""
        for node in ast.walk(self.tree):
            alone = isinstance(node, ast.BinOp) and all(isinstance(x, _PLAIN) for x in ast.walk(node))
            try:
                found = _value(node, {}) if alone else 0.0
            except ArithmeticError:
                found = 1j
            if isinstance(found, complex):
                self.at(node, "this has no value, or one that is too large")

    def constant(self, node: ast.Constant) -> None:
        if type(node.value) not in (int, float):
            self.at(node, f"{node.value!r:.20} is not a number")
        try:
            finite = math.isfinite(float(str(node.value)))
        except OverflowError:
            finite = False
        if not finite:
            self.at(node, "the number is too large")

    def call(self, node: ast.Call, depth: int) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)[:40]
        if not isinstance(node.func, ast.Name) or name not in FUNCTIONS:
            self.at(node, f"there is no function '{name}'", f" {did_you_mean(name, FUNCTIONS)}")
        _, least, most = FUNCTIONS[name]
        if node.keywords or not least <= len(node.args) <= most:
            count = f"{least}" if least == most else f"{least} or more"
            self.at(node, f"{name} takes {count} argument{'s' if count != '1' else ''}")
        for part in node.args:
            self.check(part, depth + 1)

    def dotted(self, node: ast.AST) -> str:
        match node:
            case ast.Name(id=name):
                if name.startswith("__"):
                    self.at(node, f"there is no {name}")
                if name in FUNCTIONS:
                    self.at(node, f"{name} is a function and needs its arguments in brackets")
                return str(name)
            case ast.Attribute(value=inner, attr=name) if not name.startswith("__"):
                return f"{self.dotted(inner)}.{name}"
        return str(self.at(node, "a name with a dot begins with the name of an element"))


def _value(node: ast.AST, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return float(str(value))
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            return known[name] if name in known else CONSTANTS[name]
        case ast.Subscript(value=value, slice=ast.Constant(value=i)):
            return known[ast.unparse(value)][i]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ~_truth(_value(operand, known))
        case ast.UnaryOp(op=op, operand=operand):
            value = _number(_value(operand, known))
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left, ast.Pow(), ast.Constant(value=int() as power)) if power <= 100:
            # As a product, whose derivatives exist at 0 and below.
            base = _number(_value(left, known))
            return float(base) ** power if isinstance(base, float) else base**power
        case ast.BinOp(left, op, right):
            return _OPERATIONS[type(op)](_number(_value(left, known)), _number(_value(right, known)))
        case ast.BoolOp(op, values):
            parts = [_truth(_value(part, known)) for part in values]
            return _folded(lax.bitwise_and if isinstance(op, ast.And) else lax.bitwise_or, parts)
        case ast.Compare(left, ops, comparators):
            sides = [_number(_value(part, known)) for part in (left, *comparators)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return _folded(lax.bitwise_and, [jnp.asarray(_COMPARISONS[type(op)](a, b)) for op, a, b in pairs])
        case ast.Call(func=ast.Name(id=name), args=arguments):
            values = [_value(part, known) for part in arguments]
            return FUNCTIONS[name][0](*(values if name == "where" else map(_number, values)))
    raise AssertionError(ast.dump(node))


def _number(value: Any) -> Any:
    return jnp.where(value, 1.0, 0.0) if _is_truth(value) else value


def _is_truth(value: Any) -> bool:
    return isinstance(value, jax.Array) and value.dtype == jnp.bool_


def _truth(value: Any) -> Any:
    return value if _is_truth(value) else jnp.asarray(value != 0)


def _folded(function: Callable[[Any, Any], Any], parts: Any) -> Any:
    first, *others = parts
    for other in others:
        first = function(first, other)
    return first
