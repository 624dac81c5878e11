"""What a connector is: a physical law between markers, written for one instance.

A law sees what its markers deliver through their ports and nothing else. It is not told which bodies they sit on.
"""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import Spec, as_array, is_numbers, show, show_error
from ...core.types import Scalar, Vector
from ..element import AbstractElement
from ..ports import AbstractPort, Point
from ..symbols import Symbol, between

USUAL_UNITS: Mapping[str, str] = {
    "distance": "m",
    "displacement": "m",
    "relative_displacement": "m",
    "stretch": "m",
    "velocity": "m/s",
    "force": "N",
    "force_local": "N",
    "rotation": "rad",
    "angle": "rad",
    "angular_velocity": "rad/s",
    "torque": "N m",
    "torque_local": "N m",
    "torque0": "N m",
    "torque1": "N m",
}
"""Units of outputs by their names, for reports and for what is measured of them."""


class AbstractConnector(AbstractElement):
    """`ports` says what each marker must deliver; `outputs` are the documented output variables by name."""

    ties: ClassVar[dict[str, tuple[int, str]]] = {}
    """Parameters that, left at None, are taken from a marker's body: {field: (marker, field of the body)}."""

    initial: ClassVar[Mapping[str, Spec]] = {}
    """First-order states of a force law, by name, as initial values. All of them, one after the other, are behind what
    the ports deliver: `flow[-1]`; and the last of the efforts is their rate."""

    measured: ClassVar[tuple[str, ...]] = ()
    """Parameters that, left at None, are measured in the initial state by `measure`."""

    exerted: ClassVar[tuple[str, ...]] = ("force", "force_local")
    """The outputs that are zero while the connector is switched off."""

    units: ClassVar[Mapping[str, str]] = {}
    """Units of outputs that are not `USUAL_UNITS`; "" where one depends on the bodies."""

    in_plane: ClassVar[bool] = False
    """Whether it looks at x and y alone, though its ports deliver z too; with `Planar` ports it does in any case."""

    along_line: ClassVar[bool] = False
    """Whether it acts along the line between its markers, as far as it sees it, so that it needs a distance."""

    @property
    @abc.abstractmethod
    def ports(self) -> tuple[AbstractPort, ...]: ...

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        """Refuses arguments that declarations of single parameters cannot; `sizes`: coordinates of each marker."""

    def verify(self, name: str, t: Scalar, config: Any, flow: Any) -> None:
        """Refuses arguments that turn out wrong in the initial state."""

    def measure(self, config: Any) -> dict[str, Any]:
        """Values of the `measured` parameters in a configuration."""
        return {}

    def symbols(self) -> tuple[Symbol, ...]:
        """How it looks in pictures. Called for one instance, with plain numbers in its fields."""
        return (between("zigzag"),) if len(self.ports) == 2 else (Symbol("diamond"),)


class AbstractForce(AbstractConnector):
    """A law for forces, of one instance."""

    @abc.abstractmethod
    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        """Efforts that act on the bodies at the markers, one for each port, of the shapes of its flow.

        `config` and `flow`: what the ports deliver of positions and of velocities, one entry for each marker. The power
        that the bodies are given is the sum of the products of efforts and flows.
        """

    @abc.abstractmethod
    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        """Output variables by name, arrays, the same names in every state. They are computed when they are asked for,
        also where the connector is switched off; those that it exerts are set to zero there."""

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        """Potential energy of the conservative part of the law; None where there is no potential."""
        return None


class AbstractField(AbstractConnector):
    """A law between any number of points at once, of which it sees all positions as one array (n, 3).

    `ties` refer to the bodies of all markers: a tied parameter is an array of length n.
    """

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Point(),)

    @abc.abstractmethod
    def forces(self, t: Scalar, positions: Any) -> Any:
        """Forces (n, 3) on the bodies; their sum is zero if the law is one between them."""

    @abc.abstractmethod
    def outputs(self, t: Scalar, positions: Any) -> dict[str, Any]:
        """Output variables by name, arrays, with a leading axis of bodies where there is one number for each."""

    def energy(self, t: Scalar, positions: Any) -> Scalar | None:
        """Potential energy of the conservative part of the law; None where there is no potential."""
        return None


class AbstractConstraint(AbstractConnector):
    """An equation between markers, c = 0.

    With `on_velocity` False, `residual` must not depend on flow; its time derivatives are taken by the library.
    With `on_velocity` True, `residual` is linear in flow and its derivative with respect to flow gives the direction
    of the constraint force. The force on the bodies is minus the transposed Jacobian times the multiplier.
    """

    multipliers: ClassVar[str] = "force"
    """The output that has the multipliers."""

    @property
    def on_velocity(self) -> bool:
        return False

    rate_of_flow: ClassVar[bool] = False
    """Whether `rate` says how the residual changes with the flow; otherwise it is what its derivative says."""

    def rate(self, t: Scalar, config: Any, flow: Any) -> Vector:
        """d/dt of the residual but for its dependence on t, linear in the flow; it makes smaller programs."""
        raise NotImplementedError

    @abc.abstractmethod
    def residual(self, t: Scalar, config: Any, flow: Any) -> Vector:
        """c, one number for each equation, zero where the constraint is met; smooth in time and configuration.

        The number of equations is the same in every state. On positions c must not depend on `flow`; on velocities it
        is linear in it.
        """

    @abc.abstractmethod
    def outputs(self, t: Scalar, config: Any, flow: Any, multiplier: Vector) -> dict[str, Any]:
        """Output variables by name, arrays; `multiplier`: one number for each equation, zero while it is switched
        off."""


def two_points() -> tuple[AbstractPort, ...]:
    return (Point(), Point())


def value_at(t: Scalar, quantity: Any, field: str, shape: tuple[int | None, ...] = ()) -> Any:
    """A quantity that is given as numbers or as a function of time."""
    return returned(field, shape, quantity, t) if callable(quantity) else quantity


def returned(field: str, shape: tuple[int | None, ...], function: Any, t: Scalar, *arguments: Any) -> Any:
    """What the user function in a field returns, as an array; refused if it is not numbers of that shape.

    The law does not know the name of its element: the builder puts it in front of the message.
    """
    try:
        value = function(t, *arguments)
    except jax.errors.JAXTypeError as error:
        raise ModelError(
            f"{field} cannot be traced by JAX: use jnp.where instead of if, jax.numpy instead of numpy. "
            + show_error(error)
        ) from error
    except Exception as error:
        raise ModelError(f"{field} fails: {show_error(error)}") from error
    array = as_array(value)
    wanted = _described(shape)
    if not is_numbers(array):
        raise ModelError(f"{field} must return {wanted}, got {show(value)}.")
    if len(array.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        raise ModelError(f"{field} must return {wanted}, got shape {array.shape}.")
    return jnp.asarray(array, t.dtype)


def _described(shape: tuple[int | None, ...]) -> str:
    if len(shape) == 0:
        return "a number"
    return "a vector" if shape == (None,) else f"an array of shape {shape}"


def check_function(name: str, field: str, function: Any) -> None:
    if function is not None and not callable(function):
        raise ModelError(f"'{name}': {field} must be a function, got {show(function)}.")


def check_choice(name: str, field: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ModelError(f"'{name}': {field} must be one of {', '.join(choices)}, got {show(value)}.")


def check_dof_constraint(name: str, flags: Any) -> None:
    if not isinstance(flags, tuple) or len(flags) != 3 or not all(isinstance(flag, bool) for flag in flags):
        raise ModelError(f"'{name}': dof_constraint must be a tuple of three booleans, got {show(flags)}.")


class exudyn_function(eqx.Module):  # noqa: N801 (used like a function)
    """Adapts a user function with Exudyn's leading arguments (mbs, t, itemNumber, ...): mbs is None, itemNumber 0.

    `last`: values for arguments at the end that difmbs does not pass, such as lOffset.
    """

    function: Any
    last: tuple[Any, ...]

    def __init__(self, function: Any, *last: Any):
        self.function, self.last = function, last

    def __call__(self, t: Any, *arguments: Any) -> Any:
        return self.function(None, t, 0, *arguments, *self.last)
