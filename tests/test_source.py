"""Rules for the code that a reader should not have to check by hand."""

import inspect
import os
import re
from pathlib import Path

import pytest

import difmbs as mbs
from difmbs._xla import set_options

from . import cases

PUBLIC = {name: getattr(mbs, name) for name in mbs.__all__}
SOURCES = sorted(Path(mbs.__file__).parent.rglob("*.py"))
LEVELS = [
    {
        "_cache",
        "_compiling",
        "_late",
        "_unchecked",
        "_storage",
        "_copies",
        "_batches",
        "_errors",
        "_status",
        "_types",
        "_xla",
        "_ranges",
        "_spectrum",
        "linalg",
    },
    {"_shown", "_numbers"},
    {"_stored", "_look", "_missing", "_tangents", "_parameters", "_rotations", "_index", "_eigen"},
    {"_frames", "_units"},
    {"bodies", "connectors", "sensors", "event", "piecewise"},
    {"_groups", "_markers"},
    {"_structure"},
    {"system", "_elimination_plan"},
    {"_layout"},
    {"_coupling", "_problems", "_planes"},
    {"equations"},
    {"_assembly", "_newton", "_projection", "_rest"},
    {"outputs", "solvers", "_search"},
    {"_editing", "_describe"},
    {"model", "functions", "_events"},
    {"_integrate", "_arguments", "solution"},
    {"_replay", "_walk", "health", "_linearize"},
    {"_again"},
    {"_travel"},
    {"_simulate", "statics", "_modes"},
    {"files"},
    {"identification"},
    {"design"},
    {"tasks", "pages"},
    {"command"},
    {"__init__", "__main__"},
]


def level(name):
    return next(i for i, names in enumerate(LEVELS) if name in names)


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_files_import_lower_levels_or_their_own_folder(source):
    root = Path(mbs.__file__).parent
    here = source.relative_to(root).parts[0].removesuffix(".py")
    for dots, name in re.findall(r"^\s*from (\.+)([\w.]*) import", source.read_text(), re.MULTILINE):
        outside = len(dots) == len(source.relative_to(root).parts)
        target = name.split(".")[0]
        if outside and target and target != here:
            assert level(target) < level(here), f"{here} imports {target}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_nothing_is_evaluated_or_unpickled_and_norms_have_one_home(source):
    text = source.read_text()
    assert not re.search(r"\bpickle\b|\beval\(|\bexec\(|yaml\.load|allow_pickle=True|shell=True", text)
    assert not re.search(r"jnp\.linalg\.norm|arccos|arcsin", text)


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
    one_marker = {mbs.Force, mbs.Torque, mbs.CoordinateLoad}
    assert {c for c in classes if not inspect.isabstract(c)} - one_marker == tested


def test_the_setting_of_xla_respects_the_users(monkeypatch):
    given = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=7"
    monkeypatch.setenv("XLA_FLAGS", f"{given} --other")
    set_options()
    assert os.environ["XLA_FLAGS"].count("xla_backend_extra_options") == 1
    assert os.environ["XLA_FLAGS"].endswith(f"{given} --other")
    monkeypatch.setenv("XLA_FLAGS", "--other")
    set_options()
    assert os.environ["XLA_FLAGS"].count("xla_backend_extra_options") == 1
    for option in ("xla_cpu_experimental_ynn_fusion_type", "xla_cpu_use_fusion_emitters"):
        assert os.environ["XLA_FLAGS"].count(option) == 1
    assert os.environ["XLA_FLAGS"].endswith(" --other")
