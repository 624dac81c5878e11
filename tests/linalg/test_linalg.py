"""Factorizations against dense ones, and loops side by side."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from difmbs.jaxtools.batched_loops import anywhere
from difmbs.jaxtools.platforms import as_if_on_gpu
from difmbs.linalg.elimination_order import eliminate, order_of
from difmbs.linalg.tall_qr import tall_qr
from difmbs.linalg.wide_elimination import tables_of


def pattern(nodes, seed):
    """Blocks of a random matrix in which each node has a few neighbours: their numbers, and the numbers in them."""
    rng = np.random.default_rng(seed)
    pairs = {(a, a - 1) for a in range(1, nodes)} | {tuple(rng.choice(nodes, 2, replace=False)) for _ in range(nodes)}
    return with_neighbours(nodes, sorted((int(a), int(b)) for a, b in pairs)), rng


def with_neighbours(nodes, pairs):
    slots = {(a, a): a for a in range(nodes)}
    for a, b in pairs:
        for edge in ((a, b), (b, a)):
            slots.setdefault(edge, len(slots))
    return slots


def dense_of(blocks, slots, nodes, size):
    dense = np.zeros((nodes, size, nodes, size))
    for (a, b), slot in slots.items():
        dense[a, :, b] = blocks[slot]
    return dense.reshape(nodes * size, nodes * size)


@pytest.mark.parametrize("written_out", [False, True])
@pytest.mark.parametrize(("nodes", "size"), [(1, 3), (6, 2), (25, 3)])
def test_block_elimination_is_that_of_the_dense_matrix(nodes, size, written_out):
    slots, rng = pattern(nodes, seed=nodes) if nodes > 1 else ({(0, 0): 0}, np.random.default_rng(0))
    elimination = eliminate(nodes, slots, order_of(nodes, slots))
    blocks = np.zeros((elimination.blocks, size, size))
    blocks[: len(slots)] = rng.normal(size=(len(slots), size, size))
    blocks[:nodes] += 10 * np.eye(size)
    dense, b = dense_of(blocks, slots, nodes, size), rng.normal(size=(nodes, size))
    with as_if_on_gpu() if written_out else nullcontext():
        factors = elimination.factor(jnp.asarray(blocks))
        solutions = elimination.solve(factors, jnp.asarray(b)), elimination.solve_transposed(factors, jnp.asarray(b))
    assert isinstance(factors.inverses, tuple) == (written_out and nodes <= 10)
    for found, matrix in zip(solutions, (dense, dense.T), strict=True):
        expected = np.linalg.solve(matrix, b.ravel())
        np.testing.assert_allclose(np.asarray(found).ravel(), expected, rtol=1e-9, atol=1e-12)


CLIQUE = [(a, b) for a in range(12) for b in range(a)]
CHAIN = [(a, a - 1) for a in range(12, 80)]


@pytest.mark.parametrize(("nodes", "pairs", "wide"), [(12, [], True), (12, CLIQUE, True), (80, CLIQUE + CHAIN, False)])
def test_larger_matrices_on_gpus(nodes, pairs, wide):
    """Nodes apart from each other; all of them neighbours; some with many more neighbours than others."""
    slots = with_neighbours(nodes, pairs)
    elimination = eliminate(nodes, slots, order_of(nodes, slots))
    assert (tables_of(elimination) is not None) == wide
    rng = np.random.default_rng(0)
    blocks = np.zeros((elimination.blocks, 2, 2))
    blocks[: len(slots)] = rng.normal(size=(len(slots), 2, 2))
    blocks[:nodes] += 20 * np.eye(2)
    dense, b = dense_of(blocks, slots, nodes, 2), rng.normal(size=(nodes, 2))
    with as_if_on_gpu():
        factors = elimination.factor(jnp.asarray(blocks))
        found = elimination.solve(factors, jnp.asarray(b)), elimination.solve_transposed(factors, jnp.asarray(b))
    for x, matrix in zip(found, (dense, dense.T), strict=True):
        np.testing.assert_allclose(np.ravel(x), np.linalg.solve(matrix, b.ravel()), rtol=1e-9, atol=1e-12)


def test_nodes_wait_for_those_that_come_before_them():
    """In a star the tips come first, unless they wait."""
    slots = {(a, b): 0 for a in range(1, 5) for b in (0,)} | {(0, b): 0 for b in range(1, 5)}
    assert order_of(5, slots).tolist()[:3] == [1, 2, 3]
    order = order_of(5, slots, {2: {0}, 3: {2, 4}}).tolist()
    assert sorted(order) == list(range(5))
    assert order.index(0) < order.index(2) < order.index(3)
    assert order.index(4) < order.index(3)
    assert order.index(1) < order.index(0)
    assert order_of(5, slots, after_any={1: {4}, 2: {3}, 3: {2}}).tolist()[:2] == [4, 1]


@pytest.mark.parametrize("spread", [1.0, 1e-5, 1e-10])
def test_tall_matrices(spread):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 6)) * 10.0 ** rng.integers(-8, 8, 6)
    # One column is nearly another one.
    A[:, 1] = 3 * A[:, 0] + spread * np.linalg.norm(A[:, 0]) * rng.normal(size=200) / np.sqrt(200)
    Q, R = map(np.asarray, tall_qr(jnp.asarray(A)))
    lengths = np.linalg.norm(A, axis=0)
    np.testing.assert_allclose((Q @ R) / lengths, A / lengths, atol=1e-13)
    assert np.array_equal(R, np.triu(R))
    np.testing.assert_allclose(np.abs(np.diag(R)), np.abs(np.diag(np.linalg.qr(A)[1])), rtol=1e-4)
    if spread == 1.0:
        np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-13)


def test_a_column_of_zeros_does_not_harm():
    A = np.random.default_rng(1).normal(size=(50, 3))
    A[:, 1] = 0
    Q, R = map(np.asarray, tall_qr(jnp.asarray(A)))
    assert np.all(np.isfinite(Q))
    np.testing.assert_allclose(Q @ R, A, atol=1e-13)


def test_loops_side_by_side_end_together():
    @jax.jit
    def halved(x):
        def body(carry):
            x, count = carry
            going = x > 1
            return jnp.where(going, x / 2, x), count + going.astype(count.dtype)

        return lax.while_loop(lambda carry: anywhere(carry[0] > 1), body, (x, jnp.zeros((), int)))

    many = jnp.asarray([0.5, 3.0, 100.0])
    x, count = jax.vmap(halved)(many)
    alone = [halved(one) for one in many]
    assert np.array_equal(x, [float(a[0]) for a in alone])
    assert count.tolist() == [int(a[1]) for a in alone] == [0, 2, 7]
