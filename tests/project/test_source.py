"""Rules for the code that a reader should not have to check by hand."""

import ast
import importlib
import inspect
import os
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import difmbs as mbs
from difmbs.jaxtools.xla_options import set_options

from ..zoo import cases

PUBLIC = {name: getattr(mbs, name) for name in mbs.__all__}
SOURCES = sorted(Path(mbs.__file__).parent.rglob("*.py"))
ROOT = Path(mbs.__file__).parent
LEVELS = [
    {"core", "jaxtools"},
    {"linalg", "elements", "plots"},
    {"system"},
    {"dynamics"},
    {"pictures", "solvers"},
    {"modelling", "simulation"},
    {"analysis", "files", "interop"},
    {"search", "batches"},
    {"identification", "design"},
    {"sweeps"},
    {"task_files", "reports"},
    {"command"},
]
"""The rooms: each imports only from itself and from those above it here. docs/architecture.md says what is in them."""


def level(room):
    return next(i for i, rooms in enumerate(LEVELS) if room in rooms)


def imports_of(source):
    """The rooms from which a file imports."""
    depth = len(source.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            yield from [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_rooms_import_only_from_lower_ones(source):
    room = source.relative_to(ROOT).parts[0]
    for other in imports_of(source) if room in set().union(*LEVELS) else ():
        assert other == room or level(other) < level(room), f"{room} imports {other}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_every_module_can_be_imported_by_itself(source):
    parts = source.relative_to(ROOT.parent).with_suffix("").parts
    if parts[-1] != "__main__":
        importlib.import_module(".".join(part for part in parts if part != "__init__"))


def test_every_file_is_in_a_room_and_rooms_are_what_their_docstrings_say():
    assert {path.name for path in ROOT.iterdir() if path.suffix == ".py"} == {"__init__.py", "__main__.py"}
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == set().union(*LEVELS)
    for path in ROOT.glob("*/**/__init__.py"):
        body = ast.parse(path.read_text()).body
        assert len(body) == 1 or path.parent.name == "command", f"{path} holds more than a docstring"


def test_no_stem_of_a_file_and_no_name_of_a_class_is_there_twice():
    stems = [path.stem for path in SOURCES if path.stem != "__init__"]
    classes = [
        node.name for path in SOURCES for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
    ]
    assert not [name for name, count in Counter((*stems, *classes)).items() if count > 1]


def test_tests_are_in_rooms_and_share_by_way_of_helpers():
    """Of a room, of the project as a whole, or of what checks the tests; none imports another."""
    tests = ROOT.parent / "tests"
    homes = set().union(*LEVELS) | {"project", "random_mechanisms", "faults"}
    files = sorted(tests.rglob("test_*.py"))
    assert {path.parent.relative_to(tests).as_posix() for path in files} <= homes
    for path in tests.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                own = [n for n in names if n.startswith("test_") and node.level]
                assert not own, f"{path} imports {own}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_docstrings_name_the_noun_first(source):
    """ "Number of ...", not "So many ..."."""
    for text in _docstrings(ast.parse(source.read_text())):
        assert not re.match(r"(So|By how|Of each|The same)\b", text), text


def _docstrings(tree):
    for node in ast.walk(tree):
        for child in getattr(node, "body", []) if isinstance(getattr(node, "body", None), list) else []:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                yield str(child.value.value).strip()


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_nothing_is_evaluated_or_unpickled_and_norms_have_one_home(source):
    text = source.read_text()
    assert not re.search(r"\bpickle\b|\beval\(|\bexec\(|yaml\.load|allow_pickle=True|shell=True", text)
    assert not re.search(r"jnp\.(linalg\.norm|arccos|arcsin)", text)


def test_declared_dependencies_are_those_that_are_imported():
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[<>=\[]", line)[0].replace("-", "_") for line in project["dependencies"]}
    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else alias.name.split(".")[0]
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
        for alias in node.names
    }
    # jax needs a jaxlib of the same version; Exudyn is an extra.
    assert declared - {"jaxlib"} == imported - {"exudyn", "pandas"} - set(sys.stdlib_module_names)
    assert "exudyn" in project["optional-dependencies"]


def test_public_names_are_not_hidden_by_files():
    """The function `simulate` would turn into the module of that name once something imports the module."""
    assert not set(PUBLIC) & {path.stem for path in Path(mbs.__file__).parent.iterdir()}
    assert set(PUBLIC) <= set(dir(mbs))
    with pytest.raises(AttributeError, match="simulat"):
        _ = mbs.simulat


def test_every_law_between_two_markers_is_in_the_table_of_cases():
    kinds = (mbs.AbstractForce, mbs.AbstractConstraint)
    classes = [c for c in PUBLIC.values() if inspect.isclass(c) and issubclass(c, kinds)]
    tested = {type(case.law()) for case in (*cases.CONNECTORS.values(), *cases.CONSTRAINTS.values())}
    # With one marker, or none.
    others = {
        mbs.Force,
        mbs.Torque,
        mbs.CoordinateLoad,
        mbs.Drag,
        mbs.MassProportionalLoad,
        mbs.CoordinateVectorForce,
        mbs.GenericODE1,
    }
    assert {c for c in classes if not inspect.isabstract(c)} - others == tested


def test_the_setting_of_xla_respects_the_users(monkeypatch):
    given = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=7"
    monkeypatch.setenv("XLA_FLAGS", f"{given} --other")
    set_options()
    assert os.environ["XLA_FLAGS"].count("xla_backend_extra_options") == 1
    assert os.environ["XLA_FLAGS"].endswith(f"{given} --other")
    monkeypatch.setenv("XLA_FLAGS", "--other")
    set_options()
    assert os.environ["XLA_FLAGS"].count("xla_backend_extra_options") == 1
    for option in (
        "xla_cpu_experimental_ynn_fusion_type",
        "xla_cpu_use_fusion_emitters",
        "xla_cpu_prefer_vector_width",
    ):
        assert os.environ["XLA_FLAGS"].count(option) == 1
    assert os.environ["XLA_FLAGS"].endswith(" --other")
