"""What a program compiled for a GPU launches in each step, read from its text."""

import functools
import re
from typing import NamedTuple

_FREE = {
    "parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all", "partition-id", "replica-id",
    "opt-barrier", "add-dependency", "get-dimension-size", "copy-done", "async-done",
}  # fmt: skip
"""Operations that launch nothing."""
_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.-]+) \(.*\) -> .* \{")
_OPERATION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*?\s([a-z][a-z0-9-]*)\(")
_CALLED = r"%?([\w.-]+)"


class Launches(NamedTuple):
    """Number of launches of kernels, copies and library calls, and of times that the processor waits for the GPU."""

    launches: int = 0
    waits: int = 0

    def and_also(self, other: "Launches", times: int = 1) -> "Launches":
        return Launches(self.launches + times * other.launches, self.waits + times * other.waits)


class Loop(NamedTuple):
    """A loop whose end is not known beforehand: its place in the traced program, and what an iteration launches."""

    place: str
    each: Launches


class GpuProgram:
    """A compiled program. Of a loop inside of a loop whose end is not known beforehand one iteration is counted."""

    def __init__(self, text: str):
        self._parts: dict[str, list[tuple[str, str]]] = {}
        part: list[tuple[str, str]] = []
        for line in text.splitlines():
            if head := _HEAD.match(line):
                part = self._parts[head[1]] = []
                self._entry = head[1] if line.startswith("ENTRY") else getattr(self, "_entry", head[1])
            elif found := _OPERATION.match(line):
                part.append((found[1], line))

    @functools.cached_property
    def loops(self) -> list[Loop]:
        """The outermost loops whose end is not known beforehand."""
        return self._loops(self._entry)

    def _loops(self, part: str) -> list[Loop]:
        found: list[Loop] = []
        for kind, line in self._parts[part]:
            if kind == "while" and _rounds(line) is None:
                place = re.search(r'op_name="([^"]*)"', line)
                found.append(Loop(place[1] if place else "", self._round(line)))
            elif kind in ("while", "conditional", "call"):
                for inner in _inner(kind, line):
                    found += self._loops(inner)
        return found

    def _round(self, line: str) -> Launches:
        """One iteration of a loop, and the question whether it goes on."""
        body, condition = _inner("while", line)[0], re.search("condition=" + _CALLED, line)
        asked = self._all(condition[1]) if condition else Launches()
        return self._all(body).and_also(asked).and_also(Launches(0, 1))

    @functools.cache  # noqa: B019 (it lives as long as its program)
    def _all(self, part: str) -> Launches:
        total = Launches()
        for kind, line in self._parts[part]:
            inner = _inner(kind, line)
            if kind == "while":
                rounds = _rounds(line)
                if rounds is None:
                    # And the question after which it ends.
                    total = total.and_also(self._round(line)).and_also(Launches(0, 1))
                else:
                    total = total.and_also(self._all(inner[0]), rounds)
            elif kind == "conditional":
                total = total.and_also(max(map(self._all, inner))).and_also(Launches(0, 1))
            elif kind == "call":
                total = total.and_also(self._all(inner[0]))
            elif kind not in _FREE:
                total = total.and_also(Launches(1))
        return total


def _rounds(line: str) -> int | None:
    """The number of iterations of a loop if it is known."""
    found = re.search(r'"known_trip_count":\{"n":"(\d+)"', line)
    return int(found[1]) if found else None


def _inner(kind: str, line: str) -> list[str]:
    """The parts of a program that an operation runs: of a loop its body, of a choice its branches."""
    if kind == "conditional":
        branches = re.search(r"branch_computations=\{([^}]*)\}", line)
        if branches:
            return [name.strip().lstrip("%") for name in branches[1].split(",")]
        return re.findall("(?:true|false)_computation=" + _CALLED, line)
    return re.findall("(?:body|to_apply)=" + _CALLED, line) if kind in ("while", "call") else []
