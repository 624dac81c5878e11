"""Pages of the documentation, played block by block: what they run, and what they say that it prints."""

import contextlib
import io
import math
import re
import subprocess
from pathlib import Path

from .commands import run

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
TAKEN = re.compile(r"^[\d.]+ s(: |, of which )")
"""Lines that say how long it took."""
ROUNDING = 1e-9
LAST_DIGIT = 2e-3
"""Relative: numbers of three digits may differ in the last one on another machine."""


def blocks(text):
    """(language, content, lines before it) of each block of a page."""
    return [(found[1], found[2], text.count("\n", 0, found.start(2))) for found in BLOCK.finditer(text)]


def play(text, name):
    """Yields (what is printed, what the page says it prints) of each block of commands and of Python."""
    namespace, found = {"__name__": "__main__"}, blocks(text)
    for (language, content, line), follows in zip(found, [*found[1:], ("", "", 0)], strict=True):
        if language == "bash":
            printed = "".join(map(_command, content.splitlines()))
        elif language == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                # The line numbers of a traceback are then those of the page.
                exec(compile("\n" * line + content, name, "exec"), namespace)
            printed = said.getvalue()
        else:
            continue
        yield printed, follows[1] if follows[0] == "text" else ""


def _command(line):
    program, *arguments = line.split()
    if program == "difmbs":
        return run(*arguments).stdout
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True, cwd=Path()).stdout


def difference(printed, said):
    """What is not the same, in words; nothing if only seconds and last digits differ."""
    ours, theirs = ([line.rstrip() for line in text.splitlines()] for text in (printed, said))
    if len(ours) != len(theirs):
        return f"{len(theirs)} lines on the page, {len(ours)} printed:\n{printed}"
    unlike = [f"page: {b}\nprinted: {a}" for a, b in zip(ours, theirs, strict=True) if not _same(a, b)]
    return "\n".join(unlike)


def _same(printed, said):
    if [part.split() for part in NUMBER.split(printed)] != [part.split() for part in NUMBER.split(said)]:
        return False
    if TAKEN.match(printed):
        return True
    pairs = zip(map(float, NUMBER.findall(printed)), map(float, NUMBER.findall(said)), strict=True)
    return all(math.isclose(a, b, rel_tol=LAST_DIGIT, abs_tol=ROUNDING) for a, b in pairs)
