"""What happens at certain moments of a motion."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx

from ..core.parameters import parameter
from ..core.reprs import of_fields
from ..core.types import Numbers, UserFunction


def _pairs(switch: Any) -> Any:
    return tuple(switch.items()) if isinstance(switch, Mapping) else switch


class Event(eqx.Module):
    """A moment at which connectors are switched, the state jumps, or the simulation ends.

    It is found exactly, the step before it ends there, and derivatives account for its moving with the parameters.

    **Arguments:** `when`: a time [s], or a function (t, outputs) that crosses zero; `direction`: only crossings upwards
    (1), downwards (-1) or both (0); `switch`: connectors by name to be switched on (True) or off (False); `jump`: a
    function (t, q, v) that returns the new (q, v); `stop`: ends the simulation.
    """

    when: Numbers | UserFunction = parameter(unit="s", of_time=True)
    direction: Any = eqx.field(default=0, static=True)
    switch: Any = eqx.field(default=(), static=True, converter=_pairs)
    jump: Any = None
    stop: Any = eqx.field(default=False, static=True)

    def __repr__(self) -> str:
        return of_fields(self)
