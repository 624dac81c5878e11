"""Time integrators, one step of each with its derivatives: diffrax's, and those written here as its solvers."""
