"""One model with many sets of parameters."""
