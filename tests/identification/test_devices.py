"""One fit over several devices, of one process or of two."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import difmbs as mbs

from ..zoo.fits import experiment, identify, noisy, unknowns

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
import jax
jax.config.update("jax_enable_x64", True)
rank, port, count, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
if port != "0":
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
from tests.zoo.fits import experiment, identify, noisy, unknowns
runs = [experiment(noisy(i), name=str(i)) for i in range(count)]
fit = identify(runs, unknowns(), devices=jax.devices(), folder=folder)
again = identify(runs, unknowns(), devices=jax.devices(), folder=folder, resume=True)
assert again.values == fit.values and again.evaluations == fit.evaluations
print(json.dumps(dict(numbers=fit.numbers.tolist(), errors=fit.standard_errors, devices=jax.device_count())))
"""


def runs(count):
    return [experiment(noisy(i), name=str(i)) for i in range(count)]


def assert_equal(found, expected):
    np.testing.assert_allclose(found["numbers"], expected.numbers, rtol=1e-10)
    np.testing.assert_allclose([*found["errors"].values()], [*expected.standard_errors.values()], rtol=1e-8)


def test_devices_do_not_change_the_fit(tmp_path):
    fit = identify(runs(3), unknowns(), devices=jax.devices(), folder=tmp_path)
    assert_equal(dict(numbers=fit.numbers, errors=fit.standard_errors), identify(runs(3), unknowns()))
    assert (tmp_path / "state.npz").exists()
    low, high = fit.profile("mass.mass")
    assert low < fit.values["mass.mass"] < high


@pytest.mark.parametrize("devices", ["cpu", [], [0]])
def test_devices_are_those_of_jax(devices):
    with pytest.raises(mbs.ParameterError, match=r"devices must be a list of devices such as jax\.devices"):
        identify(runs(1), unknowns(), devices=devices)
    with pytest.raises(mbs.ParameterError, match="cannot be combined"):
        identify(runs(1), unknowns(), devices=jax.devices(), starts=3)


def started(rank, port, count, folder, flags=""):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}"}
    command = [sys.executable, "-c", SCRIPT, str(rank), str(port), str(count), str(folder)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process):
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(out.splitlines()[-1])


@pytest.mark.slow
def test_several_devices_of_a_process(tmp_path):
    """Seven experiments on three devices: the last rows are filled up."""
    found = said(started(0, 0, 7, tmp_path, "--xla_force_host_platform_device_count=3"))
    assert found["devices"] == 3
    assert_equal(found, identify(runs(7), unknowns()))


@pytest.mark.slow
def test_two_processes(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [started(rank, port, 64, tmp_path) for rank in range(2)]
    expected = identify(runs(64), unknowns())
    for process in processes:
        found = said(process)
        assert found["devices"] == 2
        assert_equal(found, expected)
