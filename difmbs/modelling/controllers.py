"""Controllers: functions of what is measured that set parameters."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax

from ..core.errors import ModelError, ParameterError, did_you_mean
from ..core.parameters import ParameterPath, show_error
from ..core.types import Time, Values, Vector
from ..dynamics.outputs import Outputs
from ..elements.connectors.connector import AbstractConnector
from ..elements.event import Event
from ..system.control import controlled
from ..system.structure import InstanceRange, Structure
from ..system.system import ParametersByName, System
from .assembly import SWITCH, ModelContents


@dataclasses.dataclass(frozen=True)
class Controller:
    """A rule (t, outputs, p) as a function of the state; `name`: what it sets."""

    name: str
    rule: Callable[..., Any]
    sampled: bool

    def __call__(self, system: System, t: Time, q: Vector, v: Vector) -> Any:
        return self.rule(t, _MeasuredOutputs(self.name, system, t, q, v), ParametersByName(system))


class _MeasuredOutputs(Outputs):
    """What a controller may know: all that does not depend on what it is going to set."""

    def __init__(self, name: str, system: System, t: Time, q: Vector, v: Vector):
        super().__init__(system, t, q, v)
        self._name = name

    def accelerations(self) -> Any:
        raise ModelError(
            f"the controller of '{self._name}' reads an acceleration or the force of a constraint, which depend on "
            "what it sets. It can read positions, velocities, states, and forces of elements that are not controlled."
        )

    def _multipliers(self, part: InstanceRange, law: AbstractConnector, variable: str) -> Any:
        return self.accelerations() if variable in law.exerted else None

    def _variable(self, name: str, variable: str) -> Values:
        structure = self.system.structure
        element = structure.elements[name]
        if name == self._name.partition(".")[0] and element.kind != "bodies":
            group = getattr(structure, element.kind)[element.parts[0].group]
            if variable in group.stack.structure["element"].exerted:
                raise ModelError(f"the controller of '{self._name}' reads '{name}.{variable}', which depends on it.")
        return super()._variable(name, variable)


def check_controls(contents: ModelContents, system: System) -> None:
    """Refuses what cannot be controlled, and calls all controllers once, without computing anything."""
    for path in contents.controls:
        _check_target(contents, system.structure, path)
    _try_out(system)


def _check_target(contents: ModelContents, structure: Structure, path: ParameterPath) -> None:
    """Refuses what cannot be controlled: parameters of bodies, of constraints, and those that follow from others."""
    name, element = ".".join(path), structure.elements.get(path[0])
    if path[1:] == (SWITCH,) and element is not None and element.kind in ("forces", "constraints", "fields"):
        for added in contents.elements.values():
            if isinstance(added.element, Event) and path[0] in dict(added.element.switch):
                raise ModelError(
                    f"'{name}' is controlled, and switched by the event '{added.name}': choose one of them."
                )
        return
    forces = {x for x, other in structure.elements.items() if other.kind == "forces"}
    known = [".".join(x) for x in structure.homes if x[0] in forces and not x[1].startswith("marker")]
    if name not in known:
        raise ModelError(
            f"'{name}' cannot be controlled: controllers set parameters of force laws and loads, and the switches of "
            f"connectors, '<name>.{SWITCH}'. {did_you_mean(name, known)}"
        )
    if path in contents.derived:
        raise ModelError(f"'{name}' follows from other parameters of the model: it cannot be controlled.")


def _try_out(system: System) -> None:
    q, v = jax.eval_shape(system.initial_state)
    try:
        jax.eval_shape(controlled, system, jax.ShapeDtypeStruct((), q.dtype), q, v)
    except (ModelError, ParameterError) as error:
        raise ModelError(str(error)) from None
    except Exception as error:
        names = ", ".join(".".join(control.path) for control in system.structure.controls)
        raise ModelError(f"a controller, of {names}, fails: {show_error(error)}") from error
