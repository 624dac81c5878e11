"""difmbs doctor: what is installed and what it runs on."""

import os
import platform

import click

from ._running import Report, command, installed, start_jax

_PACKAGES = ("difmbs", "jax", "jaxlib", "diffrax", "equinox", "lineax", "optimistix", "optax", "numpy", "scipy")
_EXTRAS = ("exudyn", "viser", "klujax")


@click.command("doctor")
@command
def doctor(report: Report) -> int:
    """Say which versions, devices and extras there are."""
    start_jax()
    import jax

    from .._cache import used

    found = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": installed(*_PACKAGES),
        "extras": installed(*_EXTRAS),
        "devices": [str(device) for device in jax.devices()],
        "cores": os.cpu_count(),
        "double_precision": bool(jax.numpy.zeros(()).dtype == "float64"),
        "cache": used() or "none",
    }
    for key, value in found.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {v or 'not installed'}" for name, v in value.items())
        report.say(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
    report.end(0, **found)
    return 0
