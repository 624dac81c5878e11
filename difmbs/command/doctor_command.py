"""difmbs doctor: what is installed and what it runs on."""

import os
import platform
import re
from collections.abc import Iterator
from typing import Any

import click

from .shell import Report, command, installed, start_jax

_PACKAGES = ("difmbs", "jax", "jaxlib", "diffrax", "equinox", "lineax", "optimistix", "optax", "numpy", "scipy")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w.,\s-]*)\])?[^;]*(?:;(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


@click.command("doctor")
@command
def doctor(report: Report) -> int:
    """Name versions, devices and extras."""
    start_jax()
    import jax

    from ..jaxtools import program_cache

    program_cache.switch_on()
    found = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": installed(*_PACKAGES),
        "extras": _extras(),
        "devices": [str(device) for device in jax.devices()],
        "cores": os.cpu_count(),
        "double_precision": bool(jax.numpy.zeros(()).dtype == "float64"),
        "cache": program_cache.used() or "none",
    }
    for key, value in found.items():
        report.say(f"{key}: {_said(value)}")
    report.end(0, **found)
    return 0


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(
        f"{name} {_of_extra(v) if isinstance(v, dict) else v or 'not installed'}" for name, v in value.items()
    )


def _of_extra(packages: dict[str, str | None]) -> str:
    missing = [package for package, version in packages.items() if version is None]
    return f"without {' and '.join(missing)}" if missing else "installed"


def _extras() -> dict[str, dict[str, str | None]]:
    """The extras of the installed difmbs: for each the packages that it adds, with their versions."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        names = metadata("difmbs").get_all("Provides-Extra") or []
    except PackageNotFoundError:
        return {}
    return {name: installed(*dict.fromkeys(_added("difmbs", name))) for name in names}


def _added(package: str, extra: str) -> Iterator[str]:
    """What an extra of a package adds, also by extras of others."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(package) or []
    except PackageNotFoundError:
        return
    for found in filter(None, map(_REQUIREMENT.match, lines)):
        name, extras, condition = found.groups()
        wanted = _EXTRA.search(condition or "")
        if wanted and wanted[1] == extra:
            yield name
            for other in (extras or "").split(","):
                yield from _added(name, other.strip()) if other.strip() else ()
