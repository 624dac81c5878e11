"""A JAX primitive whose function is traced when it is lowered, with JVP, transpose and batching rules.

JAX traces an ordinary function at once, and again for every transformation around it: the program of a simulation would
be traced several times over, which takes as long as compiling it. A deferred function is met as one operation, of which
only the shapes of the results are known; its derivative is a `LinearMap`, an operation of the same kind.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from .batched_loops import of_batch
from .platforms import of_platforms

Tree = Any
"""A pytree of arrays. Of tangents and cotangents, None stands for zero."""
Shapes = Any
"""A pytree of whatever has a shape and a dtype, one for each array of a result."""


def deferred(
    function: Callable[[Tree], Tree], shapes: Shapes, derivative: Callable[[Tree, Tree], Any], x: Tree
) -> Tree:
    """function(x), of these shapes.

    `derivative(x, dx)`: the results and their tangents, from the tangents of x. Neither function may hold arrays of its
    own.
    """
    leaves, inputs = _flattened(x)
    flat_shapes, outputs = _flattened(shapes)

    def flat(*leaves):
        return _cast(outputs.flatten_up_to(function(inputs.unflatten(leaves))), flat_shapes)

    def flat_derivative(leaves, tangents):
        results, changes = derivative(inputs.unflatten(leaves), inputs.unflatten(tangents))
        return _cast(outputs.flatten_up_to(results), flat_shapes), outputs.flatten_up_to(changes)

    found = _call.bind(*leaves, function=flat, shapes=tuple(flat_shapes), derivative=flat_derivative)
    return outputs.unflatten(found)


@dataclasses.dataclass(frozen=True)
class LinearMap:
    """A map that is linear in x and depends on what is known, and its transpose.

    `forwards(known, x)`; `backwards(known, y)`, in whose y None stands for zero. `sentence`: the error where it is
    differentiated with respect to what is known.
    """

    forwards: Callable[[Tree, Tree], Tree]
    backwards: Callable[[Tree, Tree], Tree]
    sentence: str

    def __call__(self, shapes: Shapes, known: Tree, x: Tree) -> Tree:
        """Of these shapes. What is None in x is so in the results of `backwards`, too."""
        of_known, of_x = _flattened(known), _flattened(x)
        flat_shapes, outputs = _flattened(shapes)

        def forwards(known, x):
            return _cast(
                outputs.flatten_up_to(self.forwards(of_known[1].unflatten(known), of_x[1].unflatten(x))), flat_shapes
            )

        def backwards(known, y):
            found = self.backwards(of_known[1].unflatten(known), outputs.unflatten(y))
            return of_x[1].flatten_up_to(found)

        flat = LinearMap(forwards, backwards, self.sentence)
        return outputs.unflatten(_bind(flat, tuple(flat_shapes), of_known[0], of_x[0]))


def _flattened(tree: Tree) -> tuple[list[Any], Any]:
    return jax.tree.flatten(tree)


def _bind(linear: LinearMap, shapes: Sequence[Any], known: Sequence[Any], x: Sequence[Any]) -> list[Any]:
    return _linear.bind(*known, *x, linear=linear, shapes=tuple(shapes), count=len(known))


def _cast(results: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    return [jnp.asarray(x, shape.dtype) for x, shape in zip(results, shapes, strict=True)]


def _primitive(name: str, function: Callable[..., Any]) -> Primitive:
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda *_, shapes, **__: [ShapedArray(x.shape, x.dtype) for x in shapes])
    lowered = mlir.lower_fun(function, multiple_results=True)

    def lower(context: Any, *x: Any, **options: Any) -> Any:
        return of_platforms(context.module_context.platforms, lambda: lowered(context, *x, **options))

    mlir.register_lowering(primitive, lower)
    return primitive


_call = _primitive("deferred", lambda *x, function, shapes, derivative: function(*x))
_linear = _primitive("linear_map", lambda *x, linear, shapes, count: linear.forwards(x[:count], x[count:]))


def _changes(tangent: Any) -> bool:
    return not isinstance(tangent, ad.Zero) and tangent.dtype != jax.dtypes.float0


def _of_batch(shapes: Sequence[Any], size: int) -> tuple[Any, ...]:
    return tuple(jax.ShapeDtypeStruct((size, *x.shape), x.dtype) for x in shapes)


def _size(x: Sequence[Any], axes: Sequence[int | None]) -> int:
    return next(one.shape[axis] for one, axis in zip(x, axes, strict=True) if axis is not None)


def _call_jvp(x, tangents, *, function, shapes, derivative):
    results, changes = derivative(x, [dx if _changes(dx) else None for dx in tangents])
    zero = lambda x: ad.Zero(jax.typeof(x).to_tangent_aval())
    return results, [zero(y) if dy is None else dy for y, dy in zip(results, changes, strict=True)]


def _call_batched(x, axes, *, function, shapes, derivative):
    def of_each(x, tangents):
        # A tangent has the axis of its number; None, for zero, has none.
        return jax.vmap(
            derivative, (list(axes), [None if dx is None else a for dx, a in zip(tangents, axes, strict=True)])
        )(list(x), list(tangents))

    shapes = _of_batch(shapes, _size(x, axes))
    together = of_batch(jax.vmap(function, tuple(axes)))
    results = _call.bind(*x, function=together, shapes=shapes, derivative=of_each)
    return results, [0] * len(results)


def _linear_jvp(operands, tangents, *, linear, shapes, count):
    if any(map(_changes, tangents[:count])):
        raise TypeError(linear.sentence)
    known, x, dx = operands[:count], operands[count:], [ad.instantiate_zeros(t) for t in tangents[count:]]
    return _bind(linear, shapes, known, x), _bind(linear, shapes, known, dx)


def _linear_transposed(cotangents, *operands, linear, shapes, count):
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
    found = _bind(flipped, of_x, known, [cotangents[i] for i in given])
    wanted = [dx if ad.is_undefined_primal(one) else None for one, dx in zip(x, found, strict=True)]
    return [None] * count + wanted


def _linear_batched(operands, axes, *, linear, shapes, count):
    size = _size(operands, axes)
    known, x = operands[:count], operands[count:]
    x = [batching.bdim_at_front(*one, size) for one in zip(x, axes[count:], strict=True)]
    forwards, backwards = (of_batch(jax.vmap(f, (tuple(axes[:count]), 0))) for f in (linear.forwards, linear.backwards))
    batched = LinearMap(forwards, backwards, linear.sentence)
    results = _bind(batched, _of_batch(shapes, size), known, x)
    return results, [0] * len(results)


ad.primitive_jvps[_call] = _call_jvp
batching.primitive_batchers[_call] = _call_batched
ad.primitive_jvps[_linear] = _linear_jvp
ad.primitive_transposes[_linear] = _linear_transposed
batching.primitive_batchers[_linear] = _linear_batched
