"""difmbs check: what a model consists of, and whether its constraints are sound."""

from typing import Any

import click

from ._running import FAILED_CHECK, Report, command, start_jax

_KINDS = ("bodies", "forces", "constraints", "events")
_DENSE_UP_TO = 1500


@click.command("check")
@click.argument("model")
@command
def check(report: Report, model: str) -> int:
    """Read MODEL, a .toml file, and say what is in it, without simulating it."""
    start_jax()
    from ..files import read_model

    described = read_model(model)
    system = described.assemble()
    found = _counts(system) | _constraints(system)
    sensors = list(system.structure.readings)
    report.say(f"{model}: {', '.join(f'{kind}: {found[kind]}' for kind in _KINDS if found[kind])}")
    report.say(f"{found['coordinates']} coordinates, {found['velocities']} velocity coordinates")
    if found["equations"]:
        rank = "unknown rank" if found["rank"] is None else f"rank {found['rank']}"
        off = f"off by {found['violation']:.2g} at the start"
        report.say(f"{found['equations']} equations of constraints of {rank}, {off}")
    if found["degrees_of_freedom"] is not None:
        report.say(f"{found['degrees_of_freedom']} degrees of freedom")
    report.say(f"sensors: {', '.join(sensors) or 'none'}")
    report.say("simulation: " + ("not described" if described.simulation is None else _settings(described.simulation)))
    redundant = found["rank"] is not None and found["rank"] < found["equations"]
    code = FAILED_CHECK if redundant and described.redundant == "warn" else 0
    if code:
        report.say('To allow the redundant constraints, write redundant = "min_norm" into the file.')
    report.end(code, model=model, **found, sensors=sensors)
    return code


def _counts(system: Any) -> dict[str, Any]:
    kinds: dict[str, int] = {"bodies": -1}  # without the ground
    for element in system.structure.elements.values():
        kind = "forces" if element.kind == "fields" else element.kind
        kinds[kind] = kinds.get(kind, 0) + element.count
    counts = {kind: kinds.get(kind, 0) for kind in _KINDS}
    return counts | {"coordinates": system.structure.coordinate_count, "velocities": system.structure.velocity_count}


def _constraints(system: Any) -> dict[str, Any]:
    """Of the active ones, at the start: their equations and how many of them are independent."""
    import equinox as eqx
    import numpy as np

    @eqx.filter_jit
    def evaluate(system: Any, q: Any, v: Any) -> Any:
        levels = system.constraint_levels(0.0, q, v).values()
        return system.violations(0.0, q, v), [level.jacobian for level in levels]

    (position, velocity), jacobians = evaluate(system, *system.initial_state())
    freedoms: int | None = system.structure.velocity_count - position.size
    rank: int | None = position.size
    if 0 < position.size <= _DENSE_UP_TO:
        rows = np.concatenate(jacobians)
        lengths = np.sqrt(np.sum(rows**2, axis=1, keepdims=True))
        rows = rows / np.where(lengths > 0, lengths, 1)
        rank = int(np.sum(np.linalg.eigvalsh(rows @ rows.T) > 1e-9))
        freedoms = system.structure.velocity_count - rank
    elif position.size:
        rank = freedoms = None
    violation = float(np.abs(np.concatenate([position, velocity])).max(initial=0))
    return {"equations": position.size, "rank": rank, "degrees_of_freedom": freedoms, "violation": violation}


def _settings(simulation: Any) -> str:
    return ", ".join(f"{key} = {value}" for key, value in simulation.table().items() if key != "save_times")
