"""What a search by least squares asks of its problem."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from .scaling import Scaling


class AbstractLeastSquares(eqx.Module):
    """A sum of squares to be made least; `lower` and `upper` bound z."""

    scaling: eqx.AbstractVar[Scaling]
    lower: eqx.AbstractVar[Any]
    upper: eqx.AbstractVar[Any]

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """The number of predictions."""

    @abc.abstractmethod
    def residuals(self, z: Any) -> tuple[Any, Any]:
        """The residuals, and what was predicted."""

    @abc.abstractmethod
    def linearized(self, z: Any) -> tuple[Any, Any, Any]:
        """The Jacobian of the residuals, the residuals, and what was predicted."""


def linearized(problem: AbstractLeastSquares, z: Any) -> tuple[Any, Any, Any]:
    """Jacobian, residuals and predictions of a problem whose residuals may all depend on all unknowns."""
    return differentiated(problem.residuals, z)


def differentiated(residuals: Callable[[Any], tuple[Any, Any]], z: Any) -> tuple[Any, Any, Any]:
    """The Jacobian of a function that returns residuals and predictions, with both of these."""

    def both(z):
        found, predictions = residuals(z)
        return found, (found, predictions)

    jacobian, (found, predictions) = jax.jacfwd(both, has_aux=True)(z)
    return jacobian, found, predictions
