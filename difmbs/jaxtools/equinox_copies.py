"""Copies of systems, and systems in other processes.

Equinox marks missing fields by an object that it compares by identity, of which a copy would be another one.
"""

import copyreg

from equinox._module import _flatten


def register() -> None:
    """From now on that object is copied and read by its name."""
    copyreg.dispatch_table[type(_flatten.MISSING)] = lambda _: "MISSING"
