"""Products of a vector with a few rows, written out, are what they were."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difmbs.jaxtools.over_devices import mesh_of, over_devices
from difmbs.jaxtools.written_out_sums import with_written_out_sums


def product(weights, rows):
    inner = jax.jit(lambda a, b: jnp.tanh(a @ b))
    return {"sum": inner(jnp.sin(weights), rows), "other": rows @ rows.T, "number": weights @ weights}


@pytest.mark.parametrize(
    "how", [lambda f: f, jax.vmap, lambda f: jax.jit(jax.vmap(f))], ids=["one", "many", "compiled"]
)
def test_sums_are_the_products(how):
    rng = np.random.default_rng(0)
    weights, rows = rng.normal(size=(4, 7)), rng.normal(size=(4, 7, 3))
    given = (weights[0], rows[0]) if how(product) is product else (weights, rows)
    expected = how(product)(*given)
    found = how(lambda *x: with_written_out_sums(product, *x))(*given)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-13)
    slope = lambda f: jax.grad(lambda w: jnp.sum(how(f)(w, given[1])["sum"]))(given[0])
    np.testing.assert_allclose(slope(lambda *x: with_written_out_sums(product, *x)), slope(product), rtol=1e-12)


def test_the_interpolation_of_a_batch_has_no_products():
    k = jnp.ones((5, 7, 3))

    def inside(k):
        evaluate = lambda k, t: diffrax.Tsit5.interpolation_cls(t0=0.0, t1=1.0, y0=k[0], y1=k[0], k=k).evaluate(t)
        return with_written_out_sums(evaluate, k, jnp.asarray(0.3))

    assert "dot_general" not in str(jax.make_jaxpr(jax.vmap(inside))(k))


@pytest.mark.parametrize("count", [1, 5])
def test_rows_on_devices_are_rows(count):
    mesh, rows = mesh_of(jax.devices()), jnp.arange(3.0 * count).reshape(count, 3)
    each = jax.vmap(lambda common, row: common * jnp.sin(row), in_axes=(None, 0))
    spread = lambda common: over_devices(mesh, each, common, rows)
    np.testing.assert_allclose(jax.jit(spread)(2.0), 2 * jnp.sin(rows), rtol=1e-14)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(spread))(2.0), jnp.sin(rows), rtol=1e-14)
