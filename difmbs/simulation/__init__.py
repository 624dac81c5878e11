"""A motion and its derivative: the start, the time loop, events, the outputs, and whether all of it is right."""
