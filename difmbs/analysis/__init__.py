"""Without a time loop: equilibria, linearization, vibrations."""
