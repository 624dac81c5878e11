"""Weighted sums of a few rows, as processors do them for many members of a batch at once."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
from jax.extend.core import Jaxpr, Literal

_MOST = 32
"""Rows of a sum that is written out."""


def with_written_out_sums(function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments), in which products of a vector with a matrix of few rows are sums of rows.

    XLA does the products of a batch member by member: the interpolation of diffrax took as long as a step.
    """
    arrays, structure = jax.tree.flatten(arguments)
    program, shapes = jax.make_jaxpr(lambda *x: function(*jax.tree.unflatten(structure, x)), return_shape=True)(*arrays)
    return jax.tree.unflatten(jax.tree.structure(shapes), _run(program.jaxpr, program.consts, arrays))


def _run(program: Jaxpr, constants: Iterable[Any], given: Iterable[Any]) -> list[Any]:
    known = dict(zip(program.invars, given, strict=True)) | dict(zip(program.constvars, constants, strict=True))
    read = lambda name: name.val if isinstance(name, Literal) else known[name]
    for step in program.eqns:
        inputs, primitive = [read(name) for name in step.invars], step.primitive
        if primitive.name == "jit":
            results = _run(step.params["jaxpr"].jaxpr, step.params["jaxpr"].consts, inputs)
        elif _is_sum(step):
            results = [sum(weight * row for weight, row in zip(*inputs, strict=True))]
        else:
            found = primitive.bind(*inputs, **primitive.get_bind_params(step.params))
            results = found if primitive.multiple_results else [found]
        known |= dict(zip(step.outvars, results, strict=True))
    return [read(name) for name in program.outvars]


def _is_sum(step: Any) -> bool:
    if step.primitive.name != "dot_general" or step.params["dimension_numbers"] != (((0,), (0,)), ((), ())):
        return False
    weights, rows = (name.aval for name in step.invars)
    return weights.ndim == 1 and rows.ndim == 2 and weights.size <= _MOST and weights.dtype == rows.dtype
