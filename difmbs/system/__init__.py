"""The assembled model: elements stacked in groups, and pure functions of time, coordinates and velocities."""
