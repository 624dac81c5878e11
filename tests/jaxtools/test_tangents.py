"""Tangents along many directions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from difmbs.elements.rotations import length_and_direction
from difmbs.jaxtools.many_tangents import jvp_of_many
from difmbs.jaxtools.memory_layout import by_component


def springs(x):
    stretch = by_component(x[1:] - x[:-1])
    length, direction = jax.vmap(length_and_direction)(stretch)
    return (length - 1.0)[:, None] * direction * jnp.where(length > 1, 2.0, 1.0)[:, None]


def programs(x):
    inner = jax.jit(lambda y: jnp.sin(y) * jnp.sum(y))
    total, each = lax.scan(lambda a, row: (a + inner(row), jnp.exp(-a[0]) * row), jnp.ones(3), x)
    chosen = lax.cond(total[0] > 0, jnp.cos, jnp.tanh, total)
    return {"each": each, "chosen": chosen, "count": jnp.sum(x > 0), "constant": jnp.ones(2)}


def solved(x):
    return jnp.linalg.solve(x[:3] @ x[:3].T + jnp.eye(3), x[3])


HOW = {"one": lambda f: f, "many": jax.vmap, "compiled": lambda f: jax.jit(jax.vmap(f))}


@pytest.mark.parametrize("function", [springs, programs, solved])
@pytest.mark.parametrize("how", HOW)
def test_they_are_those_of_jax(function, how):
    rng = np.random.default_rng(0)
    x, many = jnp.asarray(rng.normal(size=(12, 3))), jnp.asarray(rng.normal(size=(5, 12, 3)))
    along = many[0] if how == "one" else many
    ours = HOW[how](lambda dx: jvp_of_many(function, (x,), (dx,)))(along)
    wanted = HOW[how](lambda dx: jax.jvp(function, (x,), (dx,)))(along)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(wanted), strict=True):
        if a.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


def test_of_many_members_with_many_directions_each():
    rng = np.random.default_rng(1)
    x, many = jnp.asarray(rng.normal(size=(4, 12, 3))), jnp.asarray(rng.normal(size=(6, 12, 3)))
    each = lambda jvp: jax.jit(jax.vmap(lambda x: jax.vmap(lambda dx: jvp(springs, (x,), (dx,))[1])(many)))(x)
    np.testing.assert_allclose(each(jvp_of_many), each(jax.jvp), rtol=1e-13, atol=1e-14)
