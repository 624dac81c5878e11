"""Systems that are the same to the last bit."""

import jax
import numpy as np

from difmbs import fingerprint


def assert_same(a, b):
    """To the last bit."""
    assert a.structure == b.structure
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    assert fingerprint(a) == fingerprint(b)
