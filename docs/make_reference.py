"""Writes docs/reference.md: every public name with its signature and its docstring, room by room.

`python docs/make_reference.py`; a test says when it has to be run again.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import difmbs

PAGE = Path(__file__).parent / "reference.md"
TITLES = {
    "modelling": "Building a model",
    "elements": "Bodies, connectors, sensors, events",
    "system": "Systems",
    "dynamics": "Outputs",
    "simulation": "Simulation",
    "solvers": "Solvers",
    "analysis": "Statics, linearization, modes",
    "identification": "Identification",
    "search": "Unknowns",
    "design": "Design optimization",
    "sweeps": "Sweeps",
    "interop": "Models of other programs",
    "files": "Files",
    "task_files": "Fit files, design files, sweep files",
    "reports": "Reports",
    "core": "Errors, and what own elements need",
}


def page() -> str:
    """The whole page."""
    rooms: dict[str, list[str]] = {room: [] for room in TITLES}
    for name in sorted(difmbs.__all__):
        rooms[getattr(difmbs, name).__module__.split(".")[1]].append(name)
    parts = ["# Reference\n\nEvery public name, made from the docstrings by `python docs/make_reference.py`.\n"]
    for room, title in TITLES.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(difmbs, name)) for name in rooms[room]]
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    lines = [f"### {name}\n", f"```text\n{_signature(name, thing)}\n```\n", _doc(thing)]
    if inspect.isclass(thing):
        for method, function in _methods(thing):
            lines.append(f"`{_signature(method, function)}`: {_doc(function)}")
    return "\n".join(lines)


def _methods(kind: type) -> list[tuple[str, Any]]:
    """Of a class its own methods and properties with docstrings."""
    found = []
    for name, member in vars(kind).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not name.startswith("_") and callable(function) and not inspect.isclass(function) and function.__doc__:
            found.append((name, member if isinstance(member, property) else function))
    return found


def _signature(name: str, thing: Any) -> str:
    if isinstance(thing, property):
        return name
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=inspect.Parameter.empty, default=_default(p)) for p in parameters if p.name != "self"]
    return f"{name}{inspect.Signature(plain)}"


class _Said:
    """A default as it is to be read."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(parameter: inspect.Parameter) -> Any:
    if parameter.default is inspect.Parameter.empty:
        return parameter.default
    # What has no better representation shows its address.
    return _Said("..." if " at 0x" in repr(parameter.default) else repr(parameter.default))


def _doc(thing: Any) -> str:
    function = thing.fget if isinstance(thing, property) else thing
    return re.sub(r"[ \t]+$", "", inspect.cleandoc(function.__doc__ or ""), flags=re.M) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
