"""What a mechanism looks like: scenes of shapes, sketches, and pages with moving ones."""
