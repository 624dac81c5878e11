"""Compiled programs are kept from one process to the next, and nothing goes wrong where they cannot be."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax._src import compilation_cache

from difmbs.jaxtools import program_cache as _cache
from difmbs.jaxtools.program_cache import ProgramCache

ROOT = Path(__file__).parents[2]
SETTINGS = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")

# What JAX asks its cache for, and what it finds there.
PROGRAM = """
import json
import jax
count = {"asked": 0, "found": 0}
events = {"compile_requests_use_cache": "asked", "cache_hits": "found"}
def hear(event, **_):
    name = events.get(event.rpartition("/")[2])
    if name:
        count[name] += 1
jax.monitoring.register_event_listener(hear)
jax.config.update("jax_enable_x64", True)
import diffrax
import difmbs as mbs
model = mbs.Model(gravity=(0, 0, -9.81))
mass = model.add("mass", mbs.Mass1D(1.0, axis=(0, 0, 1)))
model.add("spring", mbs.SpringDamper(1.0, 100.0, 1.0), between=(model.ground.at(0, 0, -1), mass))
system = model.assemble()
run = dict(t1=0.1, saveat=[0.1], dt=0.01, solver=diffrax.ImplicitEuler())
end = lambda k: mbs.simulate(system, params={"spring": {"stiffness": k}}, **run).q[0, 0]
print(json.dumps({"count": count, "result": float(jax.grad(end)(100.0))}))
"""


def begin(**settings):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "DIFMBS_", "XDG_"))}
    # Also what compiles at once.
    clean |= {"PYTHONPATH": str(ROOT), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", **settings}
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return subprocess.Popen([sys.executable, "-c", PROGRAM], env=clean, **pipes)


def result_of(process):
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert said == ""
    return json.loads(printed)


def test_processes_at_once_fill_the_cache_and_the_next_one_compiles_nothing(tmp_path):
    cold = [result_of(process) for process in [begin(XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)]]
    warm = result_of(begin(XDG_CACHE_HOME=str(tmp_path)))
    assert warm["count"]["asked"] == warm["count"]["found"] > 5
    assert all(one["result"] == warm["result"] for one in cold)
    assert not list(tmp_path.rglob("*.part"))
    assert (tmp_path / "difmbs").stat().st_mode & 0o077 == 0


@pytest.fixture
def untold(monkeypatch):
    """As if nobody had told JAX anything, until the test is over."""
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    monkeypatch.setattr(compilation_cache, "get_file_cache", compilation_cache.get_file_cache)
    for name, value in zip(SETTINGS, (None, 1.0), strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def compile_something(number):
    jax.block_until_ready(jax.jit(lambda x: jnp.sin(x) + number)(1.0))


def files(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.usefixtures("untold")
def test_what_the_user_tells_jax_counts_also_later(tmp_path, monkeypatch):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    monkeypatch.setenv("DIFMBS_CACHE", str(ours))
    _cache.switch_on()
    assert _cache.used() == str(ours)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    compile_something(1)
    assert any(name.endswith("-program") for name in files(ours))
    before = files(ours)
    jax.config.update("jax_compilation_cache_dir", str(theirs))
    compile_something(2)
    compile_something(3)
    assert any(name.endswith("-cache") for name in files(theirs))
    assert files(ours) == before


@pytest.mark.usefixtures("untold")
@pytest.mark.parametrize("told", ["folder", "off", "DIFMBS_CACHE=0", "no home"])
def test_nothing_is_changed_where_it_is_not_wanted(tmp_path, monkeypatch, told):
    monkeypatch.delenv("DIFMBS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if told == "folder":
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    elif told == "off":
        config = {"jax_enable_compilation_cache": False, "jax_compilation_cache_dir": None}
        monkeypatch.setattr(_cache, "_CONFIG", type("Config", (), config))
    elif told == "no home":
        monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    else:
        monkeypatch.setenv("DIFMBS_CACHE", "0")
    before = [getattr(jax.config, name) for name in SETTINGS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _cache.switch_on()
    assert [getattr(jax.config, name) for name in SETTINGS] == before
    assert not (tmp_path / "difmbs").exists()


@pytest.mark.usefixtures("untold")
def test_a_folder_that_was_asked_for_and_cannot_be_had_is_named(monkeypatch):
    monkeypatch.setenv("DIFMBS_CACHE", "/dev/null/cache")
    with pytest.warns(UserWarning, match="DIFMBS_CACHE: compiled programs cannot be kept in /dev/null/cache"):
        _cache.switch_on()
    assert jax.config.jax_compilation_cache_dir is None


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "_CONFIG", type("Config", (), {SETTINGS[0]: str(tmp_path)}))
    return ProgramCache(str(tmp_path))


def test_half_a_file_is_as_good_as_none(kept, tmp_path):
    kept.put("a", b"program")
    assert kept.get("a") == b"program"
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert kept.get("a") is None
    assert list(tmp_path.iterdir()) == []
    kept.put("a", b"")
    assert kept.get("a") == b""


def test_failures_to_write_are_silent(kept, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    kept.put("a", b"program")
    assert kept.get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_the_least_recently_used_make_room(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "_MOST", 1000)
    for age, name in enumerate("abcdefgh"):
        kept.put(name, bytes(100))
        os.utime(tmp_path / f"{name}-program", (1e9 + age, 1e9 + age))
    (tmp_path / "other.txt").write_text("not ours")
    kept.get("a")
    for name in "ij":
        kept.put(name, bytes(100))
    left = files(tmp_path)
    assert {"a-program", "i-program", "j-program", "other.txt"} <= set(left)
    assert "b-program" not in left
    assert sum((tmp_path / name).stat().st_size for name in left if name.endswith("-program")) <= 1000
    kept.put("z", bytes(2000))
    assert kept.get("z") is None
