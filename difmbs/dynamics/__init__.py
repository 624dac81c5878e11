"""The equations of motion: where unknowns stand in the matrix, how they are solved, how constraints are met."""
