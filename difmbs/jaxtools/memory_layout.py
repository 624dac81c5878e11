"""How arrays are stored inside compiled programs."""

from typing import Any

import jax
import numpy as np
from jax.experimental.layout import Layout, with_layout_constraint
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from .batched_loops import in_batch

_ROWS = 8
"""Number of rows from which on it pays."""


def by_component(x: Any) -> Any:
    """x, in a program stored component by component, so that processors treat several rows at once; in a batch several
    members, if there are more of them.

    An operation of its own, because JAX's does it outside of programs too, where others then misread the array.
    """
    return stored.bind(x, order=(1, 0)) if len(x) >= _ROWS else side_by_side(x)


def side_by_side(x: Any) -> Any:
    """x with the vmapped axis fastest in memory, so that equal entries of all batch members are neighbours.

    They are stored at all, too: XLA computes cheap tangents again wherever they are used.
    """
    return stored.bind(x, order=None)


def all_side_by_side(tree: Any) -> Any:
    """Each of the arrays of numbers in a tree, in batches."""
    if not in_batch():
        return tree
    return jax.tree.map(lambda x: side_by_side(x) if np.ndim(x) and x.dtype.kind == "f" else x, tree)


def _batched(operands, axes, *, order):
    (x,), (axis,) = operands, axes
    if order is None:
        return stored.bind(x, order=(*(i for i in range(x.ndim) if i != axis), axis)), axis
    inner = [i + (i >= axis) for i in order]
    # Neighbours in memory are what there is most of.
    order = (*inner, axis) if x.shape[axis] > x.shape[inner[-1]] else (axis, *inner)
    return stored.bind(x, order=order), axis


stored = Primitive("stored")
stored.def_impl(lambda x, order: x)
stored.def_abstract_eval(lambda x, order: x)
_lowered = mlir.lower_fun(
    lambda x, order: x if order is None else with_layout_constraint(x, Layout(order)), multiple_results=False
)
mlir.register_lowering(stored, _lowered)
ad.deflinear2(stored, lambda weight, _, order: (stored.bind(weight, order=order),))
batching.primitive_batchers[stored] = _batched
