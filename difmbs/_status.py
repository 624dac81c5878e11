"""How a simulation, or a step of it, ended."""

import enum


class Status(enum.IntEnum):
    """The reason of an early stop."""

    ok = 0
    max_steps = 1
    dt_min = 2
    non_finite = 3
    newton_failed = 4
    singular = 5
    inconsistent_start = 6
    event = 7
    no_equilibrium = 8
    constraint_drift = 9
