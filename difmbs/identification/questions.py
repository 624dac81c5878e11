"""Which questions about the data remain after a fit."""

from typing import TYPE_CHECKING

import jax.numpy as jnp

from .hints import before, of_start, rows, texts
from .profile_likelihood import start_predictions
from .uncertainty import Residuals

if TYPE_CHECKING:
    from .fit import Fit


def asked(fit: "Fit") -> tuple[str, ...]:
    """Those about channels that are fitted badly: the others may be as they are."""
    cut_off = fit.status in ("stalled", "max_iterations")
    bad: dict[str, set[str]] = {}
    for r in fit.residuals:
        if cut_off or _bad(r):
            bad.setdefault(r.experiment, set()).add(r.channel)
    if not bad:
        return ()
    setup, problem = fit.setup, fit.problem
    found = rows(setup.experiments, problem.groups, setup.places, start_predictions(fit))
    hints = [*before(setup, jnp.asarray(setup.unknowns.start)), *of_start(found, setup)]
    return texts(hints, bad)


def _bad(r: Residuals) -> bool:
    return not r.r_squared > 0.75 or r.rms > 10
