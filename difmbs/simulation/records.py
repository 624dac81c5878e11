"""What a run leaves: how it went, and what derivatives need to know of it."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from ..core.types import Count, MaybeValues, State, Switches, Time


class RunSummary(NamedTuple):
    """How a run went."""

    on: Switches
    """The switches at each output; None where there are no events."""
    steps: Count
    """Number of accepted steps."""
    rejected: Count
    iterations: Count
    """Number of iterations for the equations of implicit steps, in all steps."""
    status: Count
    time: Time
    """The time reached."""


class AcceptedSteps(NamedTuple):
    """The accepted steps of a run, in rows; rows behind the last step hold nothing."""

    t: Time
    """Where they start."""
    h: MaybeValues
    """Their sizes; None: those from one start to the next."""
    y: State
    """The states at the starts of the steps, and last the one at the end; of long runs only some of them."""
    spacing: Count
    """Distance of stored states, in steps (`stored_states`)."""
    outputs: Any
    """The output times."""
    index: Any
    """Number of the step that each output is in."""
    reached: Count
    """Number of outputs that were reached."""
    steps: Count
    """Number of steps until the last output or event."""
    event: MaybeValues = None
    """Number of the event that each step is, of size 0, or -1; None where there are no events."""
    on: Switches = None
    """The switches during each step."""

    def span(self, k: Count) -> tuple[Time, Time]:
        """Start and size of a step."""
        if self.h is not None:
            return self.t[k], self.h[k]
        # Steps that are not taken have a size too, by which their derivatives can be divided.
        return self.t[k], jnp.where(k < self.steps, self.t[k + 1] - self.t[k], 1)
