"""Do the tests notice faults? `python tests/faults/mutation_check.py` seeds one after the other and runs the tests.

Each fault of `seeded_faults.py` is put into a copy of the tree, never into the tree itself. There the tests run that
should notice it first, and if they pass all others that run by default: a fault that survived has passed the whole
suite. Results are written line by line, so that the check can be stopped, and goes on with --resume. A hundred faults
take about half an hour, after the tests that should notice them have run without any. Not for Windows, which has no
fork.
"""

import argparse
import functools
import hashlib
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.seeded_faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
_LONGEST = 120
"""Seconds for one test; one that hangs has noticed something too."""
_BROKEN = 99
"""The exit code of a run that was none."""
_ALONE = ("-n", "0")
_HOW = (
    *("-q", "--no-header", "--tb=no", f"--timeout={_LONGEST}"),
    # A signal is not heard inside of a compiled program.
    "--timeout-method=thread",
    # About packages that were imported before pytest came.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
_PASSED = "passed the first tests"
_OF_FAULTS = "tests/faults/test_seeded_faults.py"
"""Notices any of them, because it looks whether their old texts are there."""


def mutated(fault: Fault, root: Path = ROOT) -> str:
    """The file with the fault in it; refused if it is not clear where that would be."""
    text = (root / "difmbs" / fault.file).read_text()
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.name}: its old text occurs {text.count(fault.old)} times in {fault.file}")
    return text.replace(fault.old, fault.new)


@contextmanager
def copied(faults: Iterable[Fault]) -> Iterator[Path]:
    """A copy of the tree with these faults."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=_LEFT_OUT)
        for fault in faults:
            (tree / "difmbs" / fault.file).write_text(mutated(fault, tree))
        yield tree


def tested(tree: Path, tests: Iterable[str], *options: str) -> list[str]:
    """The tests that fail in a tree."""
    with tempfile.TemporaryFile("w+") as said:
        # A copy of this process has imported already what all tests need, which takes longer than many of them.
        child = os.fork()
        if child == 0:
            _test_here(tree, [*_HOW, *options, *tests], said.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        output = said.read()
    failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    # Where not even pytest starts, that was noticed too.
    if status in (_BROKEN, int(pytest.ExitCode.NO_TESTS_COLLECTED)):
        raise SystemExit(f"the tests could not be run: {output}")
    return failed if failed or status == 0 else [f"pytest ended with {status}"]


def _test_here(tree: Path, arguments: list[str], output: int) -> NoReturn:
    """Becomes a run of pytest in a tree."""
    code = _BROKEN
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(tree)
        os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode, sys.path[0] = True, str(tree)
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        code = int(pytest.main(arguments))
        loaded = sys.modules.get("difmbs")
        if loaded is not None and not Path(str(loaded.__file__)).is_relative_to(tree.resolve()):
            print(f"ERROR the tests ran with {loaded.__file__}")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def import_all() -> None:
    for name in ("diffrax", "hypothesis.strategies", "matplotlib.figure", "optax", "scipy.optimize", "scipy.stats"):
        importlib.import_module(name)


@functools.cache
def _files() -> dict[str, str]:
    """Files of tests by what follows "test_" in their names."""
    return {path.stem[5:]: str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}


def first_tests(fault: Fault) -> list[str]:
    """Those that should notice it first, as pytest names them."""
    parts = [word.partition("::") for word in fault.tests.split()]
    return [f"{_files()[file]}{colons}{name}" for file, colons, name in parts]


class Results:
    """A file with a line for each fault."""

    def __init__(self, path: Path, resume: bool):
        self.path = path
        if not resume:
            path.write_text("")
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {line["name"]: line for line in map(json.loads, lines)}

    def add(self, name: str, result: str, begun: float, failed: Sequence[str] = ()) -> None:
        seconds = round(time.perf_counter() - begun, 1)
        self.known[name] = dict(name=name, result=result, seconds=seconds, failed=failed[:3])
        with self.path.open("a") as file:
            file.write(json.dumps(self.known[name]) + "\n")
        print(f"{name}: {result}, {seconds:.0f} s {' '.join(failed[:1])}", flush=True)


def check_unchanged(results: Results, faults: list[Fault]) -> None:
    """The tests that should notice these faults have to pass where there is none."""
    wanted = list(dict.fromkeys(test for fault in faults for test in first_tests(fault)))
    name = "no fault: " + hashlib.sha256(" ".join(wanted).encode()).hexdigest()[:12]
    if wanted and name not in results.known:
        begun = time.perf_counter()
        with copied([]) as tree:
            failed = tested(tree, wanted, *_ALONE)
        if failed:
            raise SystemExit(f"without any fault there fails {', '.join(failed)}")
        results.add(name, "passed", begun)


def check_first(results: Results, fault: Fault) -> None:
    """The tests that should notice a fault first."""
    begun = time.perf_counter()
    with copied([fault]) as tree:
        failed = tested(tree, first_tests(fault), "-x", *_ALONE)
    results.add(fault.name, "caught by the first tests" if failed else _PASSED, begun, failed)


def check_all(results: Results, faults: list[Fault]) -> None:
    """All default tests with several faults at once; those that fail then with each of the faults by itself.

    A run of all tests takes long, and few faults get here. That two of them hide each other is not likely.
    """
    begun, files = time.perf_counter(), [fault.file for fault in faults]
    at_once = [fault for i, fault in enumerate(faults) if fault.file not in files[:i]]
    with copied(at_once) as tree:
        failed = tested(tree, ["tests"], f"--ignore={_OF_FAULTS}")
    print(f"with {', '.join(f.name for f in at_once)}: {len(failed)} tests fail", flush=True)
    for fault in at_once:
        with copied([fault]) as tree:
            noticed = tested(tree, failed, "-x", *_ALONE) if failed else []
        results.add(fault.name, "caught by the others" if noticed else "survived", begun, noticed)
    if rest := [f for f in faults if f not in at_once]:
        check_all(results, rest)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", action="append", metavar="NAME", help="faults with this in their names")
    arguments.add_argument("--resume", action="store_true", help="leave out what is in the results already")
    arguments.add_argument("--first-only", action="store_true", help="run the first tests only")
    arguments.add_argument("--results", type=Path, default=ROOT / "mutation_check.jsonl")
    given = arguments.parse_args()
    chosen = [f for f in FAULTS if given.only is None or any(part in f.name for part in given.only)]
    for fault in chosen:
        mutated(fault)
    import_all()
    results = Results(given.results, given.resume)
    check_unchanged(results, chosen)
    for fault in chosen:
        if fault.name not in results.known:
            check_first(results, fault)
    open_ones = [fault for fault in chosen if results.known[fault.name]["result"] == _PASSED]
    if open_ones and not given.first_only:
        check_all(results, open_ones)
    caught = [f for f in chosen if str(results.known[f.name]["result"]).startswith("caught")]
    for fault in chosen:
        if fault not in caught:
            print(f"{results.known[fault.name]['result']}: {fault.name} ({fault.file})")
    print(f"caught {len(caught)} of {len(chosen)}")


if __name__ == "__main__":
    main()
