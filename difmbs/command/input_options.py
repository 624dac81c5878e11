"""Recorded inputs on the command line: --input NAME=FILE:COLUMN[:UNIT]."""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import click

_SHORT = re.compile(r"(?P<file>(?:[A-Za-z]:[\\/])?[^:]+):(?P<column>[^:]+)(?::(?P<unit>[^:]+))?")

_RECORD, _LONGER = 20, 100
"""Points of a record, and so many times as long as the run is a record whose times are hardly in seconds."""


def recorded_inputs(given: tuple[str, ...]) -> dict[str, Any]:
    """Functions of time by the names of their parameters."""
    from ..core.errors import ModelError, ParameterError
    from ..files.recordings import recorded

    functions = {}
    for text in given:
        name, _, said = text.partition("=")
        try:
            functions[name.strip()] = recorded("", _table(text, said.strip()), "", allow_outside=True)
        except (ModelError, ParameterError) as error:
            raise click.UsageError(f"--input {name}: {error}") from None
    return functions


def _table(text: str, said: str) -> Any:
    """Of FILE:COLUMN:UNIT, or of a table as in model files, for all that is not said by these three."""
    if said.startswith("{"):
        try:
            return tomllib.loads(f"x = {said}")["x"]
        except (ValueError, RecursionError) as error:
            raise click.UsageError(f"--input {text!r}: {error}.") from None
    short = _SHORT.fullmatch(said)
    if short is None:
        raise click.UsageError(
            f"--input takes NAME=FILE:COLUMN or NAME=FILE:COLUMN:UNIT such as profile.offset=ride.csv:road:mm, got "
            f"{text!r}."
        )
    return {key: value for key, value in short.groupdict().items() if value is not None}


def driven(system: Any, settings: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """The system with its inputs, the settings with a time step that follows from them, and what is to be said."""
    import jax.numpy as jnp
    import numpy as np

    from ..core.errors import ParameterError
    from ..identification.recorded_inputs import with_inputs
    from ..identification.time_scale import fastest, refined, step_of

    if not inputs:
        return system, settings, ""
    try:
        system, points = with_inputs("", system, inputs)
    except ParameterError as error:
        raise click.UsageError(f"--input: {error}") from None
    system = system.with_values({path: jnp.asarray(x) for path, x in points.items()})
    for name, function in inputs.items():
        _ask_for_milliseconds(name, np.asarray(function.times), settings.t_end - settings.t_start)
    step = step_of(inputs, settings.t_start, settings.t_end) if settings.chooses_steps else None
    step = None if step is None else refined(step, fastest(system, settings.t_start))
    if step is None:
        return system, settings, ""
    said = f"{step}; give dt in [simulation] for another one"
    outputs = {"save_dt": step.sampling} if settings.save_dt is None and settings.save_times is None else {}
    return system, dataclasses.replace(settings, dt=step.dt, **outputs), said


def _ask_for_milliseconds(name: str, times: Any, lasting: float) -> None:
    from ..core.errors import warn

    if len(times) > _RECORD and times[-1] - times[0] > _LONGER * lasting:
        warn(
            f"--input {name}: its times are from {times[0]:.6g} to {times[-1]:.6g} s, and the run lasts {lasting:.6g} "
            f's: are they in milliseconds? Then write --input \'{name}={{ file = "...", column = "...", time_unit = '
            '"ms" }\'.'
        )
