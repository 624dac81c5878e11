"""The command line."""

import subprocess
import sys
import time


def test_help_comes_at_once_and_without_jax():
    code = "import sys, difmbs.command as c; c.main(['--help'], standalone_mode=False); assert 'jax' not in sys.modules"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Differentiable multibody simulation" in done.stdout
    # A quarter of a second where nothing else runs.
    assert time.perf_counter() - start < 1.0
