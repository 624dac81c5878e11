"""Functions that JAX traces when it compiles them, not when it meets them, with derivatives of their own.

What JAX meets it traces at once, and again for every transformation around it: the program of a simulation would be
traced several times over, which takes as long as compiling it. Here it is met as one operation, of which only the
shapes of the results are known, and the operations that its derivatives are.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

Arrays = Sequence[Any]
Shapes = tuple[Any, ...]
"""Whatever has a shape and a dtype, for each array."""


def deferred(
    function: Callable[..., Arrays], shapes: Shapes, derivative: Callable[..., Any], operands: Arrays
) -> Arrays:
    """function(*operands), arrays of these shapes.

    `derivative(operands, moving, changes)`: the results, and their tangents (None: zero), from the tangents of the
    operands numbered in `moving`. Neither of the functions may hold arrays of its own.
    """
    return _call.bind(*operands, function=function, shapes=shapes, derivative=derivative)


@dataclasses.dataclass(frozen=True)
class LinearMap:
    """A linear map of some arrays to others, which depends on what is known, and its transpose.

    `forwards(known, x)`; `backwards(known, y)`, where None in y is zero. `sentence`: why there is no derivative with
    respect to what is known.
    """

    forwards: Callable[[Arrays, Arrays], Arrays]
    backwards: Callable[[Arrays, Arrays], Arrays]
    sentence: str

    def __call__(self, shapes: Shapes, known: Arrays, x: Arrays) -> Arrays:
        return _map.bind(*known, *x, linear=self, shapes=shapes, count=len(known))


def _primitive(name: str, function: Callable[..., Arrays]) -> Primitive:
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda *_, shapes, **__: [ShapedArray(x.shape, x.dtype) for x in shapes])
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=True))
    return primitive


_call = _primitive("late", lambda *operands, function, shapes, derivative: function(*operands))
_map = _primitive(
    "linear", lambda *operands, linear, shapes, count: linear.forwards(operands[:count], operands[count:])
)


def _moves(tangent: Any) -> bool:
    return not isinstance(tangent, ad.Zero) and tangent.dtype != jax.dtypes.float0


def _many(shapes: Shapes, size: int) -> Shapes:
    return tuple(jax.ShapeDtypeStruct((size, *x.shape), x.dtype) for x in shapes)


def _size(operands: Arrays, axes: Sequence[int | None]) -> int:
    return next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)


def _call_jvp(operands, tangents, *, function, shapes, derivative):
    moving = tuple(i for i, x in enumerate(tangents) if _moves(x))
    results, changes = derivative(operands, moving, [tangents[i] for i in moving])
    zero = lambda x: ad.Zero(jax.typeof(x).to_tangent_aval())
    return results, [zero(x) if dx is None else dx for x, dx in zip(results, changes, strict=True)]


def _call_batched(operands, axes, *, function, shapes, derivative):
    def each(operands, moving, changes):
        of_changes = [axes[i] for i in moving]
        return jax.vmap(lambda x, dx: derivative(x, moving, dx), (list(axes), of_changes))(list(operands), changes)

    shapes = _many(shapes, _size(operands, axes))
    results = deferred(jax.vmap(function, tuple(axes)), shapes, each, operands)
    return results, [0] * len(results)


def _map_jvp(operands, tangents, *, linear, shapes, count):
    if any(map(_moves, tangents[:count])):
        raise TypeError(linear.sentence)
    known, x, dx = operands[:count], operands[count:], [ad.instantiate_zeros(t) for t in tangents[count:]]
    return linear(shapes, known, x), linear(shapes, known, dx)


def _map_transposed(cotangents, *operands, linear, shapes, count):
    given = [i for i, y in enumerate(cotangents) if not isinstance(y, ad.Zero)]

    def forwards(known, y):
        found = dict(zip(given, y, strict=True))
        return linear.backwards(known, [found.get(i) for i in range(len(shapes))])

    def backwards(known, x):
        filled = [np.zeros(s.shape, s.dtype) if one is None else one for one, s in zip(x, of_x, strict=True)]
        y = linear.forwards(known, filled)
        return [y[i] for i in given]

    known, x = operands[:count], operands[count:]
    of_x = tuple(one.aval if ad.is_undefined_primal(one) else one for one in x)
    flipped = LinearMap(forwards, backwards, linear.sentence)
    found = flipped(of_x, known, [cotangents[i] for i in given])
    wanted = [dx if ad.is_undefined_primal(one) else None for one, dx in zip(x, found, strict=True)]
    return [None] * count + wanted


def _map_batched(operands, axes, *, linear, shapes, count):
    size = _size(operands, axes)
    known, x = operands[:count], operands[count:]
    x = [batching.bdim_at_front(*one, size) for one in zip(x, axes[count:], strict=True)]
    forwards, backwards = (jax.vmap(f, (tuple(axes[:count]), 0)) for f in (linear.forwards, linear.backwards))
    results = LinearMap(forwards, backwards, linear.sentence)(_many(shapes, size), known, x)
    return results, [0] * len(results)


ad.primitive_jvps[_call] = _call_jvp
batching.primitive_batchers[_call] = _call_batched
ad.primitive_jvps[_map] = _map_jvp
ad.primitive_transposes[_map] = _map_transposed
batching.primitive_batchers[_map] = _map_batched
