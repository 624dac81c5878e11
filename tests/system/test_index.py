"""Gathers and scatters that know their pattern are ordinary gathers and scatters."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from difmbs.linalg.index import Index

SIZE = 7
ROWS = st.one_of(
    st.lists(st.integers(0, SIZE - 1), max_size=30),
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE)).map(lambda ends: list(range(*ends))),
    st.tuples(st.integers(0, SIZE - 1), st.integers(1, 9)).map(lambda x: [x[0]] * x[1]),
)
"""Anywhere, neighbours, and all the same."""


@settings(max_examples=150, deadline=None)
@given(rows=ROWS)
def test_take_spread_and_add(rows):
    index, random = Index(rows), np.random.default_rng(len(rows))
    x, y = random.normal(size=(SIZE, 2)), random.normal(size=(len(rows), 2))
    numbers = np.asarray(rows, int)
    scattered = np.zeros_like(x)
    np.add.at(scattered, numbers, y)
    np.testing.assert_array_equal(index.take(jnp.asarray(x)), x[numbers])
    np.testing.assert_allclose(index.spread(jnp.asarray(y), SIZE), scattered, atol=1e-14)
    np.testing.assert_allclose(index.add(jnp.asarray(x), jnp.asarray(y)), x + scattered, atol=1e-14)
    # Each is the other's transpose.
    pulled = jax.vjp(index.take, jnp.asarray(x))[1](jnp.asarray(y))[0]
    np.testing.assert_allclose(pulled, scattered, atol=1e-14)


@given(rows=ROWS, others=ROWS)
@settings(max_examples=50, deadline=None)
def test_indices_are_equal_where_their_rows_are(rows, others):
    assert (Index(rows) == Index(others)) == (rows == others)
    assert hash(Index(rows)) == hash(Index(list(rows)))
