"""Programs of other libraries without the checks of equinox, which call back into Python when they run.

Such a program is not kept in JAX's cache of compiled ones and cannot be lowered for other machines. What the checks
look at has been checked before.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import ClosedJaxpr, Literal

_CHECK = "branched_error_if_impl"
"""The name of a check in a program."""


def unchecked(function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments)."""
    program, shapes, rest = eqx.filter_make_jaxpr(function)(*arguments)
    results = _run(program, [x for x in jax.tree.leaves(arguments) if eqx.is_array(x)])
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(shapes), results), rest)


def _run(program: ClosedJaxpr, given: list[Any], in_check: bool = False) -> list[Any]:
    known = dict(zip(program.jaxpr.invars, given, strict=True))
    known |= zip(program.jaxpr.constvars, program.consts, strict=True)
    read = lambda name: name.val if isinstance(name, Literal) else known[name]
    for step in program.jaxpr.eqns:
        name, inputs = step.primitive.name, [read(name) for name in step.invars]
        if name == "jit":
            results = _run(step.params["jaxpr"], inputs, in_check or step.params["name"] == _CHECK)
        elif in_check and name == "custom_jvp_call":
            results = _run(step.params["call_jaxpr"], inputs, in_check)
        elif in_check and name == "cond":
            # The first branch is that in which all is well.
            results = _run(step.params["branches"][0], inputs[1:])
        else:
            found = step.primitive.bind(*inputs, **step.primitive.get_bind_params(step.params))
            results = found if step.primitive.multiple_results else [found]
        known |= zip(step.outvars, results, strict=True)
    return [read(name) for name in program.jaxpr.outvars]
