"""The package as users import it."""

import importlib
import sys


def as_users_import_it():
    """The package without conftest's import hook, which answers wrong types before the package can."""

    def taken_out():
        return {n: sys.modules.pop(n) for n in list(sys.modules) if n.partition(".")[0] == "difmbs"}

    hooked = taken_out()
    try:
        package = importlib.import_module("difmbs")
        for name in package.__all__:
            getattr(package, name)
        return package
    finally:
        taken_out()
        sys.modules.update(hooked)


mbs = as_users_import_it()
