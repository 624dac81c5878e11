"""A fit in a second Python process against MuJoCo's toolbox for identification, `pip install ".[mujoco]"`.

`python tests/benchmarks/against_mujoco.py` measures from the start of the interpreter to its end, each in a process of
its own, the two taking turns on one and the same core, after one process of each has filled the caches of compiled
programs, of Python and of the operating system. Both read the same data from a file, take the same classic Runge-Kutta
steps, start at the same values and weigh the same samples; both have to find the same optimum.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from identify import NOISE, Chain, measured, our_fit, ours

PAIRS = 7
SAME_OPTIMUM = 0.01
"""By how many standard errors the results may differ."""
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "NPROC": "1",
}


def one(program: str, n: int, seconds: int, file: str) -> None:
    """In a process of its own: a fit, and says what was found."""
    chain, data = Chain(n, seconds), np.load(file)
    if program == "ours":
        import jax

        jax.config.update("jax_enable_x64", True)
        fit = our_fit(chain, ours(chain), data)
        told = dict(found=fit.numbers.tolist(), deviations=list(fit.standard_errors.values()), cost=fit.chi2)
    else:
        from _mujoco import Peer

        found, cost = Peer(chain).fit(data)
        # It leaves out the first sample, which depends on nothing.
        told = dict(found=found.tolist(), cost=cost + float(np.sum((data[0] - chain.position) ** 2)) / NOISE**2)
    print(json.dumps(told))


def in_process(program: str, n: int, seconds: int, file: Path, cache: Path) -> tuple[float, Any]:
    command = [sys.executable, __file__, "one", program, str(n), str(seconds), str(file)]
    one_core = (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if sys.platform == "linux" else None
    surroundings = os.environ | ONE_THREAD | {"DIFMBS_CACHE": str(cache)}
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings, preexec_fn=one_core)
    return time.perf_counter() - begun, json.loads(done.stdout.splitlines()[-1])


def second_process(row: str, n: int, seconds: int) -> None:
    from _timing import report

    with tempfile.TemporaryDirectory() as folder:
        file, cache = Path(folder, "data.npy"), Path(folder, "cache")
        np.save(file, measured(Chain(n, seconds)))
        run = lambda program: in_process(program, n, seconds, file, cache)
        first, mine = run("ours")
        _, peer = run("mujoco")
        pairs = [(run("ours")[0], run("mujoco")[0]) for _ in range(PAIRS)]
    taken, peer_taken = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    report(f"{row}, second process", taken, "s", "<= 1.2", peer=peer_taken, ratio=statistics.median(ratios))
    report(f"{row}, smallest ratio of a pair", ratios[0], "1")
    report(f"{row}, largest ratio of a pair", ratios[-1], "1")
    report(f"{row}, first process", first, "s")
    apart = np.max(np.abs(np.subtract(mine["found"], peer["found"])) / mine["deviations"])
    report(f"{row}, optimum apart", float(apart), "standard errors", f"<= {SAME_OPTIMUM}")
    report(f"{row}, cost", mine["cost"], "chi^2", peer=peer["cost"], ratio=mine["cost"] / peer["cost"])


ROWS = {f"20 unknowns of 10 masses, {seconds} s": (10, seconds) for seconds in (2, 4)}

if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        for name, numbers in ROWS.items():
            if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
                second_process(name, *numbers)
