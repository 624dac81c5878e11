"""Parameters and switches that functions of the state set: at each instant, or at the start of each time step."""

from typing import Any

import jax.numpy as jnp

from ..core.errors import ParameterError
from ..core.types import Time, Vector
from .structure import ControlledParameter
from .system import System


def controlled(system: System, t: Time, q: Vector, v: Vector) -> System:
    """The system as its controllers set it in this state; it has no controls."""
    if system.structure.sampled:
        system = sampled(system, t, q, v)
    if not system.structure.controls:
        return system
    plain = System(system.gravity, system.stacks, system.structure.without_controls, system.on)
    return _set(plain, plain, system.structure.controls, t, q, v)


def sampled(system: System, t: Time, q: Vector, v: Vector) -> System:
    """The system for a step that starts in this state; it keeps the controls that act during steps, too."""
    structure = system.structure
    plain = System(system.gravity, system.stacks, structure.without_controls, system.on)
    controls = tuple(control for control in structure.controls if control.sampled)
    rest = System(system.gravity, system.stacks, structure.without_sampled, system.on)
    return _set(rest, plain, controls, t, q, v)


def _set(
    system: System, plain: System, controls: tuple[ControlledParameter, ...], t: Time, q: Vector, v: Vector
) -> System:
    values: dict[Any, Any] = {}
    on = jnp.asarray(system.structure.switches, bool) if system.on is None else system.on
    for control in controls:
        found = jnp.asarray(control.function(plain, jnp.asarray(t, q.dtype), q, v))
        shape = () if control.switch is not None else system.structure.homes[control.path].shape
        if found.shape != shape:
            name = ".".join(control.path)
            raise ParameterError(f"'{name}' must have shape {shape}, its controller gives {found.shape}.")
        if control.switch is None:
            values[control.path] = found.astype(q.dtype)
        else:
            on = on.at[control.switch].set(found.astype(bool))
    switches = any(control.switch is not None for control in controls)
    return (system.switched(on) if switches else system).with_values(values)
