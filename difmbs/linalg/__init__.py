"""Linear algebra for sparse matrices of blocks, for tall and for small matrices, as JAX functions."""
