"""Strict settings for all tests: double precision, no silent promotion, annotations executed."""

import ctypes
import gc
import os
import tempfile
from pathlib import Path

# Compiling is what the tests spend their time on; their programs are small.
if not os.environ.get("DIFMBS_TESTS_OPTIMIZED"):
    flags = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    flags += "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1 "
    os.environ["XLA_FLAGS"] = flags + os.environ.get("XLA_FLAGS", "")

import jax
import pytest

# Tracing makes many objects that live long: looking for dead ones among them took a tenth of the time.
gc.set_threshold(200_000, 50, 1000)

jax.config.update("jax_enable_x64", True)
# Where in Python each operation comes from is for profiles.
jax.config.update("jax_traceback_in_locations_limit", 0)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_compilation_cache_dir", str(Path(tempfile.gettempdir()) / "difmbs-test-cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

from jaxtyping import install_import_hook  # noqa: E402

with install_import_hook("difmbs", "beartype.beartype"):
    import difmbs

    # All of it, while the hook is there.
    for name in difmbs.__all__:
        getattr(difmbs, name)

MOST_MEMORY = 3e9


LONG = frozenset(Path(__file__).with_name("helpers").joinpath("long_tests.txt").read_text().splitlines())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Before pytest leaves out what is slow."""
    for item in items:
        if item.nodeid.removeprefix("tests/") in LONG:
            item.add_marker(pytest.mark.slow)


def memory():
    """What this process takes [bytes]; 0 where the system does not say."""
    said = Path("/proc/self/statm")
    return int(said.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if said.exists() else 0


@pytest.fixture(autouse=True, scope="module")
def room():
    yield
    # JAX keeps every compiled program, and glibc what JAX gives back: without this a process grows to 9 GB.
    if memory() > MOST_MEMORY:
        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture
def file(tmp_path):
    """Writes text or bytes to a file and returns its path."""

    def write(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
