"""Functions that are traced when they are lowered: they transform as if they were not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difmbs.jaxtools.deferred import LinearMap, deferred
from difmbs.jaxtools.unreached import marked, replaced

OF_X = jax.ShapeDtypeStruct((3,), jnp.float64)
TRACED: list[int] = []


def plain(p, q):
    return jnp.sin(p) * q


def of(p, q):
    """The same, deferred: a pytree of a number and an array goes in, one with a count comes out."""

    def function(x):
        TRACED.append(1)
        return {"y": plain(x["p"], x["q"]), "count": jnp.asarray(3)}

    def derivative(x, dx):
        def forwards(known, dx):
            of_p = 0 if dx["p"] is None else jnp.cos(known["p"]) * known["q"] * dx["p"]
            return of_p + (0 if dx["q"] is None else jnp.sin(known["p"]) * dx["q"])

        def backwards(known, weight):
            of_p, of_q = jnp.cos(known["p"]) * known["q"] * weight, jnp.sum(jnp.sin(known["p"]) * weight)
            return {"p": None if dx["p"] is None else of_p, "q": None if dx["q"] is None else of_q}

        change = LinearMap(forwards, backwards, "only once.")(OF_X, x, dx)
        return function(x), {"y": change, "count": None}

    shapes = {"y": OF_X, "count": jax.ShapeDtypeStruct((), jnp.int64)}
    return deferred(function, shapes, derivative, {"p": p, "q": q})["y"]


P, Q, MANY = jnp.arange(3.0), jnp.asarray(2.0), jnp.arange(6.0).reshape(2, 3)
TRANSFORMED = {
    "value": lambda f: f(P, Q),
    "forwards": lambda f: jax.jacfwd(f, (0, 1))(P, Q),
    "backwards": lambda f: jax.jacrev(f, (0, 1))(P, Q),
    "one argument": lambda f: jax.jacrev(f, 1)(P, Q),
    "batch": lambda f: jax.vmap(f, (0, None))(MANY, Q),
    "batch of gradients": lambda f: jax.vmap(jax.jacrev(f), (0, None))(MANY, Q),
    "gradient of a batch": lambda f: jax.jacrev(jax.vmap(f, (0, None)), 1)(MANY, Q),
    "batch in the second axis": lambda f: jax.vmap(jax.jacfwd(f, 1), (1, None))(MANY.T, Q),
}


@pytest.mark.parametrize("transformed", TRANSFORMED)
def test_transformations_give_what_they_give_of_the_plain_function(transformed):
    apply = TRANSFORMED[transformed]
    expected = apply(plain)
    for found in (apply(of), jax.jit(lambda: apply(of))()):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-14), found, expected)


def test_it_is_traced_once_for_all_transformations_of_one_program():
    TRACED.clear()
    jax.jit(lambda q: jax.vmap(lambda p: of(p, q))(MANY)).trace(Q)
    assert not TRACED
    jax.jit(lambda q: jax.vmap(lambda p: of(p, q))(MANY)).lower(Q)
    assert len(TRACED) == 1


def test_a_second_derivative_is_refused_with_the_sentence():
    first = jax.grad(lambda q: jnp.sum(of(P, q)))
    with pytest.raises(TypeError, match="only once"):
        jax.grad(lambda p: jax.grad(lambda p: jnp.sum(of(p, Q)))(p)[1])(P)
    np.testing.assert_allclose(first(2.0), np.sum(np.sin(P)))


def test_what_is_missing_is_no_number_backwards_only_where_it_counts():
    missing = jnp.asarray([True, False])
    filled = lambda x: marked(missing, replaced(missing, x, 5.0))
    np.testing.assert_array_equal(filled(jnp.ones(2)), [np.nan, 1])
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.sum(filled(x)))(jnp.ones(2)), [np.nan, 1])
    np.testing.assert_array_equal(jax.grad(lambda x: filled(x)[1])(jnp.ones(2)), [0, 1])
