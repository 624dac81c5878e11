"""Tangents along many directions at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal

from .memory_layout import side_by_side, stored

_MOVES = {"broadcast_in_dim", "neg", "reshape", "slice", "squeeze", "transpose"}
"""Operations that compute nothing: cheaper to do again."""


class _Known(NamedTuple):
    """A number of a program; `along`: whether it is a tangent."""

    x: Any
    along: bool


def jvp_of_many(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`jax.jvp`, for use under `vmap` over many tangents.

    Each tangent is stored, once, with the directions as neighbours. Left to itself XLA computes cheap tangents again
    wherever they are used, in loops over the short axes of the elements instead of the long one of the directions.
    """
    arrays, structure = jax.tree.flatten((primals, tangents))
    joint = lambda *x: jax.jvp(function, *jax.tree.unflatten(structure, x))
    program, shapes = jax.make_jaxpr(joint, return_shape=True)(*arrays)
    first = len(jax.tree.leaves(primals))
    given = [_Known(x, i >= first) for i, x in enumerate(arrays)]
    results = _run(program.jaxpr, program.consts, given)
    return jax.tree.unflatten(jax.tree.structure(shapes), [result.x for result in results])


def _run(program: Jaxpr, constants: Iterable[Any], given: Iterable[_Known]) -> list[_Known]:
    known = dict(zip(program.invars, given, strict=True))
    known |= {name: _Known(x, False) for name, x in zip(program.constvars, constants, strict=True)}
    read = lambda name: _Known(name.val, False) if isinstance(name, Literal) else known[name]
    operands = (name for step in program.eqns for name in step.invars)
    uses = Counter(name for name in (*operands, *program.outvars) if not isinstance(name, Literal))
    for step in program.eqns:
        inputs = [read(name) for name in step.invars]
        if step.primitive.name == "jit":
            inner = step.params["jaxpr"]
            results = _run(inner.jaxpr, inner.consts, inputs)
        else:
            results = _done(step, inputs)
        for name, result in zip(step.outvars, results, strict=True):
            keep = result.along and uses[name] > 1 and step.primitive.name not in _MOVES
            known[name] = result._replace(x=side_by_side(result.x)) if keep else result
    return [read(name) for name in program.outvars]


def _done(step: Any, inputs: list[_Known]) -> list[_Known]:
    along = any(x.along for x in inputs)
    if along and step.primitive is stored:
        # Not in the way in which single tangents are.
        return [_Known(side_by_side(inputs[0].x), True)]
    primitive = step.primitive
    found = primitive.bind(*(x.x for x in inputs), **primitive.get_bind_params(step.params))
    return [
        _Known(x, along and jnp.issubdtype(x.dtype, jnp.floating))
        for x in (found if primitive.multiple_results else [found])
    ]
