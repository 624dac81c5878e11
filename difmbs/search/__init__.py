"""What identification and design share: unknowns, their scaling, the searches, progress, checkpoints."""
