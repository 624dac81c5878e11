"""How a simulation, or a step of it, ended."""

import enum
from typing import Any

import jax
import numpy as np


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
    contradictory = 10
    event_undefined = 11
    interrupted = 12


def words_of(code: Any) -> Any:
    """One word; of an array an array of words; under a JAX transformation the number."""
    if isinstance(code, jax.core.Tracer):
        return code
    words = np.vectorize(lambda code: Status(int(code)).name)(np.asarray(code))
    return str(words) if words.ndim == 0 else words
