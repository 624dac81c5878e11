"""Bodies: coordinates and inertia, one file each."""
