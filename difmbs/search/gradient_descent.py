"""Steps along the gradient, by an optimizer of optax: for very many unknowns, where a Jacobian is too much."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..core.errors import ParameterError
from ..core.parameters import show
from .least_squares import AbstractLeastSquares

Note = Callable[[Any, float, float, bool], None]


def descended(
    problem: AbstractLeastSquares, z: Any, optimizer: optax.GradientTransformation, steps: int, note: Note
) -> tuple[Any, str]:
    """The best point of so many steps, and how they ended."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise ParameterError(f"optimizer must be one of optax, such as optax.adam(1e-2), got {show(optimizer)}.")
    memory, best, least = optimizer.init(z), z, np.inf
    try:
        for _ in range(steps):
            chi2, gradient, z_next, memory = _stepped(problem, z, memory, optimizer.update)
            if not np.all(np.isfinite(gradient)):
                break
            if float(chi2) < least:
                best, least = z, float(chi2)
            note(z, float(chi2), float(jnp.max(jnp.abs(z_next - z))), True)
            z = z_next
    except KeyboardInterrupt:
        return best, "interrupted"
    return best, "finished"


@eqx.filter_jit
def _stepped(problem: AbstractLeastSquares, z: Any, memory: Any, update: Any) -> Any:
    chi2, gradient = jax.value_and_grad(lambda z: jnp.sum(problem.residuals(z)[0] ** 2))(z)
    # Per sample, so that learning rates do not depend on how many there are.
    # Optimizers multiply counts of steps by fractions.
    with jax.numpy_dtype_promotion("standard"):
        change, memory = update(gradient / problem.count, memory, z)
        z = optax.apply_updates(z, change)
    return chi2, gradient, jnp.clip(z, problem.lower, problem.upper), memory
