"""What a run leaves: how it went, and what derivatives need to know of it."""

from typing import Any, NamedTuple


class RunSummary(NamedTuple):
    """How a run went."""

    on: Any
    """The switches at each output; None where there are no events."""
    steps: Any
    """Number of accepted steps."""
    rejected: Any
    iterations: Any
    """Number of iterations for the equations of implicit steps, in all steps."""
    status: Any
    time: Any
    """The time reached."""


class AcceptedSteps(NamedTuple):
    """The accepted steps of a run, in rows; rows behind the last step hold nothing."""

    t: Any
    h: Any
    """The sizes."""
    y: Any
    """The states at the starts of the steps, and last the one at the end; of long runs only some of them."""
    spacing: Any
    """Distance of stored states, in steps (`stored_states`)."""
    outputs: Any
    """The output times."""
    index: Any
    """Number of the step that each output is in."""
    reached: Any
    """Number of outputs that were reached."""
    steps: Any
    """Number of steps until the last output or event."""
    event: Any = None
    """Number of the event that each step is, of size 0, or -1; None where there are no events."""
    on: Any = None
    """The switches during each step."""
